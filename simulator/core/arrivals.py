"""Jobs come in at their submission times."""

from __future__ import annotations

from collections.abc import Callable

from simulator.core.clock import Order
from simulator.core.world import World


def schedule_arrivals(world: World, submit: Callable[[int], None]) -> None:
    """Hand each job over at its submission time; one pending call, for the next of them."""
    clock = world.clock
    submit_s = world.workload.submit_s.data  # numbers of Python's own, without a list of them all
    count = len(submit_s)
    job, order = 0, int(Order.ARRIVAL)

    def arrive() -> None:
        nonlocal job
        now_s = next_s = clock.now_s
        while next_s <= now_s:
            world.arriving -= 1
            submit(job)
            job += 1
            if job == count:
                return
            next_s = submit_s[job]
        clock.call_at(next_s, order, arrive)

    clock.call_at(submit_s[0], order, arrive)
