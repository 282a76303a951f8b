"""The record of a log: when its jobs started and ended on the cluster that it tells of.

It lies beside the jobs (`Workload.record`), a row a job, and keeps to them where jobs are left out. A run never has it:
`simulator.entry.simulate` takes it away before policies, dispatchers and features see the jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.schema import taken

MONDAY_S = 4 * DAY_S
"""1970 began on a Thursday; its first Monday came so much later."""


def clock(origin_s: float, at_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``(n,)`` hours of the day and days of the week, 0 for Monday; without dates those since time 0.

    Parameters
    ----------
    origin_s : time 0 in s since 1970, on the clocks of the site; NaN: unknown.
    """
    since_s = at_s + (0.0 if np.isnan(origin_s) else origin_s - MONDAY_S)
    return since_s % DAY_S / HOUR_S, since_s // DAY_S % 7


@dataclass(frozen=True)
class Recorded:
    """Runs of ``J`` jobs of a log, in the order of the workload; times on its clock, in s.

    Attributes
    ----------
    submit_s : ``(J,)`` submission, as the log has it.
    recorded_start_s, end_s : ``(J,)`` first start and last end; NaN where the log does not tell them.
    num_gpus : ``(J,)`` GPUs that each job held, parts as well.
    state : how each job ended, in the words of the log; "" where it does not say.
    partition, user : partition, queue or virtual cluster, and owner; "" where unknown.
    origin_s : time 0 in s since 1970, as clocks of the site showed it; NaN where the log has no dates.
    """

    submit_s: FloatArray
    recorded_start_s: FloatArray
    end_s: FloatArray
    num_gpus: FloatArray
    state: Sequence[str]
    partition: Sequence[str]
    user: Sequence[str]
    origin_s: float = np.nan

    def __len__(self) -> int:
        return len(self.submit_s)

    @property
    def has_starts(self) -> bool:
        """Whether the start of some job is known."""
        return bool(np.isfinite(self.recorded_start_s).any())

    @property
    def wait_s(self) -> FloatArray:
        """``(J,)`` from submission to start, s; NaN where the start is not known."""
        return self.recorded_start_s - self.submit_s

    def most_at_once(self) -> tuple[float, float]:
        """The most GPUs that jobs held at once, and from when on they did so first, s.

        A job without an end holds its own until the last time of all.
        """
        known = np.isfinite(self.recorded_start_s)
        if not known.any():
            return 0.0, np.nan
        start_s, end_s, gpus = (
            column[known] for column in (self.recorded_start_s, self.end_s, self.num_gpus)
        )
        last_s = max(np.nanmax(end_s, initial=-np.inf), start_s.max())
        end_s = np.where(np.isnan(end_s), last_s, end_s)
        times_s = np.unique(np.concatenate([start_s, end_s]))
        begin, over = np.searchsorted(times_s, start_s), np.searchsorted(times_s, end_s)
        held = np.bincount(begin, gpus, len(times_s)) - np.bincount(over, gpus, len(times_s))
        in_use = held.cumsum()
        return float(in_use.max()), float(times_s[in_use.argmax()])

    def take(self, jobs: IntArray) -> Recorded:
        """The record of these jobs, in that order."""
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "origin_s"}
        return replace(self, **taken(columns, jobs))
