"""Hysteresis: ``greedy@hysteresis`` is greedy, and running jobs move only where that pays.

Where a reconfiguration takes time (``view.reconfiguration``), each job that is stopped, moved or resized
loses that time. The wrapped policy decides as ever. Its decision falls into groups: nodes that exchange
jobs belong together. A group is carried out if it saves more than the delays that it costs:

    saved_s > threshold x delay x (running jobs that it stops, moves or resizes)

Otherwise its running jobs stay, and its waiting jobs start where there is room beside them; then other
jobs of fixed demand, the shortest first. What is saved is remaining time, summed over the jobs of the group:

- a moved or resized job: its remaining time here, less that where it would go;
- a waiting job that starts: the time that it would wait else, which is the remaining time of those whose
  GPUs it gets (their mean by GPUs); nothing where it has room anyway;
- less, for each job that is stopped: the remaining time of those who get its GPUs.

For example, one GPU, a delay of 300 s, a running job with 3000 s left. A waiting job of 1000 s takes its
place: it saves 3000 - 1000 = 2000 s > 300 s. One of 2800 s does not: it saves 200 s.

The factor is the option ``hysteresis.threshold`` (1.0). Without a delay the decisions are those of the policy. A rental pool always has room beside the jobs that
stay, so a policy would rent more than its budget there: the cluster has to have nodes. A policy that gives parts of
GPUs is refused. One of your own that names single GPUs of jobs (`Decision.gpus_of`) keeps its own decisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import scipy

from policies.queues.free_capacity import FreeCapacity
from policies.registry.registration import Wrapper, register
from simulator.arguments import nonnegative
from simulator.errors import InputError
from simulator.model import tolerances
from simulator.model.cluster import proportional_share
from simulator.model.contract import FIXED, Decision, Placement, Policy, View
from simulator.model.feasibility import plan_after
from simulator.model.places import Places
from simulator.model.ranks import less, ranked
from simulator.model.workload import ELASTIC

Shares = tuple[Placement, ...]


@dataclass
class Entangled:
    """Jobs whose old and new nodes hang together, and these nodes."""

    nodes: set[int] = field(default_factory=set)
    stopped: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


@register("@hysteresis", requires=("nodes",), places=True)
class Hysteresis(Wrapper):
    """A policy whose moves are carried out only where they pay.

    A pool has room beside jobs that stay, beyond what a policy rents: hence nodes.

    Parameters
    ----------
    threshold : factor on the delays; 0: every decision is carried out.
    """

    def __init__(self, policy: Policy, inner_name: str, threshold: float = 1.0) -> None:
        super().__init__(policy, inner_name)
        self.plans_anew = False  # it looks at what runs
        self.threshold = threshold
        nonnegative(self.name, threshold=threshold)
        if self.fractional_gpus:
            raise InputError(
                f"policy {self.name!r}: {inner_name} names the GPUs of each job, and hysteresis has no effect "
                f"on such decisions; expected {inner_name!r}"
            )

    def decide(self, view: View) -> Decision:
        """The policy's decision, without the moves that do not pay."""
        if view.cluster.is_pool:
            raise InputError(f"{self.name}: the cluster is a rental pool, expected nodes or VMs")
        decision = self.policy.decide(view)
        least_s = self.threshold * getattr(view, "reconfiguration", 0.0)
        if not least_s or not view.running or decision.gpus_of is not None:
            return decision
        plan = plan_after(decision, view, self.name)
        groups = groups_of(plan, view)
        if not any(g.stopped or g.moved for g in groups):
            return decision
        kept = _carried_out(groups, plan, view, least_s)
        if kept is None:
            return decision
        shares, refused = kept
        placements = [share for own in shares.values() for share in own]
        info = {**decision.info, "groups_kept_in_place": refused}
        return replace(decision, placements=placements, keep_running=False, info=info)


# -- groups ----------------------------------------------------------------------------------


def groups_of(plan: Mapping[int, Shares], view: View) -> list[Entangled]:
    """Changes of a plan, in groups that share no node; jobs that go on as they are in none."""
    running = view.running
    changed: list[tuple[str, int, set[int]]] = []
    for job, shares in running.items():
        after = plan.get(job)
        if after is None:
            changed.append(("stopped", job, {p.node for p in shares}))
        elif after != shares and set(after) != set(shares):
            changed.append(("moved", job, {p.node for p in (*shares, *after)}))
    for job, shares in plan.items():
        if job not in running:
            changed.append(("starts", job, {p.node for p in shares}))
    together = scipy.cluster.hierarchy.DisjointSet(
        node for _, _, nodes in changed for node in nodes
    )
    for _, _, nodes in changed:
        first = min(nodes)
        for node in nodes:
            together.merge(first, node)
    groups: dict[int, Entangled] = {}
    for what, job, nodes in changed:
        group = groups.setdefault(together[min(nodes)], Entangled())
        group.nodes |= nodes
        getattr(group, what).append(job)
    return list(groups.values())


def _carried_out(
    groups: Sequence[Entangled], plan: Mapping[int, Shares], view: View, least_s: float
) -> tuple[dict[int, Shares], int] | None:
    """All shares after the groups that pay, and how many do not; None where all pay."""
    capacity = FreeCapacity(view)
    shares: dict[int, Shares] = dict(view.running)
    theirs: set[int] = set().union(*(g.nodes for g in groups))
    changed: set[int] = set()
    refused = 0
    for group in sorted(groups, key=lambda g: bool(g.stopped or g.moved)):
        if not (group.stopped or group.moved):
            here = {job: plan[job] for job in group.starts}
            capacity.add(chain.from_iterable(here.values()))
        else:
            nodes = [n for n in view.nodes.tolist() if n in group.nodes or n not in theirs]
            here = {}
            for job in group.starts:
                if own := capacity.nearby(plan[job], nodes):
                    here[job] = own
                    capacity.add(own)
            cost_s = least_s * (len(group.stopped) + len(group.moved))
            if less(cost_s, saved_s(group, plan, here, view), tolerances.INSTANT_S):
                capacity.add(chain.from_iterable(here.values()), -1)
                changed |= group.nodes
                for job in group.stopped:
                    del shares[job]
                here = {job: plan[job] for job in (*group.moved, *group.starts)}
            else:
                refused += 1
        shares |= here
    if not refused:
        return None
    nodes = [n for n in view.nodes.tolist() if n not in changed]
    fill(shares, capacity, nodes, view)
    return shares, refused


def fill(
    shares: dict[int, Shares], capacity: FreeCapacity, nodes: Sequence[int], view: View
) -> None:
    """Start jobs of fixed demand on one node where they fit and may be, the least remaining time first."""
    cluster = view.cluster
    fixed = cluster.node_type_of
    if fixed is None:
        return
    places = Places(view.workload, cluster) if view.workload.has_places else None
    kinds = {fixed[n]: n for n in reversed(nodes)}
    found: list[tuple[int, Shares]] = []
    times_s: list[float] = []
    for job in sorted(view.waiting):
        gpus = view.workload.num_gpus.item(job)
        if job in shares or gpus == ELASTIC or (places is not None and places.nodes[job] > 1):
            continue
        for v, node in kinds.items():
            if places is not None and not places.allows(job, v):
                continue
            wanted = (Placement(job, node, gpus, FIXED, *_proportional_share(job, gpus, v, view)),)
            time_s = view.time_s_of(job, wanted)
            if gpus <= cluster.node_types[v].gpus and time_s < math.inf:
                found.append((job, wanted))
                times_s.append(view.remaining_of(job) * time_s)
    for k in ranked(range(len(found)), times_s, tolerances.INSTANT_S):
        job, shape = found[k]
        if job not in shares and (own := capacity.nearby(shape, nodes)):
            shares[job] = own
            capacity.add(own)


def _proportional_share(job: int, gpus: int, node_type: int, view: View) -> tuple[float, float]:
    """CPUs and memory of a job on a node of this type: what it states, else in proportion."""
    workload = view.workload
    fair = proportional_share(view.cluster.node_types[node_type], gpus)
    stated = (workload.num_cpus.item(job), workload.memory_gb.item(job))
    cpus, memory_gb = (f if math.isnan(s) else s for s, f in zip(stated, fair, strict=True))
    return cpus, memory_gb


def saved_s(
    group: Entangled, plan: Mapping[int, Shares], with_room: Mapping[int, Shares], view: View
) -> float:
    """Remaining time that a group saves over its jobs, s; see the head of this file.

    Parameters
    ----------
    with_room : shares of the waiting jobs that would have room without anybody's move.
    """

    def left_s(job: int, shares: Shares) -> float:
        return view.remaining_of(job) * view.time_s_of(job, shares)

    running = view.running
    here = {j: left_s(j, running[j]) for j in (*group.stopped, *group.moved)}
    there = {j: left_s(j, plan[j]) for j in (*group.moved, *group.starts)}
    until_free = _mean((s, _more(running[j], plan.get(j, ()))) for j, s in here.items())
    until_back = _mean((s, _more(plan[j], running.get(j, ()))) for j, s in there.items())
    saved = sum(here[j] - there[j] for j in group.moved)
    for job in group.starts:
        own = with_room.get(job)
        saved += until_free if own is None else left_s(job, own) - there[job]
    return saved - len(group.stopped) * until_back


def _more(one: Shares, other: Shares) -> float:
    """GPUs that one has and the other has not, node by node."""
    of_other = {p.node: p.gpus for p in other}
    return sum(max(0.0, p.gpus - of_other.get(p.node, 0.0)) for p in one)


def _mean(pairs: Iterable[tuple[float, float]]) -> float:
    """Mean of values by weights; 0 without any weight."""
    kept = [(value, weight) for value, weight in pairs if weight > 0]
    total = sum(weight for _, weight in kept)
    return sum(value * weight for value, weight in kept) / total if total else 0.0
