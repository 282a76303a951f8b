"""Preemption by QOS: ``easy-backfill@qos-preemption`` stops jobs of a lower QOS for those of a higher one.

Slurm calls it PreemptType=preempt/qos: each QOS names those whose jobs it may stop. For example, four GPUs, of which a job of
QOS ``low`` holds all. A job of ``high`` on two GPUs comes, and ``high=low`` is given: the first one stops, the second starts.
A job that was stopped keeps its work (`reconfiguration_s` is what it loses), and waits in the order of the policy.
"""

from __future__ import annotations

from collections.abc import Sequence

from policies.free_capacity import FreeCapacity
from policies.registration import Wrapper, register
from simulator.errors import InputError
from simulator.model.contract import LEAST_AGAIN_S, Decision, Placement, Policy, View


@register(
    "@qos-preemption",
    requires=("servers", "fixed-demand"),
    paper="Slurm, PreemptType=preempt/qos",
    places=True,
)
class QosPreemption(Wrapper):
    """A policy before which jobs of a lower QOS give way to waiting ones of a higher QOS.

    Waiting jobs that find no room are looked at in the order of submission. The jobs that give way are those that
    started last; no more of them stop than the job needs. A job that finds room starts before waiting ones that it could
    stop. The policy decides about the rest at once afterwards.

    Parameters
    ----------
    over : which QOS stops which, "high=normal,low normal=low".
    """

    def __init__(self, policy: Policy, inner_name: str, over: str = "") -> None:
        super().__init__(policy, inner_name)
        self.plans_anew = False  # it looks at what runs
        pairs = [word.partition("=") for word in over.split()]
        for name, equals, lower in pairs:
            if not (name and equals and all(lower.split(","))):
                word = f"{name}{equals}{lower}"
                raise InputError(
                    f"policy {self.name!r}: over has {word!r}, expected QOS=QOS,QOS as in high=normal,low"
                )
        self._over = {name: frozenset(lower.split(",")) for name, _, lower in pairs}

    def decide(self, view: View) -> Decision:
        """Stop jobs for those of a higher QOS, else the policy's decision."""
        qos = view.workload.qos
        asking = [job for job in sorted(view.waiting) if qos and qos[job] in self._over]
        if not asking:
            return self.policy.decide(view)
        free, running = FreeCapacity(view), dict(view.running)
        started: dict[int, tuple[Placement, ...]] = {}
        for job in asking:
            lower = self._over[qos[job]]
            if free.place(job):
                # The policy may start it; but not those first that would have to give way at once.
                ahead = [qos[other] for other in view.waiting if other < job]
                if ahead and lower.issuperset(ahead):
                    started[job] = free.take(job)
                continue
            stopped = self._made_room(free, job, [j for j in running if qos[j] in lower], running)
            if stopped:
                started[job] = free.take(job)
                for other in stopped:
                    # Of those that were looked at, one that fits beside the job goes on.
                    if free.holds(running[other]):
                        free.add(running[other])
                    else:
                        del running[other]
        if not started:
            return self.policy.decide(view)
        return Decision({**running, **started}, again_s=LEAST_AGAIN_S)

    def _made_room(
        self,
        free: FreeCapacity,
        job: int,
        candidates: Sequence[int],
        running: dict[int, tuple[Placement, ...]],
    ) -> list[int]:
        """Give back the shares of jobs, the last started first, until another one has room; none where it never has."""
        given_back: list[int] = []
        for other in reversed(candidates):
            free.add(running[other], -1)
            given_back.append(other)
            if free.place(job):
                return given_back[::-1]
        for other in given_back:
            free.add(running[other])
        return []
