"""Standard Workload Format of the Parallel Workloads Archive, and the log of Helios.

A line of an SWF file has 18 numbers: job, submit, wait, run time, processors, .. requested processors
(8th), .. user (12th), group, executable, queue (15th), ..; -1 stands for unknown, ``;`` begins a
comment (Chapin et al. 1999). Processors are read as GPUs.

Helios (Hu et al., SC 2021) is a CSV file: ``job_id,user,vc,gpu_num,..,submit_time,..,duration``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.workloads.logs import jobs_that_ran
from simulator.workloads.tables import Table, read_cells

FIELDS = 18
SUBMIT, RUN, PROCESSORS, REQUESTED, USER, QUEUE = 1, 3, 4, 7, 11, 14
HELIOS = ("job_id", "user", "vc", "gpu_num", "submit_time", "duration")


def read_swf(path: str | Path) -> Workload:
    """Jobs of an SWF file, each as long as it ran, on the processors that it held.

    Where those are unknown, the processors asked for count. Jobs without processors or without a run
    are left out and counted in `Workload.notes`. Times start with the first job that is kept. Queues
    become virtual clusters.

    Raises
    ------
    InputError
        The first line that is not 18 numbers, or no job that ran.
    """
    path = Path(path)
    cells, lines = read_cells(path, "lines of 18 numbers (SWF)", separator="\t", quoting=3)
    rows: list[list[float]] = []
    for text, line in zip(cells.iloc[:, 0].tolist(), lines.tolist(), strict=True):
        if text.startswith(";"):
            continue
        fields = text.split()
        try:
            row = [float(field) for field in fields]
        except ValueError:
            row = []
        if len(row) != FIELDS or not np.isfinite(row).all():
            raise InputError(f"{path}, line {line}: {text!r}, expected {FIELDS} numbers (SWF)")
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: no job, expected lines of {FIELDS} numbers (SWF)")
    table = np.array(rows)
    held, asked = table[:, PROCESSORS], table[:, REQUESTED]
    gpus = np.where(held > 0, held, asked).astype(np.int64)
    names = [f"{job:.0f}" for job in table[:, 0]]
    if len(set(names)) < len(names):
        names = [f"{name}.{i}" for i, name in enumerate(names)]
    user, vc = ([f"{v:.0f}" if v >= 0 else "" for v in table[:, c]] for c in (USER, QUEUE))
    return jobs_that_ran(path, names, table[:, SUBMIT], table[:, RUN], gpus, user=user, vc=vc)


def read_helios(path: str | Path) -> Workload:
    """Jobs of Helios with GPUs that ran; the others are left out and counted in `Workload.notes`.

    Raises
    ------
    InputError
        The first thing wrong with the file: line, column, value, what was expected.
    """
    table = Table.read(path, HELIOS)
    gpus = table.whole_numbers("gpu_num", at_least=0)
    duration_s = table.numbers("duration", at_least=0, empty=0.0)
    texts = table.frame["submit_time"]
    # pandas takes "3600" for a year and "now" for a time, and cannot subtract what is so far away.
    shaped = texts.where(
        texts.str.fullmatch(r"(19|20|21)\d\d-[\dTZ:. +-]+").fillna(False).astype(bool)
    )
    parsed = pd.to_datetime(shaped, errors="coerce", format="ISO8601", utc=True)
    table.require("submit_time", parsed.notna().to_numpy(dtype=bool), "a date and time")
    submit_s = np.asarray((parsed - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1))
    names = table.texts("job_id", unique=True)
    user, vc = (list(table.frame[name]) for name in ("user", "vc"))
    return jobs_that_ran(Path(path), names, submit_s, duration_s, gpus, user=user, vc=vc)
