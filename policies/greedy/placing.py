"""From a solution, whose nodes are interchangeable within a type, to placements on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policies.greedy.problem import Solution
from policies.packing import beside
from simulator.model.cluster import Cluster, IntArray
from simulator.model.contract import FIXED, Decision, Placement, View
from simulator.model.short_answers import Moves

_NEW = tuple.__new__  # a named tuple's own constructor takes more than twice as long

MANY = 32
"""Placements from which on arrays pay (`moves_of`)."""


def decision_of(
    solution: Solution, view: View, info: Mapping[str, float | int | str | bool]
) -> Decision:
    """A solution as a decision; of a large one, what it changes."""
    held = _held(view) if solution.num_jobs.sum() >= MANY else None
    if held is None:
        return Decision(assign_nodes(solution, view), info=info)
    return moves_of(solution, view, held, info)


def assign_nodes(solution: Solution, view: View) -> list[Placement]:
    """Give the nodes of a solution their identities.

    Nodes of one type are interchangeable in a solution. Each takes the node where most of its
    jobs' GPUs are now, the largest such claims first; the others take what is left, in order.
    """
    fixed = view.cluster.node_type_of
    running = view.running
    hosted = [
        list(zip(jobs[:k], gpus[:k], strict=True))
        for k, jobs, gpus in zip(
            solution.num_jobs.tolist(),
            view.jobs[solution.jobs].tolist(),
            solution.gpus.astype(int).tolist(),
            strict=True,
        )
    ]
    types = solution.node_type.tolist()
    claims: list[tuple[float, int, int]] = []
    for k, jobs in enumerate(hosted):
        kept: dict[int, float] = {}
        for job, _ in jobs:
            for _, node, gpus, *_ in running.get(job, ()):
                if fixed is None or fixed[node] == types[k]:
                    kept[node] = kept.get(node, 0.0) + gpus
        for node, gpus in kept.items():
            claims.append((-gpus, k, node))
    node_of: dict[int, int] = {}
    free = dict.fromkeys(view.nodes.tolist())
    for _, k, node in sorted(claims):
        if k not in node_of and node in free:
            node_of[k] = node
            del free[node]
    left: dict[int, list[int]] = {}
    for node in reversed(free):
        left.setdefault(FIXED if fixed is None else fixed[node], []).append(node)
    placements: list[Placement] = []
    besides: dict[tuple[int, int], tuple[float, float]] = {}
    for k, jobs in enumerate(hosted):
        v = types[k]
        node = node_of[k] if k in node_of else left[FIXED if fixed is None else v].pop()
        node_type = v if fixed is None else FIXED
        for job, g in jobs:
            if (v, g) not in besides:
                besides[v, g] = beside(view.cluster.node_types[v], g)
            placements.append(Placement(job, node, g, node_type, *besides[v, g]))
    return placements


class _Held(NamedTuple):
    """What the running jobs hold, one share each, in the order of `View.running`.

    Attributes
    ----------
    place : ``(R,)`` the job's place among the active ones.
    node, gpus, node_type : ``(R,)`` of its share.
    """

    place: IntArray
    node: IntArray
    gpus: IntArray
    node_type: IntArray


def _held(view: View) -> _Held | None:
    """What runs now, as arrays; None where a job has shares of several nodes."""
    running = view.running
    shares = list(chain.from_iterable(running.values()))
    if len(shares) != len(running):
        return None

    def column(i: int) -> IntArray:
        return np.fromiter(map(itemgetter(i), shares), np.float64, len(shares)).astype(np.int64)

    jobs = np.fromiter(running, np.int64, len(running))
    is_fixed = view.cluster.node_type_of is not None
    node_type = np.zeros(len(shares), np.int64) if is_fixed else column(3)  # then nobody reads it
    return _Held(np.searchsorted(view.jobs, jobs), column(1), column(2), node_type)


def moves_of(
    solution: Solution, view: View, held: _Held, info: Mapping[str, float | int | str | bool]
) -> Moves:
    """The decision of `assign_nodes`, worked out on arrays and given by what it changes."""
    cluster, count = view.cluster, len(view.jobs)
    used = np.arange(solution.jobs.shape[1]) < solution.num_jobs[:, None]
    k = np.nonzero(used)[0]
    place, gpus = solution.jobs[used], solution.gpus[used].astype(np.int64)
    node_type = solution.node_type[k]
    before = np.full((3, count), -1, dtype=np.int64)
    before[:, held.place] = held.node, held.gpus, held.node_type
    node_was, gpus_were, type_was = before[:, place]
    node = _identities(solution, view, k, node_was, gpus_were)[k]
    changed = (node_was != node) | (gpus_were != gpus)
    if cluster.node_type_of is None:
        changed |= type_was != node_type
    rows = np.stack([view.jobs[place], node, gpus, node_type], axis=1)
    shares_of = {share[0]: (share,) for share in _shares(rows[changed], cluster)}
    goes_on = np.zeros(count, dtype=np.bool_)
    goes_on[place] = True
    stopped = view.jobs[held.place[~goes_on[held.place]]].tolist()
    found: Moves = Moves.of(shares_of, stopped, lambda: _shares(rows, cluster), info)
    return found


@lru_cache(maxsize=4)
def _as_array(node_type_of: tuple[int, ...]) -> IntArray:
    """``(nodes,)`` type of each node."""
    return np.array(node_type_of)


def _identities(
    solution: Solution, view: View, k: IntArray, node_was: IntArray, gpus_were: IntArray
) -> IntArray:
    """``(open nodes,)`` the node that each open node of a solution is; the rule of `assign_nodes`.

    Parameters
    ----------
    k, node_was, gpus_were : ``(placements,)`` open node; where the job was, and with how many GPUs.
    """
    cluster, num_nodes = view.cluster, view.cluster.num_nodes
    types = solution.node_type
    fixed = None if cluster.node_type_of is None else _as_array(cluster.node_type_of)
    claims: npt.NDArray[np.bool_] = node_was >= 0
    if fixed is not None:
        claims &= fixed[node_was] == types[k]
    pairs, pair_of = np.unique(k[claims] * num_nodes + node_was[claims], return_inverse=True)
    size = np.bincount(pair_of, gpus_were[claims], len(pairs))
    node_of = np.full(len(types), -1, dtype=np.int64)
    free = np.zeros(num_nodes, dtype=np.bool_)
    free[view.nodes] = True
    order = np.argsort(-size, kind="stable")  # of equal claims by open node, then by node
    for claimant, node in zip(*(p[order].tolist() for p in divmod(pairs, num_nodes)), strict=True):
        if node_of[claimant] < 0 and free[node]:
            node_of[claimant] = node
            free[node] = False
    for v in (-1,) if fixed is None else range(len(cluster.node_types)):
        without = (node_of < 0) & (True if fixed is None else types == v)
        left = np.flatnonzero(free if fixed is None else free & (fixed == v))
        node_of[without] = left[: np.count_nonzero(without)]
    return node_of


def _shares(rows: IntArray, cluster: Cluster) -> list[Placement]:
    """Placements of rows of job, node, GPUs and node type."""
    ends: dict[tuple[int, int], tuple[float, ...]] = {}  # what follows the node in a placement
    found = []
    for job, node, g, v in rows.tolist():
        end = ends.get((v, g))
        if end is None:
            node_type = v if cluster.node_type_of is None else FIXED
            end = ends[v, g] = (g, node_type, *beside(cluster.node_types[v], g))
        found.append(_NEW(Placement, (job, node, *end)))
    return found
