"""Completion times of the textbooks' orders in rational numbers: no rounding, no tolerance, no engine.

Jobs of fixed demand may lie over nodes, so the GPUs of all nodes together are all that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import groupby, pairwise
from typing import NamedTuple

Rank = Callable[["Job", Fraction], Fraction | tuple[Fraction, Fraction]]
"""From a job and the time that it has left; the least is first, equals by submission."""


class Job(NamedTuple):
    """Times in s; jobs are given in order of submission."""

    submit_s: Fraction
    duration_s: Fraction
    gpus: int
    due_s: Fraction
    weight: Fraction
    priority: Fraction


def completions(
    jobs: Sequence[Job],
    total: int,
    rank: Rank,
    preemptive: bool = False,
    backfill: bool = True,
) -> list[Fraction]:
    """When each job ends, if those of least rank that fit run; without ``backfill``, the first that does not ends the list."""

    def speeds(left: dict[int, Fraction], running: set[int]) -> dict[int, Fraction]:
        keep = set() if preemptive else running
        free = total - sum(jobs[j].gpus for j in keep)
        chosen = dict.fromkeys(keep, Fraction(1))
        for j in sorted(left.keys() - keep, key=lambda j: (rank(jobs[j], left[j]), j)):
            if jobs[j].gpus <= free:
                chosen[j] = Fraction(1)
                free -= jobs[j].gpus
            elif not backfill:
                break
        return chosen

    return _run(jobs, speeds)


def foreground_background(jobs: Sequence[Job], total: int) -> list[Fraction]:
    """When each job ends, if those of least service share the GPUs, each at most at full speed."""

    def speeds(left: dict[int, Fraction], running: set[int]) -> dict[int, Fraction]:
        free, chosen = Fraction(total), {}

        def attained(j: int) -> Fraction:
            return jobs[j].duration_s - left[j]

        for _, alike in groupby(sorted(left, key=attained), attained):
            group = list(alike)
            demand = sum(jobs[j].gpus for j in group)
            share = min(Fraction(1), free / demand)
            chosen |= dict.fromkeys(group, share)
            free -= share * demand
        return chosen

    return _run(jobs, speeds, shared=True)


def _run(
    jobs: Sequence[Job],
    speeds: Callable[[dict[int, Fraction], set[int]], dict[int, Fraction]],
    shared: bool = False,
) -> list[Fraction]:
    """Events one after the other: arrivals, completions, and, where GPUs are shared, jobs that catch up with the next."""
    ends, left, coming, now = [Fraction(0)] * len(jobs), {}, 0, jobs[0].submit_s
    running: set[int] = set()
    while coming < len(jobs) or left:
        while coming < len(jobs) and jobs[coming].submit_s <= now:
            left[coming], coming = jobs[coming].duration_s, coming + 1
        speed = {j: s for j, s in speeds(left, running).items() if s}
        steps = [left[j] / s for j, s in speed.items()]
        steps += [jobs[coming].submit_s - now] if coming < len(jobs) else []
        if shared:
            had = sorted((jobs[j].duration_s - left[j], speed.get(j, Fraction(0))) for j in left)
            steps += [(b - a) / (u - v) for (a, u), (b, v) in pairwise(had) if a < b and u > v]
        step = min(steps)
        now += step
        for j, s in speed.items():
            left[j] -= s * step
            if not left[j]:
                ends[j] = now
                del left[j]
        running = speed.keys() & left.keys()
    return ends
