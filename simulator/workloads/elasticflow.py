"""Traces and throughputs in the format of ElasticFlow's simulator (pkusys/ElasticFlow, ASPLOS 2023).

A trace has one job a line: ``job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort``.
A folder of tables has one file for each network, ``MODEL.csv``: ``global_batch_size,1,2,4,..``, iterations/s by number of GPUs;
empty or 0: it does not run so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from simulator.errors import InputError
from simulator.files.keys import InputFile
from simulator.model.cluster import FloatArray
from simulator.model.performance import FixedDuration, TimeTable
from simulator.model.workload import Workload
from simulator.workloads.machines import StandingServers
from simulator.workloads.selection import Selected
from simulator.workloads.table import Setting
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import by_submission

JOBS = (
    InputColumn("job_id", "", "name of the job", "text", unique=True),
    InputColumn("submit_time", "s", "time of submission", "number", at_least=0),
    InputColumn("iteration", "", "iterations of the whole job", "number", more_than=0),
    InputColumn("model_name", "", "trained network, with a table of throughputs", "text"),
    InputColumn("ddl", "s", "due date", "number", at_least=0, not_before="submit_time"),
    InputColumn("batch_size", "samples", "global batch size, as the table has it", "integer", at_least=1),
    InputColumn("num_gpu", "", "GPUs that the user asks for", "integer", at_least=1),
    InputColumn("duration", "s", "time on these GPUs", "number", more_than=0),
)  # fmt: skip
SIZES = InputColumn("global_batch_size", "samples", "global batch size", "integer", at_least=1)
WIDTHS = tuple(
    InputColumn(
        str(2**k), "iterations/s", f"speed on {2**k} GPUs", "number",
        required=False, empty=0.0, at_least=0,
    )
    for k in range(11)
)  # fmt: skip


@dataclass(frozen=True)
class WholeSecondTable(TimeTable):
    """Times by GPUs of jobs that end at whole seconds, as in the released simulator."""

    time_unit_s = 1.0
    rounds_up = True


class ElasticflowJobs(Selected):
    """Jobs of a trace in the format of ElasticFlow's simulator, with due dates."""

    kind: Literal["elasticflow"] = "elasticflow"
    path: InputFile = Field(examples=["trace.csv"])
    """trace in the format of ElasticFlow's simulator"""
    throughputs: InputFile | None = Field(default=None, examples=["throughputs"])
    """folder of the tables of iterations/s; left out: throughputs_A100 beside the trace"""
    elastic: bool = True
    """jobs take any number of GPUs of their table; otherwise those of their users"""

    file_keys = ("throughputs",)
    of_machines = True

    def make(self, setting: Setting) -> Workload:
        """The jobs; columns of more GPUs than a node has (128 where the scenario has none) do not count.

        Raises InputError: the first thing wrong with a file, or a job without throughputs.
        """
        nodes = setting.machines
        groups = nodes.groups_by_key().values() if isinstance(nodes, StandingServers) else ()
        most_gpus = max((group.gpus_per_node for group in groups), default=128)
        rows = Table.of_file(self.path, JOBS)
        jobs, notes = rows.readable(lambda table: self._jobs(table, most_gpus), self.skip)
        return self.selected(jobs.noted(*notes))

    def _jobs(self, table: Table, most_gpus: int) -> Workload:
        submit_s = table.numbers("submit_time")
        performance: FixedDuration | TimeTable
        if self.elastic:
            folder = Path(self.throughputs or table.path.parent / "throughputs_A100")
            performance = WholeSecondTable(_times_s(table, folder, most_gpus)[:, None, :])
        else:
            performance = FixedDuration(table.numbers("duration"), table.whole_numbers("num_gpu"))
        ids, due_s = table.texts("job_id"), table.numbers("ddl")
        return by_submission(
            table.path, "submit_time", submit_s, performance, job_id=ids, due_s=due_s
        )

    @property
    def is_fixed(self) -> bool:
        """Always."""
        return True


def _times_s(table: Table, folder: Path, most_gpus: int) -> FloatArray:
    """``(J, G + 1)`` seconds of each job by GPUs."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no folder, expected ElasticFlow's tables MODEL.csv in it")
    names, batch = table.texts("model_name"), table.whole_numbers("batch_size")
    known: dict[str, dict[int, dict[int, float]]] = {}
    found = []
    for row, (name, size) in enumerate(zip(names, batch.tolist(), strict=True)):
        if name not in known:
            file = folder / f"{name}.csv"
            if "/" in name or not file.is_file():
                raise table.error(row, "model_name", f"a network with a table in {folder}")
            known[name] = _speeds(file, most_gpus)
        if size not in known[name]:
            sizes = ", ".join(map(str, known[name]))
            raise table.error(row, "batch_size", f"one of {folder / name}.csv: {sizes}")
        found.append(known[name][size])
    times_s = np.full((len(found), most_gpus + 1), np.inf)
    iterations = table.numbers("iteration")
    for row, speeds in enumerate(found):
        for width, speed in speeds.items():
            times_s[row, width] = iterations[row] / speed
    return times_s


def _speeds(path: Path, most_gpus: int) -> dict[int, dict[int, float]]:
    """Iterations/s by batch size, then by GPUs."""
    table = Table.read(path, (SIZES, *WIDTHS))
    widths = [column.name for column in WIDTHS if int(column.name) <= most_gpus]
    speeds = {int(name): table.numbers(name) for name in widths}
    found = {}
    for row, size in enumerate(table.whole_numbers("global_batch_size").tolist()):
        found[size] = {width: float(each[row]) for width, each in speeds.items() if each[row] > 0}
        if not found[size]:
            raise table.error(
                row, "global_batch_size", f"a speed above 0 on at most {most_gpus} GPUs"
            )
    return found
