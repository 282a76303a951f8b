"""Agreement of a simulated run with the record of its log, job by job and hour by hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from simulator.metrics.waits import Waits, waits_of, with_room_s
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.statistics import Estimate, Streams, ratio

FEWEST_DAYS = 10
"""With fewer days on which jobs waited, nothing is known of how much the ratio of the means varies from day to day."""


@dataclass(frozen=True)
class Side:
    """Times of ``J`` jobs, in the log or in a simulation.

    Attributes
    ----------
    submit_s, start_s, end_s : ``(J,)`` first start and end, s; NaN where unknown.
    gpus : ``(J,)`` held by each.
    pool : ``(J,)`` part of the machine that each may use; None: there is one.
    """

    submit_s: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    gpus: FloatArray
    pool: IntArray | None = None

    @property
    def wait_s(self) -> FloatArray:
        """``(J,)`` from submission to first start, s."""
        return self.start_s - self.submit_s

    def take(self, jobs: IntArray | npt.NDArray[np.bool_]) -> Side:
        """The same of these jobs."""
        pool = None if self.pool is None else self.pool[jobs]
        return Side(
            self.submit_s[jobs], self.start_s[jobs], self.end_s[jobs], self.gpus[jobs], pool
        )

    def room_s(self, total_gpus: float | Sequence[float]) -> FloatArray:
        """``(J,)`` seconds of each wait during which the GPUs that the job needed were free.

        Parameters
        ----------
        total_gpus : of the machine, or of each pool.
        """
        found = np.full(len(self.gpus), np.nan)
        for number, total in enumerate(np.atleast_1d(total_gpus).tolist()):
            own = (
                np.arange(len(found)) if self.pool is None else np.flatnonzero(self.pool == number)
            )
            side = self.take(own)
            found[own] = with_room_s(side.submit_s, side.start_s, side.end_s, side.gpus, total)
        return found


@dataclass(frozen=True)
class Agreement:
    """A simulation beside the record, on the jobs whose waits both know.

    Attributes
    ----------
    recorded, simulated : summaries of the waits.
    recorded_room, simulated_room : part of all waiting during which the GPUs that the job needed were free; NaN where
        nothing waited.
    ratio : simulated mean over recorded mean, with the interval that resampled days give; infinite ends: too few days.
    waits : rank correlation of the waits (Spearman); NaN where one side does not vary.
    queue, use : correlation over the hours of the mean number of waiting jobs, and of GPUs in use.
    """

    recorded: Waits
    simulated: Waits
    recorded_room: float
    simulated_room: float
    ratio: Estimate
    waits: float
    queue: float
    use: float


def agreement_of(
    recorded: Side,
    simulated: Side,
    total_gpus: float | Sequence[float],
    own: npt.NDArray[np.bool_] | None = None,
) -> Agreement:
    """The agreement of two sides of the same jobs.

    Parameters
    ----------
    total_gpus : of the machine, or of each pool.
    own : ``(J,)`` jobs that it is of; the others hold GPUs all the same. None: all.
    """
    known = np.isfinite(recorded.wait_s) & np.isfinite(simulated.wait_s)
    if own is not None:
        known &= own
    had_room, would_have = (
        _part(side.room_s(total_gpus)[known], side.wait_s[known]) for side in (recorded, simulated)
    )
    one, other = recorded.take(known), simulated.take(known)
    hours = _hours(one, other)
    queues = [_mean_of(hours, s.submit_s, s.start_s, np.ones(len(s.gpus))) for s in (one, other)]
    uses = [_mean_of(hours, s.start_s, s.end_s, s.gpus) for s in (one, other)]
    return Agreement(
        waits_of(one.wait_s), waits_of(other.wait_s), had_room, would_have,
        ratio_of_means(one, other),
        _correlation([scipy.stats.rankdata(s.wait_s) for s in (one, other)]),
        _correlation(queues), _correlation(uses),
    )  # fmt: skip


def ratio_of_means(recorded: Side, simulated: Side) -> Estimate:
    """Simulated mean wait over the recorded one, with its 95 % interval from whole days of submissions.

    NaN where no job waited in the record.
    """
    day = ((recorded.submit_s - recorded.submit_s.min(initial=np.inf)) // DAY_S).astype(np.int64)
    there = np.bincount(day) > 0
    waited, simulates = (np.bincount(day, s.wait_s)[there] for s in (recorded, simulated))
    if not waited.sum():
        return Estimate(np.nan, -np.inf, np.inf, len(waited))
    value = float(simulates.sum() / waited.sum())
    if (waited > 0).sum() < FEWEST_DAYS:
        return Estimate(value, -np.inf, np.inf, len(waited))
    found = ratio(simulates, waited, Streams(0).generator("validation"))
    return replace(found, lower=max(0.0, found.lower))


def hourly(side: Side) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hours since the first submission (their begins), mean number of waiting jobs and of GPUs in use in each."""
    hours = _hours(side)
    queue = _mean_of(hours, side.submit_s, side.start_s, np.ones(len(side.gpus)))
    use = _mean_of(hours, side.start_s, side.end_s, side.gpus)
    return (hours[:-1] - hours[0]) / HOUR_S, queue, use


def _hours(*sides: Side) -> FloatArray:
    """Ends of the hours from the first submission to the last one."""
    if not len(sides[0].submit_s):
        return HOUR_S * np.arange(2, dtype=np.float64)
    first_s = min(float(side.submit_s.min()) for side in sides)
    last_s = max(float(side.submit_s.max()) for side in sides)
    count = int((last_s - first_s) // HOUR_S) + 2
    return np.asarray(first_s + HOUR_S * np.arange(count, dtype=np.float64), dtype=np.float64)


def _mean_of(
    edges: FloatArray, begin_s: FloatArray, end_s: FloatArray, weight: FloatArray
) -> FloatArray:
    """``(H,)`` weight that is there between ``begin_s`` and ``end_s``, averaged over each stretch between edges."""
    known = np.isfinite(begin_s) & np.isfinite(end_s)

    def before(times: FloatArray) -> FloatArray:
        """Weight times the time since, summed over what came before each edge."""
        order = np.argsort(times[known], kind="stable")
        at_s, of = times[known][order], weight[known][order]
        count = np.searchsorted(at_s, edges)
        sums = np.append(0.0, of.cumsum())[count], np.append(0.0, (of * at_s).cumsum())[count]
        return np.asarray(sums[0] * edges - sums[1])

    return np.asarray(np.diff(before(begin_s) - before(end_s)) / np.diff(edges))


def _correlation(both: Sequence[FloatArray]) -> float:
    """Pearson's, of two; NaN where one of them does not vary."""
    one, other = both
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _part(some: FloatArray, whole: FloatArray) -> float:
    total = float(whole.sum())
    return float(some.sum()) / total if total > 0 else float("nan")
