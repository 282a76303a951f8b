"""Admission of elastic jobs: the least share of GPUs that meets each due date (ElasticFlow).

Gu et al., ElasticFlow, ASPLOS 2023, Section 4.1, Algorithm 1 ("progressive filling"), here in continuous
time. Jobs are taken by due date. Each gets the least number of GPUs, its share, with which it is on time: at
every instant as many of them as the jobs before it have left free. What it takes is reserved to its end.
A job that is on time with no share cannot be promised its due date.

A job runs on one node. On several nodes it therefore gets one of a few numbers of GPUs, each a part of the next (as
ElasticFlow's powers of two): these always fit, however many of each there are (`packed`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simulator.model import tolerances
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.ranks import ranked


class Ask(NamedTuple):
    """A job that is to be on time: due date (s from now), job, and seconds left on 0, 1, 2, .. GPUs.

    Seconds are infinite where the job cannot run, as on 0 GPUs. More GPUs may take longer; then fewer are used.
    """

    due_in_s: float
    job: int
    left_s: Sequence[float]


class Piece(NamedTuple):
    """A stretch of time, and the GPUs that a job has in it."""

    begin_s: float
    end_s: float
    gpus: int


class FreeUntil(NamedTuple):
    """GPUs that are free until a time; the next entry begins there, the last never ends."""

    until_s: float
    gpus: int


def packed(gpus_per_node: int, num_nodes: int) -> IntArray:
    """``(G + 1,)`` how many of so many GPUs are kept for a job, so that jobs always fit on the nodes together.

    On one node: all. On several: the node, its half, and so on, as long as they are whole; where a half is not,
    the next part that is. For example, of a node of 6 GPUs: 0, 1, 1, 3, 3, 3, 6.
    """
    numbers = np.arange(gpus_per_node + 1)
    if num_nodes == 1:
        return numbers
    sizes = [gpus_per_node]
    while sizes[-1] > 1:
        least = next(k for k in range(2, sizes[-1] + 1) if sizes[-1] % k == 0)
        sizes.append(sizes[-1] // least)
    return np.array([max((s for s in sizes if s <= g), default=0) for g in numbers.tolist()])


def within(times_s: FloatArray, columns: IntArray) -> FloatArray:
    """``(n, G + 1)`` least seconds of each job on so many GPUs at most, where `packed` numbers are kept.

    Parameters
    ----------
    times_s : ``(n, G + 1)`` seconds on exactly so many GPUs.
    columns : `packed`.
    """
    return np.asarray(np.minimum.accumulate(times_s, axis=1)[:, columns])


def least_shares(asks: Sequence[Ask], total_gpus: int) -> dict[int, list[Piece]] | None:
    """A plan in which every job is on time, each on its least share; None where there is none.

    A job whose due date has passed is work to be done first, as fast as it can be. It counts as no promise.
    """
    plans = shares_in_turn(asks, total_gpus, all_or_none=True)
    return plans if len(plans) == len(asks) else None


def shares_in_turn(
    asks: Sequence[Ask], total_gpus: int, all_or_none: bool = False
) -> dict[int, list[Piece]]:
    """The plan of each job that can be on time beside those before it; a job that cannot has none.

    Parameters
    ----------
    all_or_none : stop at the first job that cannot.
    """
    profile = [FreeUntil(math.inf, total_gpus)]
    plans: dict[int, list[Piece]] = {}
    by_job = sorted(asks, key=lambda a: a.job)
    for i in ranked(range(len(asks)), [a.due_in_s for a in by_job], tolerances.INSTANT_S):
        ask = by_job[i]
        plan = _least(profile, ask, total_gpus)
        if plan is not None:
            plans[ask.job] = plan
            profile = _without(profile, plan)
        elif all_or_none:
            break
    return plans


def _least(profile: Sequence[FreeUntil], ask: Ask, total_gpus: int) -> list[Piece] | None:
    """The plan with the least share that is on time; of a job that is late already, the fastest one."""
    used = _useful(ask.left_s)
    fastest: list[Piece] | None = None
    for share in range(1, min(total_gpus, len(used) - 1) + 1):
        if used[share] != share:
            continue
        plan = _fill(profile, ask.left_s, used, share)
        end_s = plan[-1].end_s
        if ask.due_in_s < 0:
            if fastest is None or end_s < fastest[-1].end_s:
                fastest = plan
        elif end_s - tolerances.SUMS * max(1.0, end_s) <= ask.due_in_s:
            return plan
    return fastest


def _useful(left_s: Sequence[float]) -> list[int]:
    """``(G + 1,)`` how many of so many GPUs a job uses: the fewest on which it is as fast; 0: it cannot run."""
    used = [0] * len(left_s)
    for gpus in range(1, len(left_s)):
        before = used[gpus - 1]
        used[gpus] = gpus if left_s[gpus] < left_s[before] else before
    return used


def _fill(
    profile: Sequence[FreeUntil], left_s: Sequence[float], used: Sequence[int], share: int
) -> list[Piece]:
    """Run a job from now to its end on what is free, up to its share."""
    pieces: list[Piece] = []
    now_s, left = 0.0, 1.0
    for until_s, free in profile:
        gpus = used[min(share, free)]
        if gpus:
            end_s = now_s + left * left_s[gpus]
            pieces.append(Piece(now_s, min(end_s, until_s), gpus))
            if end_s <= until_s:
                break
            left -= (until_s - now_s) / left_s[gpus]
        now_s = until_s
    return pieces


def _without(profile: Sequence[FreeUntil], plan: Sequence[Piece]) -> list[FreeUntil]:
    """Free capacity beside a plan."""
    ends = sorted({f.until_s for f in profile} | {t for p in plan for t in (p.begin_s, p.end_s)})
    left: list[FreeUntil] = []
    i = k = 0
    for end_s in ends:
        if end_s <= 0:
            continue
        while profile[i].until_s < end_s:
            i += 1
        while k < len(plan) and plan[k].end_s < end_s:
            k += 1
        taken = plan[k].gpus if k < len(plan) and plan[k].begin_s < end_s else 0
        free = profile[i].gpus - taken
        if left and left[-1].gpus == free:
            left[-1] = FreeUntil(end_s, free)
        else:
            left.append(FreeUntil(end_s, free))
    return left
