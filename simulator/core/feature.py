"""A feature: what a cluster may have beside nodes, jobs and controllers, such as faults or tenants.

A simulation holds a list of features and calls their methods; each method has a neutral default here.
Features combine, since each only multiplies a rate, adds a delay, holds a job back, or stops a job;
`simulator.features.rounds`, which counts whole steps, refuses what it cannot combine with.
docs/extending.md has one of twenty lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import Placement
from simulator.model.workload import Workload
from simulator.schema import ColumnData

NEVER = float("inf")


class Feature:
    """The methods by which a feature acts on a simulation.

    Attributes
    ----------
    name : under which policies find in a view what `seen` returns, and a result has its `record`.
    """

    name = ""

    def attach(self, simulation: Simulation) -> None:
        """Begin: keep the simulation, start processes (``simulation.clock.process``).

        A process may loop for ever: a run ends when all its jobs are over.
        """

    def shown(self, workload: Workload) -> Workload:
        """The jobs as policies and dispatchers see them; before `attach`."""
        return workload

    # -- jobs that come and go -----------------------------------------------------------------

    def admits(self, job: int) -> bool:
        """Whether an arriving job goes on to its controller; a feature that says no has it from now on."""
        return True

    def on_submit(self, controller: Controller, job: int) -> None:
        """React to a job that has joined a queue for the first time."""

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """React to a job that has taken the GPUs that a plan gives it."""

    def on_release(self, execution: Execution, cause: str) -> None:
        """React to a job that has left its GPUs; ``cause``: "done", "moved", "preempted", "failed", .."""

    def on_end(self, job: int) -> None:
        """React to a job that is over: done, or gone without it."""

    # -- nodes that come and go ----------------------------------------------------------------

    def on_nodes_down(self, controller: Controller, nodes: Sequence[int]) -> None:
        """React to nodes of this controller that have gone down, empty."""

    def on_nodes_up(self, controller: Controller, nodes: Sequence[int]) -> None:
        """React to nodes that are up again, before the controller is asked to decide."""

    # -- speed ---------------------------------------------------------------------------------

    def slowdown(self, job: int, shares: Sequence[Placement]) -> float:
        """Factor of the job's time on these nodes, whoever else is there."""
        return 1.0

    def rate(self, execution: Execution) -> float:
        """Factor of the job's speed as things are now; 0: it stands still until `rate_may_change` of the execution."""
        return 1.0

    def affected(self, execution: Execution) -> Iterable[Execution]:
        """Executions whose `rate` changes when this one starts or ends."""
        return ()

    # -- events within an execution ------------------------------------------------------------

    def checkpoint(self, execution: Execution) -> tuple[float, float]:
        """Seconds of work between two checkpoints, and seconds that one takes."""
        return NEVER, 0.0

    def delay_s(self, execution: Execution, start: str) -> float:
        """Seconds without progress after a start; ``start``: "first", "resumed" or "moved"."""
        return 0.0

    def next_change(self, execution: Execution) -> float:
        """Fraction of the work left, at which `reached` is called; 0: not before the end."""
        return 0.0

    def noticed_after_s(self, execution: Execution, work_s: float) -> float:
        """Seconds after which a change or an end is noticed that is ``work_s`` away."""
        return work_s

    def reached(self, execution: Execution) -> bool:
        """React to an execution that has come to a `next_change`; False: it was stopped here."""
        return True

    # -- decisions -----------------------------------------------------------------------------

    def before_decision(self, controller: Controller) -> None:
        """React to a decision that is about to be made."""

    def decided(self, controller: Controller) -> None:
        """React to a decision that took no time and has been carried out, also where it changed nothing."""

    def check(self, controller: Controller, plan: DecisionPlan) -> None:
        """Raise `InfeasibleDecision` where this feature forbids the plan; may keep notes in it."""

    def has_room(self, controller: Controller, job: int, plan: DecisionPlan) -> bool:
        """Whether a job of an older plan still fits beside what runs now."""
        return True

    def seen(self, controller: Controller) -> object | None:
        """Data that policies of this controller may read, in ``view.NAME``; None: nothing."""
        return None

    def shown_work(self, jobs: IntArray | int) -> FloatArray | float:
        """Factor of the remaining work of jobs, or of one, that policies are shown."""
        return 1.0

    # -- the result ------------------------------------------------------------------------------

    def columns(self) -> tuple[ColumnData, ...]:
        """Columns that it adds to ``jobs.csv``, with their values; at the end of the run."""
        return ()

    def record(self, end_s: float) -> FeatureRecord | None:
        """Record of the run until its last completion, at ``end_s``; None: nothing."""
        return None


class FeatureRecord:
    """Record of a feature in a run: scalars, ends of jobs, and data for tables."""

    down: FloatArray = np.empty((0, 3))
    """``(O, 3)`` node, start and end (s) of each stretch of time that it was down."""

    def statuses(self) -> Mapping[str, Any]:
        """``(J,)`` masks of jobs that ended in another way than by completing their work, by its name."""
        return {}

    def scalars(self, run: Any) -> Mapping[str, float | int | str | None]:
        """Scalars that it adds to ``summary.json``; ``run``: a `simulator.core.record.RunRecord`."""
        return {}
