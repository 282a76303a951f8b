"""An end for runs that failures keep from getting on with their work."""

from __future__ import annotations

import math

from simulator.core.simulation import Simulation

HOPELESS = 5_000
"""Faults without an arrival, after which some work must have been saved."""

MOST_FAULTS = 10_000_000
"""Faults that the work that is left may take at the speed of the last `HOPELESS`."""


class FaultGuard:
    """Every so many faults without an arrival, less work must be left than before."""

    def __init__(self) -> None:
        self._num_faults, self._left_before, self._arriving_before = 0, math.inf, -1

    def count(self, simulation: Simulation, what: str) -> None:
        """One more fault; `InfeasibleDecision` where too many saved too little.

        Parameters
        ----------
        what : the faults, and the key that they come from.
        """
        if simulation.arriving != self._arriving_before:
            self._arriving_before = simulation.arriving
            self._num_faults, self._left_before = 0, math.inf
        self._num_faults += 1
        if self._num_faults % HOPELESS:
            return
        saved = {e.job: e.saved for c in simulation.controllers for e in c.executions.values()}
        jobs = [j for j, t in enumerate(simulation.completion_s) if t != t]
        left = math.fsum(saved.get(j, simulation.jobs.remaining[j]) for j in jobs)
        done = self._left_before - left
        if done <= 0 or left * HOPELESS > done * MOST_FAULTS:
            raise simulation.infeasible(
                f"none of {len(jobs)} jobs got on with its work during {HOPELESS:,} {what}, the first is "
                f"{simulation.workload.job_id[jobs[0]]!r}; expected fewer failures, checkpoints more "
                "often, or nodes on which it fits"
            )
        self._left_before = left
