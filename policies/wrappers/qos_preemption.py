"""Preemption by QOS: ``easy-backfill@qos-preemption`` stops jobs of a lower QOS for those of a higher one.

Slurm calls it PreemptType=preempt/qos: each QOS names those whose jobs it may stop. For example, four GPUs, of which a job of
QOS ``low`` holds all. A job of ``high`` on two GPUs comes, and ``high=low`` is given: the first one stops, the second starts.
A job that was stopped keeps its work (`reconfiguration_s` is what it loses), and waits in the order of the policy.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from policies.queues.free_capacity import FreeCapacity
from policies.queues.waiting import demand
from policies.registry.making import requirements_of
from policies.registry.registration import Wrapper, register
from simulator.errors import InputError
from simulator.model.contract import Changes, Decision, Placement, Policy, View
from simulator.model.feasibility import plan_after

Shares = tuple[Placement, ...]


@register(
    "@qos-preemption",
    requires=("servers", "fixed-demand"),
    paper="Slurm, PreemptType=preempt/qos",
    places=True,
)
class QosPreemption(Wrapper):
    """A policy before which jobs of a lower QOS give way to waiting ones of a higher QOS.

    The policy decides first. Then the jobs that would still wait are looked at, those of the highest QOS first, and those of one
    QOS in the order of submission. A job that finds no room takes that of jobs of a lower QOS, which run or which the policy
    would start: of those that started last, and of no more than it needs. A job that finds room starts if only jobs that
    it may stop wait before it. Else the policy chooses when it starts, and no job of a lower QOS takes its room.
    Where a job was stopped, the policy decides at the same instant about what is left.

    Parameters
    ----------
    over : which QOS stops which, "high=normal,low normal=low".
    """

    def __init__(self, policy: Policy, inner_name: str, over: str = "") -> None:
        super().__init__(policy, inner_name)
        self.plans_anew = False  # it looks at what runs
        if self.fractional_gpus:
            raise InputError(
                f"policy {self.name!r}: {inner_name} names the GPUs of each job, expected a policy that gives whole GPUs"
            )
        self._on_one_node = "one-node" in requirements_of(inner_name)
        self._over: dict[str, frozenset[str]] = {}
        for word in over.split():
            name, equals, lower = word.partition("=")
            if not (name and equals and all(lower.split(","))):
                raise InputError(
                    f"policy {self.name!r}: over has {word!r}, expected QOS=QOS,QOS as in high=normal,low"
                )
            self._over[name] = self._over.get(name, frozenset()).union(lower.split(","))
        self._level: dict[str, int] = {}
        below_of = {name: sorted(lower) for name, lower in self._over.items()}
        try:
            for name in TopologicalSorter(below_of).static_order():
                below = (self._level[lower] for lower in below_of.get(name, ()))
                self._level[name] = max(below, default=-1) + 1
        except CycleError as error:
            circle = "=".join(reversed(error.args[1]))
            raise InputError(
                f"policy {self.name!r}: over has a circle, {circle}, expected that no QOS stops itself or one above it"
            ) from None

    def decide(self, view: View) -> Decision:
        """The policy's decision, in which jobs of a lower QOS have given way."""
        qos, now = view.workload.qos, view
        asking = [job for job in view.active if qos and qos[job] in self._over]
        asking.sort(key=lambda job: (-self._level[qos[job]], job))
        while True:
            decision = self.policy.decide(now)
            if decision.gpus_of is not None:
                return decision
            plan = plan_after(decision, now, self.name)
            if now is view and all(job in plan for job in asking):
                return decision
            after = _After(now, plan, self._on_one_node)
            while sum(self._serve(now, after, job) for job in asking):
                after.hold_nothing()  # who started may be one that another job stops
            if now is view and after.shares.keys() == plan.keys():
                return decision
            if all(job in now.running or job in plan for job in after.shares):
                return replace(decision, placements=after.shares, keep_running=False)
            now = _with(view, after.shares)

    def _serve(self, view: View, after: _After, job: int) -> bool:
        """Give a job that would wait its room, where it has a right to it."""
        if job in after.shares or job in after.held:
            return False
        qos = view.workload.qos
        lower, kind = self._over[qos[job]], (qos[job], demand(view, job))
        if kind in after.in_vain:
            return False
        if own := after.room(job):
            ahead = [qos[j] for j in view.waiting if j < job and j not in after.shares]
            if job in view.running or (ahead and lower.issuperset(ahead)):
                after.start(job, own)
                return True
            after.hold(job, own)
            return False
        if after.make_room(job, [j for j in reversed(after.shares) if qos[j] in lower]):
            return True
        after.in_vain.add(kind)
        return False


class _After:
    """Jobs that run after a decision, those that start last at the end, and the capacity left beside them.

    Parameters
    ----------
    on_one_node : the policy places each job on one node.

    Attributes
    ----------
    shares : by job.
    free : capacity beside these jobs, and beside those for which it is held.
    held : free capacity that is held for waiting jobs.
    in_vain : QOS and demand of jobs that find no room.
    """

    def __init__(self, view: View, plan: Mapping[int, Shares], on_one_node: bool) -> None:
        self.shares = {job: plan[job] for job in view.running if job in plan} | {**plan}
        self.free = FreeCapacity(view)
        self.held: dict[int, Shares] = {}
        self.in_vain: set[Hashable] = set()
        self._running, self._on_one_node = view.running, on_one_node
        for jobs, other, sign in ((view.running, plan, -1), (plan, view.running, 1)):
            for job, own in jobs.items():
                if other.get(job) != own:
                    self.free.add(own, sign)

    def room(self, job: int) -> Shares:
        """Where a job fits: where it runs, else anywhere; empty: nowhere."""
        own = self._running.get(job, ())
        if own and self.free.holds(own):
            return own
        found = self.free.place(job)
        return found if len(found) < 2 or not self._on_one_node else ()

    def start(self, job: int, own: Shares) -> None:
        """Let a job run on these shares."""
        self.free.add(own)
        self.shares[job] = own
        self.in_vain.clear()

    def hold(self, job: int, own: Shares) -> None:
        """Keep these shares from jobs that are looked at later."""
        self.free.add(own)
        self.held[job] = own

    def hold_nothing(self) -> None:
        """Free again what is held."""
        for own in self.held.values():
            self.free.add(own, -1)
        self.held.clear()

    def make_room(self, job: int, others: Iterable[int]) -> bool:
        """Stop jobs, one after the other, until another one has room, and start it; none where it never has."""
        given_back: list[int] = []
        for other in others:
            self.free.add(self.shares[other], -1)
            given_back.append(other)
            if own := self.room(job):
                self.start(job, own)
                break
        for other in reversed(given_back):
            # Of those that were looked at, one that fits beside the job goes on.
            if self.free.holds(self.shares[other]):
                self.free.add(self.shares[other])
            else:
                del self.shares[other]
        return job in self.shares


def _with(view: View, after: Mapping[int, Shares]) -> View:
    """The view as it would be at this instant if these jobs ran, and no others."""
    shares, free_gpus = [*view.shares], view.free_gpus.copy()
    held_since_s = array("d", view.states.held_since_s)
    for running, sign in ((view.running, -1), (after, 1)):
        other = after if running is view.running else view.running
        for job, own in running.items():
            if other.get(job) == own:
                continue
            if job not in view.running:
                held_since_s[job] = view.now_s
            for share in own:
                free_gpus[share.node] -= sign * share.gpus
                there = {j: each for j, each in shares[share.node].items() if j != job}
                shares[share.node] = there | {job: share} if sign > 0 else there
    return view.showing(
        running=after,
        waiting=dict.fromkeys(j for j in (*view.waiting, *view.running) if j not in after),
        shares=shares,
        free_gpus=free_gpus,
        free_gpus_total=float(free_gpus[view.nodes].sum()),
        jobs=replace(view.states, held_since_s=held_since_s),
        node_changes=Changes(0),
        queue_changes=Changes(0),
    )
