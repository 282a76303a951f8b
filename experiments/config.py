"""Configuration files: their input files, the tasks that they configure, and writing them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from simulator.errors import InputError
from simulator.files.keys import (
    Config,
    KeyedError,
    at_key,
    described,
    explained,
    parse_toml,
    read_toml,
    validated,
)
from simulator.plugins import FILE

__all__ = [
    "Config",
    "FileKeys",
    "KeyedError",
    "at_key",
    "configured_by",
    "described",
    "explained",
    "of_file",
    "parse_toml",
    "path_keys",
    "read_toml",
    "toml_text",
    "toml_value",
    "validated",
]

Function = TypeVar("Function", bound=Callable[..., Any])
FileKeys = Iterator[tuple[dict[str, Any], str]]
"""Tables of a configuration, each with a key of it whose value names an input file."""


@contextmanager
def of_file(source: str) -> Iterator[None]:
    """An error of a key in the block is of this file."""
    try:
        yield
    except KeyedError as error:
        raise InputError(f"{source}: {error}") from None


def path_keys(config: dict[str, Any]) -> FileKeys:
    """Every key ``path`` with a text."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from path_keys(value)
        elif key == "path" and isinstance(value, str):
            yield config, key


def path_of(value: str) -> Path:
    """The file that a key names: ``FILE.py`` of a policy ``FILE.py:NAME``."""
    file, dot_py, _ = value.rpartition(FILE)
    return Path(f"{file}.py" if dot_py else value)


def configured_by(
    model: type[BaseModel],
    checks: Callable[[], Callable[[Any], None]] | None = None,
    files: Callable[[dict[str, Any]], FileKeys] = path_keys,
    fixed_jobs: Callable[[Any], bool] = lambda _: False,
) -> Callable[[Function], Function]:
    """Marks a task function with the model of its configuration, so that sweeps check it first.

    Parameters
    ----------
    checks : asked once a sweep for a function that takes a configuration as the model and raises
        `InputError`, best a `KeyedError`, for what the model cannot see (an unknown policy).
    files : where a configuration names input files. They are relative to the file that says so,
        and what they hold is part of a run's key.
    fixed_jobs : whether a configuration, as the model, has the same jobs under every seed.
    """

    def mark(function: Function) -> Function:
        function.config_model = model  # type: ignore[attr-defined]
        function.config_checks = checks  # type: ignore[attr-defined]
        function.config_files = files  # type: ignore[attr-defined]
        function.config_fixed_jobs = fixed_jobs  # type: ignore[attr-defined]
        return function

    return mark


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(config: Mapping[str, Any]) -> str:
    """A configuration as TOML, one key a line; what is None is left out, as TOML has no such value."""
    lines = [
        f"{_toml_key(key)} = {toml_value(value)}"
        for key, value in config.items()
        if value is not None and not isinstance(value, Mapping)
    ]
    for key, value in config.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_toml_key(key)}]"]
            lines += [
                f"{_toml_key(k)} = {toml_value(v)}" for k, v in value.items() if v is not None
            ]
    return "\n".join([*lines, ""])


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)


def toml_value(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, str):  # TOML reads what JSON writes, but for one control character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(k)} = {toml_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)
