"""Synergy's CPUs and memory beside GPUs that another policy gave: ``greedy@tune``.

The wrapped policy says which elastic job gets how many GPUs of which node. On each node the CPUs and
memory are then given out as in Synergy's tune (Section 4.2), with the GPUs as they are:

- nobody gets less than what makes its rate that of the proportional share;
- a job whose demand is below its proportional share gets its demand, and leaves the rest;
- what is left goes to the jobs that ask for more, the largest gain first, as far as it reaches.

Shares are points of the job's matrix, as in Synergy. For example, on a node of 4 GPUs and 12 CPUs 3 CPUs per
GPU are proportional. A job of 2 GPUs needs 1 per GPU and gets 2 CPUs; one of 1 GPU that asks for 6 gets 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from policies.registry.registration import Wrapper, register
from policies.synergy.demand import Kind, Option, ServerSize, Share, sensitive
from simulator.errors import InputError
from simulator.model.cluster import proportional_share
from simulator.model.contract import Decision, Placement, Policy, View
from simulator.model.feasibility import plan_after
from simulator.model.ranks import ranked
from simulator.model.sensitive_table import SensitiveTable
from simulator.model.tolerances import SUMS


@register(
    "@tune", requires=("elastic-sensitivity",), paper="after Mohan et al. (Synergy), OSDI 2022"
)
class Tuned(Wrapper):
    """A policy on elastic jobs whose CPUs and memory are given out as in Synergy's tune."""

    def __init__(self, policy: Policy, inner_name: str) -> None:
        super().__init__(policy, inner_name)
        self._kinds: dict[tuple[int, int, int], Kind] = {}

    def decide(self, view: View) -> Decision:
        """The policy's GPUs, with CPUs and memory."""
        performance = view.workload.performance
        if not isinstance(performance, SensitiveTable):
            raise InputError(
                f"{self.name}: rates of the jobs do not depend on CPUs and memory, expected elastic "
                "jobs with a sensitivity"
            )
        decision = self.policy.decide(_as_proportional(view))
        if decision.gpus_of is not None:
            return decision
        if decision.keep_running and not (decision.placements or decision.stopped):
            return decision
        plan = plan_after(decision, view, self.name)
        on_node: dict[int, list[Placement]] = {}
        for shares in plan.values():
            for share in shares:
                on_node.setdefault(share.node, []).append(share)
        given = {
            (share.job, share.node): share
            for shares in on_node.values()
            for share in self._on_node(shares, view, performance)
        }
        placements = [given[s.job, s.node] for shares in plan.values() for s in shares]
        return replace(decision, placements=placements, keep_running=False)

    def _on_node(
        self, shares: list[Placement], view: View, performance: SensitiveTable
    ) -> list[Placement]:
        fixed = view.cluster.node_type_of
        v = shares[0].node_type if fixed is None else fixed[shares[0].node]
        capacity = ServerSize.of(view.cluster.node_types[v])
        kinds = {s.job: self._kind(s, v, performance, capacity) for s in shares}
        chosen = give_out({s.job: int(s.gpus) for s in shares}, kinds, capacity)
        return [
            s._replace(
                cpus=chosen[s.job].share.cpus * s.gpus,
                memory_gb=chosen[s.job].share.memory_gb * s.gpus,
            )
            for s in shares
        ]

    def _kind(self, share: Placement, v: int, table: SensitiveTable, capacity: ServerSize) -> Kind:
        matrix = table.matrix_of.item(share.job, v)
        key = (matrix, int(share.gpus), v)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = sensitive(table.matrices[matrix], int(share.gpus), capacity)
        return kind


def _as_proportional(view: View) -> View:
    """The view as if all jobs had their proportional share: what one has beyond it is no one's loss."""
    fixed, types = view.cluster.node_type_of, view.cluster.node_types

    def fair(share: Placement) -> Placement:
        v = share.node_type if fixed is None else fixed[share.node]
        cpus, memory_gb = proportional_share(types[v], share.gpus)
        return share._replace(cpus=cpus, memory_gb=memory_gb)

    return view.showing(
        running={job: tuple(map(fair, shares)) for job, shares in view.running.items()},
        shares=[{job: fair(s) for job, s in shares.items()} for shares in view.shares],
    )


def give_out(
    gpus: Mapping[int, int], kinds: Mapping[int, Kind], capacity: ServerSize
) -> dict[int, Option]:
    """The share of each job on one node, by job.

    Parameters
    ----------
    gpus : of each job there, together at most those of the node.
    """
    chosen = {}
    for job, kind in kinds.items():
        below = not kind.exceeds_fair
        chosen[job] = Option(kind.best, kind.best_rate) if below else _least_fair(kind)
    cpus = capacity.cpus - sum(o.share.cpus * gpus[j] for j, o in chosen.items())
    memory_gb = capacity.memory_gb - sum(o.share.memory_gb * gpus[j] for j, o in chosen.items())
    asking = [j for j, kind in kinds.items() if kind.exceeds_fair]
    for job in ranked(asking, [-kinds[j].best_rate / kinds[j].fair_rate for j in asking]):
        own, g = chosen[job].share, gpus[job]
        most = Share(own.cpus + cpus / g, own.memory_gb + memory_gb / g)
        best = max(
            (o for o in kinds[job].options if _within(o.share, most)),
            key=lambda o: (o.rate, -o.share.cpus, -o.share.memory_gb),
            default=chosen[job],
        )
        if best.rate > chosen[job].rate:
            cpus -= (best.share.cpus - own.cpus) * g
            memory_gb -= (best.share.memory_gb - own.memory_gb) * g
            chosen[job] = best
    return chosen


def _least_fair(kind: Kind) -> Option:
    """The proportional share: what a job has at least where it asks for more."""
    return Option(kind.fair, kind.fair_rate)


def _within(share: Share, most: Share) -> bool:
    return share.cpus <= most.cpus * (1 + SUMS) and share.memory_gb <= most.memory_gb * (1 + SUMS)
