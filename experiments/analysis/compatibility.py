"""`schedlab policies --for`: which policies run on a scenario, which with a key, which never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from experiments.scenario.options import set_key
from experiments.scenario.schema import Scenario
from experiments.scenario.steps import FITTED, Setup, read, shared_in_time, through
from simulator.adaptation import Rules
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator import Cluster, Workload

Verdict = Literal["runs", "with keys", "makes no sense"]


@dataclass(frozen=True)
class PolicyFit:
    """One policy on a scenario.

    Attributes
    ----------
    policy : its name.
    verdict : it runs as it is, it runs with the keys of ``[adapt]`` in ``detail``, or the
        reason in ``detail`` keeps it from running.
    detail : a note on what has no effect where it runs; keys; the reason.
    scenario : in which it runs, with these keys; None where it does not.
    keys : the keys of ``[adapt]`` that are added, as settings by name.
    """

    policy: str
    verdict: Verdict
    detail: str
    scenario: Scenario | None = None
    keys: dict[str, str] = field(default_factory=dict)


def fits(scenario: Scenario, policies: Sequence[str] | None = None) -> list[PolicyFit]:
    """Policies on the jobs and machines of a scenario: some, or all of the registry in its order and the scenario's own."""
    from policies import composed_names, policy_names

    jobs = read(scenario)
    plain = through(FITTED, jobs)
    tried: dict[tuple[str, ...], Setup | str] = {}
    wanted = policies or [*policy_names(), *composed_names(), scenario.policy]
    return [_fit(name, jobs, plain, tried) for name in dict.fromkeys(wanted)]


def _parts(setup: Setup, policy: str) -> tuple[Workload, Cluster]:
    """Jobs and machines as a run under a policy has them, with the tenants and the parts of GPUs that it draws."""
    scenario = setup.scenario.model_copy(update={"policy": policy})
    setup = shared_in_time(replace(setup, scenario=scenario))
    return setup.workload, setup.cluster


def _fit(
    name: str,
    jobs: Setup,
    plain: Setup,
    tried: dict[tuple[str, ...], Setup | str],
) -> PolicyFit:
    from policies import missing_requirements, requirements_verdict
    from policies.registry.requirements import supplied_by

    try:
        parts = _parts(plain, name)
        line, notes = requirements_verdict(name, *parts)
        found = [lack for lack in missing_requirements(name, *parts) if lack.essential]
    except InputError as error:  # another package's policy that cannot be loaded
        return PolicyFit(name, "makes no sense", str(error))
    if line is None:
        told = "; ".join(note.partition(": ")[2] for note in notes)
        return PolicyFit(name, "runs", told, jobs.scenario)
    keys = supplied_by(found)
    if keys is None:
        return PolicyFit(name, "makes no sense", line)
    if keys not in tried:
        tried[keys] = _with(jobs, keys)
    adapted = tried[keys]
    if isinstance(adapted, str):
        return PolicyFit(
            name, "makes no sense", f"{found[0].missing}; with {', '.join(keys)}: {adapted}"
        )
    again, _ = requirements_verdict(name, *_parts(adapted, name))
    if again is not None:
        return PolicyFit(name, "makes no sense", f"{line}; with it: {again}")
    by_name = {key.partition("=")[0].strip(): key for key in keys}
    return PolicyFit(name, "with keys", ", ".join(keys), adapted.scenario, by_name)


def _with(jobs: Setup, keys: Sequence[str]) -> Setup | str:
    """The scenario with more keys of ``[adapt]``, or why it cannot be had."""
    scenario = jobs.scenario
    before = scenario.adapt.model_dump(exclude_none=True) if scenario.adapt else {}
    for key in keys:
        set_key(before, key)
    adapted = scenario.model_copy(update={"adapt": Rules(**before)})
    try:
        return through(FITTED, replace(jobs, scenario=adapted))
    except InputError as error:
        return str(error)


def with_keys(scenario: Scenario, keys: Sequence[str]) -> Scenario | None:
    """The scenario with more keys of ``[adapt]``; None where its jobs and machines cannot have them."""
    adapted = _with(read(scenario), keys)
    return None if isinstance(adapted, str) else adapted.scenario
