"""Jobs from a plain CSV file.

    job_id,submit_time_s,duration_s,num_gpus[,num_cpus,memory_gb,model,due_s,tardiness_weight_per_h,
                                         user,vc]

A job needs ``num_gpus`` GPUs, all at once and wherever they are, for ``duration_s`` seconds. CPUs
and memory are for the whole job; an empty field means none. ``due_s`` is a time on the clock of
``submit_time_s``, not a span after it; empty: no due date. The tardiness weight is money per hour.
With a ``model`` column the names go to `Workload.model`, where a sensitivity model finds them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.model.performance import FixedDuration
from simulator.model.workload import LATEST_S, Workload
from simulator.workloads.tables import Table

REQUIRED = ("job_id", "submit_time_s", "duration_s", "num_gpus")
OPTIONAL = ("num_cpus", "memory_gb", "model", "due_s", "tardiness_weight_per_h", "user", "vc")


def read_csv_jobs(path: str | Path) -> Workload:
    """Read jobs of fixed demand; rows that are not in order of submission are sorted, with a note.

    Raises
    ------
    InputError
        The first thing wrong with the file: one line with file, line, column, value and what was
        expected.
    """
    table = Table.read(path, REQUIRED, OPTIONAL)
    return workload_of(table)


def workload_of(table: Table, notes: tuple[str, ...] = ()) -> Workload:
    """The workload of a table with the columns of this format."""
    names = table.texts("job_id", unique=True)
    submit_s = table.numbers("submit_time_s", at_least=0, below=LATEST_S)
    duration_s = table.numbers("duration_s", more_than=0, below=LATEST_S)
    gpus = table.whole_numbers("num_gpus", at_least=1)
    due_s = table.numbers("due_s", at_least=0, empty=np.inf)
    if "due_s" in table:
        table.require("due_s", due_s >= submit_s, "a time not before submit_time_s")
    weight = table.numbers("tardiness_weight_per_h", at_least=0, empty=0.0) / SECONDS_PER_HOUR
    model = list(table.frame["model"]) if "model" in table else [""] * len(table)
    named = {name: list(table.frame[name]) for name in ("user", "vc") if name in table}
    if "vc" not in named and "virtual_cluster" in table:
        named["vc"] = list(table.frame["virtual_cluster"])
    order = np.argsort(submit_s, kind="stable")
    late = int(np.sum(np.diff(submit_s) < 0))
    if late:
        notes += (f"{table.path}: {late} rows before an earlier one, sorted by submit_time_s",)
    if table.ignored:
        notes += (f"{table.path}: columns not used: {', '.join(table.ignored)}",)
    return Workload(
        job_id=[names[j] for j in order],
        submit_s=submit_s[order],
        performance=FixedDuration(duration_s[order], gpus[order]),
        num_gpus=gpus[order],
        num_cpus=table.numbers("num_cpus", at_least=0, empty=np.nan)[order],
        memory_gb=table.numbers("memory_gb", at_least=0, empty=np.nan)[order],
        due_s=due_s[order],
        weight_per_s=weight[order],
        model=[str(model[j]) for j in order],
        notes=notes,
        user=[str(named["user"][j]) for j in order] if "user" in named else (),
        vc=[str(named["vc"][j]) for j in order] if "vc" in named else (),
    )
