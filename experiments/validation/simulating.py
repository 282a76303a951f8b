"""Simulated sides of a log: the runs behind a validation, in a run database or in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.comparison.entrants import Entrant
from experiments.comparison.runs import PlannedRun, task_of
from experiments.validation.agreement import Side
from simulator.model.cluster import FloatArray
from simulator.model.places import pools_of
from simulator.model.recorded import Recorded
from simulator.workloads.recorded import recorded

if TYPE_CHECKING:
    from experiments.sweep.store import Store
    from experiments.sweep.task import Task


class Sides(NamedTuple):
    """The record and a simulation of the same jobs.

    Attributes
    ----------
    log : the whole record: partitions, users.
    job_id : ``(J,)`` names.
    asked_s : ``(J,)`` times that jobs ask for, s; NaN where unknown.
    total_gpus : of the machine on which they were simulated.
    pool_gpus : of each pool of it (`simulator.model.places.pools_of`).
    """

    job_id: Sequence[str]
    log: Recorded
    recorded: Side
    simulated: Side
    asked_s: FloatArray
    total_gpus: float
    pool_gpus: Sequence[float]


class Failed(NamedTuple):
    """A run that gave nothing, and why."""

    reason: str


@dataclass
class Simulations:
    """Runs of scenarios on logs.

    Attributes
    ----------
    store : run database, whose finished runs are not made again; None: each run is made in this process.
    options : of `experiments.sweep.runner.run_tasks`.
    told : is told what is simulated next.
    """

    store: Store | None = None
    options: dict[str, Any] = field(default_factory=dict)
    told: Callable[[str], None] = lambda _: None
    _planned: dict[str, Task] = field(default_factory=dict)

    def of(self, entrants: Sequence[Entrant], what: str) -> list[Sides | Failed]:
        """Each entrant's run beside the record of its jobs, in their order; ``what`` they are is told.

        Raises InputError: the jobs of one have no record, or a scenario is wrong.
        """
        from experiments.scenario.build import build

        built = [build(entrant.scenario) for entrant in entrants]
        logs = [recorded(workload) for workload, _ in built]
        self.told(what)
        found: list[Sides | Failed] = []
        for (workload, cluster), log, ran in zip(built, logs, self._tables(entrants), strict=True):
            if isinstance(ran, Failed):
                found.append(ran)
                continue
            pool, pool_gpus = pools_of(workload, cluster)
            record = Side(log.submit_s, log.recorded_start_s, log.end_s, log.num_gpus, pool)
            columns = [np.asarray(ran[name], dtype=np.float64) for name in OF_A_JOB]
            simulated = Side(columns[0], columns[1], columns[2], columns[3], pool)
            asked_s = np.asarray(workload.requested_s, dtype=np.float64)
            total = float(cluster.total_gpus)
            found.append(Sides(workload.job_id, log, record, simulated, asked_s, total, pool_gpus))
        return found

    def _tables(self, entrants: Sequence[Entrant]) -> list[Any]:
        """The tables of jobs; a `Failed` in place of one."""
        from experiments.scenario.run import run

        if self.store is None:
            ran = (
                run(e.scenario, record_schedule=False, measure=False, agent=e.agent)
                for e in entrants
            )
            return [result.jobs_table() for result in ran]
        from experiments.sweep.export import message_of
        from experiments.sweep.runner import run_tasks

        configs: dict[int, dict[str, Any]] = {}
        tasks = [task_of(PlannedRun(e, e.scenario.seed), configs, ("jobs",)) for e in entrants]
        # Those of former steps as well: the database holds one list of runs.
        self._planned |= {task.key: task for task in tasks}
        run_tasks([*self._planned.values()], self.store, **self.options)
        found: list[Any] = []
        for task in tasks:
            run_of = self.store.run(task.key)
            assert run_of is not None
            done = run_of.status == "done"
            found.append(
                self.store.table(task.key, "jobs") if done else Failed(message_of(run_of.error))
            )
        return found


OF_A_JOB = ("arrival_s", "first_start_s", "completion_s", "gpus")
"""Columns of `simulator.metrics.job_table` that make a `Side`."""
