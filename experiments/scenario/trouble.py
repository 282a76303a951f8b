"""Faults in a scenario file: [failures], [checkpoints], [maintenance], [spot].

[failures]
time_to_failure = "exponential:18000"
repair = "deterministic:600"

[checkpoints]
interval_s = "daly"
cost_s = 60
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from experiments.config import Config, KeyedError, at_key

if TYPE_CHECKING:
    from simulator import Cluster
    from simulator.features.faults import Failures, Outages
    from simulator.laws import Law

PositiveInt = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class FailureKeys(Config):
    """Failures of nodes, of racks, and of jobs by themselves; times are laws, in s."""

    time_to_failure: str | None = None
    repair: str | None = None
    rack_time_to_failure: str | None = None
    rack_repair: str | None = None
    nodes_per_rack: PositiveInt | None = None
    job_time_to_failure: str | None = None
    max_attempts: PositiveInt | None = None


class CheckpointKeys(Config):
    """Checkpoints of jobs; without this table, all that a job did is lost."""

    interval_s: Positive | Literal[0, "young", "daly", "best"] | None = None
    cost_s: NonNegative = 0.0
    restart_s: NonNegative = 0.0
    cost_of_model: dict[str, NonNegative] = Field(default_factory=dict)
    cost_per_gpu_s: NonNegative = 0.0


class MaintenanceKeys(Config):
    """Planned outages: ``nodes_at_a_time`` nodes are away for ``duration_s``, one group after the other."""

    every_s: Positive
    duration_s: Positive
    nodes_at_a_time: PositiveInt = 1
    notice_s: NonNegative = 86_400.0
    warn: bool = False


class SpotKeys(Config):
    """``nodes`` nodes are spot VMs: cheaper, and taken away with notice.

    The last ones. Where policies choose the types of VMs: the first ones, since policies open these first.
    """

    nodes: PositiveInt
    time_to_reclaim: str
    away: str
    notice_s: NonNegative = 120.0
    price: NonNegative = 0.3
    warn: bool = False


class HasTrouble(Protocol):
    """A scenario, as far as it concerns this module."""

    failures: FailureKeys | None
    checkpoints: CheckpointKeys | None
    maintenance: MaintenanceKeys | None
    spot: SpotKeys | None


def make_failures(scenario: Any, cluster: Cluster) -> Failures | None:
    """Faults of a scenario; None where nothing is given. Raises KeyedError naming table and key."""
    given: HasTrouble = scenario
    num_nodes = cluster.num_nodes
    attempts = getattr(scenario.workload, "attempts", False)
    tables = (given.failures, given.checkpoints, given.maintenance, given.spot)
    if all(table is None for table in tables):
        return None
    from simulator.features.faults import Checkpoints, Failures

    saving = given.checkpoints or CheckpointKeys()
    with at_key("checkpoints"):
        checkpoints = Checkpoints(
            float("inf") if saving.interval_s is None else saving.interval_s,
            saving.cost_s,
            saving.restart_s,
            dict(saving.cost_of_model),
            saving.cost_per_gpu_s,
        )
    keys = given.failures or FailureKeys()
    outages = [
        *_failures(keys, num_nodes),
        *_maintenance(given.maintenance, num_nodes),
        *_spot(given.spot, num_nodes, first=cluster.is_configurable),
    ]
    own = _law("failures.job_time_to_failure", keys.job_time_to_failure)
    if keys.max_attempts is not None and own is None and not attempts:
        raise KeyedError(
            "failures.max_attempts",
            "given without job_time_to_failure, expected it, or [workload] attempts = true",
        )
    return Failures(outages, checkpoints, own, keys.max_attempts)


def _law(key: str, text: str | None) -> Law | None:
    from simulator.laws import parse_law

    if text is None:
        return None
    with at_key(key):
        return parse_law(text)


def _failures(keys: FailureKeys, num_nodes: int) -> list[Outages]:
    from simulator.features.faults import Outages

    made = []
    if keys.nodes_per_rack is not None and keys.rack_time_to_failure is None:
        raise KeyedError(
            "failures.nodes_per_rack", "given without rack_time_to_failure, expected both"
        )
    pairs = (("time_to_failure", "repair"), ("rack_time_to_failure", "rack_repair"))
    for first, second in pairs:
        time_to = _law(f"failures.{first}", getattr(keys, first))
        repair = _law(f"failures.{second}", getattr(keys, second))
        if (time_to is None) != (repair is None):
            missing = second if repair is None else first
            raise KeyedError(f"failures.{missing}", f"missing, expected beside {first}, a law in s"
                             if repair is None else f"missing, expected beside {second}, a law in s")  # fmt: skip
        if time_to is None or repair is None:
            continue
        if first == "time_to_failure":
            made.append(Outages.of_each_node(num_nodes, time_to, repair))
        elif keys.nodes_per_rack is None:
            raise KeyedError("failures.nodes_per_rack", "missing, expected a number of nodes")
        else:
            made.append(Outages.of_racks(num_nodes, keys.nodes_per_rack, time_to, repair))
    return made


def _maintenance(keys: MaintenanceKeys | None, num_nodes: int) -> list[Outages]:
    from simulator.features.faults import Outages, racks_of
    from simulator.laws import Deterministic

    if keys is None:
        return []
    groups = racks_of(num_nodes, keys.nodes_at_a_time)
    round_s = len(groups) * keys.duration_s
    if keys.every_s < round_s:
        raise KeyedError(
            "maintenance.every_s",
            f"got {keys.every_s:g}, expected at least {round_s:g}, the time of all {len(groups)} groups",
        )
    time_to = Deterministic(keys.every_s - keys.duration_s or 1e-9)
    return [
        Outages(
            time_to, Deterministic(keys.duration_s), groups, keys.notice_s, keys.duration_s,
            "maintenance", keys.warn,
        )
    ]  # fmt: skip


def _spot(keys: SpotKeys | None, num_nodes: int, first: bool) -> list[Outages]:
    from simulator.features.faults import Outages

    if keys is None:
        return []
    if keys.nodes > num_nodes:
        raise KeyedError("spot.nodes", f"got {keys.nodes}, expected at most {num_nodes} nodes")
    reclaim = _law("spot.time_to_reclaim", keys.time_to_reclaim)
    away = _law("spot.away", keys.away)
    assert reclaim is not None
    assert away is not None
    begin = 0 if first else num_nodes - keys.nodes
    groups = [(n,) for n in range(begin, begin + keys.nodes)]
    return [Outages(reclaim, away, groups, keys.notice_s, name="spot", warns=keys.warn)]


def with_spot(cluster: Cluster, keys: SpotKeys | None) -> Cluster:
    """The cluster with some nodes at the price of spot VMs; they cost nothing while away.

    Equal servers get a type of their own, which policies see. VMs and nodes of several types keep
    their types, and get a factor of the price (`Cluster.price_factor`), which only the accounts see.
    """
    from dataclasses import replace

    if keys is None:
        return cluster
    if cluster.is_pool:
        raise KeyedError("spot", "given with a rental pool, expected nodes or VMs")
    if keys.nodes > cluster.num_nodes:
        raise KeyedError(
            "spot.nodes", f"got {keys.nodes}, expected at most {cluster.num_nodes} nodes"
        )
    kept = cluster.num_nodes - keys.nodes
    if cluster.is_configurable or len(cluster.node_types) > 1:
        spot, others = (keys.price,) * keys.nodes, (1.0,) * kept
        factor = spot + others if cluster.is_configurable else others + spot
        return replace(cluster, price_factor=factor)
    own = cluster.node_types[0]
    cheap = replace(own, name=f"{own.name} spot", price_per_hour=own.price_per_hour * keys.price)
    return replace(cluster, node_types=(own, cheap), node_type_of=(0,) * kept + (1,) * keys.nodes)


def with_spot_price(cluster: Cluster, keys: SpotKeys | None) -> Cluster:
    """The cluster of `with_spot` after its types got new prices (`[adapt] prices`): spot is a part of them again."""
    from dataclasses import replace

    if keys is None or cluster.price_factor is not None:
        return cluster
    own, cheap = cluster.node_types
    cheap = replace(cheap, price_per_hour=own.price_per_hour * keys.price)
    return replace(cluster, node_types=(own, cheap))
