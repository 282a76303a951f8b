"""Jobs of Slurm's accounting, as ``sacct -P`` writes them (also ``--parsable``, or CSV)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from simulator.errors import InputError
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace

UNKNOWN = ("None", "Unknown", "N/A", "INVALID")
_GPUS = re.compile(r"(?:^|,)(?:gres/)?gpu(?::[^=:,(]+)*[=:](\d+)")


class SlurmJobs(Trace):
    """Jobs of ``sacct -P`` that ran on GPUs, from start to end; times are read in UTC without a zone.

    Steps (``1001.batch``) are no jobs. Jobs that never started, still run, held no GPU, or ended as they
    started are left out and counted in `Workload.notes`. The rows of a requeued job (``-D``) are jobs
    of their own: ``1001``, ``1001.again1``.
    """

    kind: Literal["slurm"] = "slurm"
    running: Literal["leave-out", "until-now"] = "leave-out"
    """jobs that still run: left out, or as long as until the last time in the file (censored)"""

    columns = (
        InputColumn("JobID", "", "number of the job", "text"),
        InputColumn("Submit", "", "time of submission", "date", empty=np.nan),
        InputColumn("Start", "", "begin of the run", "date", empty=np.nan),
        InputColumn("End", "", "end of the run", "date", empty=np.nan),
        InputColumn("State", "", "how it ended", "text", required=False, empty=""),
        InputColumn("AllocTRES", "", "what it held: gres/gpu=8", "text", required=False, empty=""),
        InputColumn("AllocGPUS", "", "GPUs, where AllocTRES is missing", "integer", required=False,
                    empty=0, at_least=0),
        InputColumn("User", "", "owner", "text", required=False, empty="", gives="user"),
        InputColumn("Partition", "", "virtual cluster", "text", required=False, empty="", gives="vc"),
    )  # fmt: skip
    example = """\
JobID|Submit|Start|End|State|AllocTRES|User|Partition
7|2026-01-05T08:00:00|2026-01-05T08:00:10|2026-01-05T09:00:10|COMPLETED|cpu=8,gres/gpu=2,node=1|u1|gpu
"""

    def table(self) -> Table:
        """The rows of jobs, without those of their steps; what is unknown is empty."""
        table = super().table()
        if "AllocTRES" not in table and "AllocGPUS" not in table:
            raise InputError(
                f"{table.path}: column 'AllocTRES' is missing, expected it (or AllocGPUS)"
            )
        known = table.frame.where(~table.frame.isin(UNKNOWN), "")
        jobs = ~known["JobID"].str.contains(".", regex=False).to_numpy(dtype=bool)
        return replace(table, frame=known).keep(jobs, "rows of steps, which are no jobs")

    def parse(self, table: Table) -> dict[str, Any]:
        """A job runs from start to end on the GPUs of AllocTRES."""
        start_s, end_s = table.dates("Start"), self._end_s(table)
        table.require("End", ~(end_s < start_s), "a time not before Start")
        times: dict[str, int] = {}
        names = []
        for name in table.texts("JobID"):
            times[name] = times.get(name, -1) + 1
            names.append(f"{name}.again{times[name]}" if times[name] else name)
        return super().parse(table) | {
            "job_id": names, "submit_s": table.dates("Submit"),
            "duration_s": np.nan_to_num(end_s - start_s), "num_gpus": self._gpus(table),
        }  # fmt: skip

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Why a job has no run, the first reason that holds."""
        start_s, end_s = table.dates("Start"), self._end_s(table)
        return {
            "never started": np.isnan(start_s),
            "still run, or their end is unknown": np.isnan(end_s),
            "held no GPU": self._gpus(table) == 0,
            "ended as they started": end_s == start_s,
            "have no time of submission": np.isnan(table.dates("Submit")),
        }

    def notes(self, table: Table, kept: Any) -> Mapping[str, int]:
        """Jobs whose end is not known."""
        open_ended = kept & np.isnan(table.dates("End"))
        return {"jobs still run, counted until the last time in the file": int(open_ended.sum())}

    def _end_s(self, table: Table) -> Any:
        end_s = table.dates("End")
        if self.running == "leave-out":
            return end_s
        times = np.concatenate([end_s, table.dates("Start"), table.dates("Submit"), [-np.inf]])
        running = np.array([state == "RUNNING" for state in table.texts("State")])
        return np.where(np.isnan(end_s) & running, np.nanmax(times), end_s)

    @staticmethod
    def _gpus(table: Table) -> Any:
        held = table.texts("AllocTRES") if "AllocTRES" in table else [""] * len(table)
        # "gres/gpu=8" is the sum of the types that are listed beside it.
        found = [[int(n) for n in _GPUS.findall(text)] for text in held]
        listed = np.array([max(gpus, default=0) for gpus in found], dtype=np.int64)
        return listed if "AllocTRES" in table else table.whole_numbers("AllocGPUS")
