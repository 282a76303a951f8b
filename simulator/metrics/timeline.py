"""Timeline of a run: jobs, GPUs, power and cost between the instants at which something changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simulator.core.record import RunRecord
from simulator.model.cluster import FloatArray, IntArray
from simulator.schema import Derived, Schema

DIGITS = 9
"""Decimal places that are kept; what lies below are rounding errors of sums."""


class Timeline(NamedTuple):
    """``(n,)`` instants, and what holds from each of them to the next."""

    time_s: FloatArray
    queue: IntArray
    running: IntArray
    gpus: FloatArray
    power_kw: FloatArray
    cost_per_h: FloatArray


TIMELINE: Schema[Timeline] = Schema(
    "timeline",
    "an instant at which something changes, with what holds until the next",
    (
        Derived("time_s", "s", "the instant", "number"),
        Derived("queue", "", "jobs that wait", "integer"),
        Derived("running", "", "jobs that run", "integer"),
        Derived("gpus", "GPUs", "GPUs in use", "number"),
        Derived("power_kw", "kW", "power of all open nodes", "number"),
        Derived("cost_per_h", "currency / h", "leasing and energy of all open nodes", "number"),
    ),
    when="the schedule is recorded, and the tables are not streamed",
)  # fmt: skip


def stretches(
    job: IntArray, start_s: FloatArray, end_s: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Stretches in which a job runs, from its shares: the job, begin and end.

    It runs while it holds any share; where one share follows another at an instant, it goes on.
    """
    at_s, sign = np.concatenate([start_s, end_s]), np.repeat([1, -1], len(start_s))
    jobs = np.tile(job, 2)
    order = np.lexsort((-sign, at_s, jobs))
    held, sign = sign[order].cumsum(), sign[order]
    begins, ends = order[(held == 1) & (sign == 1)], order[held == 0]
    return jobs[begins], at_s[begins], at_s[ends]


def timeline(record: RunRecord) -> Timeline | None:
    """The timeline from the first submission on; None where the schedule is not in memory.

    Integrals over ``cost_per_h`` and ``power_kw`` are the leasing, energy cost and energy of `NodeMeters`: a node
    costs nothing while it is down, nor after the last completion, where jobs still come and leave.
    """
    shares = record.shares()
    if shares is None:
        return None
    submit_s, completion_s = record.submit_s, record.completion_s
    start_s, end_s = shares["start_s"], shares["end_s"]
    states = _node_states(record, shares)
    times = np.unique(np.concatenate([submit_s, completion_s, start_s, end_s, states.time_s]))

    def count(at_s: FloatArray) -> IntArray:
        """``(n,)`` number of times up to each instant."""
        return np.searchsorted(np.sort(at_s), times, side="right")

    def total(at_s: FloatArray, amounts: FloatArray) -> FloatArray:
        """``(n,)`` sum of the amounts up to each instant."""
        sums = np.bincount(np.searchsorted(times, at_s), amounts, len(times)).cumsum()
        return np.asarray(sums, dtype=np.float64)

    _, begun_s, over_s = stretches(shares["job"], start_s, end_s)
    running = count(begun_s) - count(over_s)
    queue = count(submit_s) - count(completion_s) - running
    gpus = total(start_s, shares["gpus"]) - total(end_s, shares["gpus"])
    power_kw = states.idle_kw + total(states.time_s, states.power_kw)
    cost_per_h = states.idle_cost + total(states.time_s, states.cost_per_h)
    if record.end_s < times[-1]:
        power_kw[times >= record.end_s] = cost_per_h[times >= record.end_s] = 0.0
    since = int(np.searchsorted(times, submit_s.min()))
    amounts = (np.round(values[since:], DIGITS) for values in (gpus, power_kw, cost_per_h))
    return Timeline(times[since:], queue[since:], running[since:], *amounts)


class _Changes(NamedTuple):
    """Changes of power and cost of single nodes, and the sums before the first of them."""

    time_s: FloatArray
    power_kw: FloatArray
    cost_per_h: FloatArray
    idle_kw: float
    idle_cost: float


def _node_states(record: RunRecord, shares: dict[str, Any]) -> _Changes:
    """By how much the power and cost of each node change, and when."""
    cluster = record.cluster
    fixed = None if cluster.node_type_of is None else np.array(cluster.node_type_of)
    down = np.empty((0, 3))
    if fixed is not None and record.parts:
        down = np.concatenate([part.down for part in record.parts.values()])
    count, outages = len(shares["node"]), len(down)
    node = np.concatenate([shares["node"]] * 2 + [down[:, 0].astype(np.int64)] * 2)
    time_s = np.concatenate([shares["end_s"], shares["start_s"], down[:, 2], down[:, 1]])
    starts = np.repeat([0, 1, 0, 1], [count, count, outages, outages])
    order = np.lexsort((starts, time_s, node))
    node, time_s, sign = node[order], time_s[order], np.where(starts, 1, -1)[order]
    of_share = np.repeat([True, False], [2 * count, 2 * outages])[order]
    amounts = np.concatenate([shares["gpus"]] * 2 + [np.zeros(outages)] * 2)[order]
    # At the end of its last share a node has nothing in use, so sums over all nodes begin anew.
    used = np.round((sign * amounts).cumsum(), DIGITS)
    hosted, outage = (sign * of_share).cumsum(), (sign * ~of_share).cumsum()
    last = np.ones(len(node), dtype=np.bool_)
    last[:-1] = (node[1:] != node[:-1]) | (time_s[1:] != time_s[:-1])
    types = fixed[node] if fixed is not None else np.tile(shares["node_type"], 2)[order]
    is_open = (outage == 0) if fixed is not None else hosted > 0
    node, time_s = node[last], time_s[last]
    busy = _gpus_in_use(record.named_use, node, time_s, np.maximum(0.0, used[last]))
    power, cost = _rates(record, node, types[last], busy, is_open[last])
    begins = np.ones(len(node), dtype=np.bool_)
    begins[1:] = node[1:] != node[:-1]
    idle_kw = idle_cost = np.zeros(cluster.num_nodes)
    if fixed is not None and not cluster.is_pool:
        every = np.arange(cluster.num_nodes)
        zeros = np.zeros(cluster.num_nodes)
        idle_kw, idle_cost = _rates(record, every, fixed, zeros, np.ones_like(zeros))
    return _Changes(
        time_s,
        power - np.where(begins, idle_kw[node], np.roll(power, 1)),
        cost - np.where(begins, idle_cost[node], np.roll(cost, 1)),
        float(idle_kw.sum()),
        float(idle_cost.sum()),
    )


def _gpus_in_use(
    named_use: FloatArray, node: IntArray, time_s: FloatArray, gpus: FloatArray
) -> FloatArray:
    """Whole GPUs in use on nodes from these times on, of shares of so many GPUs: a GPU of several jobs counts once."""
    busy = np.floor(gpus)
    for n in np.unique(named_use[:, 0]):
        (rows,), own = np.nonzero(node == n), named_use[named_use[:, 0] == n]
        i = np.searchsorted(own[:, 1], time_s[rows], side="right") - 1
        inside = (i >= 0) & (time_s[rows] < own[i, 2])
        busy[rows[inside]] = own[i[inside], 3]
    return busy


def _rates(
    record: RunRecord, node: IntArray, types: IntArray, used: FloatArray, is_open: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """kW, and cost per hour, of nodes of some types with so many GPUs in use; 0 where they are closed."""
    cluster = record.cluster
    power_kw, leasing, energy = (np.zeros(len(node)) for _ in range(3))
    for v in np.unique(types).tolist():
        of_type = np.flatnonzero(types == v)
        amounts, where = np.unique(used[of_type], return_inverse=True)
        rates = [cluster.rates(v, gpus) for gpus in amounts.tolist()]
        power_kw[of_type] = np.array([r.power_kw for r in rates])[where]
        leasing[of_type] = np.array([r.leasing_per_hour for r in rates])[where]
        energy[of_type] = np.array([r.energy_per_hour for r in rates])[where]
    if cluster.price_factor is not None:
        leasing *= np.array(cluster.price_factor)[node]
    return power_kw * is_open, (leasing + energy) * is_open
