"""A scheduling policy of Synergy: an ordering and a mechanism, in rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from policies.synergy.assignment import Assignment
from policies.synergy.book import Book
from policies.synergy.demand import Kind, Kinds, ServerSize, kinds_on_types
from policies.synergy.orderings import Ordering
from policies.synergy.servers import Group, Mechanism, Servers
from simulator import NO_CHANGE, Decision, InputError, View
from simulator.model.cluster import IntArray
from simulator.model.workload import Workload


class _State(NamedTuple):
    """State of the policy for its controller.

    ``of_jobs``: the jobs by kind, for whom and on which types; it stays while nodes go and come back.
    """

    of_jobs: tuple[Workload, list[int], tuple[Kinds, list[Sequence[Kind]]]]
    book: Book
    servers: Servers
    assignment: Assignment


class Synergy:
    """Rank the jobs, run those that fit, and share out CPUs and memory, anew in every round.

    Parameters
    ----------
    ordering, mechanism : see `policies.synergy.orderings` and `policies.synergy.mechanisms`.
    starvation_s : jobs that have not run for so long go first; infinite: never.
    ranks_at_full_speed : whether remaining times are counted at the full speed-up, as the released
        simulator does; see `policies.synergy.book.Book.rank_at_full_speed`.
    """

    def __init__(
        self,
        ordering: Ordering,
        mechanism: Mechanism,
        starvation_s: float = math.inf,
        *,
        ranks_at_full_speed: bool = False,
    ) -> None:
        if not starvation_s > 0:
            raise InputError(f"starvation_s is {starvation_s}, expected a number > 0")
        self.name = f"{ordering.name}+{mechanism.name}"
        self.plans_anew = mechanism.plans_anew
        self._ordering = ordering
        self._mechanism = mechanism
        self._starvation_s = starvation_s
        self._ranks_at_full_speed = ranks_at_full_speed
        self._state: _State | None = None
        # Whether nothing moves between one arrival or completion and the next.
        self._settles = starvation_s == math.inf and (
            ordering.settles == "order"
            or (ordering.settles == "set" and mechanism.depends_on_set_alone)
        )
        self._nodes: IntArray | None = None
        # Whether that takes equal servers: on others, who comes first has the faster ones.
        self._needs_equal = ordering.settles == "set"

    def decide(self, view: View) -> Decision:
        """Placements of the round that begins."""
        if self._settles and not view.changed:
            return NO_CHANGE
        if self._nodes is not view.nodes:  # the first decision, or nodes went or came back
            self._nodes = view.nodes
            self._state = _begin(view, self._mechanism.heterogeneous, self._state)
            several = len(self._state.servers.groups) > 1
            self._settles = self._settles and not (several and self._needs_equal)
            if self._ranks_at_full_speed:
                self._state.book.rank_at_full_speed(np.array([], dtype=np.int64))
        assert self._state is not None
        _, book, servers, assignment = self._state
        book.update(view)
        if self._ordering.needs_dominant:
            book.update_dominant(view)
        order = self._ordering.order(book, view, self._starvation_s)
        jobs, packed = self._mechanism.run(order, servers)
        moved = assignment.assign(jobs, packed)
        book.ran = {**view.running, **assignment.placed}
        if self._ranks_at_full_speed:
            book.rank_at_full_speed(assignment.below_demand())
        if not moved and len(view.running) == len(jobs):
            return NO_CHANGE
        placements = list(chain.from_iterable(assignment.placed.values()))
        return Decision(placements, info=packed.info, relaxed=packed.fractional)


def _begin(view: View, heterogeneous: bool, before: _State | None) -> _State:
    """Read the scenario, the jobs where they are not known yet; `InputError` where this policy cannot run it."""
    cluster, nodes = view.cluster, view.nodes.tolist()
    fixed = cluster.node_type_of
    if fixed is None:
        raise InputError("cluster: node types are configurable, expected servers of a fixed type")
    types = sorted({fixed[n] for n in nodes})
    if len(types) > 1 and not heterogeneous:
        names = ", ".join(cluster.node_types[v].name for v in types)
        raise InputError(
            f"cluster: servers of several types ({names}), expected equal ones: the mechanism static "
            "knows one type"
        )
    of_type = [[n for n in nodes if fixed[n] == v] for v in types]
    capacities = [ServerSize.of(cluster.node_types[v]) for v in types]
    of_jobs = before.of_jobs if before else None
    if of_jobs is None or of_jobs[0] is not view.workload or of_jobs[1] != types:
        of_jobs = view.workload, types, kinds_on_types(view.rows, capacities, types)
    kinds, kinds_of_type = of_jobs[2]
    groups = []
    first = 0
    for capacity, members, of_kind in zip(capacities, of_type, kinds_of_type, strict=True):
        groups.append(Group(capacity, first, len(members), of_kind))
        first += len(members)
    servers = Servers(groups, kinds)
    most = max(g.num_servers * g.capacity.gpus for g in groups)
    if kinds.gpus.max() > most and not hasattr(view, "faults"):
        job = int(kinds.gpus.argmax())
        raise InputError(
            f"workload: job {view.rows.job_id[job]!r}: num_gpus is {kinds.gpus[job]}, expected "
            f"at most the {most} GPUs of the servers"
        )
    gpus, cpus, memory_gb = (sum(g.all[r] for g in groups) for r in range(3))
    book = before.book if before else Book(len(kinds.kind_of))
    book.serve_on(kinds, (gpus, cpus, memory_gb))
    return _State(of_jobs, book, servers, Assignment(of_type, kinds))
