"""Names to policies. A package adds its own through the entry-point group ``schedlab.policies``.

    [project.entry-points."schedlab.policies"]
    shortest-first = "my_package:ShortestFirst"

The object named is a class or function that returns a policy, or a function ``(view, ...)`` that is
one; its keyword parameters are the policy's options, each with a default. A built-in name always
means the built-in policy. Built-in policies are imported when they are first asked for.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any, cast

from policies.needs import NEEDS, Lack, lacking
from policies.plugins import installed, loaded
from simulator import Cluster, InputError, Policy, Workload

ENTRY_POINTS = "schedlab.policies"

BUILT_IN: dict[str, str] = {
    "fifo": "policies.first_principles:fifo",
    "fifo-strict": "policies.first_principles:fifo_strict",
    "fifo-backfill": "policies.first_principles:fifo_backfill",
    "edf": "policies.first_principles:edf",
    "edf-backfill": "policies.first_principles:edf_backfill",
    "ps": "policies.first_principles:ps",
    "priority": "policies.orders:priority",
    "processor-sharing": "policies.orders:processor_sharing",
    "srpt": "policies.orders:srpt",
    "las": "policies.orders:las",
    "sjf": "policies.orders:sjf",
    "random-order": "policies.orders:random_order",
    "deadline-first": "policies.orders:deadline_first",
    "elasticflow": "policies.elasticflow:elasticflow",
    "fair-share": "policies.tenants:fair_share",
    "drf": "policies.tenants:drf",
    "capacity": "policies.tenants:capacity",
    "finish-time-fair": "policies.tenants:finish_time_fair",
    "themis": "policies.tenants:themis",
    "gandiva-fair": "policies.shares.policy:GandivaFair",
    "max-min-fairness": "policies.shares.policy:MaxMinFairness",
    "min-makespan": "policies.shares.policy:MinMakespan",
    "max-throughput": "policies.shares.policy:MaxThroughput",
    "finish-time-fairness": "policies.shares.policy:FinishTimeFairness",
    "hierarchical-fairness": "policies.shares.policy:HierarchicalFairness",
    "min-cost": "policies.shares.policy:MinCost",
    "fifo-with-notice": "policies.notice:fifo_with_notice",
    "consolidating": "policies.consolidating:consolidating",
    "fifo-shared": "policies.first_come:fifo_shared",
    "edf-shared": "policies.first_come:edf_shared",
    "ps-shared": "policies.first_come:ps_shared",
    "greedy": "policies.greedy:greedy",
    "randomised-greedy": "policies.greedy:randomised_greedy",
    "local-search": "policies.greedy:local_search",
    "path-relinking": "policies.greedy:path_relinking",
    "milp": "policies.milp:milp",
    "milp-literal": "policies.milp:milp_literal",
    "milp-centralised-2019": "policies.milp:milp_centralised_2019",
    "shared": "policies.sharing.policy:shared",
    "complementary": "policies.sharing.gpus:complementary",
    "slices": "policies.sharing.gpus:slices",
    "linear-score": "policies.learned:linear_score",
    "rental-fixed-width": "policies.rental.named:rental_fixed_width",
    "rental-whole-gpus": "policies.rental.named:rental_whole_gpus",
    "rental-equi": "policies.rental.named:rental_equi",
    "rental-srpt": "policies.rental.named:rental_srpt",
    "rental-hesrpt": "policies.rental.named:rental_hesrpt",
    "rental-on-nodes": "policies.rental.named:rental_on_nodes",
    "foresight": "policies.foresight:Foresight",
}
"""Factories of the built-in policies, by name."""

SELF_TIMED = "@self-timed"
"""Behind a name: the same policy with the wake-ups of foresight (`policies.foresight.self_timed`)."""
HYSTERESIS = "@hysteresis"
"""Behind a name: the same policy, whose moves are carried out where they pay (`policies.hysteresis`)."""
TUNE = "@tune"
"""Behind a name: the same policy on elastic jobs, with Synergy's CPUs and memory (`policies.synergy.beside`)."""
ON_PARTS = "@parts"
"""Behind a name: the same policy on parts of GPUs (`policies.sharing.on_parts`)."""
NOTED = "@noted"
"""Behind a name: the same policy, whose decisions say what was considered (`policies.noted`)."""

WRAPPERS: dict[str, str] = {
    SELF_TIMED: "policies.foresight.self_timed:self_timed",
    HYSTERESIS: "policies.hysteresis:with_hysteresis",
    TUNE: "policies.synergy.beside:tuned",
    ON_PARTS: "policies.sharing.on_parts:on_parts",
    NOTED: "policies.noted:noted",
}
"""What may stand behind any policy's name, also one behind the other: ``greedy@tune@hysteresis``."""

NEEDED_BEHIND: dict[str, tuple[str, ...]] = {
    SELF_TIMED: ("nodes", "one-node"),
    HYSTERESIS: ("nodes",),  # a pool has room beside jobs that stay, beyond what a policy rents
    TUNE: ("elastic-sensitivity",),
    ON_PARTS: ("servers", "fixed-demand", "one-node"),
    NOTED: (),
}
"""What they need beside what the policy needs."""

_PLAN = ("nodes", "one-node", "objective")
_SYNERGY = ("servers", "fixed-demand", "one-kind")
_RENTED = ("pool", "curves", "arrivals")

NEEDED: dict[str, tuple[str, ...]] = {
    "fifo": ("list-or-node",),
    "fifo-strict": ("list-or-node",),
    "fifo-backfill": ("list-or-node",),
    "edf": ("list-or-node", "due"),
    "edf-backfill": ("list-or-node", "due"),
    "ps": ("list-or-node", "weights"),
    "priority": ("servers", "fixed-demand", "weights"),
    "processor-sharing": ("servers", "time-shared"),
    "srpt": ("servers", "fixed-demand"),
    "las": ("servers", "time-shared"),
    "sjf": ("servers", "fixed-demand"),
    "random-order": ("servers", "fixed-demand"),
    "deadline-first": ("servers", "fixed-demand", "due"),
    "elasticflow": ("servers", "one-type", "elastic", "due"),
    "consolidating": ("servers", "fixed-demand"),
    "fifo-with-notice": ("servers", "fixed-demand"),
    "fair-share": ("servers", "fixed-demand", "tenants"),
    "drf": ("servers", "fixed-demand", "tenants"),
    "capacity": ("servers", "fixed-demand", "tenants"),
    "finish-time-fair": ("servers", "fixed-demand", "tenants"),
    "themis": ("servers", "fixed-demand", "tenants"),
    "gandiva-fair": ("servers", "fixed-demand"),
    "max-min-fairness": ("servers", "fixed-demand"),
    "min-makespan": ("servers", "fixed-demand"),
    "max-throughput": ("servers", "fixed-demand"),
    "finish-time-fairness": ("servers", "fixed-demand"),
    "hierarchical-fairness": ("servers", "fixed-demand", "tenants"),
    "min-cost": ("servers", "fixed-demand"),
    "shared": ("servers", "fixed-demand", "one-node"),
    "complementary": ("servers", "fixed-demand", "one-node"),
    "slices": ("servers", "fixed-demand", "one-node"),
    "linear-score": ("servers", "fixed-demand"),
    "fifo-shared": ("servers", "one-node"),
    "edf-shared": ("servers", "one-node", "due"),
    "ps-shared": ("servers", "one-node", "weights"),
    "greedy": _PLAN,
    "randomised-greedy": _PLAN,
    "local-search": _PLAN,
    "path-relinking": _PLAN,
    "milp": _PLAN,
    "milp-literal": _PLAN,
    "milp-centralised-2019": _PLAN,
    "foresight": _PLAN,
    "rental-fixed-width": _RENTED,
    "rental-whole-gpus": _RENTED,
    "rental-equi": _RENTED,
    "rental-srpt": _RENTED,
    "rental-hesrpt": _RENTED,
    "rental-on-nodes": ("servers", "one-type", "elastic", "arrivals"),
}
"""What each built-in policy needs of jobs and machines: names of `policies.needs.NEEDS`."""

Option = float | int | str | bool


@dataclass(frozen=True)
class PolicyInfo:
    """A policy's line in ``schedlab policies``.

    Attributes
    ----------
    name : by which it is asked for.
    summary : what it does, one line.
    options : keyword options and their defaults.
    """

    name: str
    summary: str
    options: Mapping[str, Option]


def policy_names() -> list[str]:
    """All names, third parties' included (without Synergy's compositions)."""
    return sorted({*BUILT_IN, *(e.name for e in installed(ENTRY_POINTS))})


def make_policy(name: str, **options: Option) -> Policy:
    """The policy of that name.

    Raises
    ------
    InputError
        Unknown name or option, or an option of the wrong type or range; one line.
    """
    factory = _factory(name)
    known = _options(factory)
    for option, value in options.items():
        if option not in known:
            raise InputError(f"policy {name!r}: unknown option {option!r}, {_hint(option, known)}")
        _check_type(name, option, value, known[option])
    made = partial(factory, **options) if _decides(factory) else factory(**options)
    if hasattr(made, "decide"):
        return cast(Policy, made)
    if not callable(made):
        raise InputError(f"policy {name!r}: made a {type(made).__name__}, expected a policy")
    return _FromFunction(name, made)


def describe(name: str) -> PolicyInfo:
    """One policy's line."""
    factory = _factory(name)
    text = (inspect.getdoc(factory) or "").strip().splitlines()
    return PolicyInfo(name, text[0] if text else "", _options(factory))


def needs_of(name: str) -> tuple[str, ...]:
    """What a policy needs, names of `policies.needs.NEEDS`.

    A package's own policy states its needs in an attribute ``needs`` of what it registers.

    Raises
    ------
    InputError
        An unknown policy, or one that states a need that there is not.
    """
    factory = _factory(name)
    inner, suffix = _wrapped(name)
    if suffix:
        more = tuple(need for need in NEEDED_BEHIND[suffix] if need not in needs_of(inner))
        return (*needs_of(inner), *more)
    if name in NEEDED:
        return NEEDED[name]
    if name in importlib.import_module("policies.synergy").names():
        mechanism = name.partition("+")[2]
        own = {"proportional": (), "static": ("one-type", "sensitivity")}
        return (*_SYNERGY, *own.get(mechanism, ("sensitivity",)))
    stated = getattr(factory, "needs", ())
    known = isinstance(stated, tuple | list) and all(need in NEEDS for need in stated)
    if not known:
        raise InputError(
            f"policy {name!r}: needs is {stated!r}, expected names of {', '.join(NEEDS)}"
        )
    return tuple(stated)


MISTAKEN = {"ps": "; ps is priority scheduling, for processor sharing take processor-sharing"}
"""What to add where a name is easily taken for another policy's."""


def lacks(name: str, workload: Workload, cluster: Cluster) -> list[Lack]:
    """What a policy needs that these jobs and machines do not have, the essential first."""
    return lacking(needs_of(name), workload, cluster)


def check_needs(name: str, workload: Workload, cluster: Cluster) -> list[str]:
    """Check that a policy has what it needs; answers with notes on what has no effect.

    Raises
    ------
    InputError
        Something essential is missing; one line that names it and the key that supplies it.
    """
    line, notes = needs_verdict(name, workload, cluster)
    if line is not None:
        raise InputError(f"policy {name!r}: {line}")
    return notes


def needs_verdict(
    name: str, workload: Workload, cluster: Cluster, needs: Iterable[str] | None = None
) -> tuple[str | None, list[str]]:
    """What keeps a policy from running, one line or None, and notes on what has no effect.

    Parameters
    ----------
    needs : those of the policy where None.
    """
    found = lacking(needs_of(name) if needs is None else needs, workload, cluster)
    essential = [lack for lack in found if lack.essential]
    if essential:
        hopeless = next((lack for lack in essential if not lack.keys), None)
        return f"{hopeless or essential[0]}{MISTAKEN.get(name, '')}", []
    return None, [f"policy {name!r}: {lack}" for lack in found]


def _factory(name: str) -> Callable[..., Any]:
    inner, suffix = _wrapped(name)
    if suffix:
        if suffix in inner:
            raise InputError(f"policy {name!r}: {suffix} stands there twice, expected it once")
        module, _, attribute = WRAPPERS[suffix].partition(":")
        wrapper = getattr(importlib.import_module(module), attribute)
        return cast(Callable[..., Any], wrapper(inner, _maker(inner)))
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast(Callable[..., Any], getattr(importlib.import_module(module), attribute))
    synergy = importlib.import_module("policies.synergy") if "+" in name else None
    if synergy is not None and name in synergy.names():
        return cast(Callable[..., Any], synergy.factory(name))
    for entry in installed(ENTRY_POINTS):
        if entry.name == name:
            return _loaded(entry)
    if synergy is not None and "@" not in name:
        return cast(Callable[..., Any], synergy.factory(name))  # raises, with what is known
    raise InputError(f"unknown policy {name!r}; {_meant(name)}")


def _meant(name: str) -> str:
    """What an unknown name was probably meant to be: `equi` is `rental-equi`, `greedy@tun` `greedy@tune`."""
    names = policy_names()
    known = [*names, *importlib.import_module("policies.synergy").names()]
    inner, at, _ = name.rpartition("@")
    if at and inner in known:
        known = names = [inner + wrapper for wrapper in WRAPPERS]
    low = name.lower()
    close = [each for each in known if each == low or each.endswith(f"-{low}")]
    close.sort(key=len)
    close = close or difflib.get_close_matches(low, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(names)}"


def _wrapped(name: str) -> tuple[str, str]:
    """The name before the last of `WRAPPERS`, and that one; the name itself and "" without any."""
    inner, at, last = name.rpartition("@")
    return (inner, at + last) if at + last in WRAPPERS and inner else (name, "")


def _maker(name: str) -> Callable[..., Any]:
    """A factory of the policy; of a plain function too."""
    factory = _factory(name)
    if not _decides(factory):
        return factory

    def made(**options: Option) -> _FromFunction:
        return _FromFunction(name, partial(factory, **options))

    parameters = list(inspect.signature(factory).parameters.values())[1:]
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    made.__doc__ = factory.__doc__
    made.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return made


def _hint(option: str, known: Mapping[str, Option]) -> str:
    """What an unknown option was probably meant to be."""
    close = difflib.get_close_matches(option, list(known), 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"expected one of {', '.join(known)}" if known else "expected none: it has no options"


def hidden_plugins() -> list[str]:
    """Names that a package registers, and that are taken: they mean the built-in policy."""
    taken = {*BUILT_IN, *importlib.import_module("policies.synergy").names()}
    return sorted(entry.name for entry in installed(ENTRY_POINTS) if entry.name in taken)


def _loaded(entry: EntryPoint) -> Callable[..., Any]:
    """What a package registers; `InputError` where it is not there or breaks on import."""
    factory = loaded(entry, "policy")
    required = _required(factory)
    if required and not _decides(factory):
        raise InputError(
            f"policy {entry.name!r}: {entry.value} has no default for {', '.join(required)}, "
            "expected one for every parameter"
        )
    return factory


def _decides(factory: Callable[..., Any]) -> bool:
    """Whether this is a policy itself: a function of the view, and of options."""
    return inspect.isfunction(factory) and len(_required(factory)) == 1


def _required(factory: Callable[..., Any]) -> list[str]:
    """Parameters that have to be given."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(factory).parameters.values()
    empty = inspect.Parameter.empty
    return [p.name for p in parameters if p.default is empty and p.kind not in several]


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
