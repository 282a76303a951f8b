"""Jobs come in at their submission times."""

from __future__ import annotations

from collections.abc import Callable, Generator

from simpy import Event

from simulator.processes.clock import Clock, Order
from simulator.workload import Workload


def arrivals(
    clock: Clock, workload: Workload, submit: Callable[[int], None]
) -> Generator[Event, None, None]:
    """SimPy process: hand each job over at its submission time."""
    for job, submit_s in enumerate(workload.submit_s.tolist()):
        if job == 0 or submit_s > clock.now:
            yield clock.until(submit_s, Order.ARRIVAL)
        submit(job)
