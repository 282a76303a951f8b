"""Entrants of a comparison: a scenario for each policy, in the form of the jobs that it decides on.

A policy of fixed demands cannot decide on elastic jobs, nor the other way round. Then ``[adapt]`` supplies what
is missing by its rules: the same jobs, submitted at the same times, with the same due dates. That form is the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from experiments.analysis.compatibility import PolicyFit, fits, with_keys
from experiments.config import KeyedError
from experiments.scenario.options import labelled, parse_policy
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario
    from simulator import Policy
    from simulator.model.contract import PolicyLike

ALL = "all"
"""In place of a policy: every one that is not named and can run."""
GIVEN = "as given"
VIEWS = {"speedup": "elastic", "demand": "fixed demand", "speedup_curve": "shares of a pool"}
"""The view that a key of ``[adapt]`` makes."""

FOR_ALL = ("due", "weights", "prices", "models")
"""What is added to the jobs and machines of all policies where one needs it."""


@dataclass(frozen=True)
class Entrant:
    """A policy and the scenario in which it decides.

    Attributes
    ----------
    policy : its name in tables.
    view : the form of the jobs; `GIVEN`, or a value of `VIEWS`.
    agent : an object that decides in place of the scenario's policy.
    """

    policy: str
    view: str
    scenario: Scenario
    agent: Policy | None = None


@dataclass(frozen=True)
class Excluded:
    """A policy that cannot run, or whose run failed, and why."""

    policy: str
    reason: str


@dataclass(frozen=True)
class Field:
    """All policies of one setting.

    Attributes
    ----------
    notes : what was added to the jobs of all.
    """

    entrants: tuple[Entrant, ...]
    excluded: tuple[Excluded, ...]
    notes: tuple[str, ...]


def field_of(scenario: Scenario, policies: Sequence[str | PolicyLike]) -> Field:
    """The policies on the jobs of a scenario; all that there are where none is named, or `ALL`.

    Parameters
    ----------
    policies : ``NAME`` or ``NAME:OPTION=VALUE,..``, with ``LABEL=`` before it or not, or objects with ``decide(view)`` or such functions; `ALL`.

    Raises
    ------
    InputError
        A policy that is named does not exist, or its options are wrong.
    """
    from policies import composed_names, policy_names

    with_all = wants_all(policies)
    asked = {name_of(policy): policy for policy in policies if policy != ALL}
    parsed = {label: parse_policy(p) for label, p in asked.items() if isinstance(p, str)}
    for label, (name, options) in parsed.items():
        _check(label, _under(scenario, name, options))
    names = [name for name, _ in parsed.values()]
    if with_all:
        names += [*policy_names(), *composed_names(), scenario.policy]
    found = {fit.policy: fit for fit in fits(scenario, names)} if names else {}
    added = _for_all(found.values())
    if added and (with_more := with_keys(scenario, added)) is not None:
        scenario = with_more
        found = {fit.policy: fit for fit in fits(scenario, names)}
    notes = [f"added to the jobs of all policies: {', '.join(added)} ([adapt])"] if added else []
    if with_all:
        parsed = {name: (name, {}) for name in found} | parsed
    entrants, excluded = [], []
    for label in dict.fromkeys([*asked, *parsed]):
        if label not in parsed:
            entrants.append(Entrant(label, GIVEN, scenario, cast("Policy", asked[label])))
            continue
        name, options = parsed[label]
        fit = found[name]
        if fit.scenario is None:
            excluded.append(Excluded(label, fit.detail))
        else:
            entrants.append(Entrant(label, view_of(fit), _under(fit.scenario, name, options)))
    return Field(tuple(entrants), tuple(excluded), tuple(notes))


def wants_all(policies: Sequence[str | PolicyLike]) -> bool:
    """Whether every policy that can run is asked for."""
    return not policies or ALL in [p for p in policies if isinstance(p, str)]


def name_of(policy: str | PolicyLike) -> str:
    """A policy in tables: its label, or as it was named, or the name of an object or a function."""
    if isinstance(policy, str):
        return labelled(policy)[0]
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__))


def view_of(fit: PolicyFit) -> str:
    """The view of a policy that runs."""
    return next((VIEWS[key] for key in fit.keys if key in VIEWS), GIVEN)


def _for_all(found: Any) -> tuple[str, ...]:
    """Settings that go to all policies: those of `FOR_ALL` that one of them needs."""
    keys: dict[str, str] = {}
    for fit in found:
        for key, setting in fit.keys.items():
            if key in FOR_ALL:
                keys.setdefault(key, setting)
    return tuple(keys.values())


def _under(scenario: Scenario, name: str, options: Mapping[str, Any]) -> Scenario:
    """The scenario under a policy; its own options hold for its own policy where none are given."""
    own = scenario.policy_options if name == scenario.policy else {}
    return scenario.model_copy(
        update={"policy": name, "policy_options": dict(options or own), "policy_label": None}
    )


def _check(label: str, scenario: Scenario) -> None:
    from experiments.scenario.build import policy_of

    try:
        policy_of(scenario)
    except KeyedError as error:
        raise InputError(f"--policy {label}: {error.text}") from None
