"""A policy of your own: which waiting jobs start now, and where.

schedlab run scenario.toml --policy my_policy.py:my_policy --allow-code

For nodes of fixed types and jobs of fixed demand; docs/extending.md has one for VMs.
"""

from schedlab import NO_CHANGE, Decision, FreeCapacity, Placement, View


def my_policy(view: View, ageing: float = 0.5) -> Decision:
    """The shortest waiting job first, without preemption; long waits count.

    Each parameter behind ``view`` is an option: --policy my_policy.py:my_policy:ageing=0
    """
    free = FreeCapacity(view)  # GPUs, CPUs and memory that are free now
    placements: list[Placement] = []
    for job in sorted(view.waiting, key=lambda job: rank_s(view, job, ageing)):
        placements += free.take(job)  # empty where the job does not fit
    if not placements:
        return NO_CHANGE
    # What runs goes on. Without keep_running, a running job without a placement is preempted.
    return Decision(placements, keep_running=True)


my_policy.requires = ("servers", "fixed-demand")  # type: ignore[attr-defined]
"""What it needs of jobs and machines: docs/policies.md has the names. It is checked before a run."""


def rank_s(view: View, job: int, ageing: float) -> float:
    """Duration of a job of fixed demand, s, less a part of the time that it has waited."""
    waited_s = view.now_s - view.workload.submit_s[job]
    return float(view.workload.performance.duration_s[job]) - ageing * waited_s
