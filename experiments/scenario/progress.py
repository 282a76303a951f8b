"""Progress of a simulation while it runs."""

from __future__ import annotations

from simulator.core.feature import Feature
from simulator.core.simulation import Simulation


class RunProgress(Feature):
    """Tells how far a simulation is; changes nothing."""

    def __init__(self) -> None:
        self._simulation: Simulation | None = None

    def attach(self, simulation: Simulation) -> None:
        """Keep the simulation."""
        self._simulation = simulation

    def line(self) -> str:
        """Jobs that are over, and the simulated time."""
        simulation = self._simulation
        if simulation is None:
            return "reading and checking"
        over = sum(end == end for end in simulation.completion_s)
        days = (simulation.clock.now - simulation.begin_s) / 86400
        return f"{over:,} of {len(simulation.completion_s):,} jobs are over, {days:,.1f} days simulated"
