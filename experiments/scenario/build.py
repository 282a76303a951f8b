"""Arguments of a scenario's simulation: those of `simulator.simulate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.config import KeyedError, at_key
from experiments.scenario.machines import fitted, jobs_and_machines
from experiments.scenario.schema import Scenario
from simulator.errors import InputError
from simulator.features.table import Scene
from simulator.plugins import installed, loaded

if TYPE_CHECKING:
    from simulator import Cluster, Policy, Workload
    from simulator.core.start import Rule


def build(scenario: Scenario) -> tuple[Workload, Cluster]:
    """The workload and the cluster of a scenario.

    Raises
    ------
    KeyedError
        Among others: the policy needs something that they do not have.
    """
    workload, own_cluster = jobs_and_machines(scenario)
    workload, cluster = fitted(workload, own_cluster, scenario)
    workload = with_features(scenario, workload)
    notes = [
        *requirement_notes(scenario.policy, workload, cluster),
        *unused_keys(scenario, workload, cluster),
    ]
    return workload.noted(*notes) if notes else workload, cluster


def with_features(scenario: Scenario, workload: Workload) -> Workload:
    """The jobs with what the scenario's features draw for them."""
    for table in scenario.features.values():
        workload = table.on_jobs(workload, scenario.streams)
    return workload


def scene_of(scenario: Scenario, workload: Workload, cluster: Cluster) -> Scene:
    """The scenario as its features see it."""
    return Scene(workload, cluster, scenario.streams, scenario.features)


def unused_keys(scenario: Scenario, workload: Workload, cluster: Cluster) -> Iterator[str]:
    """One line for each key of a feature that changes nothing with these jobs and machines.

    Models that no job has are noted, not refused: where models are drawn, few jobs may lack one.
    """
    scene = scene_of(scenario, workload, cluster)
    known = sorted({*workload.model} - {""})
    has = f"the models are {', '.join(known[:10])}" if known else "no job has a model"
    for name, table in scene.tables.items():
        if not cluster.is_pool:  # a pool is refused elsewhere
            yield from table.notes(scene)
        for key, given in table.models().items():
            for model in given:
                if model not in known:
                    yield f"{name}.{key}.{model}: no job is of this model; {has}"


def requirements_of(policy: str) -> Sequence[str]:
    """Requirements of a policy, by name."""
    import policies

    with at_key("policy"):
        return policies.requirements_of(policy)


def requirement_notes(
    policy: str, workload: Workload, cluster: Cluster, requirements: Sequence[str] | None = None
) -> list[str]:
    """Notes on what has no effect; raises KeyedError where the policy lacks what it needs."""
    import policies

    with at_key("policy"):
        line, notes = policies.requirements_verdict(policy, workload, cluster, requirements)
    if line is not None:
        raise KeyedError("policy", f"{policy}: {line}")
    return notes


def policy_of(scenario: Scenario) -> Policy:
    """The policy with its options; raises KeyedError for one that is not there."""
    import policies

    with at_key("policy"):
        policies.describe(scenario.policy)
    with at_key("policy_options" if scenario.policy_options else "policy"):
        return policies.make_policy(scenario.policy, **scenario.policy_options)


def dispatcher_of(name: str) -> str | Rule:
    """The dispatcher as `simulate` takes it, also one that a package registers; raises KeyedError where there is none.

    [project.entry-points."schedlab.dispatchers"]
    most-free = "my_package:most_free"         # (controllers, rng) -> (job -> one of the controllers)
    """
    from simulator.core.dispatchers import DISPATCHERS, GROUP

    if name in DISPATCHERS:
        return name
    of_packages = {entry.name: entry for entry in installed(GROUP)}
    with at_key("dispatcher"):
        if name not in of_packages:
            known = ", ".join([*DISPATCHERS, *of_packages])
            raise InputError(f"unknown dispatcher {name!r}, expected one of {known}")
        return loaded(of_packages[name], "dispatcher")


def check_window(window: Sequence[int] | None, num_jobs: int) -> None:
    """Raise KeyedError for a window that is empty or reaches past the jobs."""
    if window is not None and not 0 <= window[0] < window[1] <= num_jobs:
        raise KeyedError(
            "window",
            f"got {window[0]}:{window[1]}, expected 0 <= first < last <= {num_jobs} jobs",
        )
