"""`schedlab policies --for`: which policies run on a scenario, which with a key, which never."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from experiments.scenario.build import with_features
from experiments.scenario.jobs import Built, jobs_and_machines
from experiments.scenario.machines import fitted
from experiments.scenario.options import set_key
from experiments.scenario.schema import Adapt, Scenario
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator import Cluster, Workload

Verdict = Literal["runs", "with keys", "makes no sense"]


@dataclass(frozen=True)
class Fit:
    """One policy on a scenario.

    Attributes
    ----------
    policy : its name.
    verdict : it runs as it is, it runs with the keys of ``[adapt]`` in ``detail``, or the
        reason in ``detail`` keeps it from running.
    detail : a note on what has no effect where it runs; keys; the reason.
    """

    policy: str
    verdict: Verdict
    detail: str


def fits(scenario: Scenario, policy: str | None = None) -> list[Fit]:
    """Policies on the jobs and machines of a scenario: one, or all of the registry in its order and the scenario's own."""
    from policies import composed_names, policy_names

    built = jobs_and_machines(scenario)
    plain = _whole(built, scenario)
    tried: dict[tuple[str, ...], tuple[Workload, Cluster] | str] = {}
    wanted = [policy] if policy else [*policy_names(), *composed_names(), scenario.policy]
    return [_fit(name, scenario, built, plain, tried) for name in dict.fromkeys(wanted)]


def _whole(built: Built, scenario: Scenario) -> tuple[Workload, Cluster]:
    """Jobs and machines as a run has them, with the tenants and the parts of GPUs that it draws."""
    workload, cluster = fitted(*built, scenario)
    return with_features(scenario, workload), cluster


def _fit(
    name: str,
    scenario: Scenario,
    built: Built,
    plain: tuple[Workload, Cluster],
    tried: dict[tuple[str, ...], tuple[Workload, Cluster] | str],
) -> Fit:
    from policies import missing_requirements, requirements_verdict
    from policies.requirements import supplied_by

    try:
        line, notes = requirements_verdict(name, *plain)
        found = [lack for lack in missing_requirements(name, *plain) if lack.essential]
    except InputError as error:  # another package's policy that cannot be loaded
        return Fit(name, "makes no sense", str(error))
    if line is None:
        return Fit(name, "runs", "; ".join(note.partition(": ")[2] for note in notes))
    keys = supplied_by(found)
    if keys is None:
        return Fit(name, "makes no sense", line)
    if keys not in tried:
        tried[keys] = _with(scenario, built, keys)
    adapted = tried[keys]
    if isinstance(adapted, str):
        return Fit(name, "makes no sense", f"{found[0].missing}; with {', '.join(keys)}: {adapted}")
    again, _ = requirements_verdict(name, *adapted)
    if again is not None:
        return Fit(name, "makes no sense", f"{line}; with it: {again}")
    return Fit(name, "with keys", ", ".join(keys))


def _with(
    scenario: Scenario, built: Built, keys: tuple[str, ...]
) -> tuple[Workload, Cluster] | str:
    """Jobs and machines with more keys of ``[adapt]``, or why they cannot be had."""
    before = scenario.adapt.model_dump(exclude_none=True) if scenario.adapt else {}
    for key in keys:
        set_key(before, key)
    adapt = Adapt(**before)
    try:
        return _whole(built, scenario.model_copy(update={"adapt": adapt}))
    except InputError as error:
        return str(error)
