"""Keys of a scenario that have no effect, each with a note of one line: nothing is ignored in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from experiments.scenario.schema import Scenario
from experiments.scenario.trouble import make_failures

if TYPE_CHECKING:
    from simulator import Cluster, Workload


def notes_on_idle_keys(scenario: Scenario, workload: Workload, cluster: Cluster) -> list[str]:
    """One line for each key that changes nothing with these jobs and machines.

    Models that no job has are noted, not refused: where models are drawn, few jobs may lack one.
    """
    notes = [*_checkpoints(scenario, cluster), *_models(scenario, workload)]
    tenants = scenario.tenants
    if tenants is not None and tenants.borrowing and not tenants.quota:
        notes.append("tenants.borrowing: there is no quota beyond which to borrow; no effect")
    return notes


def _checkpoints(scenario: Scenario, cluster: Cluster) -> Iterable[str]:
    failures, keys = make_failures(scenario, cluster), scenario.checkpoints
    if failures is None or cluster.is_pool:  # a pool is refused elsewhere
        return
    has_own = failures.job_time_to_failure is not None
    own = has_own or getattr(scenario.workload, "attempts", False)
    if scenario.failures is not None and not failures.outages and not own:
        yield "failures: no time_to_failure is given, so nothing fails; no effect"
    if keys is None:
        return
    if isinstance(keys.interval_s, str) and not (
        has_own or any(failures.failure_rate_of(cluster.num_nodes))
    ):
        yield (
            f'checkpoints.interval_s: "{keys.interval_s}" follows the failures that come without notice, '
            "and none does; no checkpoint is made"
        )
    warned = any(cause.notice_s > 0 for cause in failures.outages)
    costs = keys.cost_s or keys.cost_per_gpu_s or keys.cost_of_model
    if keys.interval_s is None and costs and not warned:
        yield "checkpoints.interval_s: not given, so no checkpoint is made and its cost has no effect"


def _models(scenario: Scenario, workload: Workload) -> Iterable[str]:
    """Models that no job has."""
    tables: list[tuple[str, Mapping[str, float]]] = []
    if scenario.checkpoints is not None:
        tables.append(("checkpoints.cost_of_model", scenario.checkpoints.cost_of_model))
    if scenario.network is not None and not isinstance(scenario.network.of_model, str):
        tables.append(("network.of_model", scenario.network.of_model))
    if scenario.sharing is not None:
        tables.append(("sharing.memory_gb", scenario.sharing.memory_gb))
        tables.append(("sharing.utilisation", scenario.sharing.utilisation))
    known = sorted({*workload.model} - {""})
    for key, given in tables:
        for name in given:
            if name not in known:
                has = f"the models are {', '.join(known[:10])}" if known else "no job has a model"
                yield f"{key}.{name}: no job is of this model; {has}"
