"""Tiresias: two queues by attained service (Gu et al., NSDI 2019).

A job begins in the first queue and leaves it for the second when it has held its GPUs for a number of GPU-seconds.
The first queue comes before the second; within each, jobs come in the order in which they joined it.
Smaller jobs pass larger ones that do not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policies.goodput.placing import (
    CanRun,
    Nodes,
    can_run,
    capacities,
    nodes_of,
    place_beside,
    placements,
)
from policies.registration import register
from simulator.errors import InputError
from simulator.model.contract import Decision, View

THRESHOLD_GPU_S = 57_600.0
"""16 GPU-hours, as in Pollux's simulator."""


@register("tiresias", requires=("servers", "stated-demand"), paper="Gu et al., NSDI 2019")
class Tiresias:
    """Two queues by attained GPU-seconds, jobs in the order in which they joined them (Tiresias).

    Parameters
    ----------
    threshold_gpu_s : GPU-seconds after which a job joins the second queue.

    Raises
    ------
    InputError
        A threshold that is not positive.
    """

    def __init__(self, threshold_gpu_s: float = THRESHOLD_GPU_S) -> None:
        if not threshold_gpu_s > 0:
            raise InputError(f"threshold_gpu_s is {threshold_gpu_s}, expected a number > 0")
        self._threshold_gpu_s = threshold_gpu_s
        self._demoted: dict[int, None] = {}

    def decide(self, view: View) -> Decision:
        """Run the first jobs of the queues that fit."""
        running = {job: nodes_of(shares) for job, shares in view.running.items()}
        attained = dict(zip(view.jobs.tolist(), view.attained_gpu_s.tolist(), strict=True))
        gpus = dict(zip(view.jobs.tolist(), view.num_gpus.tolist(), strict=True))
        plan = self.plan(attained, gpus, running, capacities(view), can_run(view))
        return Decision(placements(plan, view.cluster))

    def plan(
        self,
        attained_gpu_s: Mapping[int, float],
        gpus: Mapping[int, int],
        running: Mapping[int, Nodes],
        capacity: Mapping[int, int],
        can_run: CanRun,
    ) -> dict[int, Nodes]:
        """Nodes of the jobs that run.

        Parameters
        ----------
        attained_gpu_s, gpus : of each active job, in order of submission.
        running : nodes of the jobs that run now; they keep them as long as they run.
        capacity : GPUs by node.
        can_run : whether a job has a time on nodes; one that has none on those that are free waits, and its
            GPUs stay free for it.
        """
        for job, held in attained_gpu_s.items():
            if held >= self._threshold_gpu_s:
                self._demoted.setdefault(job)
        second = [job for job in self._demoted if job in attained_gpu_s]
        order = [job for job in attained_gpu_s if job not in self._demoted] + second
        chosen = fitting(order, gpus, sum(capacity.values()))
        kept = {job: running[job] for job in chosen if job in running}
        return place_beside({job: gpus[job] for job in chosen}, kept, capacity, can_run)


def fitting(order: Sequence[int], gpus: Mapping[int, int], free: int) -> list[int]:
    """Jobs that fit in so many GPUs, taken in order; those that do not fit are passed over."""
    chosen = []
    for job in order:
        if gpus[job] <= free:
            chosen.append(job)
            free -= gpus[job]
    return chosen
