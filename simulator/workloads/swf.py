"""Standard Workload Format of the Parallel Workloads Archive (Chapin et al. 1999)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.workloads.logs import jobs_that_ran
from simulator.workloads.tables import InputColumn, Table, read_cells

COLUMNS = tuple(
    InputColumn(name, unit, meaning, "number")
    for name, unit, meaning in (
        ("job", "", "number of the job"),
        ("submit", "s", "time of submission"),
        ("wait", "s", "not read"),
        ("run", "s", "time that it ran"),
        ("processors", "", "processors that it held, read as GPUs"),
        ("cpu_time", "s", "not read"),
        ("memory", "KB", "not read"),
        ("requested", "", "processors asked for, where those held are unknown"),
        ("requested_time", "s", "not read"),
        ("requested_memory", "KB", "not read"),
        ("status", "", "not read"),
        ("user", "", "owner"),
        ("group", "", "not read"),
        ("executable", "", "not read"),
        ("queue", "", "virtual cluster"),
        ("partition", "", "not read"),
        ("preceding_job", "", "not read"),
        ("think_time", "s", "not read"),
    )
)
"""The 18 numbers of a line, in order; -1 stands for unknown."""

EXAMPLE = """\
; a comment
1 100 5 60 4 -1 -1 4 60 -1 1 7 1 -1 2 -1 -1 -1
"""


def read_swf(path: str | Path) -> Workload:
    """Jobs of an SWF file, each as long as it ran, on the processors that it held.

    Jobs without processors or without a run are left out and counted in `Workload.notes`. Times
    start with the first job that is kept.

    Raises InputError: the first line that is not 18 numbers, or no job that ran.
    """
    path = Path(path)
    expected = f"{len(COLUMNS)} numbers (SWF)"
    cells, lines = read_cells(path, f"lines of {expected}", separator="\t", quoting=3)
    texts = cells.iloc[:, 0]
    jobs = ~texts.str.startswith(";").to_numpy(dtype=bool)
    rows = [text.split() for text in texts[jobs]]
    for row, line in zip(rows, lines[jobs], strict=True):
        if len(row) != len(COLUMNS):
            raise InputError(f"{path}, line {line}: {' '.join(row)!r}, expected {expected}")
    if not rows:
        raise InputError(f"{path}: no job, expected lines of {expected}")
    import pandas as pd

    frame = pd.DataFrame(rows, columns=[c.name for c in COLUMNS], dtype=object)
    table = Table(path, COLUMNS, frame, lines[jobs])
    values = {c.name: table.numbers(c.name) for c in COLUMNS}
    gpus = np.where(values["processors"] > 0, values["processors"], values["requested"])
    names = [f"{job:.0f}" for job in values["job"]]
    if len(set(names)) < len(names):
        names = [f"{name}.{i}" for i, name in enumerate(names)]
    user, vc = ([f"{v:.0f}" if v >= 0 else "" for v in values[c]] for c in ("user", "queue"))
    return jobs_that_ran(
        path, names, values["submit"], values["run"], gpus.astype(np.int64), user=user, vc=vc
    )
