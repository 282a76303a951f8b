"""Jobs of a log that ran, in order of submission."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

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

    Raises
    ------
    InputError
        No job ran on a GPU.
    """
    keep = (duration_s > 0) & (gpus > 0) & np.isfinite(submit_s)
    if not keep.any():
        raise InputError(f"{path}: no {what} that ran on a GPU, expected one at least")
    jobs = np.flatnonzero(keep)
    jobs = jobs[np.argsort(submit_s[jobs], kind="stable")]
    left_out = len(names) - len(jobs)
    note = f"{path}: {left_out} {what}s without {run} on a GPU, left out"
    given: dict[str, Any] = {
        name: [values[j] for j in jobs.tolist()] for name, values in columns.items() if len(values)
    }
    return Workload(
        job_id=[names[j] for j in jobs],
        submit_s=submit_s[jobs] - submit_s[jobs[0]],
        performance=FixedDuration(duration_s[jobs], gpus[jobs]),
        num_gpus=gpus[jobs],
        notes=(note,) if left_out else (),
        **given,
    )
