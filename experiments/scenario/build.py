"""Arguments of a scenario's simulation: those of `simulator.simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.config import KeyedError, at_key
from experiments.scenario.idle_keys import notes_on_idle_keys
from experiments.scenario.jobs import read_jobs
from experiments.scenario.machines import fitted
from experiments.scenario.neighbours import with_sharing
from experiments.scenario.schema import Decisions, DelayKeys, Scenario, Server
from experiments.scenario.tenancy import with_tenants

if TYPE_CHECKING:
    from simulator import Cluster, DecisionPoints, Policy, ServerSpec, Workload
    from simulator.core.run import Rule
    from simulator.features.predictions import Shown
    from simulator.features.reconfiguration import Delays


def build(scenario: Scenario) -> tuple[Workload, Cluster]:
    """The workload and the cluster of a scenario.

    Raises
    ------
    KeyedError
        Among others: the policy needs something that they do not have.
    """
    import dataclasses

    workload, own_cluster = read_jobs(scenario)
    workload, cluster = fitted(workload, own_cluster, scenario)
    workload = with_sharing(scenario, with_tenants(scenario, workload))
    notes = check_requirements(scenario.policy, workload, cluster)
    notes += notes_on_idle_keys(scenario, workload, cluster)
    if notes:
        workload = dataclasses.replace(workload, notes=(*workload.notes, *notes))
    return workload, cluster


def requirements_of(policy: str) -> Sequence[str]:
    """Requirements of a policy, by name."""
    import policies

    with at_key("policy"):
        return policies.requirements_of(policy)


def check_requirements(
    policy: str, workload: Workload, cluster: Cluster, needs: Sequence[str] | None = None
) -> list[str]:
    """Notes on what has no effect; raises KeyedError where the policy lacks what it needs."""
    import policies

    with at_key("policy"):
        line, notes = policies.requirements_verdict(policy, workload, cluster, needs)
    if line is not None:
        raise KeyedError("policy", f"{policy}: {line}")
    return notes


def shown_to_policies(scenario: Scenario, workload: Workload) -> Shown | None:
    """The jobs with predicted times; None where policies see the true ones."""
    from simulator.features.predictions import Predictions, Shown, predicted
    from simulator.statistics import Streams

    if scenario.predictions is None:
        return None
    with at_key("predictions"):
        predictions = Predictions(**scenario.predictions.model_dump())
        if predictions.exact:
            return None
        seen = predicted(workload, predictions, Streams(scenario.seed))
    return Shown(seen, predictions.learned)


def make_policy(scenario: Scenario) -> Policy:
    """The policy with its options; raises KeyedError for one that is not there."""
    import policies

    with at_key("policy"):
        policies.describe(scenario.policy)
    with at_key("policy_options" if scenario.policy_options else "policy"):
        return policies.make_policy(scenario.policy, **scenario.policy_options)


def decision_points(decisions: Decisions) -> DecisionPoints:
    """When controllers decide; raises KeyedError for keys that exclude each other."""
    from simulator import DecisionPoints
    from simulator.model.workload import LATEST_S
    from simulator.simulation import LEAST_PERIOD_S

    period_s, round_s = decisions.period_s, decisions.round_s
    since_last_s = decisions.since_last_s
    if decisions.finish_at_round and period_s is None and round_s is None:
        raise KeyedError("decisions.finish_at_round", "given without round_s, expected both")
    if period_s is not None and round_s is not None:
        raise KeyedError("decisions", "both round_s and period_s given, expected one of them")
    if since_last_s is not None and round_s is not None:
        raise KeyedError("decisions", "both round_s and since_last_s given, expected one of them")
    periods = (("period_s", period_s), ("round_s", round_s), ("since_last_s", since_last_s))
    for key, value in periods:
        if value is not None and not LEAST_PERIOD_S <= value < LATEST_S:
            raise KeyedError(
                f"decisions.{key}",
                f"got {value:g}, expected at least {LEAST_PERIOD_S:g} s and less than {LATEST_S:g} s",
            )
    if decisions.round_ends != "grid" and (round_s is None or decisions.finish_at_round):
        raise KeyedError("decisions.round_ends", "expected round_s, and no finish_at_round")
    with at_key("decisions"):
        if round_s is not None:
            ends = decisions.round_ends
            return DecisionPoints.rounds(round_s, decisions.finish_at_round, ends)
        return DecisionPoints(
            period_s=period_s,
            finish_at_tick=decisions.finish_at_round,
            since_last_s=since_last_s,
        )


def delays(given: float | DelayKeys) -> float | Delays:
    """Seconds without progress after a start or a move."""
    from simulator.features.reconfiguration import Delays

    return Delays(**given.model_dump()) if isinstance(given, DelayKeys) else given


def make_server(server: Server | None) -> ServerSpec | None:
    """The optimization server; raises KeyedError for a law that is none."""
    from simulator import ServerSpec
    from simulator.laws import parse_law

    if server is None:
        return None
    if server.service == "measured":
        return ServerSpec("measured", server.servers, server.coalesce)
    with at_key("server.service"):
        return ServerSpec(parse_law(server.service), server.servers, server.coalesce)


def check_dispatcher(name: str) -> None:
    """Raise KeyedError where there is no such dispatcher."""
    make_dispatcher(name)


def make_dispatcher(name: str) -> str | Rule:
    """The dispatcher as `simulate` takes it; raises KeyedError where there is none."""
    from experiments.scenario.extensions import dispatcher_of

    with at_key("dispatcher"):
        return dispatcher_of(name)


def check_window(window: Sequence[int] | None, num_jobs: int) -> None:
    """Raise KeyedError for a window that is empty or reaches past the jobs."""
    if window is not None and not 0 <= window[0] < window[1] <= num_jobs:
        raise KeyedError(
            "window",
            f"got {window[0]}:{window[1]}, expected 0 <= first < last <= {num_jobs} jobs",
        )
