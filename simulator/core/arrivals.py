"""Arrivals: the process that hands each job over at its submission time."""

from __future__ import annotations

import numpy as np
from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.simulation import Simulation
from simulator.model.tolerances import INSTANT_S


def arrivals(simulation: Simulation) -> ProcessGenerator:
    """SimPy process: wait for the next submission, let the job in, and so on."""
    clock, submit_s = simulation.clock, simulation.workload.submit_s
    # Submissions of one instant come at the last of them: no job starts before it was submitted.
    is_last = np.diff(submit_s, append=np.inf) >= INSTANT_S
    last_s = np.minimum.accumulate(np.where(is_last, submit_s, np.inf)[::-1])[::-1]
    for job, at_s in enumerate(last_s.tolist()):
        if at_s > clock.now or job == 0:
            yield clock.at(at_s, EventOrder.ARRIVAL)
        simulation.arriving -= 1
        simulation.so_far.advance(job + 1)
        simulation.arrive(job)
