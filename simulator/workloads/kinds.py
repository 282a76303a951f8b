"""Names of the kinds of workload that are here, and where the class of each is.

They are read from the text of the modules: a class below `WorkloadTable` that names its kind is one, and below `Trace` it
is a format of files. A class is loaded where its name is read (`simulator.workloads.registry`): a run needs one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
_LINE = re.compile(r'\n(?:class (\w+)\(([\w, ]+)\):|    kind: Literal\["([^"]+)"\] = )')


def _classes() -> Iterator[list[str]]:
    """Module, name and bases of each class of this package, and its kind where it has one."""
    for path in sorted(HERE.rglob("*.py")):
        module = ".".join((__package__, *path.relative_to(HERE).with_suffix("").parts))
        found: list[list[str]] = []
        for name, bases, kind in _LINE.findall(path.read_text("utf-8")):
            if name:
                found.append([module, name, bases])
            elif found:
                found[-1].append(kind)
        yield from found


def _below(*roots: str) -> Mapping[str, str]:
    """``module:class`` of the kinds below some classes, by name."""
    found, below = {}, {*roots}
    classes = list(_classes())
    while more := {name for _, name, bases, *_ in classes if below & {*bases.split(", ")}} - below:
        below |= more
    for module, name, _, *kind in classes:
        if kind and name in below:
            found[kind[0]] = f"{module}:{name}"
    return dict(sorted(found.items()))


FORMATS = _below("Trace")
"""Formats of files of jobs."""

KINDS = _below("WorkloadTable", "Selected")
"""All kinds, formats among them."""
