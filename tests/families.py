"""Parts of families (docs/architecture.md), of which a copy of the repository may lack one."""

import functools
import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.without import ROOT, families
from policies import policy_names
from policies.registry.registration import modules

PART = re.compile(r"[+@]?[^+@:]+")


class Absent:
    """In place of a module that is not there: a test that takes something from it is skipped."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        pytest.skip(f"{self.name} was taken out")


@functools.cache
def absent_parts() -> list[str]:
    """Folders and files of families that are not there."""
    return [part for parts in families().values() for part in parts if not any(ROOT.glob(part))]


def is_absent(path: str | Path) -> bool:
    """Whether a file or folder, from the root of the repository, belongs to a family that was taken out."""
    inside = (ROOT / path).resolve().relative_to(ROOT)
    return any(each.match(part) for part in absent_parts() for each in (inside, *inside.parents))


def module(name: str) -> ModuleType | Absent:
    """A module of a family; where the family was taken out, one that skips the test which uses it."""
    if is_absent(ROOT / name.replace(".", "/")) or is_absent(ROOT / f"{name.replace('.', '/')}.py"):
        return Absent(name)
    return importlib.import_module(name)


def registered(*names: str) -> tuple[str, ...]:
    """Names of policies, without those of families that were taken out."""
    known = {*modules(), *policy_names()}
    found = tuple(n for n in names if {*PART.findall(n.partition(":")[0])[_composed(n) :]} <= known)
    assert found == names or absent_parts(), f"no policies: {sorted({*names} - {*found})}"
    return found


def _composed(name: str) -> int:
    """1 where the first part is an ordering, whose name is the mechanism's affair."""
    return int("+" in name.partition("@")[0])
