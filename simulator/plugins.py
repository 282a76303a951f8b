"""Plug-ins of installed packages, found by entry points.

Reading them never fails: a package whose metadata is malformed offers nothing, and stands in the
way of no other.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any, cast

from simulator.errors import InputError

GROUPS = (
    "schedlab.policies",
    "schedlab.dispatchers",
    "schedlab.workloads",
    "schedlab.features",
)
"""Entry-point groups, which decide the outcome of a run."""

_VALUE = re.compile(r"[\w.]+(\s*:\s*[\w.]+)?(\s*\[.*\])?\s*")


def installed(group: str) -> list[EntryPoint]:
    """The well-formed entry points of a group, each name once, in the order of the search path."""
    try:
        found = list(importlib.metadata.entry_points(group=group))
    except Exception:  # one malformed file of any package makes the whole call fail
        found = list(_one_by_one(group))
    by_name: dict[str, EntryPoint] = {}
    for entry in found:
        if isinstance(entry.value, str) and _VALUE.fullmatch(entry.value):
            by_name.setdefault(entry.name, entry)
    return list(by_name.values())


def loaded(entry: EntryPoint, what: str) -> Callable[..., Any]:
    """A plug-in of a package.

    Raises
    ------
    InputError
        It is not there, breaks on import, or cannot be called; one line.
    """
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # another package's code may raise anything
        first_line = str(error).partition("\n")[0]
        raise InputError(
            f"{what} {entry.name!r}: {entry.value} cannot be loaded "
            f"({type(error).__name__}: {first_line})"
        ) from error
    if not callable(found):
        raise InputError(f"{what} {entry.name!r}: {entry.value} is no class or function")
    return cast(Callable[..., Any], found)


def _one_by_one(group: str) -> Iterator[EntryPoint]:
    for distribution in importlib.metadata.distributions():
        try:
            yield from distribution.entry_points.select(group=group)
        except Exception:  # whatever its metadata hold
            continue
