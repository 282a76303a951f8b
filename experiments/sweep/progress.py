"""Progress of a sweep and the time left: a bar on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

    from experiments.sweep.task import Task

LINE_EVERY_S = 60.0
FIRST_LINE_S = 8.0
"""When the second line comes: the time left is known by then."""
REDRAW_EVERY_S = 0.2
Kind = tuple[str, str]
ALL = "*"
"""In place of a function or a policy: of all."""
LEAST = 1.0
"""Units of cost, of runs that have ended, from which on their pace counts."""


class Pace:
    """Estimates the time left from the runs that have ended, by kind of work.

    A kind is a task function and what decides most of its pace: the policy, or method, of the
    run. The tasks' ``cost_s`` say how runs of one kind compare, not how those of different ones
    do; how long one unit of cost really takes is learnt for each kind, from all its runs together. A kind
    of which runs of less than `LEAST` units have ended goes by its function, a function by all runs, and
    these by ``cost_s`` as seconds, unless all tasks have the default. So a short run that compiles first
    does not count for a thousand others.
    """

    def __init__(self, tasks: Iterable[Task], slots: int) -> None:
        self._slots = slots
        self._left: dict[Kind, float] = defaultdict(float)
        self._spent: dict[Kind, tuple[float, float]] = {}  # seconds, and cost
        tasks = list(tasks)
        self._guess = (1.0, 1.0) if any(task.cost_s != 1.0 for task in tasks) else None
        self.add(tasks)

    def add(self, tasks: Iterable[Task]) -> None:
        """Take tasks that are to be done into account."""
        for task in tasks:
            self._left[_kind(task)] += task.cost_s

    def ended(self, task: Task, wall_s: float) -> None:
        """Take one run into account."""
        kind = _kind(task)
        self._left[kind] -= task.cost_s
        for group in (kind, (task.function, ALL), (ALL, ALL)):
            spent_s, cost = self._spent.get(group, (0.0, 0.0))
            self._spent[group] = spent_s + wall_s, cost + task.cost_s

    def left_s(self) -> float | None:
        """Seconds until all is done; None where nothing tells."""
        work_s = 0.0
        for kind, left in self._left.items():
            groups = (kind, (kind[0], ALL), (ALL, ALL))
            known = (self._spent[g] for g in groups if g in self._spent)
            found = next((k for k in known if k[1] >= LEAST), self._guess)
            if found is None:
                return None
            spent_s, cost = found
            work_s += max(left, 0.0) * spent_s / cost
        return work_s / self._slots


def _kind(task: Task) -> Kind:
    config = task.config
    return task.function, str(config.get("policy") or config.get("method") or "")


def in_good_order(tasks: Iterable[Task]) -> list[Task]:
    """Those with the highest ``cost_s`` first, so that none is long alone at the end.

    Of several functions, one run of each comes before: the middle one by cost, from which the
    time left can be estimated early.
    """
    ordered = sorted(tasks, key=lambda task: -task.cost_s)
    by_function: defaultdict[str, list[Task]] = defaultdict(list)
    for task in ordered:
        by_function[task.function].append(task)
    if len(by_function) < 2:
        return ordered
    samples = [alike[len(alike) // 2] for alike in by_function.values()]
    first = {id(task) for task in samples}
    return samples + [task for task in ordered if id(task) not in first]


@dataclass(frozen=True)
class SweepState:
    """State of a sweep to show. ``ended`` counts the runs of this session, ``done`` all of them."""

    total: int
    done: int
    running: int
    failed: int
    ended: int
    left_s: float | None


class Meter:
    """Shows a ``SweepState`` now and then; ``shown=False`` shows nothing.

    Parameters
    ----------
    stream : stderr by default; on a terminal a bar, elsewhere lines.
    """

    def __init__(self, shown: bool, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = shown
        self._start = time.monotonic()
        self._next = self._start + FIRST_LINE_S
        self._bar: Progress | None = None

    def open(self, state: SweepState) -> None:
        """Show the first state."""
        if not self._shown:
            return
        if self._stream.isatty():
            self._bar = _bar(self._stream)
            self._bar.add_task("", total=state.total, text="")
            self._bar.start()
            self._next = self._start
            self._draw(state)
        else:
            self._line(state)

    def update(self, state: SweepState) -> None:
        """Show a state, if it is time to."""
        every_s = REDRAW_EVERY_S if self._bar else LINE_EVERY_S
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + every_s
            self._draw(state) if self._bar else self._line(state)

    def close(self, state: SweepState) -> None:
        """Show the last state."""
        if self._bar:
            self._draw(state)
            self._bar.stop()
        elif self._shown:
            self._line(state)

    def _draw(self, state: SweepState) -> None:
        if self._bar:
            self._bar.update(
                self._bar.task_ids[0],
                completed=state.done + state.failed,
                text=self._text(state),
            )

    def _line(self, state: SweepState) -> None:
        elapsed = _clock(time.monotonic() - self._start)
        print(f"[{elapsed}] {self._text(state)}", file=self._stream, flush=True)

    def _text(self, state: SweepState) -> str:
        elapsed_s = max(time.monotonic() - self._start, 1e-3)
        parts = [
            f"{state.done} of {state.total} done",
            f"{state.running} running",
            f"{state.failed} failed",
        ]
        if state.ended and elapsed_s >= 1.0:
            parts.append(f"{state.ended / elapsed_s:.3g} runs/s")
        if state.left_s is not None:
            parts.append(f"{_clock(state.left_s)} left")
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _bar(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[text]}"),
    )
    return Progress(*columns, console=Console(file=stream), refresh_per_second=4)
