"""Arguments of a scenario's simulation: those of `simulator.simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.config import KeyedError, at_key
from experiments.scenario.schema import Scenario
from experiments.scenario.steps import FITTED, TOLD, Setup, read, through
from simulator.errors import InputError
from simulator.plugins import installed, loaded

if TYPE_CHECKING:
    from simulator import Cluster, Policy, Workload
    from simulator.core.start import Rule


def build(scenario: Scenario, as_read: Setup | None = None) -> tuple[Workload, Cluster]:
    """The workload and the cluster of a scenario.

    Parameters
    ----------
    as_read : its jobs as `steps.read` has read or drawn them already, for it or for another scenario.

    Raises
    ------
    KeyedError
        Among others: the policy needs something that they do not have.
    """
    jobs = read(scenario) if as_read is None else replace(as_read, scenario=scenario)
    setup = through((*FITTED, *TOLD), jobs)
    return setup.workload, setup.cluster


def requirements_of(policy: str) -> Sequence[str]:
    """Requirements of a policy, by name."""
    import policies

    with at_key("policy"):
        return policies.requirements_of(policy)


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
