"""First come first served that heeds notice: no job starts on a node that is about to go."""

from __future__ import annotations

import numpy as np

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.serving import Service
from policies.queues.waiting import NOBODY, Order
from policies.registry.registration import register
from simulator.model.contract import NO_CHANGE, Decision, Placement, View


@register("fifo-with-notice", requires=("servers", "fixed-demand"), places=True)
class FirstComeWithNotice:
    """First come first served with backfilling; leaves nodes of which notice was given.

    Jobs on a node that is about to go are moved to others where there is capacity, their progress kept;
    the others stay where they are until the node goes.
    """

    name = "fifo-with-notice"

    def __init__(self) -> None:
        self._order = Order()
        self._free: FreeCapacity | None = None

    def decide(self, view: View) -> Decision:
        """Move first, then start."""
        if view.free_gpus_total < 1:
            return NO_CHANGE
        going = self._going(view)
        self._free = free = free_now(view, self._free, last_first=True)
        free.add(Placement(NOBODY, n, view.free_gpus.item(n)) for n in going)
        service = Service(view, free)
        for job, shares in view.running.items() if going else ():
            if any(p.node in going for p in shares):
                service.start(job)
        service.fill(self._order.line(view))
        return service.decision(keep_running=True)

    def _going(self, view: View) -> set[int]:
        if not hasattr(view, "faults"):
            return set()
        return {*view.nodes[np.isfinite(view.faults.leaving_s[view.nodes])].tolist()}
