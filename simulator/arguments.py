"""Values of a wrong kind, given to a constructor in Python: one line, as for those of files.

    @checked("cluster")
    @dataclass(frozen=True)
    class Cluster: ...

``Cluster(types, "ten")`` is then "cluster: num_nodes is 'ten', expected a whole number".

Sizes have limits, for every way in which a size is given: what is larger is a slip of the pen, and would fill the
memory. `whole` looks parameters up by name; columns of files and keys of scenarios take their bounds from here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

from simulator.errors import InputError

Kind = TypeVar("Kind", bound=type)

MOST_NODES = 1_000_000
MOST_JOBS = 10_000_000
MOST_GPUS = 10_000
"""Of one node."""

LATEST_S = 1e12
"""Submissions are before this (over 30,000 years), where a clock still resolves a millisecond."""

MOST_TIMES = 250_000_000
"""Entries of a table of times by job, node type and number of GPUs: 2 GB."""

LIMITS = {
    "num_nodes": MOST_NODES,
    "num_controllers": MOST_NODES,
    "num_jobs": MOST_JOBS,
    "gpus_per_node": MOST_GPUS,
}
"""Of parameters, by their names."""

SHOWN = 60
"""Characters of a wrong value that a message cites."""


def is_number(value: object) -> bool:
    """True where it is one real number, of Python or of NumPy."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    if isinstance(value, int):
        return abs(value) < 10**300  # `float` goes no further
    return isinstance(value, Real | np.bool_)


def is_array(value: object) -> bool:
    """True where NumPy makes an array of numbers of it, of one dimension at least; texts and complex numbers are none."""
    try:
        as_given = np.asarray(value)
        is_other = as_given.dtype.kind in "SUc"
        if as_given.dtype.kind == "O":  # `float` would take texts among other objects, too
            is_other = any(isinstance(entry, str | bytes) for entry in as_given.flat)
        return not is_other and as_given.astype(np.float64).ndim > 0
    except (TypeError, ValueError, OverflowError):
        return False


WRONG_KIND = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)
"""Exceptions of Python for values of a wrong kind."""

EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "float": (is_number, "a number"),
    "int": (lambda value: isinstance(value, Integral | np.bool_), "a whole number"),
    "bool": (lambda value: isinstance(value, bool | np.bool_), "true or false"),
    "str": (lambda value: isinstance(value, str), "a text"),
    "FloatArray": (is_array, "an array of numbers"),
    "IntArray": (is_array, "an array of numbers"),
}
"""By the annotation of a field: what its values are like."""


def checked(what: str) -> Callable[[Kind], Kind]:
    """For dataclasses with a ``__post_init__``: values of a wrong kind become an `InputError`.

    Fields are checked by their annotation where that is one of `EXPECTED`, or that or None. What the
    ``__post_init__`` cannot do with the other values is one line, too.

    Parameters
    ----------
    what : how messages call an object of the class.
    """

    def decorate(kind: Kind) -> Kind:
        simple = [
            (f.name, *EXPECTED[_plain(f.type)], f.default is None or "None" in str(f.type))
            for f in fields(kind)
            if f.init and _plain(f.type) in EXPECTED
        ]
        names = {name for name, *_ in simple}
        given = [f.name for f in fields(kind) if f.init]
        others = [name for name in given if name not in names] or given
        own: Callable[[Any], None] = kind.__post_init__  # type: ignore[attr-defined]

        @functools.wraps(own)
        def post_init(self: Any) -> None:
            for name, is_one, expected, or_none in simple:
                value = getattr(self, name)
                if not (is_one(value) or (or_none and value is None)):
                    raise InputError(f"{what}: {name} is {short(value)}, expected {expected}")
            try:
                own(self)
            except InputError:
                raise
            except WRONG_KIND as error:
                wrong = ", ".join(f"{name} = {short(getattr(self, name))}" for name in others)
                raise InputError(
                    f"{what}: one of {wrong} is of a wrong kind ({type(error).__name__}: {error}), "
                    f"expected values as help({kind.__name__}) describes them"
                ) from error

        kind.__post_init__ = post_init  # type: ignore[attr-defined]
        return kind

    return decorate


def _plain(annotation: object) -> str:
    return str(annotation).removesuffix(" | None")


def short(value: object) -> str:
    """A wrong value as messages cite it."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # a whole number of more digits than Python writes
        text = f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.."


# The checks below take parameters by name; ``of`` names the object that they belong to, for the message.


def whole(least: int, of: str = "", /, **values: object) -> None:
    """Whole numbers, at least ``least``; 2.0 is none, since nothing can be counted with it.

    Those that `simulator.arguments` knows by name are at most what it says.
    """

    def good(value: Any) -> bool:
        return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least

    _expect(good, f"a whole number >= {least}", of, values)
    for name, value in values.items():
        if name in LIMITS and cast(int, value) > LIMITS[name]:
            where = f"{of}: {name}" if of else name
            raise InputError(f"{where} is {short(value)}, expected at most {LIMITS[name]:,}")


def positive(of: str = "", /, **values: float) -> None:
    """Positive, finite numbers."""
    _expect(lambda v: is_number(v) and 0 < v < math.inf, "a positive number", of, values)


def nonnegative(of: str = "", /, **values: float) -> None:
    """Finite numbers that are not negative."""
    _expect(lambda v: is_number(v) and 0 <= v < math.inf, "a number >= 0", of, values)


def inside(of: str = "", /, **values: float) -> None:
    """Numbers between 0 and 1, both excluded."""
    _expect(lambda v: is_number(v) and 0 < v < 1, "between 0 and 1", of, values)


def part(of: str = "", /, **values: float) -> None:
    """Numbers from 0 to 1."""
    _expect(lambda v: is_number(v) and 0 <= v <= 1, "a number from 0 to 1", of, values)


def one_of(known: Iterable[str], of: str = "", /, **values: object) -> None:
    """Texts of a known set."""
    known = list(known)
    _expect(lambda value: value in known, f"one of {', '.join(known)}", of, values)


def length(of: str, values: Sized, wanted: int, what: str) -> None:
    """As many values as there are jobs, or nodes, at least."""
    if len(values) < wanted:
        raise InputError(f"{of}: made for {len(values)} {what}, expected {wanted}")


def _expect(
    good: Callable[[Any], bool], expected: str, of: str, values: Mapping[str, object]
) -> None:
    for name, value in values.items():
        if not good(value):
            where = f"{of}: {name}" if of else name
            raise InputError(f"{where} is {short(value)}, expected {expected}")


def expect_few(count: int, most: int, what: str) -> None:
    """Raise InputError for more than the limit: "12 jobs in all, expected at most 10"."""
    if count > most:
        raise InputError(f"{count:,} {what}, expected at most {most:,}")


def times_shape(jobs: int, types: int, gpus: int) -> tuple[int, int, int]:
    """``(J, V, G + 1)``, the shape of a table of times; raises InputError where it would fill the memory."""
    expect_few(
        jobs * types * (gpus + 1),
        MOST_TIMES,
        f"times of {jobs:,} jobs on {types:,} node types of up to {gpus:,} GPUs",
    )
    return jobs, types, gpus + 1
