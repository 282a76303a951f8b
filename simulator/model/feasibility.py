"""Checks of decisions: their form, and that they can be carried out; each offence is one line.

They are loops: a decision names tens of placements, for which calls of NumPy take longer than the work.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simulator.errors import InfeasibleDecision
from simulator.model import tolerances
from simulator.model.cluster import Cluster, NodeType
from simulator.model.contract import FIXED, LEAST_AGAIN_S, Decision, Placement, View

MOST_WHOLE = 2**63
"""Whole numbers in tables are below it, in 64 bits."""


def by_job(decision: Decision, view: View, policy: str) -> dict[int, tuple[Placement, ...]]:
    """The placements of a decision, by job, in the order in which jobs are first named.

    Numbers of NumPy become Python's own: sums of its 32-bit ones would lose digits.
    """
    shares: dict[int, tuple[Placement, ...]] = {}
    for placement in decision.shares():
        job, node, gpus, v, cpus, memory_gb = placement
        if not (
            type(placement) is Placement
            and type(job) is type(node) is type(v) is int
            and type(gpus) in _PLAIN
            and type(cpus) in _PLAIN
            and type(memory_gb) in _PLAIN
        ):
            placement = _in_plain_numbers(placement, _Where(policy, view))
            job = placement[0]
        before = shares.get(job)
        shares[job] = (placement,) if before is None else (*before, placement)
    return shares


def placements_of(decision: object, view: View, policy: str) -> dict[int, tuple[Placement, ...]]:
    """Placements by job of what a policy answered.

    Raises
    ------
    InfeasibleDecision
        No `Decision`, or one that is not made of `Placement` and a mapping; one line.
    """
    if not isinstance(decision, Decision):
        raise _Where(policy, view).error(
            f"answered with {type(decision).__name__}, expected a Decision"
        )
    if decision.info:
        _check_info(decision.info, _Where(policy, view))
    try:
        return by_job(decision, view, policy)
    except (AttributeError, TypeError, ValueError) as error:
        found: Any = decision.placements
        if not isinstance(found, Sequence) or isinstance(found, Placement):
            what = f"has one {type(found).__name__} as placements, expected a sequence of them"
        elif others := [type(p).__name__ for p in found if not isinstance(p, Placement)]:
            what = f"has a {others[0]} among its placements, expected a Placement"
        else:
            what = f"has placements that cannot be read ({error})"
        raise _Where(policy, view).error(what) from error


def plan_after(decision: Decision, view: View, policy: str) -> dict[int, tuple[Placement, ...]]:
    """Placements by job of all that runs after a decision; see `placements_of`."""
    plan = placements_of(decision, view, policy)
    if decision.keep_running:
        plan = {**view.running, **plan}
        for job in decision.stopped:
            plan.pop(job, None)
    return plan


def _check_info(info: object, where: _Where) -> None:
    if not isinstance(info, Mapping):
        raise where.error(f"has {type(info).__name__} as info, expected a mapping")
    for name, value in info.items():
        if isinstance(value, int) and abs(value) >= MOST_WHOLE:
            raise where.error(
                f"has info {name!r} of {value.bit_length()} bits, expected at most 63"
            )


def wake_up_of(again_s: object, view: View, policy: str) -> float:
    """`Decision.again_s`, checked; it is whatever the policy put there, but not None.

    Raises
    ------
    InfeasibleDecision
        No finite number of seconds from `LEAST_AGAIN_S` on; one line.
    """
    real = isinstance(again_s, numbers.Real) and not isinstance(again_s, bool)
    if not real or not LEAST_AGAIN_S <= float(again_s) < math.inf:  # type: ignore[arg-type]
        raise _Where(policy, view).error(
            f"has again_s {again_s!r}, expected at least {LEAST_AGAIN_S:g} seconds, or None"
        )
    return float(again_s)  # type: ignore[arg-type]


def check_decision(
    shares_of: Mapping[int, tuple[Placement, ...]],
    decision: Decision,
    view: View,
    policy: str,
) -> None:
    """Check that a decision, as `by_job` gives it, can be carried out.

    Checked: jobs are active here, nodes are this controller's, one type a node, no node over its
    GPUs, CPUs or memory, positive whole GPUs (real ones on a pool, or where the decision names
    the GPUs or is relaxed), one share a job and node, no node that is down.

    Raises
    ------
    InfeasibleDecision
        One line with policy, time, node and resource.
    """
    stopped = {*decision.stopped} if decision.keep_running else set()
    if not stopped and _starts_that_fit(shares_of, view):
        return
    where = _Where(policy, view)
    for job in stopped:
        if job not in view.running or job in shares_of:
            raise where.error(f"stops job {job}, expected one that runs and is given nothing")
    uses: dict[int, _Use] = {}
    active, running = view.active, view.running
    keep_running = decision.keep_running
    fractional = decision.relaxed or decision.gpus_of is not None
    same: set[int] = set()  # what goes on as it is was checked when it started
    for job, shares in shares_of.items():
        if len(shares) == 1 and running.get(job) == shares and not shares[0][2] % 1:
            same.add(job)
            continue
        if job not in active:
            raise where.error(f"places job {job}, which is not active here")
        if len(shares) > 1 and len({p.node for p in shares}) < len(shares):
            raise where.error(f"gives job {job} two shares of one node")
        for placement in shares:
            _add(uses, placement, view.cluster, where, fractional)
    for node, use in tuple(uses.items()) if keep_running or same else ():
        if _is_unlimited(view.cluster.node_types[int(use[0])]):
            continue  # a pool: thousands of shares, and no limit that they could exceed
        for job, placement in view.shares[node].items():
            goes_on = keep_running and job not in shares_of and job not in stopped
            if goes_on or job in same:
                _add(uses, placement, view.cluster, where, fractional)
    for node, use in uses.items():
        _check_node(node, use, where, tolerances.FRACTIONS if fractional else tolerances.CAPACITY)


def _starts_that_fit(shares_of: Mapping[int, tuple[Placement, ...]], view: View) -> bool:
    """Whether a decision starts waiting jobs on free GPUs of nodes of fixed types, and no more.

    Most decisions are of this kind. What is not is left to the whole check, which says why.
    """
    cluster, running, active = view.cluster, view.running, view.active
    fixed = cluster.node_type_of
    if fixed is None or cluster.limited_resources:
        return False
    free_gpus, controllers, controller = (
        view.free_gpus.data,
        cluster.num_controllers,
        view.controller,
    )
    num_nodes = cluster.num_nodes
    taken: dict[int, float] = {}
    for job, shares in shares_of.items():
        if job in running or job not in active:
            return False
        for _, node, gpus, v, cpus, memory_gb in shares:
            use = taken.get(node, 0) + gpus
            if not (
                0 <= node < num_nodes
                and node % controllers == controller
                and (v == FIXED or v == fixed[node])
                and not (cpus or memory_gb)
                and 0 < gpus == gpus // 1
                and use <= free_gpus[node] < math.inf
            ):
                return False
            taken[node] = use
        if len(shares) > 1 and len({p[1] for p in shares}) < len(shares):
            return False
    return True


def fits(wanted: float, free: float, capacity: float) -> bool:
    """Whether so much of a resource fits in what is free of a capacity, but for rounding."""
    return wanted <= free + tolerances.CAPACITY * capacity


def has_room(
    job: int,
    shares: Sequence[Placement],
    on_node: Sequence[Mapping[int, Placement]],
    cluster: Cluster,
) -> bool:
    """Whether a job's shares, as `check_decision` let them pass, fit beside what runs now.

    Parameters
    ----------
    on_node : for each node of the cluster, the placements on it, by job; those of this job, which
        would leave them, do not count.
    """
    fixed = cluster.node_type_of
    for share in shares:
        v = share.node_type if fixed is None else fixed[share.node]
        spec = cluster.node_types[v]
        if _is_unlimited(spec):
            continue
        others = [p for j, p in on_node[share.node].items() if j != job]
        if fixed is None and any(p.node_type != v for p in others):
            return False
        for resource in ("gpus", "cpus", "memory_gb"):
            capacity = getattr(spec, resource)
            used = sum(getattr(p, resource) for p in others)
            if not fits(getattr(share, resource), capacity - used, capacity):
                return False
    return True


_Use = list[float]
"""What a decision takes of one node: its type, GPUs, CPUs, GB of memory."""
_RESOURCES = ("GPUs", "CPUs", "GB of memory")


_PLAIN = (int, float)
"""Types of numbers that are Python's own."""


def _add(
    uses: dict[int, _Use],
    placement: Placement,
    cluster: Cluster,
    where: _Where,
    fractional: bool,
) -> None:
    """Add one share to what its node gives."""
    job, node, gpus, v, cpus, memory_gb = placement
    if not 0 <= node < cluster.num_nodes:
        raise where.error(f"uses node {node}, which does not exist")
    fixed = cluster.node_type_of
    if fixed is not None:
        if v != FIXED and v != fixed[node]:
            raise where.error(f"configures node {node}, whose type is fixed")
        v = fixed[node]
    elif not 0 <= v < len(cluster.node_types):
        raise where.error(f"configures node {node} as type {v}, which does not exist")
    if not (0 < gpus < math.inf and 0 <= cpus < math.inf and 0 <= memory_gb < math.inf):
        raise where.error(
            f"gives job {job} {gpus} GPUs, {cpus} CPUs and {memory_gb} GB on node {node}"
        )
    if gpus != int(gpus) and not fractional and cluster.node_types[v].gpus < math.inf:
        raise where.error(f"gives job {job} {gpus} GPUs of node {node}, not a whole number")
    use = uses.get(node)
    if use is None:
        uses[node] = [v, gpus, cpus, memory_gb]
        return
    if use[0] != v:
        names = [cluster.node_types[int(w)].name for w in (use[0], v)]
        raise where.error(f"configures node {node} as {names[0]} and as {names[1]}")
    use[1] += gpus
    use[2] += cpus
    use[3] += memory_gb


def _in_plain_numbers(placement: Placement, where: _Where) -> Placement:
    """The same in Python's own numbers; 0.0 is no index, and a text or an array no amount."""
    for name in ("job", "node", "node_type"):
        value = getattr(placement, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise where.error(f"has a placement with {name} {value!r}, expected a whole number")
    for name in ("gpus", "cpus", "memory_gb"):
        value = getattr(placement, name)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise where.error(f"has a placement with {name} {value!r}, expected a number")
    job, node, gpus, v, cpus, memory_gb = placement
    amounts = [
        int(x) if isinstance(x, (int, np.integer)) else float(x) for x in (gpus, cpus, memory_gb)
    ]
    return Placement(int(job), int(node), amounts[0], int(v), amounts[1], amounts[2])


def _is_unlimited(spec: NodeType) -> bool:
    return spec.gpus == spec.cpus == spec.memory_gb == math.inf


def _check_node(node: int, use: _Use, where: _Where, slack: float) -> None:
    """A node is this controller's, and not over its capacities."""
    view = where.view
    if node % view.cluster.num_controllers != view.controller:
        raise where.error(f"uses node {node}, which is not of controller {view.controller}")
    if node in view.down:
        raise where.error(f"uses node {node}, which is down")
    v, *amounts = use
    spec = view.cluster.node_types[int(v)]
    capacities = spec.gpus, spec.cpus, spec.memory_gb
    for what, used, capacity in zip(_RESOURCES, amounts, capacities, strict=True):
        if used > capacity * (1 + slack):
            raise where.error(f"node {node}: {used:g} {what} used of {capacity:g}")


class _Where(NamedTuple):
    """Policy and time of a decision, for the error's one line."""

    policy: str
    view: View

    def error(self, what: str) -> InfeasibleDecision:
        return InfeasibleDecision(f"policy {self.policy} at {self.view.now_s:.6g} s: {what}")


def check_gpus(
    shares_of: Mapping[int, tuple[Placement, ...]],
    decision: Decision,
    held: Mapping[int, tuple[int, ...]],
    view: View,
    policy: str,
) -> None:
    """Check that no single GPU is given away more than once.

    Parameters
    ----------
    decision : one that names GPUs.
    held : GPUs of the jobs that run, by job, from the decisions that placed them.

    Raises
    ------
    InfeasibleDecision
        One line with policy, time, node and GPU.
    """
    where = _Where(policy, view)
    parts: dict[tuple[int, int], float] = {}
    gpus_of = decision.gpus_of or {}
    others = view.running if decision.keep_running else {}
    everything = {j: s for j, s in others.items() if j not in decision.stopped} | {**shares_of}
    touched = {share.node for shares in shares_of.values() for share in shares}
    for job, shares in everything.items():
        if not touched & {share.node for share in shares}:
            continue
        gpus = gpus_of.get(job) if job in shares_of else held.get(job)
        share, most = shares[0], _gpus_of_node(shares[0], view.cluster)
        if not gpus and all(s.gpus == _gpus_of_node(s, view.cluster) for s in shares):
            continue  # whole nodes: `check_decision` lets nobody else have a part of them
        if not gpus or len(shares) > 1 or len(set(gpus)) < len(gpus):
            raise where.error(
                f"names GPUs {gpus} for job {job} in {len(shares)} shares, expected one"
            )
        if not all(0 <= g < most for g in gpus):
            raise where.error(f"names GPUs {gpus} of node {share.node}, which has {most:g}")
        for g in gpus:
            key = (share.node, g)
            parts[key] = parts.get(key, 0.0) + share.gpus / len(gpus)
            if parts[key] > 1 + tolerances.FRACTIONS:
                raise where.error(
                    f"node {share.node}: GPU {g} is given away {parts[key]:.3g} times"
                )


def _gpus_of_node(share: Placement, cluster: Cluster) -> float:
    """GPUs of the node of a share."""
    fixed = cluster.node_type_of
    return cluster.node_types[share.node_type if fixed is None else fixed[share.node]].gpus


def gpus_have_room(
    job: int,
    share: Placement,
    gpus: Sequence[int],
    on_node: Mapping[int, Placement],
    held: Mapping[int, tuple[int, ...]],
) -> bool:
    """Whether each of these GPUs has a job's part of it left, beside what runs on the node now.

    Parameters
    ----------
    on_node : the placements on the node, by job.
    held : GPUs of the jobs that run, by job.
    """
    for g in gpus:
        part = share.gpus / len(gpus)
        for other, beside in on_node.items():
            own = held.get(other, ())
            if other != job and g in own:
                part += beside.gpus / len(own)
        if part > 1 + tolerances.FRACTIONS:
            return False
    return True
