"""Nodes as patterns of slots, jobs as what fills the slots: the exact form that scales.

Nodes of one type are interchangeable, so a solution says how many nodes look like each *pattern*
(a node type and a partition of its GPUs into *slots*), and which job fills which kind of slot:

    min  sum_j Q_j + sum_js (C_js - Q_j) x_js
    s.t. sum_s x_js <= 1                     each job
         sum_j x_js  = sum_k A_sk p_k        each kind of slot
         sum_k p_k   = nodes in use          (and sum of p over one type <= its nodes, where fixed)

with ``p`` whole and ``x`` continuous: with ``p`` fixed the rest is a transportation problem, whose
vertices are whole. Its size does not depend on the number of nodes.

Three exact steps keep it small:

- *Free disposal.* Patterns use all GPUs of a node; a job in a slot of g GPUs may leave some idle,
  for mu each: C(g) = min over g' <= g of C(g') + mu (g - g'). Any solution with idle GPUs is one
  of these (its leader, or any job, takes them), so times need not fall with g.
- *Dominated patterns.* Pattern k goes where another has as many slots, and no slot of which is
  dearer for any job. One job alone may still gain from the rest: a leading slot is closed to a job
  for which each of its patterns has such an alternative with a cheaper leading slot for *it*.
- *Equal slots.* Kinds of slots that cost every job the same become one row.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from policies.solving.instance import DecisionInput, IntArray, JobOnNode, by_node
from policies.solving.model import BoolArray, Builder, FloatArray, Model
from simulator.errors import InputError

MAX_PATTERNS = 50_000
"""Beyond this (nodes of about 35 GPUs) the patterns are not listed."""


@dataclass(frozen=True, eq=False)
class PatternTable:
    """All patterns of some node types, and the kinds of slots that they are made of.

    Attributes
    ----------
    slot_type, slot_gpus : ``(S,)`` node type and GPUs of each kind of slot.
    leading : how many of the kinds, the first ones, are leading slots.
    pattern_type : ``(K,)`` node type.
    pattern_slots : ``(K, P)`` kinds of slots, the leading one first, the others from many GPUs to
        few, S behind the last.
    index : pattern by node type and its slots' GPUs.
    """

    slot_type: IntArray
    slot_gpus: IntArray
    leading: int
    pattern_type: IntArray
    pattern_slots: IntArray
    index: dict[tuple[int, tuple[int, ...]], int]


@functools.lru_cache(maxsize=64)
def pattern_table(gpus: tuple[int, ...], with_leader: bool) -> PatternTable:
    """The patterns of nodes with these GPUs; with a leading slot, or all slots of one role.

    Raises InputError: more than `MAX_PATTERNS`.
    """
    patterns: list[tuple[int, tuple[int, ...]]] = []
    for v, total in enumerate(gpus):
        for partition in partitions(total):
            if with_leader:
                patterns.extend((v, _led(partition, g)) for g in sorted(set(partition)))
            else:
                patterns.append((v, partition))
            if len(patterns) > MAX_PATTERNS:
                raise InputError(
                    f"milp: nodes of {total} GPUs have more than {MAX_PATTERNS} patterns, "
                    "expected smaller nodes or formulation 'literal'"
                )
    leading = [(v, g) for v, total in enumerate(gpus) for g in range(1, total + 1)]
    following = [(v, g) for v, total in enumerate(gpus) for g in range(1, total)]
    slots = [(*s, True) for s in leading]
    if with_leader:
        slots += [(*s, False) for s in following]
    kind = {slot: i for i, slot in enumerate(slots)}
    table = np.full((len(patterns), max(gpus)), len(slots), dtype=np.int64)
    for k, (v, parts) in enumerate(patterns):
        for place, g in enumerate(parts):
            table[k, place] = kind[v, g, not with_leader or place == 0]
    return PatternTable(
        slot_type=np.array([s[0] for s in slots], dtype=np.int64),
        slot_gpus=np.array([s[1] for s in slots], dtype=np.int64),
        leading=len(leading),
        pattern_type=np.array([v for v, _ in patterns], dtype=np.int64),
        pattern_slots=table,
        index={pattern: k for k, pattern in enumerate(patterns)},
    )


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Partitions of a number into parts from large to small."""
    if total == 0:
        yield ()
    for part in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def _led(partition: tuple[int, ...], leader: int) -> tuple[int, ...]:
    """The partition with one part of that size moved to the front."""
    rest = list(partition)
    rest.remove(leader)
    return (leader, *rest)


def with_disposal(cost: FloatArray, times_s: FloatArray, mu: float) -> tuple[FloatArray, IntArray]:
    """Cost of a job that is given g GPUs and may leave some of them idle, for mu each.

    Returns the cost ``(J, V, G + 1)`` and how many GPUs the job uses. Equal costs go to the
    shorter time, then to more GPUs.
    """
    best = cost.copy()
    used = np.broadcast_to(np.arange(cost.shape[2]), cost.shape).copy()
    time = times_s.copy()
    for g in range(2, cost.shape[2]):
        fewer = best[:, :, g - 1] + mu
        leave = (fewer < best[:, :, g]) | (
            (fewer == best[:, :, g]) & (time[:, :, g - 1] < time[:, :, g])
        )
        for array, value in ((best, fewer), (used, used[:, :, g - 1]), (time, time[:, :, g - 1])):
            array[:, :, g] = np.where(leave, value, array[:, :, g])
    return best, used


@dataclass(frozen=True, eq=False)
class SlotForm:
    """The model of an instance over a pattern table, with what is needed to read its solution.

    Attributes
    ----------
    cost : ``(J, S)`` of each job in each kind of slot, idle GPUs included; infinite where closed.
    used : ``(J, S)`` GPUs that the job would use.
    kept : ``(K',)`` patterns of the table that have a column.
    stands_for : ``(K,)`` the kept pattern that replaces each pattern (itself where kept), or -1.
    row_of : ``(S,)`` row of each kind of slot after equal ones were merged; -1 where unused.
    job, row : ``(X,)`` job and slot row of each column x. The K' columns p follow, then counts of
        nodes to branch on.
    """

    instance: DecisionInput
    table: PatternTable
    cost: FloatArray
    used: IntArray
    kept: IntArray
    stands_for: IntArray
    row_of: IntArray
    job: IntArray
    row: IntArray
    model: Model

    def decode(self, x: FloatArray) -> list[JobOnNode]:
        """Jobs on nodes; any split of equal slots between equal nodes costs the same."""
        first, last = len(self.job), len(self.job) + len(self.kept)
        patterns = np.repeat(self.kept, np.rint(x[first:last]).astype(np.int64))
        slots = self.table.pattern_slots[patterns]
        filled = slots < len(self.row_of)
        rows = self.row_of[slots[filled]]
        jobs_of_row = self._whole(x[:first], np.bincount(rows, minlength=self.row_of.max() + 1))
        waiting = {row: iter(jobs) for row, jobs in jobs_of_row.items()}
        nodes = _number_nodes(self.table.pattern_type[patterns], self.instance.nodes_of_type)
        return [
            JobOnNode(job, int(node), int(self.table.slot_type[s]), int(self.used[job, s]))
            for node, places in zip(nodes, slots, strict=True)
            for s in places[places < len(self.row_of)]
            if (job := next(waiting[int(self.row_of[s])], None)) is not None
        ]

    def _whole(self, x: FloatArray, demand: IntArray) -> dict[int, list[int]]:
        """Jobs by slot row; where a solver stopped off a vertex, the best whole ones."""
        taken = x > 0.5
        jobs, rows = self.job[taken], self.row[taken]
        near = np.all(np.abs(x - taken) < 1e-4) and len(set(jobs.tolist())) == len(jobs)
        if not (near and np.array_equal(np.bincount(rows, minlength=len(demand)), demand)):
            jobs, rows = self._transport(demand)
        of_row: dict[int, list[int]] = {int(r): [] for r in range(len(demand))}
        for job, row in zip(jobs.tolist(), rows.tolist(), strict=True):
            of_row[row].append(job)
        return of_row

    def _transport(self, demand: IntArray) -> tuple[IntArray, IntArray]:
        """The transportation problem that is left when the patterns are known."""
        places = np.repeat(np.arange(len(demand)), demand)
        count = self.instance.num_jobs
        net = np.full((count, len(demand)), np.inf)
        cost = self.model.cost[: len(self.job)]
        net[self.job, self.row] = cost
        # A closed place costs more than any other choice can save; waiting costs nothing.
        big = 1.0 + 2.0 * float(np.abs(cost).sum())
        matrix = np.minimum(np.hstack([net[:, places], np.zeros((count, count))]), big)
        # Every place must be filled before a job may wait.
        matrix[:, : len(places)] -= big
        job, place = scipy.optimize.linear_sum_assignment(matrix)
        real = place < len(places)
        job, place = job[real], place[real]
        open_ = np.isfinite(net[job, places[place]])
        return job[open_], places[place[open_]]

    def encode(self, assignments: Sequence[JobOnNode]) -> FloatArray:
        """Number of nodes of each pattern; the solver assigns the jobs.

        Where slots are closed to jobs it may do a little worse there than the assignments did.
        """
        x = np.full(self.model.columns, np.nan)
        count = np.zeros(len(self.table.pattern_type), dtype=np.int64)
        for node in by_node(assignments):
            count[self.stands_for[self._pattern(node)]] += 1
        first, last = len(self.job), len(self.job) + len(self.kept)
        x[first:last] = count[self.kept]
        return x

    def _pattern(self, node: list[JobOnNode]) -> int:
        """The pattern of a node, idle GPUs given to its leader."""
        v = node[0].node_type
        lease = self.instance.lease_cost
        leader = min(node, key=lambda a: lease[a.job, v, a.gpus])
        idle = int(self.instance.gpus[v]) - sum(a.gpus for a in node)
        rest = sorted((a.gpus for a in node if a is not leader), reverse=True)
        parts: tuple[int, ...] = (leader.gpus + idle, *rest)
        if self.table.leading == len(self.table.slot_type):
            parts = tuple(sorted(parts, reverse=True))
        return self.table.index[v, parts]


def _number_nodes(types: IntArray, nodes_of_type: IntArray | None) -> IntArray:
    """A node for each pattern: in turn, or the first free one of its type where types are fixed."""
    if nodes_of_type is None:
        return np.arange(len(types))
    first = np.cumsum(nodes_of_type) - nodes_of_type
    nodes = np.empty(len(types), dtype=np.int64)
    for v in np.unique(types):
        mine = types == v
        nodes[mine] = first[v] + np.arange(mine.sum())
    return nodes


def build(
    instance: DecisionInput, table: PatternTable, cost: FloatArray, used: IntArray
) -> SlotForm:
    """The model of an instance.

    Parameters
    ----------
    cost : ``(J, S)`` of each job in each kind of slot, from `with_disposal`.
    used : ``(J, S)`` GPUs that it would use there.
    """
    cost = cost.copy()
    kept, stands_for = _prune(instance, table, cost)
    row_of, slot_cost = _merge(table.pattern_slots[kept], cost)
    job, row = np.nonzero(np.isfinite(slot_cost))
    model = _model(instance, table, kept, row_of, slot_cost, job, row)
    return SlotForm(instance, table, cost, used, kept, stands_for, row_of, job, row, model)


def _merge(slots: IntArray, cost: FloatArray) -> tuple[IntArray, FloatArray]:
    """One row for each set of equal kinds of slots that occur: row of each, cost ``(J, rows)``."""
    number = cost.shape[1]
    occurring = np.unique(slots)
    occurring = occurring[occurring < number]
    row_of = np.full(number, -1, dtype=np.int64)
    row_of[occurring], first = equal_columns(cost[:, occurring])
    return row_of, cost[:, occurring[first]]


def equal_columns(value: FloatArray) -> tuple[IntArray, IntArray]:
    """Columns that are equal become one: the number of each, and the first column of each number."""
    rows: dict[bytes, int] = {}
    row_of = np.array(
        [rows.setdefault(column.tobytes(), len(rows)) for column in np.ascontiguousarray(value.T)],
        dtype=np.int64,
    )
    return row_of, np.unique(row_of, return_index=True)[1]


def _model(
    instance: DecisionInput,
    table: PatternTable,
    kept: IntArray,
    row_of: IntArray,
    slot_cost: FloatArray,
    job: IntArray,
    row: IntArray,
) -> Model:
    """Columns x then p; rows: jobs, slots, nodes in use, nodes of each type."""
    postponed, nodes = instance.postponed_cost, instance.nodes_in_use
    b = Builder()
    x = b.add_columns(len(job), cost=slot_cost[job, row] - postponed[job], upper=1.0)
    p = b.add_columns(len(kept), upper=float(nodes), integer=True)
    jobs = b.add_rows(instance.num_jobs, lower=-np.inf, upper=1.0)
    b.add(jobs[job], x)
    slots = b.add_rows(slot_cost.shape[1], lower=0.0, upper=0.0)
    b.add(slots[row], x)
    members = table.pattern_slots[kept]
    pattern, place = np.nonzero(members < len(row_of))
    demand = np.zeros((len(kept), slot_cost.shape[1]))
    np.add.at(demand, (pattern, row_of[members[pattern, place]]), 1.0)
    add_counts(b, p, table.pattern_type[kept], demand)
    pattern, slot = np.nonzero(demand)
    b.add(slots[slot], p[pattern], -demand[pattern, slot])
    b.add(b.add_rows(1, lower=nodes, upper=nodes), p)
    if instance.nodes_of_type is not None:
        limit = instance.nodes_of_type.astype(np.float64)
        types = b.add_rows(len(limit), lower=-np.inf, upper=limit)
        b.add(types[table.pattern_type[kept]], p)
    return b.build(offset=float(postponed.sum()), constant=instance.constant, tight=True)


def add_counts(b: Builder, p: IntArray, node_type: IntArray, demand: FloatArray) -> None:
    """Columns to branch on, the first ones first (by measurement): all places for jobs; nodes of
    each type; nodes of at least so many jobs; places of each kind.

    Parameters
    ----------
    demand : ``(K', rows)`` places of each kind in each pattern.
    """
    size = demand.sum(axis=1)
    levels = [
        size[None, :],
        node_type == np.unique(node_type)[:, None],
        size >= np.unique(size)[1:, None],
        demand.T,
    ]
    for priority, groups in zip(range(len(levels), 0, -1), levels, strict=True):
        counts = b.add_columns(len(groups), integer=True, priority=priority)
        rows = b.add_rows(len(groups), lower=0.0, upper=0.0)
        group, pattern = np.nonzero(groups)
        b.add(rows[group], p[pattern], groups[group, pattern].astype(np.float64))
        b.add(rows, counts, -1.0)


def _prune(
    instance: DecisionInput, table: PatternTable, cost: FloatArray
) -> tuple[IntArray, IntArray]:
    """Patterns worth a column, and what replaces the others; closes leading slots in ``cost``."""
    slots, none = table.pattern_slots, len(table.slot_type)
    number = len(slots)
    size = (slots < none).sum(axis=1)
    runnable = int(instance.possible.any(axis=(1, 2)).sum())
    fits = size <= runnable - instance.nodes_in_use + 1
    if instance.nodes_of_type is not None:
        fits &= instance.nodes_of_type[table.pattern_type] > 0
    # cheaper[s, s']: slot s' costs no job more than s. A slot matches "none" only with "none".
    cheaper = np.zeros((none + 1, none + 1), dtype=bool)
    cheaper[none, none] = True
    lead = cost[:, : table.leading]
    no_dearer = lead[:, None, :] <= lead[:, :, None]
    cheaper[: table.leading, : table.leading] = no_dearer.all(axis=0)
    follow = cost[:, table.leading :]
    for s in range(follow.shape[1]):
        cheaper[table.leading + s, table.leading : none] = (follow <= follow[:, s : s + 1]).all(
            axis=0
        )
    keep = fits.copy()
    stands_for = np.where(fits, np.arange(number), -1)
    # alternative[k, s]: a kept pattern led by s whose other slots are no dearer than those of k.
    alternative = np.zeros((number, table.leading), dtype=bool)
    for count in np.unique(size[fits]):
        group = np.flatnonzero(fits & (size == count))
        same_rest = _rest_no_dearer(
            table, group, count, cheaper, instance.nodes_of_type is not None
        )
        whole = same_rest & cheaper[slots[group, 0][:, None], slots[group, 0]]
        position = np.arange(len(group))
        strictly = whole & (~whole.T | (position[None, :] < position[:, None]))
        np.fill_diagonal(strictly, False)
        gone = strictly.any(axis=1)
        keep[group[gone]] = False
        stays = np.flatnonzero(~gone)
        stands_for[group[gone]] = group[stays[strictly[np.ix_(gone, ~gone)].argmax(axis=1)]]
        if table.leading < none:
            k, k2 = np.nonzero(same_rest[:, stays])
            alternative[group[k], slots[group[stays[k2]], 0]] = True
    kept = np.flatnonzero(keep)
    if table.leading < none:
        _close_leading(cost, no_dearer, slots[kept, 0], alternative[kept])
    return kept, stands_for


def _rest_no_dearer(
    table: PatternTable, group: IntArray, count: int, cheaper: BoolArray, fixed: bool
) -> BoolArray:
    """``(m, m)``: [k, k'] the slots of k' after the first cost no job more than those of k.

    Patterns without a leading slot compare their first slots elsewhere, like any other.
    """
    rest = table.pattern_slots[group, 1:count]
    no_dearer: BoolArray = np.all(cheaper[rest[:, None, :], rest[None, :, :]], axis=2)
    if fixed:
        types = table.pattern_type[group]
        no_dearer &= types[:, None] == types
    return no_dearer


def _close_leading(
    cost: FloatArray, no_dearer: BoolArray, leader: IntArray, alternative: BoolArray
) -> None:
    """Close a leading slot to the jobs for which every pattern that it leads has an alternative.

    A job moves to a cheaper leading slot, or to an equal one of a lower index, so that no two
    slots are closed in favour of each other.

    Parameters
    ----------
    no_dearer : ``(J, L, L)`` [j, s, s'] slot s' costs job j no more than s.
    leader, alternative : of the kept patterns.
    """
    leading = no_dearer.shape[1]
    index = np.arange(leading)
    # Equal both ways: only towards the lower index.
    better = no_dearer & (~no_dearer.transpose(0, 2, 1) | (index[None, :] < index[:, None]))
    for s in np.unique(leader):
        ways = alternative[leader == s].T.astype(np.float32)
        closed = (better[:, s].astype(np.float32) @ ways > 0).all(axis=1)
        cost[closed, s] = np.inf
