"""The decorator that gives a policy its name, and the table of what was registered."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from policies.naming import kind_of

Factory = TypeVar("Factory", bound=Callable[..., Any])

_registered: dict[tuple[str, str], Callable[..., Any]] = {}
_DECORATOR = re.compile(r'^@register\(\s*"([^"]+)"', re.M)


def register(
    name: str,
    *,
    requires: Iterable[str] | None = None,
    first: Iterable[str] | None = None,
    paper: str = "",
) -> Callable[[Factory], Factory]:
    """Register a class or function under a name.

    Parameters
    ----------
    name : of a policy; with ``@`` before it, of a `Wrapper`, kept as its ``key``; with ``+`` before it, of
        the second part of compositions, whose first argument is the first part.
    requires : what it needs of jobs and machines, names of `policies.requirements.REQUIREMENTS`; kept as its
        attribute ``requires``. None: those of the class that it inherits from.
    first : first parts that go with ``+name``; kept as its attribute ``first``.
    paper : source, for lists of policies; kept as its attribute ``paper``.
    """

    def mark(factory: Factory) -> Factory:
        thing: Any = factory
        thing.paper = paper
        if requires is not None:
            thing.requires = tuple(requires)
        if first is not None:
            thing.first = tuple(first)
        if kind_of(name) == "wrapper":
            thing.key = name
        _registered[factory.__module__, name] = factory
        return factory

    return mark


@functools.cache
def modules() -> dict[str, str]:
    """The module of each policy of this package by the policy's name.

    Read from the text of the modules, since to import them all takes seconds (solvers, compilers).
    """
    root = Path(__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        for name in _DECORATOR.findall(path.read_text("utf-8")):
            found[name] = ".".join((__package__, *path.relative_to(root).with_suffix("").parts))
    return found


def registered(name: str) -> Callable[..., Any] | None:
    """The object registered under a name: in this package, else by a module that was imported; None: nothing."""
    if name in modules():
        importlib.import_module(modules()[name])
        return _registered[modules()[name], name]
    return next((found for (_, own), found in _registered.items() if own == name), None)
