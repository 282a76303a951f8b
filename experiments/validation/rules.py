"""Rules of a site that its record suggests, as keys of a scenario: hours, limits of users and partitions, times when all stood still.

They are read from the first half of a log alone; `experiments.validation.calibrating` tries them there and judges on the second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.analysis.record_rules import (
    FEW_JOBS,
    LONG_H,
    MOST_NAMES,
    Queue,
    clock_of,
    common_stop,
    steps,
    stops,
)
from experiments.analysis.spans import span
from experiments.config import toml_value
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.recorded import Recorded
from simulator.model.tolerances import SUMS

FEW_TIMES = 8.0
"""So many mean times between starts and ends without one, while jobs wait, and for an hour or more: all stands still."""


MOST_STILL = 50
"""More such times are the rhythm of the log, and no outages."""

FEW_OF_EXPECTED = 0.25
"""Where long jobs start in an hour this rarely, measured by the others, the hour is closed to them."""
FEWEST_HOURS = 3
"""A shorter time of the day is no rule of a site, but chance."""
LEAST_NEW = 0.25
"""Part of the missing starts of longer jobs that rules of shorter ones have to leave unexplained, else they are one rule."""
MOST_OF_WAIT = 0.5
"""Part of the waiting with room during which one more job would be beyond the most GPUs of a user."""


@dataclass(frozen=True)
class Rule:
    """A rule that the record suggests.

    Attributes
    ----------
    words : what the record looks like, a part of a sentence.
    settings : ``KEY=VALUE`` each.
    outages : ``(n, 2)`` from when until when all nodes are down, s; for a file that ``outages.path`` names.
    hours : rules of ``calendar.rules``: seconds beyond which a job asks for, and when it may start.
    """

    words: str
    settings: tuple[str, ...] = ()
    outages: tuple[tuple[float, float], ...] = ()
    hours: tuple[tuple[int, str], ...] = ()


def suggested(
    log: Recorded,
    asked_s: FloatArray,
    total_gpus: float,
    pool: IntArray | None = None,
    pool_gpus: Sequence[float] = (),
) -> list[Rule]:
    """The rules that the record of some jobs suggests.

    Parameters
    ----------
    asked_s : ``(J,)`` times asked for, s; NaN where unknown.
    pool, pool_gpus : parts of the machine, as those of `Queue.of`.
    """
    queue = Queue.of(log, total_gpus, pool, pool_gpus)
    found = [*_calendar(log, asked_s)]
    for by, what, names in (("user", "user", log.user), ("vc", "partition", log.partition)):
        jobs = {stop.name: stop.most for stop in stops(queue, names)}
        common = common_stop(queue, names) if by == "user" else None
        if common is not None:
            words = f"{len(common.names)} users run up to {common.most} jobs at once, and nobody runs more"
            found.append(Rule(words, (f"tenants.by={by}", f"tenants.max_jobs={common.most}")))
        elif jobs:
            listed = ", ".join(f"{name} {most}" for name, most in jobs.items())
            found.append(
                _limit(by, "max_jobs", jobs, f"{_stop(what, jobs)} of running jobs: {listed}")
            )
        gpus = {
            name: most for name, most in _stops_at_gpus(queue, names).items() if name not in jobs
        }
        if gpus:
            listed = ", ".join(f"{name} {most:g}" for name, most in gpus.items())
            found.append(_limit(by, "quota", gpus, f"{_stop(what, gpus)} of GPUs: {listed}"))
    return [*found, *_standing_still(queue)]


def _stop(what: str, limits: Mapping[str, float]) -> str:
    """Users or partitions, or one of them, that never have more of something than a number, a part of a sentence."""
    if len(limits) == 1:
        return f"a {what} waits while enough GPUs are free and never has more than this number"
    return f"{what}s wait while enough GPUs are free and never have more than these numbers"


def _limit(by: str, key: str, limits: Mapping[str, float], words: str) -> Rule:
    return Rule(words, (f"tenants.by={by}", f"tenants.{key}={toml_value(limits)}"))


def _calendar(log: Recorded, asked_s: FloatArray) -> list[Rule]:
    """Hours of weekdays at which jobs that ask for much time hardly start, though others do; the clearest first.

    A limit of time whose missing starts those of lower limits explain mostly has no rule of its own.
    """
    if np.isnan(log.origin_s) or np.isnan(asked_s).all():
        return []
    known = np.isfinite(log.recorded_start_s) & np.isfinite(asked_s)
    hour, day = clock_of(log, np.nan_to_num(log.recorded_start_s))
    explained = np.zeros(24, dtype=np.bool_)
    found: list[tuple[float, Rule]] = []
    for limit_h in LONG_H:
        is_long = known & (asked_s > limit_h * HOUR_S)
        starts, others = (
            np.bincount(hour[rows & (day < 5)], minlength=24)
            for rows in (is_long, known & ~is_long)
        )
        expected = others / max(others.sum(), 1) * starts.sum()
        rows, closes, opens = _closed(starts, expected)
        missing = expected[rows] - starts[rows]
        new = float(missing[~explained[rows]].sum())
        if new < max(FEW_JOBS, LEAST_NEW * missing.sum()):
            continue
        explained[rows] = True
        start = f"mon-fri {opens:02}:00-{closes:02}:00"
        if (is_long & (day >= 5)).sum() > 0.05 * is_long.sum():
            start += ", sat-sun"
        early = (day == 0) & (hour < closes) & (closes < opens)  # after Sunday night
        due = (known & ~is_long & early).sum() / max(others.sum(), 1) * starts.sum()
        if (is_long & early).sum() > FEW_OF_EXPECTED * due:
            start += f", mon 00:00-{closes:02}:00"
        words = f"jobs that ask for more than {limit_h} h hardly start between {closes}:00 and {opens}:00 on weekdays"
        there = float(starts[rows].sum() / expected[rows].sum())
        found.append((there, Rule(words, hours=((limit_h * 3600, start),))))
    return [rule for _, rule in sorted(found, key=lambda each: each[0])]


def _closed(starts: IntArray, expected: FloatArray) -> tuple[IntArray, int, int]:
    """The stretch of hours with the most starts that are due and missing: its hours, the first, and the one after it."""
    rare = (starts <= FEW_OF_EXPECTED * expected) & (starts < expected)
    best = (0.0, 0, 0)
    for begin in np.flatnonzero(rare).tolist():
        length = 0
        while length < 23 and rare[(begin + length) % 24]:
            length += 1
        if length < FEWEST_HOURS:
            continue
        rows = (begin + np.arange(length)) % 24
        best = max(best, (float((expected - starts)[rows].sum()), begin, length))
    _, begin, length = best
    return (begin + np.arange(length)) % 24, begin, (begin + length) % 24


def _stops_at_gpus(queue: Queue, names: Sequence[str]) -> dict[str, float]:
    """Names and the most GPUs of each, of those that wait with room mostly where one more job would be beyond that."""
    of_job = np.array([names[row] for row in queue.jobs.tolist()], dtype=object)
    step_s = queue.step_s
    found: dict[str, float] = {}

    for name, count in Counter(of_job.tolist()).most_common(MOST_NAMES):
        if not name or count < FEW_JOBS:
            continue
        own = of_job == name
        held = queue.gpus[own]
        used = steps(queue.times_s, queue.start_s[own], held) - steps(
            queue.times_s, queue.end_s[own], held
        )
        smallest = np.full(len(queue.times_s), np.inf)
        for size in np.unique(held)[::-1].tolist():
            rows = own & (queue.gpus == size)
            smallest[
                steps(queue.times_s, queue.submit_s[rows])
                > steps(queue.times_s, queue.start_s[rows])
            ] = size
        most = float(used.max())
        waits = smallest <= queue.free + SUMS
        beyond = waits & (used + np.where(waits, smallest, 0) > most + SUMS)
        waited_s = float(step_s[waits].sum())
        if waited_s >= DAY_S and step_s[beyond].sum() >= MOST_OF_WAIT * waited_s:
            found[name] = most
    return found


def _standing_still(queue: Queue) -> Iterator[Rule]:
    """Times in which jobs waited and none started or ended."""
    events = np.unique(np.concatenate([queue.start_s, queue.end_s]))
    gaps_s = np.diff(events)
    if len(gaps_s) < FEW_JOBS:
        return
    begun, come = np.sort(queue.start_s), np.sort(queue.submit_s)
    waiting = np.searchsorted(come, events[:-1], side="right") - np.searchsorted(
        begun, events[:-1], side="right"
    )
    least_s = max(HOUR_S, FEW_TIMES * float(gaps_s.mean()))
    still = np.flatnonzero((gaps_s >= least_s) & (waiting > 0))
    if 1 < len(still) <= MOST_STILL:
        spans = tuple((float(events[k]), float(events[k + 1])) for k in still)
        yield Rule(
            f"{len(still)} times jobs waited and none started or ended, for {span(float(gaps_s[still].max()))} at most",
            outages=spans,
        )
