"""Arrivals: the process that hands each job over at its submission time."""

from __future__ import annotations

from simpy.events import ProcessGenerator

from simulator.core.clock import Order
from simulator.core.simulation import Simulation


def arrivals(simulation: Simulation) -> ProcessGenerator:
    """SimPy process: wait for the next submission, let the job in, and so on."""
    clock = simulation.clock
    for job, submit_s in enumerate(simulation.workload.submit_s.tolist()):
        if submit_s > clock.now or job == 0:
            yield clock.at(submit_s, Order.ARRIVAL)
        simulation.arriving -= 1
        simulation.arrive(job)
