"""A policy of your own: which waiting jobs start now, and where.

schedlab run scenario.toml --policy my_policy.py:my_policy --allow-code

For nodes of fixed types and jobs of fixed demand; docs/extending.md has one for VMs.
"""

from schedlab import Decision, View, serve


def my_policy(view: View, ageing: float = 0.5) -> Decision:
    """The shortest waiting job first, without preemption; long waits count.

    Each parameter behind ``view`` is an option: --policy my_policy.py:my_policy:ageing=0
    """
    # Each job starts on the fullest node that holds it, else on the emptiest ones; what runs goes on.
    return serve(view, sorted(view.waiting, key=lambda job: rank_s(view, job, ageing)))


my_policy.requires = ("servers", "fixed-demand")  # type: ignore[attr-defined]
"""What it needs of jobs and machines: docs/policies.md has the names. It is checked before a run."""


def rank_s(view: View, job: int, ageing: float) -> float:
    """Duration of a job of fixed demand, s, less a part of the time that it has waited."""
    waited_s = view.now_s - view.workload.submit_s[job]
    return float(view.workload.performance.duration_s[job]) - ageing * waited_s
