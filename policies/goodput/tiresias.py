"""Tiresias: two queues by attained service (Gu et al., NSDI 2019).

A job begins in the first queue and leaves it for the second when it has held its GPUs for a number of GPU-seconds.
The first queue comes before the second; within each, jobs come in the order in which they joined it.
Smaller jobs pass larger ones that do not fit.
"""

from __future__ import annotations

from policies.goodput.emptiest_nodes import can_run, capacities, nodes_of, place_beside, placements
from policies.queues.waiting import Order
from policies.registry.registration import register
from simulator.arguments import MOST_JOBS
from simulator.errors import InputError
from simulator.model.contract import Decision, View
from simulator.model.tolerances import EQUAL

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
        self._demoted: dict[int, int] = {}
        """Jobs of the second queue, with their number in the order in which they joined it."""
        self._ran: tuple[int, ...] = ()
        self._order = Order(
            self._number, kind_of=lambda view, job: view.workload.num_gpus_list[job]
        )

    def decide(self, view: View) -> Decision:
        """Run the first jobs of the queues that fit, taken in order; those that do not fit are passed over."""
        for job in sorted({*self._ran, *view.running}):
            held = view.attained_gpu_s_of(job)
            if job in view.active and held >= self._threshold_gpu_s * (1 - EQUAL):
                self._demoted.setdefault(job, len(self._demoted))
        line = self._order.line(view, also=view.running)
        capacity, chosen = capacities(view), dict[int, int]()
        free = sum(capacity.values())
        while line and free:
            gpus = view.workload.num_gpus_list[line.head]
            if gpus <= free:
                chosen[line.head] = gpus
                free -= gpus
            line.next(alike=line.head in chosen)
        self._ran = tuple(chosen)
        kept = {job: nodes_of(view.running[job]) for job in chosen if job in view.running}
        return Decision(
            placements(place_beside(chosen, kept, capacity, can_run(view)), view.cluster)
        )

    def _number(self, view: View, job: int) -> float:
        """The second queue after the first, which is in order of submission."""
        return MOST_JOBS + self._demoted[job] if job in self._demoted else job
