"""A scenario file (TOML) or command-line options -> the arguments of `simulator.simulate`.

    policy = "milp"
    seed = 1

    [workload]
    kind = "hierarchical"        # or csv, instance, poisson, synergy, philly, gavel, alibaba
    num_nodes = 10

    [cluster]
    kind = "vms"                 # or nodes, pool; left out: what the workload brings
    num_controllers = 2

    [decisions]
    period_s = 3600

Every table and key is checked before anything runs; docs/scenarios.md lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from experiments.config import Config, checked, configured_by, read_toml
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.task import Outcome
    from simulator import Cluster, DecisionPoints, Result, ServerSpec, Workload

PositiveInt = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class HierarchicalJobs(Config):
    """The random scenario of the hierarchical paper, Section V-A."""

    kind: Literal["hierarchical"]
    num_nodes: PositiveInt = 10
    jobs_per_node: PositiveInt = 10
    mean_gap_s: Positive = 45_000.0
    arrivals: Literal["exponential", "poisson-distributed", "mixed"] = "exponential"
    due: Literal["min-2max", "min-3min", "min-max"] = "min-2max"
    weights: Literal["printed", "released"] = "printed"


class CsvJobs(Config):
    """Jobs of fixed demand from a plain CSV file."""

    kind: Literal["csv"]
    path: str


class InstanceJobs(Config):
    """A folder in one of the authors' public formats: jobs, catalogue and nodes."""

    kind: Literal["instance"]
    path: str


class PoissonJobs(Config):
    """Poisson arrivals of jobs of fixed demand: the queue of the textbooks."""

    kind: Literal["poisson"]
    num_jobs: PositiveInt = 1000
    arrival_rate_per_h: Positive
    duration_s: str = "exponential:3600"
    num_gpus: list[PositiveInt] = Field(default=[1], min_length=1)


class SynergyJobs(Config):
    """The derived trace of the Synergy paper, Section 5.1."""

    kind: Literal["synergy"]
    num_jobs: PositiveInt = 1000
    jobs_per_hour: Positive | None = None
    split: list[NonNegative] = Field(default=[20.0, 70.0, 10.0], min_length=3, max_length=3)
    multi_gpu: bool = False


class TraceJobs(Config):
    """A public trace, read by name of its format."""

    kind: Literal["philly", "philly-table", "gavel", "alibaba"]
    path: str
    max_jobs: PositiveInt | None = None


Jobs = Annotated[
    HierarchicalJobs | CsvJobs | InstanceJobs | PoissonJobs | SynergyJobs | TraceJobs,
    Field(discriminator="kind"),
]


class Vms(Config):
    """VMs, configured at every decision from a catalogue."""

    kind: Literal["vms"]
    num_nodes: PositiveInt | None = None
    num_controllers: PositiveInt = 1
    catalog: str = "hierarchical"


class Nodes(Config):
    """Equal servers."""

    kind: Literal["nodes"]
    num_nodes: PositiveInt
    gpus_per_node: PositiveInt = 8
    cpus_per_node: Positive | None = None
    memory_gb_per_node: Positive | None = None
    price_per_hour: NonNegative = 0.0
    num_controllers: PositiveInt = 1


class Pool(Config):
    """An unlimited pool of rented GPUs."""

    kind: Literal["pool"]
    price_per_gpu_hour: NonNegative = 0.0


class InstanceNodes(Config):
    """The nodes that the instance brings."""

    kind: Literal["instance"]
    num_controllers: PositiveInt = 1


Machines = Annotated[Vms | Nodes | Pool | InstanceNodes, Field(discriminator="kind")]


class Decisions(Config):
    """When controllers decide: at events, and every ``period_s``; or in rounds only."""

    period_s: Positive | None = None
    round_s: Positive | None = None
    finish_at_round: bool = False


class Server(Config):
    """The optimization server; ``service`` is a law (s), e.g. ``"exponential:40"``, or measured."""

    service: str
    servers: PositiveInt = 1
    coalesce: bool = False


class Scenario(Config):
    """One simulation, as data."""

    workload: Jobs
    cluster: Machines | None = None
    policy: str
    policy_options: dict[str, float | int | str | bool] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0)] = 0
    decisions: Decisions = Decisions()
    dispatcher: str = "round-robin"
    server: Server | None = None
    reconfiguration_s: NonNegative = 0.0
    window: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    tables: list[Literal["jobs", "decisions", "schedule"]] = ["jobs", "decisions"]  # noqa: RUF012
    """What a sweep keeps of each run beside its summary."""


def read_scenario(path: Path) -> Scenario:
    """Read and check a scenario file; relative paths in it are relative to the file.

    Raises
    ------
    InputError
        One line: file, key, value, what was expected.
    """
    raw = read_toml(path)
    for table, key in (("workload", "path"), ("cluster", "catalog")):
        section = raw.get(table)
        named = section.get(key) if isinstance(section, dict) else None
        if isinstance(named, str) and (key == "path" or named.endswith(".csv")):
            raw[table][key] = str(path.parent / named)
    return checked(Scenario, raw, str(path))


def run(scenario: Scenario) -> Result:
    """Build what the scenario describes and simulate it."""
    from policies import make_policy
    from simulator import simulate

    policy = make_policy(scenario.policy, **scenario.policy_options)
    workload, cluster = build(scenario)
    _check_window(scenario.window, len(workload))
    return simulate(
        workload,
        cluster,
        policy,
        seed=scenario.seed,
        decision_points=_decision_points(scenario.decisions),
        dispatcher=scenario.dispatcher,
        server=_server(scenario.server),
        reconfiguration_s=scenario.reconfiguration_s,
        policy_name=scenario.policy,
    )


def _check_policy(config: dict[str, Any]) -> None:
    """Raise `InputError` for a policy or an option that is not there."""
    from policies import make_policy

    make_policy(config["policy"], **config.get("policy_options", {}))


@configured_by(Scenario, _check_policy)
def run_scenario(config: dict[str, Any]) -> Outcome:
    """Task function of sweeps: a scenario as JSON can say it -> its summary and tables."""
    from experiments.task import Outcome

    scenario = Scenario.model_validate(config)
    result = run(scenario)
    summary = summarise(result, scenario.window)
    makers = {
        "jobs": result.jobs_table,
        "decisions": result.decisions_table,
        "schedule": result.schedule_table,
    }
    return Outcome(
        {k: v for k, v in summary.items() if k not in ("policy", "seed", "version")},
        {name: makers[name]() for name in scenario.tables},
    )


def build(scenario: Scenario) -> tuple[Workload, Cluster]:
    """The workload and the cluster of a scenario."""
    from simulator.workloads.fits import check_fits

    workload, own_cluster = _BUILDERS[scenario.workload.kind](scenario.workload, scenario)
    cluster = _cluster(scenario.cluster, own_cluster, scenario)
    if any(workload.model) and _is_fixed_demand(workload) and not cluster.is_configurable:
        from simulator.workloads.synergy import with_sensitivity

        if all(t.cpus < float("inf") for t in cluster.node_types):
            released = scenario.policy_options.get("released", False) is True
            workload = with_sensitivity(
                workload,
                cluster,
                released=released and not scenario.policy.endswith("+opt"),
                round_s=scenario.decisions.round_s if released else None,
            )
    check_fits(workload, cluster)
    return workload, cluster


def _is_fixed_demand(workload: Workload) -> bool:
    from simulator import FixedDuration

    return isinstance(workload.performance, FixedDuration)


Built = tuple["Workload", "Cluster | None"]


def _hierarchical(jobs: HierarchicalJobs, scenario: Scenario) -> Built:
    from simulator import Cluster
    from simulator.workloads import hierarchical

    cluster = scenario.cluster
    catalog = _catalog(cluster.catalog if isinstance(cluster, Vms) else "hierarchical")
    workload = hierarchical.generate(
        hierarchical.HierarchicalScenario(
            catalog=catalog, seed=scenario.seed, **jobs.model_dump(exclude={"kind"})
        )
    )
    return workload, Cluster.of_vms(catalog, jobs.num_nodes)


def _csv(jobs: CsvJobs, scenario: Scenario) -> Built:
    from simulator.workloads.plain_csv import read_csv_jobs

    return read_csv_jobs(jobs.path), None


def _instance(jobs: InstanceJobs, scenario: Scenario) -> Built:
    from simulator.workloads.authors import read_instance

    cluster = scenario.cluster
    controllers = cluster.num_controllers if isinstance(cluster, InstanceNodes | Vms) else 1
    instance = read_instance(jobs.path, num_controllers=controllers)
    return instance.workload, instance.cluster


def _poisson(jobs: PoissonJobs, scenario: Scenario) -> Built:
    from simulator.laws import parse_law
    from simulator.statistics import Streams
    from simulator.workloads.poisson import poisson_jobs

    workload = poisson_jobs(
        jobs.num_jobs,
        Streams(scenario.seed),
        arrival_rate_per_h=jobs.arrival_rate_per_h,
        duration_s=parse_law(jobs.duration_s),
        num_gpus=jobs.num_gpus,
    )
    return workload, None


def _synergy(jobs: SynergyJobs, scenario: Scenario) -> Built:
    from simulator.statistics import Streams
    from simulator.workloads.synergy import derived_trace

    workload = derived_trace(
        jobs.num_jobs,
        Streams(scenario.seed),
        split=jobs.split,
        jobs_per_hour=jobs.jobs_per_hour,
        multi_gpu=jobs.multi_gpu,
    )
    return workload, None


def _trace(jobs: TraceJobs, scenario: Scenario) -> Built:
    from simulator.workloads.traces import READERS

    workload = READERS[jobs.kind](Path(jobs.path))
    if jobs.max_jobs is not None:
        workload = workload.head(jobs.max_jobs)
    return workload, None


_BUILDERS: dict[str, Callable[[Any, Scenario], Built]] = {
    "hierarchical": _hierarchical,
    "csv": _csv,
    "instance": _instance,
    "poisson": _poisson,
    "synergy": _synergy,
    "philly": _trace,
    "philly-table": _trace,
    "gavel": _trace,
    "alibaba": _trace,
}


def _catalog(name: str) -> Any:
    from simulator.workloads.catalogs import read_catalog

    return read_catalog(name)


def _cluster(machines: Machines | None, own: Cluster | None, scenario: Scenario) -> Cluster:
    """The machines asked for; those of the workload where nothing is said."""
    import dataclasses

    from simulator import Cluster

    if isinstance(machines, Nodes | Pool):
        if own is not None:
            raise InputError(
                f"cluster.kind: got {machines.kind!r}, expected none or "
                f"{'instance' if scenario.workload.kind == 'instance' else 'vms'!r}: workload "
                f"{scenario.workload.kind!r} brings its machines"
            )
        if isinstance(machines, Nodes):
            return _equal_servers(machines)
        return Cluster.rental_pool(machines.price_per_gpu_hour)
    kind = scenario.workload.kind
    if own is None:
        raise InputError(
            f"scenario: workload {kind!r} brings no machines, expected a [cluster] table of kind 'nodes' or 'pool'"
        )
    if machines is None:
        return own
    if isinstance(machines, Vms) and kind == "instance":
        if own.node_type_of is not None:
            raise InputError('cluster.kind: got "vms", expected "instance": its nodes are fixed')
        if "catalog" in machines.model_fields_set:
            raise InputError("cluster.catalog: given with an instance, which brings its own")
    num_nodes = machines.num_nodes if isinstance(machines, Vms) else None
    return dataclasses.replace(
        own, num_nodes=num_nodes or own.num_nodes, num_controllers=machines.num_controllers
    )


def _equal_servers(machines: Nodes) -> Cluster:
    import math

    from simulator import Cluster, NodeType

    node_type = NodeType(
        f"{machines.gpus_per_node}-GPU",
        "GPU",
        machines.gpus_per_node,
        machines.price_per_hour,
        cpus=machines.cpus_per_node or math.inf,
        memory_gb=machines.memory_gb_per_node or math.inf,
    )
    return Cluster.of_nodes(node_type, machines.num_nodes, machines.num_controllers)


def _decision_points(decisions: Decisions) -> DecisionPoints:
    from simulator import DecisionPoints

    if decisions.round_s is not None:
        if decisions.period_s is not None:
            raise InputError("decisions: both round_s and period_s given, expected one of them")
        return DecisionPoints.rounds(decisions.round_s, decisions.finish_at_round)
    return DecisionPoints(period_s=decisions.period_s, finish_at_tick=decisions.finish_at_round)


def _server(server: Server | None) -> ServerSpec | None:
    from simulator import ServerSpec
    from simulator.laws import parse_law

    if server is None:
        return None
    if server.service == "measured":
        return ServerSpec("measured", server.servers, server.coalesce)
    return ServerSpec(parse_law(server.service), server.servers, server.coalesce)


def _check_window(window: Sequence[int] | None, num_jobs: int) -> None:
    if window is not None and not 0 <= window[0] < window[1] <= num_jobs:
        raise InputError(
            f"window {window[0]}:{window[1]}: expected 0 <= first < last <= {num_jobs} jobs"
        )


def summarise(result: Result, window: Sequence[int] | None = None) -> dict[str, Any]:
    """The scalars of ``summary.json``.

    ``window`` ``(first, last)`` restricts waits and completion times to jobs first..last - 1 in
    order of submission, so that the ramps up and down do not count.
    """
    import numpy as np

    summary = result.summary()
    _check_window(window, len(result.workload))
    first, last = window or (0, len(result.workload))
    jct_s = result.jct_s[first:last]
    summary |= {
        "mean_wait_s": float(result.wait_s[first:last].mean()),
        "mean_jct_s": float(jct_s.mean()),
        "p99_jct_s": float(np.quantile(jct_s, 0.99)),
        "p50_jct_s": float(np.quantile(jct_s, 0.5)),
        "p95_jct_s": float(np.quantile(jct_s, 0.95)),
        "rounds": summary["decisions"],
    }
    return summary
