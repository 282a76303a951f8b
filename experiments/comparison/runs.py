"""Runs of entrants: in a run database with worker processes, or one after another in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.comparison.entrants import Entrant
from experiments.config import of_file, path_of
from experiments.sweep.progress import Meter, SweepState
from experiments.sweep.sweepfile import RUN_SCENARIO
from experiments.sweep.task import Scalar, Task
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.scenario.schema import Scenario
    from experiments.sweep.store import Store

SHOWN_AFTER_S = 5.0
"""Progress of runs in this process is shown for what takes longer."""

Numbers = dict[str, float]
Check = Callable[["Scenario", "DataFrame", Numbers], None]


@dataclass(frozen=True)
class PlannedRun:
    """A run to be made.

    Attributes
    ----------
    setting : labels of the setting, by name.
    draw : 0 for the jobs of a file as they are, else the number of the draw.
    """

    entrant: Entrant
    seed: int
    setting: Mapping[str, Scalar] = field(default_factory=dict)
    draw: int = 0


@dataclass(frozen=True)
class Ran:
    """A run that was made.

    Attributes
    ----------
    numbers : those of ``summary.json``; empty where it failed.
    error : one line; empty where it did not fail.
    is_random : another seed could give other numbers.
    """

    numbers: Numbers
    error: str = ""
    is_random: bool = True


class ComparedRuns:
    """The runs of a comparison.

    Parameters
    ----------
    source : of the scenarios, for messages.
    store : run database; None: all runs are made here, and nothing is kept.
    check : takes the scenario, the schedule and the numbers of each run from the store; raises InputError where one is wrong.
    options : of `experiments.sweep.runner.run_tasks`.
    """

    def __init__(
        self,
        source: str,
        store: Store | None,
        progress: bool = False,
        check: Check | None = None,
        **options: Any,
    ) -> None:
        self.source, self._check = source, check
        self._store, self._progress, self._options = store, progress, options
        self._planned: dict[str, Task] = {}
        self._start, self._ended, self._total = time.monotonic(), 0, 0
        self._meter: Meter | None = None

    def all_of(self, orders: Sequence[PlannedRun]) -> list[Ran]:
        """Each run, in their order. Objects decide in this process."""
        self._total += len(orders)
        stored = [o for o in orders if self._store is not None and o.entrant.agent is None]
        found = iter(self._by_store(stored))
        return [
            next(found) if self._store is not None and o.entrant.agent is None else self._here(o)
            for o in orders
        ]

    def close(self) -> None:
        """Show the last state."""
        if self._meter is not None:
            self._meter.close(self._state())

    def _by_store(self, orders: Sequence[PlannedRun]) -> list[Ran]:
        from experiments.sweep.export import message_of
        from experiments.sweep.runner import run_tasks

        if not orders:
            return []
        assert self._store is not None
        configs: dict[int, dict[str, Any]] = {}
        kept = ("schedule",) if self._check is not None else ()
        tasks = [task_of(order, configs, kept) for order in orders]
        self._planned.update((task.key, task) for task in tasks)
        run_tasks([*self._planned.values()], self._store, progress=self._progress, **self._options)
        same, ran = self._store.same_under_all_seeds(), []
        for order, task in zip(orders, tasks, strict=True):
            run = self._store.run(task.key)
            assert run is not None
            if run.status != "done":
                ran.append(Ran({}, message_of(run.error)))
                continue
            numbers = _numbers(run.scalars)
            if self._check is not None:
                scenario = order.entrant.scenario.model_copy(update={"seed": order.seed})
                self._check(scenario, self._store.table(task.key, "schedule"), numbers)
            ran.append(Ran(numbers, is_random=task.key not in same))
        return ran

    def _here(self, order: PlannedRun) -> Ran:
        from experiments.scenario.run import has_fixed_jobs, run, summarise
        from simulator.statistics import watched

        entrant = order.entrant
        scenario = entrant.scenario.model_copy(update={"seed": order.seed})
        try:
            with of_file(self.source), watched() as drawn:
                result = run(scenario, record_schedule=False, agent=entrant.agent)
                numbers = _numbers(summarise(result, scenario.window))
            ran = Ran(numbers, is_random=drawn() or not has_fixed_jobs(scenario))
        except InputError as error:
            if entrant.agent is not None:
                raise  # a mistake in a program shows where it is
            ran = Ran({}, str(error))
        self._one_ended()
        return ran

    def _one_ended(self) -> None:
        self._ended += 1
        if self._meter is not None:
            self._meter.update(self._state())
        elif self._progress and time.monotonic() - self._start > SHOWN_AFTER_S:
            self._meter = Meter(True)
            self._meter.open(self._state())

    def _state(self) -> SweepState:
        left = self._total - self._ended
        left_s = (time.monotonic() - self._start) / max(self._ended, 1) * left
        return SweepState(self._total, self._ended, min(left, 1), 0, self._ended, left_s)


def _numbers(summary: Mapping[str, Any]) -> Numbers:
    return {
        name: float(value)
        for name, value in summary.items()
        if isinstance(value, int | float) and name != "seed"
    }


def task_of(
    order: PlannedRun, configs: dict[int, dict[str, Any]], tables: Sequence[str] = ()
) -> Task:
    """The run as a task of a sweep that keeps these tables; ``configs`` keeps those of scenarios."""
    from experiments.scenario.run import has_fixed_jobs
    from experiments.scenario.schema import file_keys

    entrant, scenario = order.entrant, order.entrant.scenario
    config = configs.get(id(scenario))
    if config is None:
        config = configs[id(scenario)] = config_of(scenario, tables)
    labels = {**order.setting, "policy": entrant.policy, "view": entrant.view, "seed": order.seed}
    files = dict.fromkeys(str(path_of(table[key])) for table, key in file_keys(config))
    return Task(
        RUN_SCENARIO, config | {"seed": order.seed}, labels, files=tuple(files),
        fixed_jobs=has_fixed_jobs(scenario),
    )  # fmt: skip


def config_of(scenario: Scenario, tables: Sequence[str] = ()) -> dict[str, Any]:
    """A scenario as JSON can say it, as a sweep has it: absolute paths, and these tables alone."""
    from experiments.scenario.schema import file_keys

    config: dict[str, Any] = scenario.model_dump(
        mode="json", exclude_none=True, exclude={"policy_label"}
    )
    for table, key in file_keys(config):
        table[key] = str(Path(table[key]).absolute())
    return config | {"tables": [*tables]}
