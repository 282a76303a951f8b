"""A solution under construction, and where a configuration fits in it (compiled).

Open nodes lie in buckets by family and free GPUs, so the fullest node that fits is found in at
most G steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policies.greedy.chance import uniform
from policies.greedy.problem import (
    FAMILY,
    GPUS,
    LIMIT,
    SIZE,
    NodeChoices,
    Settings,
    TimeProfile,
)
from policies.greedy.queue import DUE, FEWEST, REMAINING, PressureQueue
from policies.solving.compiling import compiled
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import INSTANT_S

TYPE, FREE, HOSTED = 0, 1, 2
"""Columns of a node: `Plan.nodes`."""
MOST_FREE, OPENED = 0, 1
"""Columns of a family: `Plan.families`."""


class PartialSolution(NamedTuple):
    """A solution under construction.

    Attributes
    ----------
    nodes : ``(N, 3)`` type, free GPUs, jobs hosted; in opening order.
    leading : ``(N,)`` cost of the cheapest job to finish, which counts for the node.
    hosted, gpus : ``(N, G)`` the jobs (queue positions) and their GPUs.
    bucket : ``(F, G + 1, N)`` nodes of a family by free GPUs, ``in_bucket`` ``(F, G + 1)`` many,
        in opening order.
    families : ``(F, 2)`` the most free GPUs of an open node; how many nodes are open.
    """

    nodes: IntArray
    leading: FloatArray
    hosted: IntArray
    gpus: IntArray
    bucket: IntArray
    in_bucket: IntArray
    families: IntArray


def make_plan(num_jobs: int, m: NodeChoices) -> PartialSolution:
    """Room for a solution."""
    nodes, families = min(m.num_nodes, num_jobs), len(m.families)
    most = m.price_per_s.shape[1] - 1
    return PartialSolution(
        np.empty((nodes, 3), np.int64),
        np.empty(nodes),
        np.empty((nodes, most), np.int64),
        np.empty((nodes, most), np.int64),
        np.empty((families, most + 1, nodes), np.int64),
        np.zeros((families, most + 1), np.int64),
        np.zeros((families, 2), np.int64),
    )


def inverse_table(most: int, rule: int) -> FloatArray:
    """Weight of a node by the GPUs that it is left with: 1 / (1 + idle), or 1 throughout."""
    return 1.0 / np.arange(1.0, most + 2) if rule == 0 else np.ones(most + 1)


@compiled
def put(node: int, f: int, free: int, in_bucket: IntArray, bucket: IntArray) -> None:
    """Insertion of a node into the bucket of its free GPUs, in opening order."""
    at = in_bucket[f, free]
    while at > 0 and bucket[f, free, at - 1] > node:
        bucket[f, free, at] = bucket[f, free, at - 1]
        at -= 1
    bucket[f, free, at] = node
    in_bucket[f, free] += 1


@compiled
def take(node: int, f: int, free: int, in_bucket: IntArray, bucket: IntArray) -> None:
    """Removal of a node from the bucket of its free GPUs."""
    left = in_bucket[f, free] - 1
    in_bucket[f, free] = left
    at = 0
    while bucket[f, free, at] != node:
        at += 1
    while at < left:
        bucket[f, free, at] = bucket[f, free, at + 1]
        at += 1


@compiled
def fullest_node(f: int, g: int, in_bucket: IntArray, bucket: IntArray) -> int:
    """Best fit: the node that is left with the fewest idle GPUs; of equals the first opened."""
    while in_bucket[f, g] == 0:
        g += 1
    return int(bucket[f, g, 0])


@compiled
def one_of_the_fullest(
    f: int, g: int, most: int, share: float, in_bucket: IntArray, bucket: IntArray,
    inverse: FloatArray, state: Any,
) -> int:  # fmt: skip
    """One of the fullest share of the nodes that fit, by the chance that ``inverse`` gives.

    ``inverse`` is by the idle GPUs that the node is left with.
    """
    fitting = 0
    for free in range(g, most + 1):
        fitting += in_bucket[f, free]
    left = max(1, int(np.ceil(share * fitting)))
    if left == 1:
        return fullest_node(f, g, in_bucket, bucket)
    total, last, rest = 0.0, g, left
    for free in range(g, most + 1):
        here = min(in_bucket[f, free], rest)
        total += here * inverse[free - g]
        rest -= here
        if rest == 0:
            last = free
            break
    draw = uniform(state) * total
    for free in range(g, last):
        here, weight = in_bucket[f, free], inverse[free - g]
        left -= here
        if draw < here * weight:
            return int(bucket[f, free, min(int(draw / weight), here - 1)])
        draw -= here * weight
    return int(bucket[f, last, min(int(draw / inverse[last - g]), left - 1)])


@compiled
def first_node(f: int, g: int, num_open: int, nodes: IntArray, family_of: IntArray) -> int:
    """First fit: the node that opened first among those with room."""
    for node in range(num_open):
        if family_of[nodes[node, TYPE]] == f and nodes[node, FREE] >= g:
            return node
    return -1


@compiled
def room(f: int, may_open: bool, families: IntArray, limits: IntArray) -> int:
    """The most GPUs that one node of a family can give now, opening one if that is possible."""
    if may_open and families[f, OPENED] < limits[f, LIMIT]:
        return int(limits[f, SIZE])
    return int(families[f, MOST_FREE])


@compiled
def fits_somewhere(
    i: int, may_open: bool, known: IntArray, families: IntArray, limits: IntArray
) -> bool:
    """True where any family has room for the fewest GPUs that a job accepts of it."""
    for f in range(len(limits)):
        if known[i, FEWEST + f] <= room(f, may_open, families, limits):
            return True
    return False


@compiled
def suboptimal(
    k: int, rem: float, due: float, some_on_time: bool, fall_back: int, may_open: bool,
    times: FloatArray, by_cost: Any, by_time: Any, total: int, configs: IntArray,
    families: IntArray, limits: IntArray,
) -> int:  # fmt: skip
    """The best configuration that fits somewhere; -1 where none does.

    Those that meet the due date by cost; then, with ``fall_back``, all by time.
    """
    if some_on_time:
        for c in range(total):
            config = int(by_cost[k, c])
            fits = configs[config, GPUS] <= room(
                configs[config, FAMILY], may_open, families, limits
            )
            if fits and rem * times[k, c] <= due + INSTANT_S:
                return config
    if fall_back:
        for c in range(total):
            config = int(by_time[k, c])
            if configs[config, GPUS] <= room(configs[config, FAMILY], may_open, families, limits):
                return config
    return -1


@compiled
def suboptimal_on_first_node(
    i: int,
    num_open: int,
    queue: PressureQueue,
    profile: TimeProfile,
    nodes: IntArray,
    m: NodeChoices,
    s: Settings,
) -> tuple[int, int]:
    """The first open node with room, and the job's best configuration there; -1, -1 if none."""
    k, configs = queue.row[i], m.configs
    rem, due = queue.jobs[i, REMAINING], queue.jobs[i, DUE] + INSTANT_S
    for node in range(num_open):
        free = nodes[node, FREE]
        family = m.family_of[nodes[node, TYPE]]
        for c in range(profile.num_configs[k] if free > 0 else 0):
            config = int(profile.by_cost[k, c])
            fits = configs[config, FAMILY] == family and configs[config, GPUS] <= free
            if fits and rem * profile.cost_time_s[k, c] <= due:
                return node, config
        for c in range(profile.num_configs[k] if free > 0 and s.fall_back else 0):
            config = int(profile.by_time[k, c])
            if configs[config, FAMILY] == family and configs[config, GPUS] <= free:
                return node, config
    return -1, -1
