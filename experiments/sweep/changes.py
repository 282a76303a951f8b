"""The difference between the sweep that a folder holds and the one that is to run in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.sweep.codeversion import code_parts, content_hash
from experiments.sweep.task import Task, canonical_json, flatten

if TYPE_CHECKING:
    from experiments.sweep.store import Store

SOURCES = "sources"
"""The note of a sweep under which the hashes of its code and of its input files are kept."""
SHOWN = 3


def sources_of(tasks: Iterable[Task]) -> dict[str, str]:
    """Hashes of all that decides the results of tasks beside their configuration, by file or library."""
    tasks = list(tasks)
    versions = sorted({(task.function, task.sources) for task in tasks})
    found = {part: mark for version in versions for part, mark in code_parts(*version).items()}
    files = {name for task in tasks for name in task.files}
    return found | {name: content_hash(name)[:16] for name in files}


def changes(store: Store, tasks: Sequence[Task]) -> str:
    """The parameters, seeds, files or code by which ``tasks`` differ from the sweep in the folder.

    Empty where they are the same, or where the folder holds none.
    """
    planned = store.planned_keys()
    keys = [task.key for task in tasks]
    if not planned or planned == keys:
        return ""
    before = store.tasks()
    what, lines = "another sweep", _parameters(before, tasks)
    if not lines and {t.config_json for t in before} == {t.config_json for t in tasks}:
        lines = _sources(store.note(SOURCES, {}), sources_of(tasks))
        what = "this sweep by other code or data" if lines else what
    common = f"{len(set(planned) & set(keys))} of {len(set(keys))} runs in common"
    more = [f"{len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return f"{what} ({'; '.join([*lines[:SHOWN], *more, common])})"


def _parameters(before: Sequence[Task], now: Sequence[Task]) -> list[str]:
    """A line for each parameter whose values differ."""
    old, new = _values(before), _values(now)
    lines = []
    for name in {**old, **new}:
        added = [v for v in new.get(name, {}) if v not in old.get(name, {})]
        gone = [v for v in old.get(name, {}) if v not in new.get(name, {})]
        parts = [f"{_listed(added)} new"] * bool(added) + [f"{_listed(gone)} left out"] * bool(gone)
        if parts:
            lines.append(f"{name}: {', '.join(parts)}")
    return lines


def _values(tasks: Iterable[Task]) -> dict[str, dict[str, None]]:
    """The values of each parameter, in their order."""
    found: dict[str, dict[str, None]] = {}
    for task in tasks:
        flat: dict[str, Any] = {"function": task.function, **flatten(task.config)}
        for name, value in flat.items():
            found.setdefault(name, {})[canonical_json(value).strip('"')] = None
    return found


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values[:SHOWN]) + (", .." if len(values) > SHOWN else "")


def _sources(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"{name} has changed" for name in sorted(changed)]
