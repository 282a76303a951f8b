"""One job into a schedule whose other jobs stay as they are: its cheapest way through, compiled.

Between two events of the schedule, a start or an end, nothing changes: a configuration k costs a
job what the node that takes it costs more a second, r_ik, at the best node. Within an interval the
job's cost over its speed is the lower hull of the points (1/t_k, r_ik) and (0, 0). If the job ends in
interval e, it has done its work at least cost when it has taken the flattest pieces of the hulls up to e;
past its due date every second in e costs its weight beside. The best e is the job's best plan:
preempted, moved and resized at will.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from simulator.model.cluster import FloatArray, IntArray

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    return cast(
        F, njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    )


def grid_of(submit: float, due: float, start: FloatArray, end: FloatArray, tail: float) -> Any:
    """Instants from a submission on at which something changes, and one after them all."""
    own = [value for value in (submit, due) if submit <= value < 1e11]
    others = np.concatenate((start, end))
    grid = np.unique(np.concatenate((own, others[others > submit])))
    return np.append(grid, grid[-1] + tail)


@_compiled
def states_of(grid: FloatArray, segments: FloatArray, fixed: IntArray) -> Any:
    """``(I, N)`` GPUs in use and type, -1 while a node is closed, in each interval."""
    used = np.zeros((len(grid) - 1, len(fixed)), dtype=np.int64)
    kind = np.empty((len(grid) - 1, len(fixed)), dtype=np.int64)
    for i in range(len(grid) - 1):
        for n in range(len(fixed)):
            kind[i, n] = fixed[n]
    for s in range(len(segments)):
        n = int(segments[s, 1])
        for i in range(len(grid) - 1):
            if segments[s, 4] <= grid[i] < segments[s, 5]:
                used[i, n] += int(segments[s, 3])
                kind[i, n] = int(segments[s, 2])
    return used, kind


@_compiled
def rates_of(
    used: IntArray, kind: IntArray, config: IntArray, gpus: IntArray, price: FloatArray, hope: float,
    rate: FloatArray, node: IntArray,
) -> None:  # fmt: skip
    """``(K,)`` what a second of each configuration adds to the cost, infinite where none fits, to ``rate``,
    and on which node, to ``node``; ``(N,)`` used and kind. A job that opens a node pays for it, in part
    (hope) as if others were to share it."""
    for k in range(len(config)):
        rate[k], node[k] = np.inf, -1
        v, g = config[k, 0], config[k, 1]
        for n in range(len(kind)):
            if kind[n] >= 0 and (kind[n] != v or used[n] + g > gpus[v]):
                continue
            before = price[v, used[n]] if used[n] or kind[n] >= 0 else 0.0
            more = price[v, used[n] + g] - before
            if kind[n] < 0:
                more *= 1.0 - hope * (1.0 - g / gpus[v])
            if more < rate[k]:
                rate[k], node[k] = more, n


@_compiled
def hull_of(speed: FloatArray, rate: FloatArray, beside: float) -> Any:
    """Vertices of the lower hull from (0, 0) on, each with the slope of the piece that ends there."""
    vertices, slopes = np.empty(len(speed), dtype=np.int64), np.empty(len(speed))
    count, at, cost = 0, 0.0, 0.0
    while True:
        best, flattest = -1, np.inf
        for k in range(len(speed)):
            if speed[k] > at * (1 + 1e-12) and rate[k] < np.inf:
                slope = (rate[k] + beside - cost) / (speed[k] - at)
                if slope < flattest or (slope == flattest and speed[k] > speed[best]):
                    best, flattest = k, slope
        if best < 0:
            return vertices[:count], slopes[:count]
        vertices[count], slopes[count] = best, flattest
        count, at, cost = count + 1, speed[best], rate[best] + beside


@_compiled
def fill(
    slope: FloatArray, work: FloatArray, owner: IntArray, order: IntArray,
    slopes: FloatArray, works: FloatArray, limit: int, level: IntArray,
) -> Any:  # fmt: skip
    """Least cost of one unit of work from pieces in the order of their slopes, those of the last
    interval in a list of their own; ``level`` counts the pieces taken of each interval.

    Returns the cost (infinite where there is too little work), the interval of the piece that is taken
    in part, and the part.
    """
    left, cost, a, b = 1.0, 0.0, 0, 0
    while True:
        while a < len(order) and owner[order[a]] >= limit:
            a += 1
        own = b < len(slopes) and (a >= len(order) or slopes[b] < slope[order[a]])
        if not own and a >= len(order):
            return np.inf, -1, 0.0
        piece = works[b] if own else work[order[a]]
        tilt = slopes[b] if own else slope[order[a]]
        i = limit if own else owner[order[a]]
        level[i] += 1
        if piece >= left:
            return cost + tilt * left, i, left / piece
        left, cost = left - piece, cost + tilt * piece
        if own:
            b += 1
        else:
            a += 1


def insert(
    job: int, submit: float, due: float, weight: float, speed: FloatArray, config: IntArray,
    segments: FloatArray, fixed: IntArray, gpus: IntArray, price: FloatArray, hope: float,
) -> Any:  # fmt: skip
    """The cheapest way of a job through a schedule.

    Parameters
    ----------
    speed, config : ``(K,)`` part of the job a second, ``(K, 2)`` type and GPUs.
    segments : ``(S, 6)`` job, node, type, GPUs, start and end of all other jobs' stretches.
    fixed : ``(N,)`` type of each node, -1 where it can have any.
    gpus, price : ``(V,)`` of a type; ``(V, G + 1)`` of a node, a second, by GPUs in use.
    hope : 0 where a job that opens a node pays all of it, 1 where it pays its share.

    Returns ``(S', 6)`` the job's stretches, and what it adds to the cost.
    """
    grid = grid_of(submit, due, segments[:, 4], segments[:, 5], 1.0 / speed.min())
    return _insert(job, due, weight, speed, config, grid, segments, fixed, gpus, price, hope)


@_compiled
def _insert(
    job: int, due: float, weight: float, speed: FloatArray, config: IntArray, grid: FloatArray,
    segments: FloatArray, fixed: IntArray, gpus: IntArray, price: FloatArray, hope: float,
) -> Any:  # fmt: skip
    """`insert` along a grid of instants."""
    used, kind = states_of(grid, segments, fixed)
    intervals, configs = len(grid) - 1, len(speed)
    rate = np.empty(configs)
    node = np.empty((intervals, configs), dtype=np.int64)
    vertex = np.empty((intervals, configs), dtype=np.int64)
    last_vertex = np.empty(configs, dtype=np.int64)
    size = intervals * configs
    slope, work = np.empty(size), np.empty(size)
    owner, order = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    count, best, best_end, best_part, best_in = 0, np.inf, -1, 0.0, -1
    best_level = np.zeros(intervals, dtype=np.int64)
    level = np.zeros(intervals, dtype=np.int64)
    for e in range(intervals):
        late = weight * max(grid[e] - due, 0.0)
        if late >= best:
            break
        length = grid[e + 1] - grid[e]
        rates_of(used[e], kind[e], config, gpus, price, hope, rate, node[e])
        beside = weight if grid[e] >= due else 0.0
        own, slopes = hull_of(speed, rate, beside)
        level[:] = 0
        works = _works(own, speed, length)
        cost, partly, part = fill(slope, work, owner, order[:count], slopes, works, e, level)
        if cost + late < best:
            best, best_end, best_in, best_part = cost + late, e, partly, part
            for i in range(intervals):
                best_level[i] = level[i]
            for i in range(len(own)):
                last_vertex[i] = own[i]
        if beside:
            own, slopes = hull_of(speed, rate, 0.0)
            works = _works(own, speed, length)
        for i in range(len(own)):
            vertex[e, i] = own[i]
            slope[count], work[count], owner[count] = slopes[i], works[i], e
            place = count
            while place > 0 and slope[order[place - 1]] > slopes[i]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = count
            count += 1
    if best_end < 0:
        return np.empty((0, 6)), np.inf
    for i in range(configs):
        vertex[best_end, i] = last_vertex[i]
    return _stretches(
        job, grid, config, node, vertex, best_level, best_end, best_in, best_part
    ), best  # fmt: skip


@_compiled
def _works(own: IntArray, speed: FloatArray, length: float) -> Any:
    """Work of each piece of a hull."""
    works = np.empty(len(own))
    for i in range(len(own)):
        works[i] = (speed[own[i]] - (speed[own[i - 1]] if i else 0.0)) * length
    return works


@_compiled
def _stretches(
    job: int, grid: FloatArray, config: IntArray, node: IntArray, vertex: IntArray,
    level: IntArray, end: int, partly: int, part: float,
) -> Any:  # fmt: skip
    """The job's stretches, neighbours alike joined."""
    rows = np.empty((2 * end + 2, 6))
    count = 0
    for i in range(end + 1):
        if not level[i]:
            continue
        begin, length = grid[i], grid[i + 1] - grid[i]
        share = part if i == partly else 1.0
        for depth in range(2):
            at = level[i] - 1 - depth
            lasts = length * (share if depth == 0 else 1.0 - share)
            if at < 0 or begin + lasts <= begin:  # nothing, or less than a clock resolves
                continue
            k = vertex[i, at]
            n = node[i, k]
            until = grid[i + 1] if depth or share == 1.0 else begin + lasts
            same = count > 0 and rows[count - 1, 5] == begin and rows[count - 1, 1] == n
            if same and rows[count - 1, 2] == config[k, 0] and rows[count - 1, 3] == config[k, 1]:
                rows[count - 1, 5] = until
            else:
                rows[count, 0], rows[count, 1] = job, n
                rows[count, 2], rows[count, 3] = config[k, 0], config[k, 1]
                rows[count, 4], rows[count, 5] = begin, until
                count += 1
            begin = until
    return rows[:count].copy()


def cost_of_rows(
    rows: FloatArray, weight: FloatArray, due: FloatArray, fixed: IntArray, price: FloatArray,
    idle_per_s: float,
) -> Any:  # fmt: skip
    """Cost of a schedule that is known to be one: lease, energy and tardiness."""
    order = np.argsort(np.concatenate((rows[:, 5], rows[:, 4])), kind="stable")  # ends first
    return _cost_in_order(order, rows, weight, due, fixed, price, idle_per_s)


@_compiled
def _cost_in_order(
    order: IntArray, rows: FloatArray, weight: FloatArray, due: FloatArray, fixed: IntArray,
    price: FloatArray, idle_per_s: float,
) -> Any:  # fmt: skip
    """`cost_of_rows`, the rows' ends and starts in their order in time."""
    end, last = np.zeros(len(weight)), 0.0
    used, kind = np.zeros(len(fixed), dtype=np.int64), fixed.copy()
    since = np.zeros(len(fixed))
    total = 0.0
    for i in order:
        row = rows[i % len(rows)]
        n, v, begins = int(row[1]), int(row[2]), i >= len(rows)
        t = row[4] if begins else row[5]
        if used[n] > 0:
            now = kind[n]
            idle = price[now, 0] if fixed[n] >= 0 else 0.0
            total += (t - since[n]) * (price[now, min(used[n], price.shape[1] - 1)] - idle)
        if begins:  # one that ends a rounding error later does not keep its type
            kind[n] = v
        used[n] += int(row[3]) if begins else -int(row[3])
        since[n] = t
        j = int(row[0])
        end[j], last = max(end[j], row[5]), max(last, row[5])
    for j in range(len(weight)):
        total += weight[j] * max(end[j] - due[j], 0.0)
    return total + idle_per_s * last
