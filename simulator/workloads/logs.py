"""Jobs of a table in order of submission, whatever the order of its rows; those of a log that ran."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulator.columns import taken
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import FixedDuration, JobTimes
from simulator.model.workload import Workload


def jobs_that_ran(
    path: Path,
    names: list[str],
    submit_s: FloatArray,
    duration_s: FloatArray,
    gpus: IntArray,
    *,
    what: str = "job",
    run: str = "a run",
    **columns: Sequence[Any] | FloatArray,
) -> Workload:
    """The jobs of a log with a duration and a GPU, from the first submission on; a note on the others.

    Parameters
    ----------
    duration_s : not above 0, or not a number, where a job did not run.
    what, run : words for a job, and for what the jobs that are left out did not have.
    columns : further columns of `Workload`, a value a job; empty where the log lacks them.

    Raises InputError: no job ran on a GPU.
    """
    keep = (duration_s > 0) & (gpus > 0) & np.isfinite(submit_s)
    if not keep.any():
        raise InputError(f"{path}: no {what} that ran on a GPU, expected one at least")
    jobs = np.flatnonzero(keep)
    jobs = jobs[np.argsort(submit_s[jobs], kind="stable")]
    left_out = len(names) - len(jobs)
    note = f"{path}: {left_out} {what}s without {run} on a GPU, left out"
    return Workload(
        submit_s=submit_s[jobs] - submit_s[jobs[0]],
        performance=FixedDuration(duration_s[jobs], gpus[jobs]),
        notes=(note,) if left_out else (),
        **taken({"job_id": names, **columns}, jobs),
    )


def by_submission(
    path: Path,
    key: str,
    submit_s: FloatArray,
    performance: JobTimes,
    notes: Sequence[str] = (),
    **columns: Sequence[Any] | FloatArray | IntArray,
) -> Workload:
    """The jobs of a table, with a note where its rows were in another order.

    Parameters
    ----------
    key : the table's name of the time of submission.
    columns : further columns of `Workload`, a value a row.
    """
    order = np.argsort(submit_s, kind="stable")
    if late := int(np.sum(np.diff(submit_s) < 0)):
        notes = (*notes, f"{path}: {late} rows before an earlier one, sorted by {key}")
    return Workload(
        submit_s=submit_s[order],
        performance=performance.take(order),
        notes=tuple(notes),
        **taken(columns, order),
    )
