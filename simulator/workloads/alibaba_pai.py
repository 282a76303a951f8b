"""Alibaba's GPU trace of 2020 (Weng et al., NSDI 2022; alibaba/clusterdata, cluster-trace-gpu-v2020)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from simulator.model.cluster import FloatArray
from simulator.workloads.cells import beginning
from simulator.workloads.tables import HEADER, InputColumn, Layout, Table
from simulator.workloads.trace import Trace

STATUSES = ("Terminated", "Failed", "Running", "Waiting", "Interrupted")
_PER_CENT = 100.0


class PaiTasks(Trace):
    """Jobs of ``pai_task_table.csv``, a row a task, with or without a header; the tasks of a job run as one.

    A job has the GPUs of all instances of all its tasks, in sum rounded up to whole ones, from the first start
    to the last end. The table tells no submission before the start. Jobs without a GPU, a start or an end are
    left out.
    """

    kind: Literal["pai"] = "pai"

    reads = (
        InputColumn("job_name", "", "name of the job", "text", gives="job_id"),
        InputColumn("task_name", "", "not read", "text", empty=""),
        InputColumn("inst_num", "", "instances", "number", empty=1.0, at_least=0),
        InputColumn("status", "", "how it ended", "text", empty=""),
        InputColumn("start_time", "s", "begin; the first of a job is its submission", "number", empty=np.nan),
        InputColumn("end_time", "s", "end; empty: it still runs", "number", empty=np.nan),
        InputColumn("plan_cpu", "1/100 CPU", "CPUs of an instance", "number", empty=0.0, at_least=0),
        InputColumn("plan_mem", "GB", "memory of an instance", "number", empty=0.0, at_least=0),
        InputColumn("plan_gpu", "1/100 GPU", "GPUs of an instance", "number", empty=0.0, at_least=0),
        InputColumn("gpu_type", "", "GPUs that it had", "text", empty=""),
    )  # fmt: skip
    layout = Layout("10 fields of pai_task_table", {10: [c.name for c in reads]})
    written = "pai_task_table of 2020"
    example = "00ca0d8f,tensorflow,2.0,Terminated,5058922.0,5058956.0,600.0,29.296875,100.0,MISC\n"

    @classmethod
    def likeness(cls, text: str) -> float:
        """Its header, or ten fields with a status."""
        first = text.partition("\n")[0].split(",")
        headless = len(first) == len(cls.reads) and first[3].strip() in STATUSES
        return float(headless or cls._with_header(text))

    @classmethod
    def _with_header(cls, text: str) -> bool:
        return HEADER.likeness(text, cls.reads) == 1

    def raw(self) -> Table:
        """The tasks."""
        path = Path(self.path)
        titled = self._with_header(beginning(path, "pai_task_table"))
        return Table.of_file(path, self.reads, HEADER if titled else self.layout, self.columns)

    def table(self, tasks: Table) -> Table:
        """One row a job, with sums and times of its tasks."""
        import pandas as pd

        start_s, end_s = tasks.numbers("start_time"), tasks.numbers("end_time")
        tasks.require("end_time", ~(end_s < start_s), "a time not before start_time")
        of_job = pd.factorize(pd.Series(tasks.texts("job_name")))[0]
        first = np.unique(of_job, return_index=True)[1]
        sums = {
            name: np.bincount(of_job, tasks.numbers("inst_num") * tasks.numbers(name))
            for name in ("plan_gpu", "plan_cpu", "plan_mem")
        }
        begin_s, last_s = np.full(len(first), np.inf), np.full(len(first), -np.inf)
        with np.errstate(invalid="ignore"):  # one that is not known makes the job's unknown
            np.minimum.at(begin_s, of_job, start_s)
            np.maximum.at(last_s, of_job, end_s)
        jobs = tasks.keep(np.isin(np.arange(len(tasks)), first))
        for name, values in {**sums, "begin_s": begin_s, "last_s": last_s}.items():
            jobs.frame[f"job {name}"] = values
        return jobs

    def parse(self, table: Table) -> dict[str, Any]:
        """Demands of the tasks together, from the first start to the last end."""
        begin_s = _of(table, "begin_s")
        return {
            "job_id": table.texts("job_name"), "submit_s": begin_s,
            "duration_s": _of(table, "last_s") - begin_s, "num_gpus": _of(table, "plan_gpu") / _PER_CENT,
            "num_cpus": _of(table, "plan_cpu") / _PER_CENT, "memory_gb": _of(table, "plan_mem"),
            "gpu_type": table.texts("gpu_type"),
        }  # fmt: skip

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Why a job has no run, the first reason that holds."""
        return {
            "hold no GPU": _of(table, "plan_gpu") == 0,
            "have a task without a start or an end": np.isnan(
                _of(table, "last_s") - _of(table, "begin_s")
            ),
        }

    def notes(self, table: Table, kept: Any) -> Mapping[str, int]:
        """Types of GPU."""
        typed = np.isin(table.frame["gpu_type"], ("", "CPU"), invert=True)
        return {
            "jobs name the type of GPU on which they ran; here they may run on any type": int(
                (kept & typed).sum()
            )
        }


def _of(table: Table, name: str) -> FloatArray:
    return table.frame[f"job {name}"].to_numpy(dtype=np.float64)


class PaiJobs(Trace):
    """Jobs of the trace's own simulator (``pai_job_duration_estimate_100K.csv``), each on the GPUs of all its instances.

    The duration that it predicts by group, user and GPUs (``group_gpu_dur``) is the time that a job asks for.
    """

    kind: Literal["pai-jobs"] = "pai-jobs"

    reads = (
        InputColumn("job_id", "", "name of the job", "text", gives="job_id"),
        InputColumn("submit_time", "s", "time of submission", "number", gives="submit_s"),
        InputColumn("duration", "s", "time that it ran", "number", empty=np.nan, at_least=0,
                    gives="duration_s"),
        InputColumn("wait_time", "s", "time from there to its start", "number", required=False,
                    empty=np.nan, at_least=0),
        InputColumn("num_inst", "", "instances", "number", empty=1.0, at_least=0),
        InputColumn("num_gpu", "", "GPUs of an instance, parts as well", "number", empty=0.0, at_least=0),
        InputColumn("num_cpu", "", "CPUs of an instance", "number", empty=0.0, at_least=0),
        InputColumn("user", "", "owner", "text", required=False, empty="", gives="user"),
        InputColumn("gpu_type", "", "GPUs that it asks for", "text", required=False, empty="",
                    gives="gpu_type"),
        InputColumn("group_gpu_dur", "s", "predicted duration", "number", required=False,
                    empty=np.nan),
    )  # fmt: skip
    written = "a list of jobs of Alibaba's simulator of 2020"
    example = """\
job_id,user,num_inst,num_gpu,num_cpu,gpu_type,submit_time,duration,wait_time,group_gpu_dur
17,u1,2,0.5,6,T4,100,3600,20,3000
"""

    def parse(self, table: Table) -> dict[str, Any]:
        """Demands of all instances; a prediction that is not above 0 is none."""
        instances, predicted_s = table.numbers("num_inst"), table.numbers("group_gpu_dur")
        return super().parse(table) | {
            "num_gpus": instances * table.numbers("num_gpu"),
            "start_s": table.numbers("submit_time") + table.numbers("wait_time"),
            "num_cpus": instances * table.numbers("num_cpu"),
            "gpu_types": [t if t not in ("CPU", "MISC") else "" for t in table.texts("gpu_type")],
            "requested_s": np.where(predicted_s > 0, predicted_s, np.nan),
        }
