"""Nodes, racks and GPU types that jobs ask for, kept whatever the policy decides."""

from __future__ import annotations

from simulator.core.controller import Controller
from simulator.core.feature import Feature
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.model.places import Places


class KeptPlaces(Feature):
    """Refuses placements on other nodes than a job asks for."""

    def attach(self, simulation: Simulation) -> None:
        """Read what the jobs ask for."""
        self._simulation = simulation
        self._places = Places(simulation.workload, simulation.cluster)

    def check(self, controller: Controller, plan: DecisionPlan) -> None:
        """Each job lies on as many nodes as it asks for, of a type that will do, in one rack where it wants that."""
        simulation = self._simulation
        for job, shares in plan.shares_of.items() if simulation.check else ():
            wrong = self._places.wrong(job, shares, simulation.cluster)
            if wrong:
                raise simulation.infeasible(f"job {simulation.workload.job_id[job]!r} is {wrong}")
