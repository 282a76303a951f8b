"""The finished runs of a list of tasks, as figures and claims ask for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from experiments.sweep.task import Outcome, Scalar, Task

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.sweep.store import Run

Made = TypeVar("Made", bound=Callable[..., "DataFrame"])


class NoRuns(LookupError):
    """No finished run is there of those that a figure or claim asks for."""


class NotKept(NoRuns):
    """The run is kept with the page, but not its table that a figure or claim asks for."""


class Runs(Protocol):
    """Where finished runs are: the run database of a sweep, or what is kept of a page."""

    def run(self, key: str) -> Run | None:
        """One run; None where there is none."""

    def table(self, key: str, name: str) -> DataFrame:
        """One table of one finished run."""


class Results:
    """The finished runs of a list of tasks, for drawing and comparing.

    Parameters
    ----------
    store : where they are.
    tasks : which; those without a finished run are skipped everywhere (see ``missing``).
    scale : "quick" or "paper", for an experiment that wants to know.
    tables : what functions under `kept` made before, by name; then they are not called. None: they
        are, and what they make is collected in ``tables``.
    make : makes runs in the store when they are asked for; None: those that are there are all.
    """

    def __init__(
        self,
        store: Runs,
        tasks: Sequence[Task],
        scale: str = "",
        tables: Mapping[str, DataFrame] | None = None,
        make: Callable[[Sequence[Task]], None] | None = None,
    ) -> None:
        self._store = store
        self.scale = scale
        self.tables: dict[str, DataFrame] = dict(tables or {})
        self._made_before = tables is not None
        self._runs = [(task, store.run(task.key)) for task in tasks]
        self._read: set[int] = set()
        self._make = make

    @property
    def tasks(self) -> list[Task]:
        """The tasks whose run is finished."""
        return [task for task, _ in self._done()]

    def _done(self) -> list[tuple[Task, Run]]:
        """The finished runs, after those that are not there have been made where `make` says how."""
        if self._make is not None and (
            lacking := [task for task, run in self._runs if run is None]
        ):
            self._make(lacking)
            self._runs = [(task, run or self._store.run(task.key)) for task, run in self._runs]
        return [(task, run) for task, run in self._runs if run is not None and run.status == "done"]

    @property
    def missing(self) -> list[Task]:
        """The tasks that failed or were not run."""
        return [task for task, run in self._runs if run is None or run.status != "done"]

    @property
    def error(self) -> str:
        """The last line of the error of the first run that failed; empty where none did."""
        errors = (run.error for _, run in self._runs if run is not None and run.status != "done")
        return next(errors, "").rpartition("\n")[2]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The distinct seeds of the tasks, sorted; see `_seeds_of`."""
        return tuple(sorted(_seeds_of(self.tasks)))

    def where(self, function: str | None = None, **labels: Scalar) -> Results:
        """The part of these results with this task function (its bare name) and these labels."""
        part = Results(self._store, [], self.scale)
        part._read, part.tables, part._made_before = self._read, self.tables, self._made_before
        part._make = self._make
        part._runs = [
            (task, run)
            for task, run in self._runs
            if (function is None or function == task.function.partition(":")[2])
            and labels.items() <= task.columns().items()
        ]
        return part

    def noting(self) -> Results:
        """The same results, which note from here on whose runs are read (``seeds_read``)."""
        same = self.where()
        same._read = set()
        return same

    @property
    def seeds_read(self) -> tuple[int, ...]:
        """The seeds of the runs that were read of these results or of parts of them, sorted."""
        return tuple(sorted(self._read))

    def runs(self, function: str | None = None, **labels: Scalar) -> DataFrame:
        """``where(function, **labels).scalars()``; raises `NoRuns` where that is empty."""
        table = self.where(function, **labels).scalars()
        if table.empty:
            raise NoRuns(f"no finished run of {function or 'any function'} with {labels}")
        return table

    def outcome(self, task: Task) -> Outcome:
        """Scalars and tables of one finished run; raises KeyError where it is not finished."""
        run = self._store.run(task.key)
        if run is None or run.status != "done":
            raise KeyError(f"no finished run of {task.function} {task.config_json}")
        self._note(task)
        return Outcome(
            dict(run.scalars), {name: self._store.table(task.key, name) for name in run.tables}
        )

    def scalars(self) -> DataFrame:
        """One row a finished run: labels, scalars, ``run_cpu_s``; a label hides its namesake."""
        import pandas as pd

        self._note(*self.tasks)
        return pd.DataFrame(
            [
                {**task.columns(), **run.scalars, **task.columns(), "run_cpu_s": run.cpu_s}
                for task, run in self._done()
            ]
        )

    def table(self, name: str) -> DataFrame:
        """The table ``name`` of all finished runs that left one, labels as the first columns.

        Raises `NoRuns` where none did.
        """
        import pandas as pd

        parts = []
        for task, run in self._done():
            if name in run.tables:
                self._note(task)
                part = self._store.table(task.key, name)
                labels = {k: v for k, v in task.columns().items() if k not in part.columns}
                parts.append(pd.DataFrame(labels, index=part.index).join(part))
        if not parts:
            raise NoRuns(f"no finished run with a table {name!r}")
        return pd.concat(parts, ignore_index=True)

    def once(self, name: str, make: Callable[[Results], DataFrame]) -> DataFrame:
        """The table of this name in ``tables``, made at the first call; see `kept`."""
        if name not in self.tables:
            if self._made_before:
                raise NotKept(f"table {name!r} is not kept")
            noting = self.noting()
            noting.tables = {}  # what is made on the way to a table need not be kept
            self.tables[name] = make(noting)
            self.tables[name].attrs["seeds"] = noting.seeds_read
        table = self.tables[name].copy()
        self._read.update(table.attrs.pop("seeds"))
        return table

    def _note(self, *tasks: Task) -> None:
        self._read.update(_seeds_of(tasks))


def _seeds_of(tasks: Iterable[Task]) -> set[int]:
    """Seeds by label, that of the draw where jobs are drawn apart from the run; without one, of the configuration."""
    found = {task.columns().get("seed", task.config.get("seed")) for task in tasks}
    return {seed for seed in found if isinstance(seed, int)}


def kept(make: Made) -> Made:
    """Decorate a function of all results of a page that reads tables of runs and returns one.

    That one is kept with the page, under the function's name and arguments, so that figures and rows can be
    drawn again without the tables: it should be small. An index is not kept.
    """

    @functools.wraps(make)
    def read(results: Results, *args: Any, **labels: Any) -> DataFrame:
        words = [*map(str, args), *(f"{name}={value}" for name, value in labels.items())]
        name = "-".join([make.__name__, *words])
        return results.once(name, lambda noting: make(noting, *args, **labels))

    return cast(Made, read)
