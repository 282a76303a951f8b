"""Jobs come in at their submission times."""

from __future__ import annotations

from collections.abc import Callable

from simulator.processes.clock import Clock, Order
from simulator.workload import Workload


def schedule_arrivals(clock: Clock, workload: Workload, submit: Callable[[int], None]) -> None:
    """Hand each job over at its submission time; one pending call, for the next of them."""
    submit_s = workload.submit_s.data  # numbers of Python's own, without a list of them all
    count = len(submit_s)
    job, order = 0, Order.ARRIVAL

    def arrive() -> None:
        nonlocal job
        now_s = clock.now_s
        while job < count and submit_s[job] <= now_s:
            submit(job)
            job += 1
        if job < count:
            clock.call_at(submit_s[job], order, arrive)

    clock.call_at(submit_s[0], Order.ARRIVAL, arrive)
