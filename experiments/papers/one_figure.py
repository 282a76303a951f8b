"""``reproduce --figure``: one figure of a page, from its own runs alone, with other parameters where they are given."""

from __future__ import annotations

import copy
import shlex
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.files import write_whole
from experiments.papers.registry import load
from experiments.papers.reproduce import tasks_of
from experiments.report.site import PAGE
from experiments.scenario.options import set_key
from experiments.sweep.export import message_of
from experiments.sweep.results import NoRuns, Results
from experiments.sweep.sweepfile import RUN_SCENARIO
from experiments.sweep.task import Task, canonical_json, flatten
from simulator.errors import InputError, meant
from simulator.files.keys import validated

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.report.contents import Figure
    from experiments.report.experiment import Experiment, Registered
    from experiments.sweep.store import Run, Store

SHOWN = 4
"""So many values of a key are listed in a message."""


def draw_figure(
    names: Sequence[str],
    wanted: str,
    *,
    scale: str = "quick",
    settings: Sequence[str] = (),
    workers: int | None = None,
    out: Path | None = None,
) -> int:
    """Make the runs that one figure reads, and draw it: NAME.png, NAME.csv and its texts as NAME.txt.

    Parameters
    ----------
    names : of the page, one.
    wanted : the figure: its number in the paper, or its name.
    settings : ``KEY=VALUE`` each, of keys that runs of the figure have, and that do not alone tell its runs apart.
    out : the folder, where the runs are kept, too; out/PAGE-FIGURE where None. No folder of a report.

    Returns
    -------
    The exit code: 0, 1 where a run or the drawing failed, 128 + signal where it was stopped.

    Raises
    ------
    InputError
        An unknown page, figure or key, a value that a scenario cannot have; a key by which the figure compares runs.
    """
    from experiments.sweep.runner import exit_code
    from experiments.sweep.store import store_to_write

    if len(names) != 1:
        raise InputError(f"--figure: got {len(names)} pages, expected one: synergy --figure 9")
    ((paper, tasks),) = tasks_of(names, scale).items()
    experiment = load(paper)
    figure = _named(experiment, wanted)
    folder = out or Path("out") / f"{paper.name}-{figure.name}"
    _expect_no_report(folder)
    changes = [KeyChange(setting) for setting in settings]
    for change in changes:
        change.expect_known(tasks, paper.name)

    def work() -> int:
        with store_to_write(folder) as store:
            made = _Made(store, tasks, changes, workers)
            drawn, problems = _drawn(experiment, figure, made, folder, scale, settings)
        for problem in problems:
            print(f"  {problem}")
        if drawn is not None:
            text = f"{drawn.title}\n\n{drawn.caption}\n\n{drawn.command}\n"
            write_whole(folder / f"{figure.name}.txt", text)
            print(f"{drawn.title}\n{drawn.caption}")
            print(f"{drawn.png or drawn.csv}: from {len(made.planned)} runs")
        return 1 if problems else 0

    return exit_code(work)


@dataclass
class KeyChange:
    """``KEY=VALUE`` for the runs that have the key.

    Attributes
    ----------
    before : as JSON, the values of the key in runs that were read so far.
    """

    setting: str
    before: dict[str, None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key, dotted."""
        return self.setting.partition("=")[0].strip()

    @property
    def value(self) -> str:
        """The new value, as it was written."""
        return self.setting.partition("=")[2].strip()

    def expect_known(self, tasks: Iterable[Task], whose: str) -> None:
        """Raise InputError where no run has the key, or what was given is no ``KEY=VALUE``."""
        if not self.key or not self.value:
            raise InputError(
                f"--set {self.setting!r}: expected KEY=VALUE, such as cluster.num_nodes=8"
            )
        known = dict.fromkeys(key for task in tasks for key in flatten(task.config))
        if self.key not in known:
            told = meant(self.key, [*known], f"keys of runs of {whose}")
            raise InputError(f"--set {self.key}: no run of {whose} has this key, {told}")

    def of(self, task: Task) -> Task:
        """The run with the new value, under its own labels; as it is where it has not the key."""
        if self.key not in flatten(task.config):
            return task
        config = copy.deepcopy(dict(task.config))
        set_key(config, self.setting)
        return replace(task, config=config, labels=task.columns())

    def look_at(self, task: Task) -> None:
        """Note the value that a run has."""
        flat = flatten(task.config)
        if self.key in flat:
            self.before[canonical_json(flat[self.key])] = None

    def __str__(self) -> str:
        more = ", .." if len(self.before) > SHOWN else ""
        return f"{self.key} = {self.value} in place of {', '.join([*self.before][:SHOWN])}{more}"


class _Made:
    """Runs that are made when the figure asks for them; none is there before.

    Attributes
    ----------
    tasks : all runs of the page, changed.
    planned : those that were asked for, by key.
    """

    def __init__(
        self, store: Store, tasks: Sequence[Task], changes: Sequence[KeyChange], workers: int | None
    ) -> None:
        self._store, self._changes, self._workers = store, changes, workers
        # By identity: with a new value, runs of different settings may be one.
        self._before: dict[int, Task] = {}
        self._asked: list[Task] = []
        self._alike: dict[tuple[str, str], Task] = {}
        self.tasks, self.planned = list[Task](), dict[str, Task]()
        for task in tasks:
            changed = task
            for change in changes:
                changed = change.of(changed)
            self.tasks.append(changed)
            self._before[id(changed)] = task

    def make(self, asked: Sequence[Task]) -> None:
        """Make these runs, where the store has them not."""
        from experiments.scenario.schema import Scenario
        from experiments.sweep.runner import run_tasks

        before = [self._before[id(task)] for task in asked]
        self._asked += before
        for task, own in zip(asked, before, strict=True):
            for change in self._changes:
                change.look_at(own)
            if task is not own and task.function == RUN_SCENARIO:
                validated(Scenario, task.config, "--set")
            self._expect_apart(task, own)
        self.planned.update((task.key, task) for task in asked)
        run_tasks([*self.planned.values()], self._store, workers=self._workers)

    def _expect_apart(self, task: Task, own: Task) -> None:
        """Raise InputError where two runs that the figure compares become one."""
        other = self._alike.setdefault((task.function, task.config_json), own)
        if other.config_json != own.config_json:
            keys = ", ".join(change.key for change in self._changes if len(change.before) > 1)
            told = "alone tells runs of the figure apart, expected another key"
            raise InputError(f"--set {keys}: {told}")

    def run(self, key: str) -> Run | None:
        """A run that was asked for; None where it was not."""
        return self._store.run(key) if key in self.planned else None

    def table(self, key: str, name: str) -> DataFrame:
        """One table of one finished run."""
        return self._store.table(key, name)

    def note(self) -> str:
        """The change, for the texts of the figure; raises InputError where none of its runs has a key."""
        for change in self._changes:
            if not change.before:
                change.expect_known(self._asked, "the figure")
        changed = ", ".join(map(str, self._changes))
        return (
            changed
            and f"{changed}; the numbers of the paper, here and in the picture, belong to its own setting and cannot be compared"
        )

    def failures(self) -> list[str]:
        """A line for each run that failed."""
        return [
            f"{', '.join(f'{name}={value}' for name, value in labels.items())}: {message_of(error)}"
            for labels, error in self._store.failures()
        ]


def _drawn(
    experiment: Experiment, figure: Registered, made: _Made, folder: Path, scale: str, settings: Sequence[str]
) -> tuple[Figure | None, list[str]]:  # fmt: skip
    """The figure, None where it cannot be drawn; and what went wrong, a line each."""
    import matplotlib as mpl

    mpl.use("Agg")
    options = "".join(f" --set {shlex.quote(setting)}" for setting in settings)
    results = Results(made, made.tasks, scale, make=made.make)
    try:
        (drawn,) = experiment.drawn(
            figure, results, folder, made.note, f" --figure {figure.name}{options}"
        )
    except NoRuns as none:
        if made.planned:
            return None, [*made.failures(), f"{figure.name}: cannot be drawn: {none}"]
        raise InputError(f"--figure {figure.name}: has no runs at the scale {scale}") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        print(traceback.format_exc(), file=sys.stderr)
        told = f"{figure.name}: cannot be drawn: {type(error).__name__}: {error}"
        return None, [*made.failures(), told]
    return drawn, made.failures()


def _named(experiment: Experiment, wanted: str) -> Registered:
    """The figure of a number or a name; raises InputError where there is none."""
    by_name = {one.name: one for one in experiment.registered}
    number = f"figure_{wanted.replace('.', '_')}"
    name = next((name for name in (wanted, number) if name in by_name), None)
    if name is None:
        raise InputError(f"--figure: got {wanted!r}, expected one of {', '.join(by_name)}")
    return by_name[name]


def _expect_no_report(folder: Path) -> None:
    """Raise InputError where a folder, or one around it, has pages of a report."""
    for place in (folder, *folder.absolute().parents):
        if (place / PAGE).exists() or any(place.glob(f"*/{PAGE}")):
            raise InputError(
                f"--out: got {folder}, where {place} has pages of a report, expected another folder"
            )
