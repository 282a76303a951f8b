"""What installed packages offer to schedlab, found by entry points.

Reading them never fails: a package whose metadata is malformed offers nothing, and stands in the
way of no other.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint

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


def _one_by_one(group: str) -> Iterator[EntryPoint]:
    for distribution in importlib.metadata.distributions():
        try:
            yield from distribution.entry_points.select(group=group)
        except Exception:  # whatever its metadata hold
            continue
