"""Delay scheduling: a job waits a while for GPUs that are together, then takes what there is.

Source: Zaharia et al., Delay Scheduling, EuroSys 2010 (for the place of data); for GPUs: Jeon et al., ATC
2019, Section 2.3 (Philly relaxes locality with time), and Tiresias (NSDI 2019): only jobs that suffer wait.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.serving import serve
from policies.queues.waiting import Order
from policies.registry.registration import register
from simulator.arguments import one_of
from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.model.cluster import IntArray
from simulator.model.contract import LEAST_AGAIN_S, NO_CHANGE, Decision, Placement, View
from simulator.model.tolerances import INSTANT_S

WHO = ("all", "sensitive", "skewed")

NODE, RACK, ANYWHERE = range(3)


@register(
    "consolidating",
    requires=("servers", "fixed-demand"),
    paper="Zaharia et al., EuroSys 2010",
    places=True,
)
class Consolidating:
    """Delay scheduling: wait a while for GPUs of one node, then of one rack, then take any.

    A job's patience begins when enough GPUs are free for it, but not together.

    Parameters
    ----------
    wait_node_s : so long it waits for GPUs of one node; 0: it takes those of one rack at once.
    wait_rack_s : so long, in all, it waits for GPUs of one rack. A negative number: for ever.
    who : "all" jobs wait; or those that are "sensitive", whose time over nodes is more than ``above``
        times as long; or those that are "skewed", as Tiresias has it: the largest tensor of their model
        is more than the part ``above`` of it.
    above : threshold of "sensitive" and "skewed".
    """

    name = "consolidating"

    def __init__(
        self,
        wait_node_s: float = 600.0,
        wait_rack_s: float = 1800.0,
        who: str = "all",
        above: float = 1.0,
    ) -> None:
        one_of(WHO, self.name, who=who)
        for what, value in (("wait_node_s", wait_node_s), ("wait_rack_s", wait_rack_s)):
            if math.isnan(value):
                raise InputError(f"{self.name}: {what} is {value}, expected seconds")
        self._waits = [math.inf if wait < 0 else wait for wait in (wait_node_s, wait_rack_s)]
        self._who, self._above = who, above
        self._since: dict[int, float] = {}
        self._order = Order()
        self._free: FreeCapacity | None = None
        self._nodes: IntArray | None = None
        self._racks: list[list[int]] = []

    def decide(self, view: View) -> Decision:
        """Start what fits in a place that is good enough by now."""
        if not view.waiting or view.free_gpus_total < 1:
            return NO_CHANGE
        self._since = {job: t for job, t in self._since.items() if job in view.waiting}
        if self._nodes is not view.nodes:
            self._nodes, self._racks = view.nodes, _racks(view)
        again_s = math.inf

        def place(free: FreeCapacity, job: int) -> Sequence[Placement] | None:
            nonlocal again_s
            if view.workload.num_gpus[job] > free.total_gpus:
                return ()
            shares = self._place(view, free, job)
            if not shares:
                again_s = min(again_s, self._next_s(view, job))
            return shares or None  # others of its demand may have waited longer

        self._free = free_now(view, self._free, last_first=True)
        decision = serve(view, self._order, free=self._free, place=place)
        if again_s == math.inf:
            return decision
        return replace(decision, again_s=max(LEAST_AGAIN_S, again_s))

    def _place(self, view: View, capacity: FreeCapacity, job: int) -> Sequence[Placement]:
        """On the best place that the job may have now; empty where it has to wait."""
        shares = capacity.place(job)
        if len(shares) < 2:
            return shares
        since_s = self._since.setdefault(job, view.now_s)
        waited_s = (
            math.inf if not self._waits_for_place(view, job) else view.now_s + INSTANT_S - since_s
        )
        if self._can_be_together(view, job) and waited_s < self._waits[0]:
            return ()
        if len(self._racks) == 1:
            return shares
        for rack in sorted(self._racks, key=capacity.gpus_on):
            together = capacity.place(job, nodes=rack)
            if together:
                return together
        return shares if waited_s >= self._waits[1] or not self._fits_a_rack(view, job) else ()

    def _waits_for_place(self, view: View, job: int) -> bool:
        if self._who == "sensitive":
            return hasattr(view, "network") and bool(view.network.same_rack[job] > self._above)
        if self._who == "skewed":
            return skews().get(view.workload.model[job], 0.0) > self._above
        return True

    def _can_be_together(self, view: View, job: int) -> bool:
        asks = view.workload
        on_one = asks.num_gpus[job] <= view.cluster.max_gpus_per_node
        return bool(on_one and asks.num_nodes[job] <= 1)

    def _fits_a_rack(self, view: View, job: int) -> bool:
        most = max(sum(view.cluster.type_of[n].gpus for n in rack) for rack in self._racks)
        return bool(view.workload.num_gpus[job] <= most)

    def _next_s(self, view: View, job: int) -> float:
        """Seconds until the job takes a worse place."""
        since_s = self._since.get(job)
        if since_s is None:
            return math.inf
        node_s, rack_s = self._waits
        together = self._can_be_together(view, job)
        waits = (node_s, max(node_s, rack_s)) if together else (rack_s,)
        left = [since_s + wait - view.now_s for wait in waits]
        return min((s for s in left if s > INSTANT_S), default=math.inf)


def _racks(view: View) -> list[list[int]]:
    """The nodes by rack."""
    if not hasattr(view, "network"):
        return [view.nodes.tolist()]
    of: dict[int, list[int]] = {}
    for node in view.nodes.tolist():
        of.setdefault(int(view.network.rack_of[node]), []).append(node)
    return list(of.values())


@cache
def skews() -> dict[str, float]:
    """Part of a model's large tensors that is in the largest of them (Tiresias), by model."""
    table = read_table("network_factors.csv").dropna(subset=["total_mb"])
    part = table["largest_mb"].astype(float) / table["total_mb"].astype(float)
    return dict(zip(table["model"], part, strict=True))
