"""AFS: GPUs by pairwise comparison of jobs (Hwang et al., NSDI 2021, Section 4, AFS-L).

Of two jobs that hold GPUs, let ``a`` be the one that would be over first. The next GPU goes to ``b`` where

    (t_b' - t_b) / t_b'  >  (t_a' - t_a) / t_a,

``t`` and ``t'`` the speed with the GPUs that a job has and with one more; else to ``a``. So the shorter job is
preferred, unless the longer one uses the GPU so much better that waiting for it pays. A job without a GPU comes before
all that hold one; of two such jobs the shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.goodput.emptiest_nodes import capacities, divided
from policies.goodput.times import ELASTIC, whole_times_s
from policies.registry.registration import register
from simulator.model.cluster import FloatArray
from simulator.model.contract import Decision, View
from simulator.model.ranks import less
from simulator.model.tolerances import INSTANT_S


@register("afs", requires=ELASTIC, paper="Hwang et al., NSDI 2021")
class Afs:
    """The next GPU goes to the shorter of two jobs, unless the longer one gains relatively more speed (AFS)."""

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; a job whose number of GPUs stays keeps its nodes."""
        capacity = capacities(view)
        if not capacity:  # all nodes are down
            return Decision()
        total = sum(capacity.values())
        with np.errstate(divide="ignore"):
            speed = 1.0 / whole_times_s(view, total, max(capacity.values()))
        gpus = dict(zip(view.jobs.tolist(), share_out(speed, view.remaining, total), strict=True))
        return divided(view, gpus, capacity)


def share_out(speed: FloatArray, remaining: FloatArray, total: int) -> list[int]:
    """GPUs of each job, one after the other to the job of highest priority.

    Parameters
    ----------
    speed : ``(n, total + 1)`` work per second by GPUs.
    remaining : ``(n,)`` work left.
    """
    gpus = [0] * len(remaining)
    candidates = set(range(len(gpus)))
    for _ in range(total):
        candidates = {j for j in candidates if _gains(speed[j], gpus[j])}
        if not candidates:
            break
        gpus[_first(sorted(candidates), speed, remaining, gpus)] += 1
    return gpus


def _gains(speed: FloatArray, gpus: int) -> bool:
    return gpus + 1 < len(speed) and bool(speed[gpus + 1] > speed[gpus])


def _first(
    jobs: Sequence[int], speed: FloatArray, remaining: FloatArray, gpus: Sequence[int]
) -> int:
    """The job that gets the next GPU."""
    best = jobs[0]
    for job in jobs[1:]:
        if not gpus[job] or not gpus[best]:
            if gpus[job] == gpus[best]:
                shorter = less(
                    remaining[job] / speed[job, 1], remaining[best] / speed[best, 1], INSTANT_S
                )
                best = job if shorter else best
            else:
                best = job if not gpus[job] else best
            continue
        a, b = best, job
        if less(remaining[b] / speed[b, gpus[b]], remaining[a] / speed[a, gpus[a]], INSTANT_S):
            a, b = b, a
        gain_a = (speed[a, gpus[a] + 1] - speed[a, gpus[a]]) / speed[a, gpus[a]]
        gain_b = (speed[b, gpus[b] + 1] - speed[b, gpus[b]]) / speed[b, gpus[b] + 1]
        best = b if less(gain_a, gain_b) else a
    return best
