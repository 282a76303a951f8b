"""Policies by name. A package adds its own through the entry-point group ``schedlab.policies``.

    [project.entry-points."schedlab.policies"]
    shortest-first = "my_package:ShortestFirst"

The object named is a class or function that returns a policy, or a function ``(view, ...)`` that is
one; its keyword parameters are the policy's options, each with a default. What it needs of jobs and
machines is its attribute ``requires``, which `register` sets. A name of this package always means the
policy of this package. Policies are imported when they are first asked for.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any, cast

from policies.registry.naming import PolicyName, kind_of
from policies.registry.registration import Queue, modules, registered
from policies.registry.requirements import REQUIREMENTS, MissingRequirement, missing_of
from simulator import Cluster, InputError, Policy, Workload
from simulator.errors import meant
from simulator.plugins import FILE, from_file, installed, loaded

ENTRY_POINTS = "schedlab.policies"

MISTAKEN = {"weight-priority": "; for processor sharing take processor-sharing"}
"""Hints where a policy is easily taken for another one."""

Option = float | int | str | bool


@dataclass(frozen=True)
class PolicyInfo:
    """A policy's line in ``schedlab policies``.

    Attributes
    ----------
    name : by which it is asked for.
    summary : what it does, one line.
    options : keyword options and their defaults.
    meanings : of the options, where their code says them.
    paper : source; empty for textbook orders and for policies of our own.
    requires : names of `policies.registry.requirements.REQUIREMENTS`.
    """

    name: str
    summary: str
    options: Mapping[str, Option]
    meanings: Mapping[str, str]
    paper: str
    requires: tuple[str, ...]


def policy_names() -> list[str]:
    """All policies, third parties' included, without compositions (`composed_names`)."""
    own = (name for name in modules() if kind_of(name) == "policy")
    return sorted({*own, *(e.name for e in installed(ENTRY_POINTS))})


def wrapper_names() -> list[str]:
    """Names of wrappers, which may be combined: ``greedy@tune@hysteresis``."""
    return sorted(name for name in modules() if kind_of(name) == "wrapper")


def composed_names() -> list[str]:
    """All compositions: ``"fifo+proportional"``, .."""
    return [f"{first}{key}" for key in _mechanisms() for first in _first(key)]


def make_policy(name: str, **options: Option) -> Policy:
    """The policy of that name.

    Raises InputError: unknown name or option, or an option of the wrong type or range; one line.
    """
    parsed = PolicyName.parse(name)
    known = _options_of(name, parsed)
    given: dict[str, dict[str, Option]] = {key: {} for key in ("", *parsed.wrappers)}
    for option, value in options.items():
        if option not in known:
            raise InputError(f"policy {name!r}: unknown option {option!r}, {_hint(option, known)}")
        key, own, default = known[option]
        _check_type(name, option, value, default)
        given[key][own] = value
    policy, inner = _base_policy(parsed, given[""]), parsed.base
    for key in parsed.wrappers:
        policy = _wrapper(name, key)(policy, inner, **given[key])
        inner += key
    return policy


def describe(name: str) -> PolicyInfo:
    """The line of one policy; of a wrapper (``@tune``) or a mechanism (``+tune``) by its registered name."""
    if name in modules() and kind_of(name) != "policy":
        made = _wrapper(name, name)
        requires = tuple(getattr(made, "requires", None) or ())
        return PolicyInfo(
            name, _summary(made), _options(made), meanings(made), _paper(made), requires
        )
    parsed = PolicyName.parse(name)
    factory = _factory(name, parsed)
    first = _summary(factory)
    if parsed.ordering:
        first = first.replace("any ordering", f"{parsed.ordering.upper()} ordering")
    found = meanings(factory)
    for key in parsed.wrappers:
        own = meanings(_wrapper(name, key))
        found |= {f"{key[1:]}.{option}": text for option, text in own.items()}
    options = {option: default for option, (*_, default) in _options_of(name, parsed).items()}
    return PolicyInfo(name, first, options, found, _paper(factory), requirements_of(name))


def requirements_of(name: str) -> tuple[str, ...]:
    """Requirements of a policy, names of `policies.registry.requirements.REQUIREMENTS`.

    Raises InputError: an unknown policy, or one that states a requirement that there is not.
    """
    parsed = PolicyName.parse(name)
    found: dict[str, None] = {}
    for factory in (_factory(name, parsed), *(_wrapper(name, key) for key in parsed.wrappers)):
        stated = getattr(factory, "requires", None)
        if stated is None:
            stated = getattr(factory, "needs", ())  # its name of before
        if not isinstance(stated, tuple | list) or not all(each in REQUIREMENTS for each in stated):
            raise InputError(
                f"policy {name!r}: requires is {stated!r}, expected names of {', '.join(REQUIREMENTS)}"
            )
        found |= dict.fromkeys(stated)
    return tuple(found)


def queue_of(name: str) -> Queue:
    """The queue of the textbooks that a policy is where jobs of one GPU come to equal servers; "": none that is known."""
    parsed = PolicyName.parse(name)
    if not all(_wrapper(name, key).decides_alike for key in parsed.wrappers):  # type: ignore[attr-defined]
        return ""
    return cast(Queue, getattr(_factory(name, parsed), "queue", ""))


def taken_for(name: str) -> str:
    """A hint where a policy is easily taken for another one, with "; " before it; else nothing."""
    return MISTAKEN.get(PolicyName.parse(name).key, "")


def missing_requirements(
    name: str, workload: Workload, cluster: Cluster
) -> list[MissingRequirement]:
    """Missing requirements of a policy for these jobs and machines, the essential first."""
    return missing_of(requirements_of(name), workload, cluster)


def check_requirements(name: str, workload: Workload, cluster: Cluster) -> list[str]:
    """Check that a policy has what it requires; returns notes on what has no effect.

    Raises InputError: something essential is missing; one line that names it and the key that supplies
    it.
    """
    line, notes = requirements_verdict(name, workload, cluster)
    if line is not None:
        raise InputError(f"policy {name!r}: {line}")
    return notes


def requirements_verdict(
    name: str, workload: Workload, cluster: Cluster, requirements: Iterable[str] | None = None
) -> tuple[str | None, list[str]]:
    """The reason that keeps a policy from running, one line or None, and notes on what has no effect.

    Parameters
    ----------
    requirements : those of the policy where None.
    """
    parsed = PolicyName.parse(name)
    wanted = requirements_of(name) if requirements is None else requirements
    if not getattr(_factory(name, parsed), "places", False):
        wanted = (*wanted, "any-place")
    found = missing_of(wanted, workload, cluster)
    essential = [missing for missing in found if missing.essential]
    if essential:
        hopeless = next((missing for missing in essential if not missing.keys), None)
        return f"{hopeless or essential[0]}{taken_for(name)}", []
    return None, [f"policy {name!r}: {each}" for each in found]


def hidden_plugins() -> list[str]:
    """Names that a package registers, and that are taken: they mean the policy of this package."""
    taken = {*modules(), *composed_names()}
    return sorted(entry.name for entry in installed(ENTRY_POINTS) if entry.name in taken)


def _base_policy(parsed: PolicyName, options: Mapping[str, Option]) -> Policy:
    """The policy that decides."""
    name = parsed.base
    factory = _factory(name, parsed)
    made: Any = partial(factory, **options) if _decides(factory) else factory(**options)
    if not hasattr(made, "decide"):
        if not callable(made):
            raise InputError(f"policy {name!r}: made a {type(made).__name__}, expected a policy")
        return _FromFunction(name, made)
    if not parsed.ordering and parsed.key != name:
        made.name = name  # results call it as it was asked for
    return cast(Policy, made)


def _factory(name: str, parsed: PolicyName) -> Callable[..., Any]:
    """Factory of the policy that decides; its parameters are the options."""
    if kind_of(parsed.key) == "mechanism":
        composed = registered(parsed.key)
        if composed is None:
            known = [key[1:] for key in _mechanisms()]
            raise InputError(
                f"unknown mechanism {parsed.mechanism!r}; {meant(parsed.mechanism, known)}"
            )
        if parsed.ordering not in _first(parsed.key):
            known = list(_first(parsed.key))
            raise InputError(
                f"unknown ordering {parsed.ordering!r}; {meant(parsed.ordering, known)}"
            )
        made = partial(composed, parsed.ordering)
        for attribute in ("__doc__", "__module__", "requires", "paper"):
            setattr(made, attribute, getattr(composed, attribute))
        return made
    if FILE in parsed.key:
        return _complete(from_file(parsed.key), f"policy {name!r}")
    if parsed.key in modules():
        return cast(Callable[..., Any], registered(parsed.key))
    for entry in installed(ENTRY_POINTS):
        if entry.name == parsed.key:
            return _loaded(entry)
    found = registered(parsed.key) if parsed.key else None
    if found is None:
        raise InputError(f"unknown policy {name!r}; {_meant(name)}")
    return found


def _mechanisms() -> list[str]:
    """Registered names of the second parts of compositions."""
    return [key for key in modules() if kind_of(key) == "mechanism"]


def _first(key: str) -> Iterable[str]:
    """First parts of a composition."""
    return cast(Iterable[str], getattr(registered(key), "first", ()))


def _wrapper(name: str, key: str) -> Callable[..., Any]:
    """The object registered under a key of this package."""
    found = registered(key)
    if found is None:
        raise InputError(f"unknown policy {name!r}; {_meant(name)}")
    return found


def _meant(name: str) -> str:
    """Likely intended name for an unknown one: `equi` is `rental-equi`, `greedy@tun` `greedy@tune`."""
    known = [*policy_names(), *composed_names()]
    inner = PolicyName.parse(name).inner
    if inner in known:
        known = [inner + wrapper for wrapper in wrapper_names()]
    low = name.lower()
    close = [each for each in known if each == low or each.endswith(f"-{low}")]
    close.sort(key=len)
    own = "a policy of your own: FILE.py:NAME with --allow-code, see `schedlab new policy`"
    if close:
        return f"did you mean {close[0]!r}? ({own})"
    return f"{meant(low, known, 'that `schedlab policies` lists')} ({own})"


def _hint(option: str, known: Iterable[str]) -> str:
    """Likely intended option for an unknown one."""
    names = list(known)
    return meant(option, names) if names else "expected none: it has no options"


def _loaded(entry: EntryPoint) -> Callable[..., Any]:
    """The object that a package registers; `InputError` where it is not there or breaks on import."""
    return _complete(loaded(entry, "policy"), f"policy {entry.name!r}: {entry.value}")


def _complete(factory: Callable[..., Any], source: str) -> Callable[..., Any]:
    """The code of a user, checked: each parameter has a default, but for a view."""
    required = _required(factory)
    if required and not _decides(factory):
        raise InputError(
            f"{source} has no default for {', '.join(required)}, expected one for every parameter"
        )
    return factory


def _decides(factory: Callable[..., Any]) -> bool:
    """True where this is a policy itself: a function of the view, and of options."""
    return inspect.isfunction(factory) and len(_required(factory)) == 1


def _required(factory: Callable[..., Any]) -> list[str]:
    """Parameters that have to be given."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(factory).parameters.values()
    empty = inspect.Parameter.empty
    return [p.name for p in parameters if p.default is empty and p.kind not in several]


def _options_of(name: str, parsed: PolicyName) -> dict[str, tuple[str, str, Option]]:
    """By its full name, ``hysteresis.threshold``, each option's wrapper (or ""), name there, and default."""
    found = {
        option: ("", option, value) for option, value in _options(_factory(name, parsed)).items()
    }
    for key in parsed.wrappers:
        own = _options(_wrapper(name, key))
        found |= {f"{key[1:]}.{option}": (key, option, value) for option, value in own.items()}
    return found


def meanings(factory: Callable[..., Any]) -> dict[str, str]:
    """Meanings of the options: those in docstrings of the factory, its base classes and the modules of both."""
    classes = inspect.getmro(factory) if inspect.isclass(factory) else (factory,)
    modules = dict.fromkeys(sys.modules.get(each.__module__) for each in classes)
    found: dict[str, str] = {}
    for documented in (*classes, *modules):
        for option, text in _entries(inspect.getdoc(documented) or "").items():
            found.setdefault(option, text)
    return found


def _entries(text: str) -> dict[str, str]:
    """Entries ``name, name : meaning`` of a docstring, over several lines where these are indented."""
    entries = re.findall(r"^(\w+(?:, \w+)*) : (.*(?:\n[ ]+.+)*)", text, re.M)
    return {
        name: " ".join(meaning.split()).replace("``", "`").replace("False:", "false:").rstrip(".")
        for names, meaning in entries
        for name in names.split(", ")
    }


def _paper(factory: Callable[..., Any]) -> str:
    return str(getattr(factory, "paper", ""))


def _summary(factory: Callable[..., Any]) -> str:
    return (inspect.getdoc(factory) or "").strip().partition("\n")[0]


def _options(factory: Callable[..., Any]) -> dict[str, Option]:
    """Keyword options of a factory with their defaults."""
    parameters = inspect.signature(factory).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def _check_type(policy: str, option: str, value: Option, default: Option) -> None:
    """An option's value has the type of its default; a whole number serves as a real one."""
    if default is None or (isinstance(value, type(default)) and not isinstance(value, bool)):
        return
    if isinstance(default, bool) and isinstance(value, bool):
        return
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return
    raise InputError(
        f"policy {policy!r}: option {option!r} is {value!r}, expected {type(default).__name__}"
    )


@dataclass
class _FromFunction:
    """A plain function ``(view) -> Decision`` with a name."""

    name: str
    decide: Callable[..., Any]
