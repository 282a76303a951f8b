"""Dispatchers and kinds of workload that installed packages register, by entry points.

    [project.entry-points."schedlab.dispatchers"]
    most-free = "my_package:most_free"         # (controllers, rng) -> (job -> one of the controllers)

    [project.entry-points."schedlab.workloads"]
    day-and-night = "my_package:day_and_night" # (streams, **options) -> Workload [, Cluster]

Policies have `policies.registry`. docs/extending.md shows one of each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from experiments.config import KeyedError
from simulator.errors import InputError
from simulator.plugins import installed, loaded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from simulator import Cluster, Workload
    from simulator.core.run import Rule
    from simulator.statistics import Streams

DISPATCHER_GROUP = "schedlab.dispatchers"
WORKLOAD_GROUP = "schedlab.workloads"


def dispatcher_of(name: str) -> str | Rule:
    """The name of a built-in rule, or the rule that a package registers.

    Raises
    ------
    InputError
        There is none of that name, or it cannot be loaded.
    """
    from simulator.dispatchers import DISPATCHERS

    if name in DISPATCHERS:
        return name
    found = _named(DISPATCHER_GROUP, name, "dispatcher")
    if found is None:
        known = ", ".join([*DISPATCHERS, *_names(DISPATCHER_GROUP)])
        raise InputError(f"unknown dispatcher {name!r}, expected one of {known}")
    return found


def is_registered(kind: str) -> bool:
    """Whether a package registers this kind of workload."""
    return kind in _names(WORKLOAD_GROUP)


def registered(group: str) -> list[tuple[EntryPoint, Callable[..., Any] | InputError]]:
    """Plug-ins of a group, each loaded, or with the reason why it cannot be."""
    found: list[tuple[EntryPoint, Callable[..., Any] | InputError]] = []
    for entry in installed(group):
        try:
            found.append((entry, loaded(entry, group.removeprefix("schedlab.").removesuffix("s"))))
        except InputError as error:  # another package's, broken; the others are listed all the same
            found.append((entry, error))
    return found


def make_workload(
    name: str, options: Mapping[str, Any], streams: Streams
) -> tuple[Workload, Cluster | None]:
    """The jobs of a package's kind of workload, and the machines that it brings, or None.

    Raises
    ------
    KeyedError
        No such kind, an option that it does not have, or an answer that is no workload.
    """
    from simulator import Cluster, Workload

    make = _named(WORKLOAD_GROUP, name, "workload")
    if make is None:
        known = ", ".join(_names(WORKLOAD_GROUP)) or "none, no package registers one"
        raise KeyedError("workload.name", f"got {name!r}, expected one of {known}")
    _check_options(make, options)
    made = make(streams, **options)
    workload, cluster = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(workload, Workload) or not isinstance(cluster, Cluster | None):
        raise KeyedError(
            "workload.kind",
            f"{name!r} answered with {type(made).__name__}, expected a Workload, or a Workload and a "
            "Cluster",
        )
    return workload, cluster


def _check_options(make: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Each option is a parameter, and each parameter without a default is given."""
    parameters = list(inspect.signature(make).parameters.values())[1:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters]
    for name in options:
        if name not in known:
            raise KeyedError(
                f"workload.{name}", f"unknown key, expected one of {', '.join(known) or 'none'}"
            )
    for p in parameters:
        if p.default is p.empty and p.name not in options:
            raise KeyedError(f"workload.{p.name}", "missing, expected a value")


def _names(group: str) -> list[str]:
    return [entry.name for entry in installed(group)]


def _named(group: str, name: str, what: str) -> Callable[..., Any] | None:
    for entry in installed(group):
        if entry.name == name:
            return loaded(entry, what)
    return None
