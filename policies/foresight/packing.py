"""Exact packing: which jobs share which nodes for one step.

    max  sum_js gain_js x_js - sum_k price_k p_k
    s.t. sum_s x_js <= 1                    each job
         sum_j x_js <= sum_k D_ks p_k       each kind of slot
         sum_k p_k  <= N                    (of each type, where types are fixed)

with p whole: how many nodes look like pattern k, a type and a partition of GPUs in use into slots.
With p fixed the rest is a transportation problem, whose vertices are whole. No node has to be
opened, and none has a leader. A job may leave GPUs of its slot idle (free disposal), so gains need
not rise with the GPUs.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy

from policies.foresight.machines import Machines
from policies.solving import highs, tree
from policies.solving.instance import JobOnNode
from policies.solving.model import Builder, Model, SolverOptions
from policies.solving.slots import MAX_PATTERNS, add_counts, equal_columns, partitions
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

TIME_LIMIT_S = 60.0
"""Wall time of one packing; the best found then serves. Far from what any instance here takes."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """All patterns of some node types.

    Attributes
    ----------
    node_type, in_use : ``(K,)`` type, and GPUs in use.
    parts : the GPUs of each pattern's slots, from many to few.
    slot_type, slot_gpus : ``(S,)`` of each kind of slot.
    slots : ``(K, P)`` kinds of each pattern's slots, S behind the last.
    demand : ``(K, S)`` D_ks, slots of each kind.
    """

    node_type: IntArray
    in_use: IntArray
    parts: tuple[tuple[int, ...], ...]
    slot_type: IntArray
    slot_gpus: IntArray
    slots: IntArray
    demand: FloatArray


@functools.lru_cache(maxsize=64)
def patterns_of(gpus: tuple[int, ...], by_use: bool) -> Patterns:
    """The patterns of nodes with these GPUs: all in slots, or any number where power counts.

    Raises InputError: more than `policies.solving.slots.MAX_PATTERNS`.
    """
    found: list[tuple[int, tuple[int, ...]]] = []
    for v, total in enumerate(gpus):
        for used in range(1 if by_use else total, total + 1):
            for parts in partitions(used):
                found.append((v, parts))
                if len(found) > MAX_PATTERNS:
                    raise InputError(
                        f"foresight: nodes of {total} GPUs have more than {MAX_PATTERNS} patterns, "
                        "expected smaller nodes"
                    )
    kinds = [(v, g) for v, total in enumerate(gpus) for g in range(1, total + 1)]
    index = {kind: s for s, kind in enumerate(kinds)}
    slots = np.full((len(found), max(gpus)), len(kinds), dtype=np.int64)
    demand = np.zeros((len(found), len(kinds)))
    for k, (v, parts) in enumerate(found):
        for place, g in enumerate(parts):
            slots[k, place] = index[v, g]
            demand[k, index[v, g]] += 1.0
    return Patterns(
        node_type=np.array([v for v, _ in found], dtype=np.int64),
        in_use=np.array([sum(parts) for _, parts in found], dtype=np.int64),
        parts=tuple(parts for _, parts in found),
        slot_type=np.array([v for v, _ in kinds], dtype=np.int64),
        slot_gpus=np.array([g for _, g in kinds], dtype=np.int64),
        slots=slots,
        demand=demand,
    )


@dataclass(frozen=True, eq=False)
class PackingProblem:
    """One packing problem, small enough to solve: equal slots merged, dominated patterns gone.

    Attributes
    ----------
    machines, table : the nodes and all their patterns.
    gain : ``(n, R)`` of each job in each kind of slot; minus infinity where it cannot run.
    used : ``(n, S)`` GPUs that a job uses in each kind of slot of the table.
    row_of : ``(S,)`` kind of slot of the table -> one of the R that differ.
    kept : ``(K',)`` patterns of the table.
    demand : ``(K', R)``.
    price : ``(K',)`` of a node for the step.
    """

    machines: Machines
    table: Patterns
    gain: FloatArray
    used: IntArray
    row_of: IntArray
    kept: IntArray
    demand: FloatArray
    price: FloatArray

    @property
    def node_type(self) -> IntArray:
        """``(K',)``."""
        return self.table.node_type[self.kept]

    @property
    def group(self) -> IntArray:
        """``(K',)`` which limit on nodes a pattern falls under."""
        return self.node_type if self.machines.nodes_of_type is not None else 0 * self.kept


def pose(machines: Machines, gain: FloatArray, step_s: float) -> PackingProblem:
    """The packing problem of a step.

    Parameters
    ----------
    gain : ``(n, C)`` of each job on each configuration of the machines.
    step_s : seconds that a node is paid for.
    """
    table = patterns_of(tuple(machines.gpus.tolist()), machines.by_use)
    value, used = _with_disposal(machines, table, gain)
    price = machines.node_price_per_s[table.node_type, table.in_use] * step_s
    exists = np.isfinite(price)
    if machines.nodes_of_type is not None:
        exists &= machines.nodes_of_type[table.node_type] > 0
    row_of, first = equal_columns(value)
    kept = _not_dominated(machines, table, np.flatnonzero(exists), value, price)
    demand = np.zeros((len(kept), len(first)))
    np.add.at(demand.T, row_of, table.demand[kept].T)
    return PackingProblem(machines, table, value[:, first], used, row_of, kept, demand, price[kept])


def _with_disposal(
    machines: Machines, table: Patterns, gain: FloatArray
) -> tuple[FloatArray, IntArray]:
    """``(n, S)`` best gain of a job in a slot, some GPUs of it idle perhaps, and GPUs used."""
    slots = len(table.slot_type)
    value = np.full((len(gain), slots), -np.inf)
    used = np.zeros((len(gain), slots), dtype=np.int64)
    index = machines.config_index
    for s, (v, g) in enumerate(
        zip(table.slot_type.tolist(), table.slot_gpus.tolist(), strict=True)
    ):
        k = index.get((v, g))
        if k is not None:
            value[:, s], used[:, s] = gain[:, k], g
        if g > 1:
            fewer = value[:, s - 1] >= value[:, s]
            value[fewer, s] = value[fewer, s - 1]
            used[fewer, s] = used[fewer, s - 1]
    return value, used


def _not_dominated(
    machines: Machines, table: Patterns, patterns: IntArray, value: FloatArray, price: FloatArray
) -> IntArray:
    """Patterns without those beside which another one is no dearer and has, slot for slot, no less
    to offer to any job (of the same type, where types are fixed)."""
    slots = table.slots[patterns]
    none = len(table.slot_type)
    no_less = np.zeros((none + 1, none + 1), dtype=bool)  # [s, s']: s' is worth no less than s
    for s in range(none):
        no_less[s, :none] = (value >= value[:, s : s + 1]).all(axis=0)
    no_less[none, :] = True
    cost = price[patterns]
    better: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = cost[None, :] <= cost[:, None]
    if machines.nodes_of_type is not None:
        types = table.node_type[patterns]
        better &= types[None, :] == types[:, None]
    for place in range(slots.shape[1]):
        better &= no_less[slots[:, place][:, None], slots[:, place][None, :]]
    order = np.arange(len(patterns))
    strictly = better & (~better.T | (order[None, :] < order[:, None]))
    np.fill_diagonal(strictly, False)
    return patterns[~strictly.any(axis=1)]


@dataclass(frozen=True, eq=False)
class FoundPacking:
    """A packing.

    Attributes
    ----------
    assignments : jobs on nodes; where types are fixed, nodes are numbered type by type.
    value, bound : of the objective: what was reached, and what cannot be exceeded.
    method : how it was found.
    """

    assignments: list[JobOnNode]
    value: float
    bound: float
    method: str = "exact"


def solve(
    packing: PackingProblem,
    mip_gap: float,
    at_least_one: bool = False,
    learned: tree.Learned | None = None,
) -> FoundPacking:
    """The best packing, within a gap relative to its gains and prices (half their sum).

    Parameters
    ----------
    at_least_one : some job has to run, if any can; one that gains, if any does.
    learned : by the packings before, about branching; it saves time, and decides ties within the gap.

    Raises RuntimeError: the solver found nothing, which no packing should lead to.
    """
    gain = packing.gain
    pays = gain > 0.0
    job, row = np.nonzero(pays if pays.any() or not at_least_one else np.isfinite(gain))
    if not len(job):
        return FoundPacking([], 0.0, 0.0)
    # In units of the largest gain, so that no tolerance of the solver depends on the currency.
    unit = float(np.abs(gain[job, row]).max()) or 1.0
    model, names = _model(packing, job, row, at_least_one, unit)
    options = SolverOptions(mip_gap, TIME_LIMIT_S, gap_of_parts=True)
    solution = highs.solve(model, options, learned=None if learned is None else (learned, names))
    if solution.x is None:
        raise RuntimeError(f"foresight: the packing ended with {solution.status}")
    counts = np.rint(solution.x[len(job) : len(job) + len(packing.kept)]).astype(np.int64)
    taken = solution.x[: len(job)]
    if np.abs(taken - (taken > 0.5)).max() < 1e-4:
        pairs = job[taken > 0.5], row[taken > 0.5]
    else:
        pairs = _transport(packing, counts)
    value = float(gain[pairs].sum() - packing.price @ counts)
    return FoundPacking(assign(packing, counts, *pairs), value, max(value, -unit * solution.bound))


def _model(
    packing: PackingProblem, job: IntArray, row: IntArray, at_least_one: bool, unit: float
) -> tuple[Model, list[Hashable]]:
    """Columns x then p, then counts to branch on, as in `policies.solving.slots`; and names of the
    integer columns that mean the same in the next packing."""
    b = Builder()
    machines = packing.machines
    limits = machines.node_limits.astype(np.float64)
    group = packing.group
    x = b.add_columns(len(job), cost=-packing.gain[job, row] / unit, upper=1.0)
    p = b.add_columns(
        len(packing.kept), cost=packing.price / unit, upper=limits[group], integer=True
    )
    b.add(b.add_rows(len(packing.gain), lower=-np.inf, upper=1.0)[job], x)
    slots = b.add_rows(packing.demand.shape[1], lower=-np.inf, upper=0.0)
    b.add(slots[row], x)
    k, s = np.nonzero(packing.demand)
    b.add(slots[s], p[k], -packing.demand[k, s])
    b.add(b.add_rows(len(limits), lower=-np.inf, upper=limits)[group], p)
    if at_least_one:
        b.add(b.add_rows(1, lower=1.0, upper=np.inf), x)
    size = packing.demand.sum(axis=1)
    types, sizes = np.unique(packing.node_type), np.unique(size)[1:]
    kinds = np.unique(packing.row_of, return_index=True)[1]
    names: list[Hashable] = [*packing.kept.tolist(), "slots"]
    for name, members in (("type", types), ("parts", sizes), ("kind", kinds)):
        names += [(name, m) for m in members.tolist()]
    add_counts(b, p, packing.node_type, packing.demand)
    return b.build(offset=0.0, constant=0.0, tight=True), names


def _transport(packing: PackingProblem, counts: IntArray) -> tuple[IntArray, IntArray]:
    """The best jobs for given patterns, where the solver stopped off a vertex."""
    capacity = np.rint(counts @ packing.demand).astype(np.int64)
    places = np.repeat(np.arange(len(capacity)), capacity)
    worth = np.maximum(packing.gain[:, places], 0.0)
    job, place = scipy.optimize.linear_sum_assignment(worth, maximize=True)
    takes = worth[job, place] > 0.0
    return job[takes], places[place[takes]]


def assign(
    packing: PackingProblem, counts: IntArray, job: IntArray, row: IntArray
) -> list[JobOnNode]:
    """Jobs on nodes: ``counts`` nodes of each pattern, each job in a slot of its kind."""
    table, machines = packing.table, packing.machines
    waiting: list[list[int]] = [[] for _ in range(packing.demand.shape[1])]
    for j, r in zip(job.tolist()[::-1], row.tolist()[::-1], strict=True):
        waiting[r].append(j)
    free = None
    if machines.nodes_of_type is not None:
        free = np.cumsum(machines.nodes_of_type) - machines.nodes_of_type
    result: list[JobOnNode] = []
    node = 0
    kind = {
        (int(v), int(g)): s
        for s, (v, g) in enumerate(zip(table.slot_type, table.slot_gpus, strict=True))
    }
    for k, count in zip(packing.kept.tolist(), counts.tolist(), strict=True):
        v = int(table.node_type[k])
        for _ in range(count):
            index = node if free is None else int(free[v])
            hosted = []
            for g in table.parts[k]:
                s = kind[v, g]
                queue = waiting[int(packing.row_of[s])]
                if queue:
                    j = queue.pop()
                    hosted.append(JobOnNode(j, index, v, int(packing.used[j, s])))
            if not hosted:
                continue
            result.extend(hosted)
            if free is None:
                node += 1
            else:
                free[v] += 1
    return result
