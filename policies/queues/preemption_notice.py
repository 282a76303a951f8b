"""First come first served that heeds notice: no job starts on a node that is about to go."""

from __future__ import annotations

from policies.queues.free_capacity import FreeCapacity
from policies.queues.serving import Service
from policies.queues.waiting import Order
from policies.registry.registration import register
from simulator.model.contract import NO_CHANGE, Decision, View


@register("fifo-with-notice", requires=("servers", "fixed-demand"), places=True)
class FirstComeWithNotice:
    """First come first served with backfilling; leaves nodes of which notice was given.

    Jobs on a node that is about to go are moved to others where there is capacity, their progress kept;
    the others stay where they are until the node goes.
    """

    name = "fifo-with-notice"

    def __init__(self) -> None:
        self._order = Order()

    def decide(self, view: View) -> Decision:
        """Move first, then start."""
        going = self._going(view)
        stay = [n for n in view.nodes.tolist() if n not in going]
        if view.free_gpus_total < 1 or not stay:
            return NO_CHANGE
        free = FreeCapacity(view, last_first=True)
        service = Service(view, free, lambda free, job: free.place(job, nodes=stay))
        for job, shares in view.running.items():
            if any(p.node in going for p in shares):
                service.start(job)
        service.fill(self._order.line(view))
        return service.decision(keep_running=True)

    def _going(self, view: View) -> set[int]:
        if not hasattr(view, "faults"):
            return set()
        leaving_s = view.faults.leaving_s
        return {n for n in view.nodes.tolist() if leaving_s[n] < float("inf")}
