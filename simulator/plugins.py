"""Code of users: what installed packages offer, found by entry points, and policies in files.

Reading entry points never fails: a package whose metadata is malformed offers nothing, and stands in
the way of no other.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from pydantic import BaseModel, create_model, model_validator

from simulator.errors import InputError

Table = TypeVar("Table", bound=BaseModel)

FILE = ".py:"
"""In the name of a policy that is in a file: ``FILE.py:NAME``."""

CODE_ALLOWED = "SCHEDLAB_ALLOW_CODE"
"""Environment variable; "1" lets names of files run their code. Processes inherit it."""

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

    Raises InputError: it is not there, breaks on import, or cannot be called; one line.
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


def table_of(entry: EntryPoint, base: type[Table], **fields: Any) -> type[Table]:
    """The table that a package registers; where it is broken, one that says so when it is used.

    Parameters
    ----------
    base : class that it has to be of.
    fields : of the broken one, as `pydantic.create_model` takes them.
    """
    try:
        made = loaded(entry, entry.group.removeprefix("schedlab.").removesuffix("s"))
        if isinstance(made, type) and issubclass(made, base):
            return made
        error = InputError(f"{entry.value} is no {base.__name__}")
    except InputError as found:
        error = found

    def tell(cls: type, data: object) -> object:
        raise error

    said: Any = {"tell": model_validator(mode="before")(tell)}
    return create_model("Broken", __base__=base, __doc__=str(error), __validators__=said, **fields)


def allow_code() -> None:
    """Let this process, and those that it starts, run the code of files that are named as policies."""
    os.environ[CODE_ALLOWED] = "1"


def from_file(text: str) -> Callable[..., Any]:
    """The class or function that ``FILE.py:NAME`` names; the file is run.

    Raises InputError: code is not allowed, there is no such file or name, or the file breaks; one line.
    """
    file, _, name = text.rpartition(":")
    path = Path(file)
    if os.environ.get(CODE_ALLOWED) != "1":
        raise InputError(f"policy {text!r}: would run the code of a file, expected --allow-code")
    if not path.is_file():
        raise InputError(f"policy {text!r}: no such file, expected {path}")
    module = _module_of(path.resolve(), path.stat().st_mtime_ns)
    found = getattr(module, name, None)
    if not callable(found):
        own = [
            key
            for key, value in vars(module).items()
            if getattr(value, "__module__", None) == module.__name__ and key[0] != "_"
        ]
        known = f"one of {', '.join(own)}" if own else "a class or a function there"
        raise InputError(f"policy {text!r}: {path} has no {name!r}, expected {known}")
    return cast(Callable[..., Any], found)


@functools.lru_cache
def _module_of(path: Path, changed: int) -> ModuleType:
    """The file as a module; modules beside it can be imported."""
    mark = hashlib.sha256(f"{path} {changed}".encode()).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{mark}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules[module.__name__] = module  # data classes look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # code of users may raise anything
        del sys.modules[module.__name__]
        lines = [
            f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)
        ]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        at = f", line {line}" if line else ""
        why = str(error).partition("\n")[0]
        raise InputError(f"{path}{at}: {type(error).__name__}: {why}") from error
    return module


def _one_by_one(group: str) -> Iterator[EntryPoint]:
    for distribution in importlib.metadata.distributions():
        try:
            yield from distribution.entry_points.select(group=group)
        except Exception:  # whatever its metadata hold
            continue
