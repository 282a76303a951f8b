"""First come first served that heeds notice: no job starts on a node that is about to go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from policies.list_scheduling import demand
from policies.orders import whole_durations_s
from policies.packing import FreeCapacity
from policies.registration import register
from policies.waiting import WaitingJobs
from simulator.model.contract import NO_CHANGE, Decision, Placement, View


@register("fifo-with-notice", requires=("servers", "fixed-demand"))
@dataclass
class FirstComeWithNotice:
    """First come first served with backfilling; leaves nodes of which notice was given.

    Jobs on a node that is about to go are moved to others where there is capacity, their progress kept;
    the others stay where they are until the node goes.
    """

    name: ClassVar[str] = "fifo-with-notice"
    _waiting: WaitingJobs = field(
        default_factory=lambda: WaitingJobs(None, demand), init=False, repr=False
    )

    def decide(self, view: View) -> Decision:
        """Move first, then start."""
        whole_durations_s(view.workload)
        if view.free_gpus_total < 1:
            return NO_CHANGE
        going = self._going(view)
        capacity = FreeCapacity(view, last_first=True)
        stay = [n for n in view.nodes.tolist() if n not in going]
        placements: list[Placement] = []
        to_move = [
            job for job, shares in view.running.items() if any(p.node in going for p in shares)
        ]
        if not stay:
            return NO_CHANGE

        def start(job: int) -> bool:
            found = capacity.place(job, nodes=stay)
            capacity.add(found)
            placements.extend(found)
            return bool(found)

        for job in to_move:
            start(job)
        self._waiting.refresh(view)
        line = self._waiting.line(view)
        while line:
            line.next(taken=start(line.head))
        return Decision(placements, keep_running=True) if placements else NO_CHANGE

    def _going(self, view: View) -> set[int]:
        if not hasattr(view, "faults"):
            return set()
        leaving_s = view.faults.leaving_s
        return {n for n in view.nodes.tolist() if leaving_s[n] < float("inf")}
