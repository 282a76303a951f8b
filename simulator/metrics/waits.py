"""Waits of jobs, recorded or simulated: their summary, and the part of them that passed while there was room.

wait_s = record.wait_s
waits_of(wait_s).median_s
room_s = with_room_s(record.submit_s, record.recorded_start_s, record.end_s, record.num_gpus, 100)
room_s.sum() / wait_s.sum()
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulator.model.cluster import FloatArray
from simulator.model.tolerances import SUMS

AT_ONCE_S = 60.0
"""A job that waits no longer has started at once: clocks and starting take so long."""


class Waits(NamedTuple):
    """Summary of waits.

    Attributes
    ----------
    count : jobs whose wait is known.
    mean_s, median_s, p95_s : s; NaN where none is known.
    at_once : part of the jobs that wait for at most `AT_ONCE_S`.
    """

    count: int  # type: ignore[assignment]
    mean_s: float
    median_s: float
    p95_s: float
    at_once: float


def waits_of(wait_s: FloatArray) -> Waits:
    """The summary of ``(J,)`` waits; NaN among them are not known and left out."""
    known = wait_s[np.isfinite(wait_s)]
    if not len(known):
        return Waits(0, *(np.nan,) * 4)
    return Waits(
        len(known), float(known.mean()), float(np.median(known)),
        float(np.quantile(known, 0.95)), float((known <= AT_ONCE_S).mean()),
    )  # fmt: skip


def with_room_s(
    submit_s: FloatArray, start_s: FloatArray, end_s: FloatArray, gpus: FloatArray, total: float
) -> FloatArray:
    """``(J,)`` seconds of each job's wait during which as many GPUs were free as it asks for.

    What is free is ``total`` less what the jobs hold that run; on which nodes it is free does not count.

    Parameters
    ----------
    submit_s, start_s, end_s : ``(J,)`` s. A start that is NaN: the wait is not known, the answer NaN, and the job holds
        nothing. An end that is NaN: it runs until the last time of all.
    gpus : ``(J,)`` that each asks for and holds, parts as well.
    total : GPUs of the machine.
    """
    found = np.full(len(submit_s), np.nan)
    ran = np.flatnonzero(np.isfinite(start_s))
    if not len(ran):
        return found
    submit_s, start_s, end_s, gpus = (x[ran] for x in (submit_s, start_s, end_s, gpus))
    known = np.isfinite(end_s)
    times = np.unique(np.concatenate([submit_s, start_s, end_s[known]]))
    begin, over = np.searchsorted(times, start_s), np.searchsorted(times, end_s[known])
    held = np.bincount(begin, gpus, len(times)) - np.bincount(over, gpus[known], len(times))
    free, step_s = total - held.cumsum(), np.diff(times)
    sizes, size = np.unique(gpus, return_inverse=True)
    arrival = np.searchsorted(times, submit_s)
    for k, needed in enumerate(sizes.tolist()):
        room_s = np.append(0.0, ((free[:-1] >= needed - SUMS) * step_s).cumsum())
        own = np.flatnonzero(size == k)
        found[ran[own]] = room_s[begin[own]] - room_s[arrival[own]]
    return found
