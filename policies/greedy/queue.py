"""The jobs of a decision in order of pressure, and what each would accept (compiled).

A job's candidates (configurations, costs, probabilities) are worked out at its first visit in a
decision and serve all iterations. Small tables with named columns stand for records.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policies.greedy.problem import (
    FAMILY,
    GPUS,
    NEVER,
    OPENS_AS,
    PAPER,
    Jobs,
    NodeChoices,
    Settings,
    TimeProfile,
)
from policies.solving.compiling import compiled
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import INSTANT_S

REMAINING, DUE, WEIGHT, POSTPONED, SWAP = 0, 1, 2, 3, 4
"""Columns of a queued job: `Queue.jobs`."""
CUMULATIVE, LEADER, GAIN = 0, 1, 2
"""Columns of a candidate: `Queue.candidates`."""
COUNT, ON_TIME, FEWEST = 0, 1, 2
"""Columns of `Queue.known`; from `FEWEST` on there is one a family."""
UNKNOWN = -1


class PressureQueue(NamedTuple):
    """The jobs of a decision in order of pressure, and their restricted candidate lists.

    Attributes
    ----------
    place : ``(n,)`` the job's place in `Jobs`.
    row : ``(n,)`` its row of the profile.
    jobs : ``(n, 5)`` remaining fraction, due in (s), weight, its part of the objective when it is
        postponed, its chance to lose its turn to the next in the queue.
    configs : ``(n, K)`` candidate configurations.
    candidates : ``(n, K, 3)`` of each: probability up to it, what the job costs if it leads a
        node so, and what placing it so changes in the jobs' part of the objective.
    known : ``(n, 2 + F)`` how many candidates, how many configurations meet the due date, the
        fewest GPUs of each family that the job accepts; `UNKNOWN` until its first visit.
    """

    place: IntArray
    row: IntArray
    jobs: FloatArray
    configs: IntArray
    candidates: FloatArray
    known: IntArray


def pressure_order(jobs: Jobs, profile: TimeProfile, weigh_late: int = 0) -> IntArray:
    """``(n,)`` the jobs by pressure (equation 3.1), most pressed first, equals by arrival.

    ``weigh_late``: a pressure above zero, of a job that is late already, counts times its weight
    (the released program of ANDREAS).
    """
    slack = jobs.due_in_s - jobs.remaining * profile.lead_s[jobs.row]
    if weigh_late:
        np.multiply(slack, jobs.weight_per_s, out=slack, where=slack < 0)
    return np.argsort(slack, kind="stable")


def make_queue(order: IntArray, m: NodeChoices, s: Settings, random: bool) -> PressureQueue:
    """Room for the jobs in the order of `pressure_order`, and for their candidates.

    The pure greedy looks at the first candidate alone, and memory that is not touched costs none.
    """
    n = len(order)
    width = max(1, math.ceil(s.candidate_share * len(m.configs))) if random else 1
    return PressureQueue(
        order,
        np.empty(n, np.int64),
        np.empty((n, 5)),
        np.empty((n, width), np.int64),
        np.empty((n, width, 3)),
        np.empty((n, FEWEST + len(m.families)), np.int64),
    )


@compiled
def fill_queue(queue: PressureQueue, jobs: Jobs, profile: TimeProfile, s: Settings) -> None:
    """The jobs' numbers in the order of the queue; nothing is known of their candidates."""
    order, row, table, _, _, known = queue
    rows, remaining, due_in, weight = jobs
    lowest = np.inf
    for i in range(len(order)):
        j = order[i]
        k = rows[j]
        row[i] = k
        table[i, REMAINING], table[i, DUE], table[i, WEIGHT] = remaining[j], due_in[j], weight[j]
        slowest = remaining[j] * profile.slowest_s[k]
        late = s.rho * max(0.0, s.horizon_s + slowest - due_in[j])
        if s.objective == PAPER:
            late += max(0.0, -due_in[j])
        table[i, POSTPONED] = weight[j] * late
        if 0.0 < weight[j] < lowest:
            lowest = weight[j]
    for i in range(len(order)):
        w = table[i, WEIGHT]
        table[i, SWAP] = s.swap_scale * (lowest / w if w > 0.0 else 1.0)
        for column in range(known.shape[1]):
            known[i, column] = UNKNOWN


@compiled
def find_candidates(
    i: int, random: bool, queue: PressureQueue, profile: TimeProfile, m: NodeChoices, s: Settings
) -> int:
    """Work out a job's restricted candidate list; returns how many candidates it has.

    The configurations that meet the due date by cost; where none does, all by time. The pure
    greedy (``random=False``) needs the first alone, and the rest is left for later.
    """
    k, jobs, candidates = queue.row[i], queue.jobs, queue.candidates
    rem, due = jobs[i, REMAINING], jobs[i, DUE]
    total = profile.num_configs[k]
    times, costs = profile.cost_time_s, profile.cost
    on_time, first = 0, 0
    for c in range(total):
        if rem * times[k, c] <= due + INSTANT_S:
            if on_time == 0:
                first = c
            on_time += 1
            if not random:
                break
    wanted = on_time if on_time > 0 else total
    size = min(wanted, max(1, int(np.ceil(s.candidate_share * wanted))) if random else 1)
    found, best, so_far = 0, 0.0, 0.0
    for c in range(first, total):
        if found == size:
            break
        config = profile.by_cost[k, c] if on_time > 0 else profile.by_time[k, c]
        f, g = m.configs[config, FAMILY], m.configs[config, GPUS]
        v = m.families[f, OPENS_AS]
        if on_time > 0 and rem * times[k, c] > due + INSTANT_S:
            continue
        time = rem * profile.times_s[k, v, g]
        value = rem * costs[k, c] if on_time > 0 else time
        if found == 0:
            best = value
        so_far += 1.0 if s.pick == 1 or best <= 0.0 else best / value
        queue.configs[i, found] = config
        candidates[i, found, CUMULATIVE] = so_far
        candidates[i, found, LEADER] = m.price_per_s[v, g] * time
        candidates[i, found, GAIN] = jobs[i, WEIGHT] * max(0.0, time - due) - jobs[i, POSTPONED]
        found += 1
    for c in range(found):
        candidates[i, c, CUMULATIVE] /= so_far
    queue.known[i, ON_TIME] = on_time
    if random:
        queue.known[i, COUNT] = found
    return found


@compiled
def find_fewest(
    i: int, queue: PressureQueue, profile: TimeProfile, m: NodeChoices, s: Settings
) -> None:
    """Work out the fewest GPUs of each family that a job accepts."""
    k, known = queue.row[i], queue.known
    rem, due = queue.jobs[i, REMAINING], queue.jobs[i, DUE] + INSTANT_S
    for f in range(len(m.families)):
        known[i, FEWEST + f] = profile.fewest[k, f] if s.fall_back else NEVER
    for c in range(0 if s.fall_back else profile.num_configs[k]):
        if rem * profile.cost_time_s[k, c] <= due:
            config = profile.by_cost[k, c]
            f, g = FEWEST + m.configs[config, FAMILY], m.configs[config, GPUS]
            known[i, f] = min(known[i, f], g)


@compiled
def all_postponed(queue: PressureQueue) -> float:
    """The jobs' part of the objective if all of them wait."""
    base = 0.0
    for i in range(len(queue.row)):
        base += queue.jobs[i, POSTPONED]
    return base
