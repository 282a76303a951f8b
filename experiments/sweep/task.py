"""A task is one run: a pure function of a configuration, and the key of its result.

Everything that the laboratory computes in bulk is a list of tasks; ``experiments.sweep.runner.run_tasks``
runs it, ``experiments.sweep.store.Store`` keeps what comes out. Light to import: no numpy, no pandas.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

Scalar = float | int | str | bool | None
TaskFunction = Callable[[dict[str, Any]], "Outcome"]

DEFAULT_SOURCES = ("simulator", "policies")


@dataclass
class Outcome:
    """Outcome of one run.

    Attributes
    ----------
    scalars : one value a name, kept in the run database. NumPy scalars are accepted. Names that end in
        ``cpu_s`` or ``wall_s`` are measurements of this machine: kept, but left out of exported
        tables, which are the same bytes wherever they were computed.
    tables : one ``pandas.DataFrame`` a name ("jobs", "decisions"), kept as one Parquet file each.
    """

    scalars: dict[str, Scalar]
    tables: dict[str, DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """One run to be made: ``function(config) -> Outcome``, a pure function of ``config``.

    Attributes
    ----------
    function : "package.module:name", importable in a fresh process.
    config : what JSON can say (seed included); it alone decides the outcome.
    labels : the columns that name this run in tables (policy, seed, swept parameters); None
        takes the scalar entries of ``config``, nested ones under dotted names.
    cost_s : rough CPU seconds, for running the long ones first and for the time left. Not part
        of the key.
    sources : packages or modules whose code decides the outcome beside ``function`` itself and
        what it calls in its own package (see ``experiments.sweep.codeversion``). Narrow it, say to
        ("simulator", "policies.milp"), and editing other policies keeps the results.
    files : files or folders that the run reads; what they hold is part of the key.
    fixed_jobs : the jobs are the same under every ``config["seed"]``. Then the first seed of a
        configuration is run before the others, which take its result where it drew nothing.
    """

    function: str
    config: Mapping[str, Any]
    labels: Mapping[str, Scalar] | None = None
    cost_s: float = 1.0
    sources: tuple[str, ...] = DEFAULT_SOURCES
    files: tuple[str, ...] = ()
    fixed_jobs: bool = False

    @functools.cached_property
    def config_json(self) -> str:
        """The configuration as canonical JSON; raises InputError where JSON cannot say it."""
        return canonical_json(self.config, what=f"configuration of {self.function}")

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 (hex) of function, configuration, input files and the version of the code."""
        from experiments.sweep.codeversion import content_hash

        files = [content_hash(name) for name in sorted(self.files)]
        text = "\n".join((self.function, self.config_json, self.code, *files))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def code(self) -> str:
        """The version of the code that decides the outcome."""
        from experiments.sweep.codeversion import code_version

        return code_version(self.function, self.sources)

    def columns(self) -> dict[str, Scalar]:
        """The labels of this run; those of the configuration where none were given."""
        if self.labels is not None:
            return dict(self.labels)
        return {name: v for name, v in flatten(self.config).items() if is_scalar(v)}


def canonical_json(value: Any, *, what: str = "value") -> str:
    """The one spelling of ``value`` in JSON: sorted keys, no spaces, no NaN.

    Raises
    ------
    InputError
        Something in it is no string, number, boolean, None, list or mapping.
    """
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: got something that JSON cannot hold ({error})") from None


def plain_scalar(value: Any, name: str) -> Scalar:
    """``value`` as a Python scalar; raises TypeError with the name where it is none."""
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 0) == 0:
        value = item()
    if not is_scalar(value):
        kind = type(value).__name__
        raise TypeError(f"scalar {name!r} of an outcome is a {kind}, expected a number or text")
    return None if isinstance(value, float) and math.isnan(value) else value


def is_scalar(value: Any) -> bool:
    """True for a number, text, boolean or None."""
    return value is None or isinstance(value, (str, int, float, bool))


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots: {"a": {"b": 1}} -> {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def resolve(function: str) -> TaskFunction:
    """The callable that "package.module:name" names; raises InputError where there is none."""
    module_name, separator, name = function.partition(":")
    if not separator or not name:
        raise InputError(f"function: got {function!r}, expected 'package.module:name'")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"function {function!r}: {error}") from None
    except (Exception, SystemExit) as error:  # a module of the user's own may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"function {function!r}: its module cannot be imported ({why})") from None
    found = getattr(module, name, None)
    if found is None:
        raise InputError(f"function {function!r}: the module has no {name!r}")
    if not callable(found):
        raise InputError(f"function {function!r}: {name!r} cannot be called")
    return found  # type: ignore[no-any-return]
