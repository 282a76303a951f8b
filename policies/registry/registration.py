"""The decorator that gives a policy its name, the table of what was registered, and the base of wrappers."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

from policies.registry.naming import kind_of
from simulator.model.contract import Decision, Policy, View

Factory = TypeVar("Factory", bound=Callable[..., Any])

Queue = Literal["", "blind", "processor-sharing", "srpt", "shortest-job", "least-attained"]
"""Queues by what decides who is served; blind: nothing of the jobs does, and nobody is interrupted. All blind ones have the same mean wait."""

_registered: dict[tuple[str, str], Callable[..., Any]] = {}
_DECORATOR = re.compile(r'^@register\(\s*"([^"]+)"', re.M)


def register(
    name: str,
    *,
    requires: Iterable[str] | None = None,
    first: Iterable[str] | None = None,
    paper: str = "",
    places: bool = False,
    queue: Queue = "",
) -> Callable[[Factory], Factory]:
    """Register a class or function under a name.

    Parameters
    ----------
    name : of a policy; with ``@`` before it, of a `Wrapper`, kept as its ``key``; with ``+`` before it, of
        the second part of compositions, whose first argument is the first part.
    requires : what it needs of jobs and machines, names of `policies.registry.requirements.REQUIREMENTS`; kept as its
        attribute ``requires``. None: those of the class that it inherits from.
    first : first parts that go with ``+name``; kept as its attribute ``first``.
    places : whether it keeps jobs to the nodes and types of GPU that they ask for, as `FreeCapacity` does; kept as its
        attribute ``places``.
    queue : the queue of the textbooks that it is where jobs of one GPU come to equal servers; kept as its attribute ``queue``.
    paper : source, for lists of policies; kept as its attribute ``paper``.
    """

    def mark(factory: Factory) -> Factory:
        thing: Any = factory
        thing.paper, thing.places, thing.queue = paper, places, queue
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
    root = Path(__file__).parents[1]
    found = {}
    for path in sorted(root.rglob("*.py")):
        for name in _DECORATOR.findall(path.read_text("utf-8")):
            found[name] = ".".join(("policies", *path.relative_to(root).with_suffix("").parts))
    return found


def registered(name: str) -> Callable[..., Any] | None:
    """The object registered under a name: in this package, else by a module that was imported; None: nothing."""
    if name in modules():
        importlib.import_module(modules()[name])
        return _registered[modules()[name], name]
    return next((found for (_, own), found in _registered.items() if own == name), None)


Ordered = Callable[[View], Iterable[int]]


class Wrapper:
    """A policy that changes what another one sees or answers.

    The further parameters of its constructor are its options (``hysteresis.threshold``). What is true of the
    policy that decides is true of the wrapper, unless its constructor says otherwise.

    Parameters
    ----------
    policy : the policy that decides.
    inner_name : its name.

    Attributes
    ----------
    key : the name under which it is registered, ``@hysteresis``.
    decides_alike : whether its decisions are always those of the policy.
    name : of the whole, ``greedy@hysteresis``.
    fractional_gpus : whether the policy gives parts of GPUs.
    plans_anew : whether it plans all nodes anew, by whole GPUs.
    by, ordered : by what it orders waiting jobs, and the jobs of a view in that order (`policies.wrappers.decision_trace`);
        "" and None where it does not say.
    """

    requires: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str] = ""
    decides_alike: ClassVar[bool] = False

    def __init__(self, policy: Policy, inner_name: str) -> None:
        self.policy = policy
        self.inner_name = inner_name
        self.name = inner_name + self.key
        self.fractional_gpus = bool(getattr(policy, "fractional_gpus", False))
        self.plans_anew = bool(getattr(policy, "plans_anew", False))
        self.by = str(getattr(policy, "by", ""))
        self.ordered = cast(Ordered | None, getattr(policy, "ordered", None))

    def decide(self, view: View) -> Decision:
        """The policy's decision."""
        return self.policy.decide(view)
