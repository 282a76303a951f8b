"""The record of the jobs of a log: asked for, and given to them by readers.

record = recorded(read_jobs("jobs.swf"))
record.wait_s.mean()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.recorded import Recorded
from simulator.model.workload import Workload

CLOCKS_S = 1.0
"""A start so little before the submission is the rounding of clocks: at the submission."""


def recorded(workload: Workload) -> Recorded:
    """The record of the jobs of a log, without those that filters or machines left out.

    Raises
    ------
    InputError
        The jobs come from no log, or it tells no start.
    """
    if workload.record is None or not workload.record.has_starts:
        raise InputError(
            "workload: no job has a recorded start, expected a log that tells when jobs started"
        )
    return workload.record


def recorded_by(
    jobs: Workload,
    start_s: FloatArray,
    end_s: FloatArray,
    num_gpus: FloatArray | None = None,
    state: Sequence[str] = (),
    origin_s: float = np.nan,
) -> Workload:
    """The jobs with the record of their log; without one where it tells neither starts nor ends of jobs nor dates.

    Parameters
    ----------
    start_s, end_s : ``(J,)`` on the clock of ``submit_s``; NaN: not known. A start before the submission is a
        mistake of the log, and is not known either.
    num_gpus : ``(J,)`` GPUs that they held; None: those that they ask for.
    state, origin_s : as those of `Recorded`.
    """
    start_s = np.where(start_s < jobs.submit_s - CLOCKS_S, np.nan, start_s)
    if np.isnan(start_s).all() and not any(state) and np.isnan(origin_s):
        return jobs
    held = np.asarray(jobs.num_gpus if num_gpus is None else num_gpus, dtype=np.float64)
    record = Recorded(
        jobs.submit_s, np.maximum(start_s, jobs.submit_s), end_s, held,
        state or ("",) * len(jobs), jobs.vc, jobs.user, origin_s,
    )  # fmt: skip
    return replace(jobs, record=record)
