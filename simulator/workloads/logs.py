"""What readers of job logs have in common: jobs that ran, in order of submission."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload


def jobs_that_ran(
    path: Path,
    names: list[str],
    submit_s: FloatArray,
    duration_s: FloatArray,
    gpus: IntArray,
    *,
    user: list[str],
    vc: list[str],
    run: str = "a run",
    fails_at: Sequence[Sequence[float]] = (),
    outcome: Sequence[str] = (),
) -> Workload:
    """The jobs of a log with a duration and a GPU, from the first submission on; a note on the others.

    Parameters
    ----------
    duration_s : not above 0 where a job did not run.
    user, vc : of each job; "" where it is not known.
    fails_at, outcome : of each job, as in `Workload`; empty where the log does not say it.
    run : what the jobs that are left out did not have, for the note.

    Raises
    ------
    InputError
        No job ran on a GPU.
    """
    keep = (duration_s > 0) & (gpus > 0) & np.isfinite(submit_s)
    if not keep.any():
        raise InputError(f"{path}: no job that ran on a GPU, expected one at least")
    jobs = np.flatnonzero(keep)
    jobs = jobs[np.argsort(submit_s[jobs], kind="stable")]
    left_out = len(names) - len(jobs)
    note = f"{path}: {left_out} jobs without {run} on a GPU, left out"
    return Workload(
        job_id=[names[j] for j in jobs],
        submit_s=submit_s[jobs] - submit_s[jobs[0]],
        performance=FixedDuration(duration_s[jobs], gpus[jobs]),
        num_gpus=gpus[jobs],
        notes=(note,) if left_out else (),
        user=[user[j] for j in jobs],
        vc=[vc[j] for j in jobs],
        fails_at=[fails_at[j] for j in jobs.tolist()] if fails_at else (),
        outcome=[outcome[j] for j in jobs.tolist()] if outcome else (),
    )
