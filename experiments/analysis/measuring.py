"""Metrics of many runs of scenarios, one after another or by worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from experiments.config import of_file
from simulator.errors import InputError, meant

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario
    from experiments.sweep.progress import Meter
    from experiments.sweep.store import Store
    from experiments.sweep.task import Task
    from simulator import Policy

SHOWN_AFTER_S = 5.0
"""Progress is shown for what takes longer."""

WORTH_S = 3.0
"""Workers start where one process would need longer for the runs that are left."""

Numbers = dict[str, float]


@dataclass(frozen=True)
class Entrant:
    """A scenario and its policy: that of the scenario, or an object (``agent``)."""

    scenario: Scenario
    agent: Policy | None = None

    def metrics(self, seed: int, names: Sequence[str]) -> Numbers:
        """The numbers of ``summary.json`` under one seed; raises InputError for names not there."""
        from experiments.scenario.run import run, summarise

        scenario = self.scenario.model_copy(update={"seed": seed})
        summary = summarise(run(scenario, agent=self.agent), scenario.window)
        numbers = {
            name: float(value)
            for name, value in summary.items()
            if isinstance(value, int | float) and name not in ("seed", "mean_decision_cpu_s")
        }
        for name in names:
            if name not in numbers:
                raise InputError(
                    f"--metric: got {name!r}, {meant(name, [*numbers], 'in summary.json')}"
                )
        return numbers

    def draws(self, seed: int, names: Sequence[str]) -> tuple[Numbers, bool]:
        """The numbers, and whether another seed could give others."""
        from experiments.scenario.run import has_fixed_jobs
        from simulator.statistics import watched

        with watched() as drawn:
            numbers = self.metrics(seed, names)
        return numbers, drawn() or not has_fixed_jobs(self.scenario)


Order = tuple[Entrant, int]
"""A run to be made: whose, and under which seed."""


class Measuring:
    """Runs entrants and shows how far it is; policies that are objects run in this process.

    Parameters
    ----------
    source : the scenario's file, for messages.
    workers : processes; None is one for each core. They are used where the rest takes some seconds.
    keep : folder of a run database that keeps each run as it ends; what it has is not computed again.
    """

    def __init__(
        self,
        source: str,
        metrics: Sequence[str],
        workers: int | None = 1,
        progress: bool = False,
        keep: Path | None = None,
    ) -> None:
        self.source, self.metrics = source, metrics
        self._open = ExitStack()
        self._store = None if keep is None else self._open.enter_context(_store(keep))
        self._workers = workers or os.cpu_count() or 1
        self._progress = progress
        self._start = time.monotonic()
        self._ended = self._total = 0
        self._meter: Meter | None = None
        self._planned: dict[str, Task] = {}

    def all_of(self, orders: Sequence[Order]) -> list[Numbers]:
        """The metrics of each run, in their order."""
        found = self._kept(orders)
        self._total += len(orders) - len(found)
        here = [number for number, (entrant, _) in enumerate(orders) if entrant.agent is not None]
        while len(found) < len(orders):
            left = [number for number in range(len(orders)) if number not in found]
            here = [number for number in here if number in left]
            if self._pays(len(left) - len(here)):
                found |= self._by_workers([n for n in left if n not in here], orders)
                left = here
            for number in left[: None if left == here else 1]:
                entrant, seed = orders[number]
                with of_file(self.source):
                    found[number] = entrant.metrics(seed, self.metrics)
                self._one_ended(orders[number], found[number])
        return [found[number] for number in range(len(orders))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Show the last state, and close the run database."""
        if self._meter is not None:
            self._meter.close(self._state())
        self._open.close()

    def _kept(self, orders: Sequence[Order]) -> dict[int, Numbers]:
        """Runs that the run database has, and all of the metrics of; the others join its plan."""
        if self._store is None:
            return {}
        found: dict[int, Numbers] = {}
        for number, order in enumerate(orders):
            task = _task(*order)
            if task is None:
                continue
            self._planned[task.key] = task
            run = self._store.run(task.key)
            if run is not None and run.status == "done":
                found[number] = {name: float(value) for name, value in run.scalars.items()}  # type: ignore[arg-type]
        self._store.plan([*self._planned.values()])
        return found

    def _pays(self, count: int) -> bool:
        """True where workers pay for so many runs, by the mean time of those before."""
        if self._workers == 1 or count < 2 or not self._ended:
            return False
        return count * (time.monotonic() - self._start) / self._ended > WORTH_S

    def _by_workers(self, numbers: Iterable[int], orders: Sequence[Order]) -> dict[int, Numbers]:
        from concurrent.futures import as_completed

        from experiments.sweep.executors import open_pool

        numbers = list(numbers)
        count = min(self._workers, len(numbers))
        with open_pool(count, dask=None, time_limit_s=None, modules=[__name__]) as pool:
            futures: dict[Future[Numbers], int] = {}
            for number in numbers:
                entrant, seed = orders[number]
                config = _config(entrant.scenario)
                made = pool.executor.submit(measure, config, seed, self.metrics, self.source)
                futures[made] = number
            found = {}
            for future in as_completed(futures):
                number = futures[future]
                found[number] = future.result()
                self._one_ended(orders[number], found[number])
        return found

    def _one_ended(self, order: Order, numbers: Numbers) -> None:
        from experiments.sweep.progress import Meter
        from experiments.sweep.store import Report

        task = None if self._store is None else _task(*order)
        if self._store is not None and task is not None:
            self._store.record([Report(task.key, "done", numbers)])
        self._ended += 1
        if self._meter is not None:
            self._meter.update(self._state())
        elif self._progress and time.monotonic() - self._start > SHOWN_AFTER_S:
            self._meter = Meter(True)
            self._meter.open(self._state())

    def _state(self) -> Any:
        from experiments.sweep.progress import State

        left = self._total - self._ended
        left_s = (time.monotonic() - self._start) / max(self._ended, 1) * left
        return State(self._total, self._ended, min(left, self._workers), 0, self._ended, left_s)


@contextmanager
def _store(folder: Path) -> Iterator[Store]:
    """The run database of a folder, locked."""
    from experiments.sweep.store import store_to_write

    with store_to_write(folder) as store, store.locked():
        yield store


def _task(entrant: Entrant, seed: int) -> Task | None:
    """A run as a row of the run database; None for a policy that is an object."""
    from experiments.config import path_of
    from experiments.scenario.schema import file_keys
    from experiments.sweep.task import Task

    if entrant.agent is not None:
        return None
    config = _config(entrant.scenario) | {"seed": seed}
    files = tuple(dict.fromkeys(str(path_of(table[key])) for table, key in file_keys(config)))
    return Task(
        f"{__name__}:measure",
        config,
        {"policy": entrant.scenario.policy, "seed": seed},
        files=files,
    )


def _config(scenario: Scenario) -> dict[str, Any]:
    """A scenario as JSON can say it, with absolute paths."""
    from experiments.scenario.schema import file_keys

    config: dict[str, Any] = scenario.model_dump(mode="json", exclude_none=True)
    for table, key in file_keys(config):
        table[key] = str(Path(table[key]).absolute())
    return config


def measure(config: dict[str, Any], seed: int, metrics: Sequence[str], source: str) -> Numbers:
    """The metrics of one run, in a worker."""
    from experiments.scenario.schema import Scenario

    with of_file(source):
        return Entrant(Scenario.model_validate(config)).metrics(seed, metrics)
