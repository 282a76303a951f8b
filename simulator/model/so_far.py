"""The jobs so far: what policies and dispatchers see of things that have a row a job.

    so_far = SoFar()
    seen = so_far.of(workload)  # its columns are empty
    so_far.advance(3)
    seen.submit_s  # those of the first three jobs

A thing names its attributes with a row a job in `job_columns`. What is seen of it is an object of a class made on the
fly from the thing's own, so that it has all its methods, and they read the columns that are cut. A column is cut
when it is read for the first time after an arrival; lists grow.
"""

from __future__ import annotations

import re
import traceback
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Thing = TypeVar("Thing")

OF_A_LIST = ("list index out of range", "index out of bounds on dimension 1")
"""What Python says of an index beyond a list, and beyond a column of states."""
OWN = Path(__file__).parents[1]
"""Folder of the simulator: a line of it is not where the mistake is."""
STATE = "_so_far"
"""Attribute in which what is seen of a thing keeps the thing."""


class SoFar:
    """Cuts things after the last job that has come.

    Attributes
    ----------
    count : jobs that have come, 0, 1, .., ``count - 1``.
    """

    def __init__(self) -> None:
        self.count = 0
        self._read: list[_Seen] = []
        self._lists: list[tuple[list[Any], Sequence[Any]]] = []

    def of(self, whole: Thing) -> Thing:
        """The seen part of a thing, and of the things that it has; of one without `job_columns` the thing itself."""
        columns = getattr(whole, "job_columns", None)
        if columns is None:
            return whole
        methods = tuple(getattr(whole, "job_methods", ()))
        kind: Any = type(whole)
        seen: Thing = object.__new__(_class_of(kind, tuple(columns), methods))
        _Seen(self, whole, vars(seen), columns)
        return seen

    def advance(self, count: int) -> None:
        """So many jobs have come."""
        self.count = count
        for seen in self._read:
            seen.forget()
        self._read.clear()
        for known, whole in self._lists:
            known.extend(whole[len(known) : count])

    def cut(self, seen: _Seen, name: str) -> Any:
        """The rows so far of a column, kept until the next arrival; a list is kept, and grows."""
        whole = getattr(seen.whole, name)
        if isinstance(whole, np.ndarray | array):
            if not seen.is_read:
                seen.is_read = True
                self._read.append(seen)
            part = memoryview(whole).toreadonly() if isinstance(whole, array) else whole
            found = seen.values[name] = part[: self.count]
            return found
        if isinstance(whole, list | tuple) and whole:
            known = list(whole[: self.count])
            self._lists.append((known, whole))
            whole = known
        seen.values[name] = seen.kept[name] = whole
        return whole


def whole_of(seen: Thing) -> Thing:
    """The thing of which this is seen; a thing that is not cut is itself."""
    whole: Thing = vars(seen)[STATE].whole if STATE in vars(seen) else seen
    return whole


def beyond(error: IndexError, count: int) -> str | None:
    """In words, that code of a user reads the row of a job to come; None where the error is another one.

    Parameters
    ----------
    count : jobs that have come.
    """
    found = re.fullmatch(r"index .* is out of bounds for axis 0 with size (\d+)", str(error))
    if not (int(found[1]) == count if found else str(error).startswith(OF_A_LIST)):
        return None
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if OWN not in Path(f.filename).parents
    ]
    at = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{error}{at}: a policy sees the jobs up to the last one that was submitted, number {count - 1}"


class _Seen:
    """Attributes of what is seen of a thing.

    Attributes
    ----------
    values, kept : the attributes, and those of them that arrivals do not change.
    is_read : whether there are others.
    """

    def __init__(
        self, so_far: SoFar, whole: Any, values: dict[str, Any], columns: Sequence[str]
    ) -> None:
        own = getattr(whole, "__dict__", {})
        values |= {name: so_far.of(value) for name, value in own.items() if name not in columns}
        values[STATE] = self
        self.so_far, self.whole, self.values, self.kept = so_far, whole, values, dict(values)
        self.is_read = False

    def forget(self) -> None:
        """Cut again what is read next, and compute again what follows from it."""
        self.is_read = False
        self.values.clear()
        self.values.update(self.kept)


class _Column:
    """A column, until it is read: the value then stands before it, among the attributes of the object."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, seen: Any, owner: type | None = None) -> Any:
        if seen is None:
            return self
        state: _Seen = vars(seen)[STATE]
        return state.so_far.cut(state, self._name)


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose first argument is a job, or an array of jobs, that have come."""

    def guarded(seen: Any, jobs: Any, *others: Any) -> Any:
        count, last = vars(seen)[STATE].so_far.count, np.max(jobs, initial=-1)
        if last >= count:
            raise IndexError(f"index {last} is out of bounds for axis 0 with size {count}")
        return method(seen, jobs, *others)

    return guarded


@cache
def _class_of(base: type, columns: tuple[str, ...], methods: tuple[str, ...]) -> type:
    """The class of what is seen; of a copy with other values (`dataclasses.replace`) it makes a thing of its own."""
    members: dict[str, Any] = {name: _Column(name) for name in columns}
    members |= {name: _guarded(getattr(base, name)) for name in methods}
    if methods and hasattr(base, "__len__"):
        members["__len__"] = lambda seen: vars(seen)[STATE].so_far.count
    members["__new__"] = lambda _, *values, **named: base(*values, **named)
    return type(base.__name__, (base,), members)
