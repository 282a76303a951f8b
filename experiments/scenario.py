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

from experiments.config import (
    Config,
    FileKeys,
    KeyedError,
    at_key,
    checked,
    configured_by,
    path_keys,
    read_toml,
)
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.task import Outcome
    from simulator import Cluster, DecisionPoints, Policy, Result, ServerSpec, Workload

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
    """A public trace, read by name of its format; ``split`` gives its jobs models (Synergy)."""

    kind: Literal["philly", "philly-table", "gavel", "alibaba"]
    path: str
    max_jobs: PositiveInt | None = None
    split: list[NonNegative] | None = Field(default=None, min_length=3, max_length=3)


Jobs = Annotated[
    HierarchicalJobs | CsvJobs | InstanceJobs | PoissonJobs | SynergyJobs | TraceJobs,
    Field(discriminator="kind"),
]


class Vms(Config):
    """VMs, configured at every decision from a catalogue."""

    kind: Literal["vms"]
    num_nodes: PositiveInt | None = None
    num_controllers: PositiveInt = 1
    catalog: str | None = None


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


def file_keys(config: dict[str, Any]) -> FileKeys:
    """Where a scenario, or a part of one, names input files."""
    yield from path_keys(config)
    cluster = config.get("cluster")
    if isinstance(cluster, dict) and _is_file(cluster.get("catalog")):
        yield cluster, "catalog"


def _is_file(catalog: Any) -> bool:
    """Whether a catalogue is a file, not one of the names that `read_catalog` knows."""
    return isinstance(catalog, str) and ("/" in catalog or "." in catalog)


def read_scenario(path: Path) -> Scenario:
    """Read and check a scenario file; relative paths in it are relative to the file.

    Raises
    ------
    InputError
        One line: file, key, value, what was expected.
    """
    raw = read_toml(path)
    for table, key in file_keys(raw):
        table[key] = str(path.parent / table[key])
    return checked(Scenario, raw, str(path))


def run(scenario: Scenario) -> Result:
    """Build what the scenario describes and simulate it.

    Raises
    ------
    KeyedError
        The parts do not fit together, or one of them is not there.
    InputError
        An input file has something wrong in it.
    """
    from simulator import simulate

    policy = make_policy(scenario)
    points, server = decision_points(scenario.decisions), make_server(scenario.server)
    check_dispatcher(scenario.dispatcher)
    workload, cluster = build(scenario)
    check_window(scenario.window, len(workload))
    return simulate(
        workload,
        cluster,
        policy,
        seed=scenario.seed,
        decision_points=points,
        dispatcher=scenario.dispatcher,
        server=server,
        reconfiguration_s=scenario.reconfiguration_s,
        policy_name=scenario.policy,
    )


def make_policy(scenario: Scenario) -> Policy:
    """The policy with its options; raises KeyedError for one that is not there."""
    import policies

    with at_key("policy"):
        policies.describe(scenario.policy)
    with at_key("policy_options" if scenario.policy_options else "policy"):
        return policies.make_policy(scenario.policy, **scenario.policy_options)


def _checks() -> Callable[[Scenario], None]:
    from experiments.checks import ScenarioChecks

    return ScenarioChecks()


@configured_by(Scenario, _checks, file_keys)
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
    workload, own_cluster = read_jobs(scenario)
    return fitted(workload, own_cluster, scenario)


Built = tuple["Workload", "Cluster | None"]


def read_jobs(scenario: Scenario) -> Built:
    """The workload as its table says, and the machines that it brings."""
    jobs = scenario.workload
    try:
        return _BUILDERS[jobs.kind](jobs, scenario)
    except KeyedError:
        raise
    except InputError as error:
        if str(error).startswith(getattr(jobs, "path", "\0")):
            raise  # It names the file and the line in it.
        raise KeyedError("workload", str(error)) from None


def fitted(
    workload: Workload, own_cluster: Cluster | None, scenario: Scenario
) -> tuple[Workload, Cluster]:
    """The workload as it runs on the machines asked for, and these."""
    from simulator.workloads.fits import check_fits

    with at_key("cluster"):
        cluster = _cluster(scenario.cluster, own_cluster, scenario)
    try:
        if any(workload.model) and _is_fixed_demand(workload) and not cluster.is_configurable:
            workload = _with_sensitivity(workload, cluster, scenario)
        check_fits(workload, cluster)
    except InputError as error:
        path = getattr(scenario.workload, "path", "")
        raise KeyedError("workload", f"{path}: {error}" if path else str(error)) from None
    return workload, cluster


def _with_sensitivity(workload: Workload, cluster: Cluster, scenario: Scenario) -> Workload:
    """With what CPUs and memory do to each model, where the nodes have a number of them."""
    from simulator.workloads.synergy import with_sensitivity

    if not all(t.cpus < float("inf") for t in cluster.node_types):
        return workload
    released = scenario.policy_options.get("released", False) is True
    return with_sensitivity(
        workload,
        cluster,
        released=released and not scenario.policy.endswith("+opt"),
        round_s=scenario.decisions.round_s if released else None,
    )


def _is_fixed_demand(workload: Workload) -> bool:
    from simulator import FixedDuration

    return isinstance(workload.performance, FixedDuration)


def _hierarchical(jobs: HierarchicalJobs, scenario: Scenario) -> Built:
    from simulator import Cluster
    from simulator.workloads import hierarchical

    cluster = scenario.cluster
    catalog = _catalog(cluster.catalog if isinstance(cluster, Vms) else None)
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

    with at_key("workload.duration_s"):
        duration_s = parse_law(jobs.duration_s)
    workload = poisson_jobs(
        jobs.num_jobs,
        Streams(scenario.seed),
        arrival_rate_per_h=jobs.arrival_rate_per_h,
        duration_s=duration_s,
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
    if jobs.split is not None:
        from dataclasses import replace

        from simulator.workloads.synergy import models_of_split

        workload = replace(workload, model=models_of_split(len(workload), jobs.split))
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


def _catalog(name: str | None) -> Any:
    from simulator.workloads.catalogs import catalog_names, read_catalog

    name = name or "hierarchical"
    if not _is_file(name) and name not in catalog_names():
        known = ", ".join(catalog_names())
        raise KeyedError("cluster.catalog", f"got {name!r}, expected {known} or a CSV file")
    with at_key("cluster.catalog"):
        return read_catalog(name)


def _cluster(machines: Machines | None, own: Cluster | None, scenario: Scenario) -> Cluster:
    """The machines asked for; those of the workload where nothing is said."""
    import dataclasses

    from simulator import Cluster

    if isinstance(machines, Nodes | Pool):
        if own is not None:
            raise KeyedError(
                "cluster.kind",
                f"got {machines.kind!r}, expected none or "
                f"{'instance' if scenario.workload.kind == 'instance' else 'vms'!r}: workload "
                f"{scenario.workload.kind!r} brings its machines",
            )
        if isinstance(machines, Nodes):
            return _equal_servers(machines)
        return Cluster.rental_pool(machines.price_per_gpu_hour)
    kind = scenario.workload.kind
    if own is None:
        raise KeyedError(
            "cluster.kind" if machines else "cluster",
            f"{f'got {machines.kind!r}' if machines else 'missing'}, expected 'nodes' or 'pool': "
            f"workload {kind!r} brings no machines",
        )
    if machines is None:
        return own
    if isinstance(machines, Vms) and kind == "instance":
        if own.node_type_of is not None:
            raise KeyedError("cluster.kind", "got 'vms', expected 'instance': its nodes are fixed")
        if machines.catalog is not None:
            raise KeyedError("cluster.catalog", "given with an instance, which brings its own")
    num_nodes = machines.num_nodes if isinstance(machines, Vms) else None
    num_nodes = num_nodes or own.num_nodes
    _check_controllers(num_nodes, machines.num_controllers)
    return dataclasses.replace(own, num_nodes=num_nodes, num_controllers=machines.num_controllers)


def _check_controllers(num_nodes: int, num_controllers: int) -> None:
    if num_nodes % num_controllers:
        raise KeyedError(
            "cluster.num_controllers",
            f"{num_controllers} controllers for {num_nodes} nodes, expected a number that divides "
            "the nodes",
        )


def _equal_servers(machines: Nodes) -> Cluster:
    import math

    from simulator import Cluster, NodeType

    _check_controllers(machines.num_nodes, machines.num_controllers)
    node_type = NodeType(
        f"{machines.gpus_per_node}-GPU",
        "GPU",
        machines.gpus_per_node,
        machines.price_per_hour,
        cpus=machines.cpus_per_node or math.inf,
        memory_gb=machines.memory_gb_per_node or math.inf,
    )
    return Cluster.of_nodes(node_type, machines.num_nodes, machines.num_controllers)


def decision_points(decisions: Decisions) -> DecisionPoints:
    """When controllers decide; raises KeyedError for keys that exclude each other."""
    from simulator import DecisionPoints
    from simulator.simulation import LEAST_PERIOD_S

    period_s, round_s = decisions.period_s, decisions.round_s
    if decisions.finish_at_round and period_s is None and round_s is None:
        raise KeyedError("decisions.finish_at_round", "given without round_s, expected both")
    if period_s is not None and round_s is not None:
        raise KeyedError("decisions", "both round_s and period_s given, expected one of them")
    for key, value in (("period_s", period_s), ("round_s", round_s)):
        if value is not None and value < LEAST_PERIOD_S:
            raise KeyedError(
                f"decisions.{key}", f"got {value:g}, expected at least {LEAST_PERIOD_S:g} s"
            )
    with at_key("decisions"):
        if round_s is not None:
            return DecisionPoints.rounds(round_s, decisions.finish_at_round)
        return DecisionPoints(period_s=period_s, finish_at_tick=decisions.finish_at_round)


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
    from simulator.processes.dispatcher import DISPATCHERS

    if name not in DISPATCHERS:
        known = ", ".join(DISPATCHERS)
        raise KeyedError("dispatcher", f"unknown dispatcher {name!r}, expected one of {known}")


def check_window(window: Sequence[int] | None, num_jobs: int) -> None:
    """Raise KeyedError for a window that is empty or reaches past the jobs."""
    if window is not None and not 0 <= window[0] < window[1] <= num_jobs:
        raise KeyedError(
            "window",
            f"got {window[0]}:{window[1]}, expected 0 <= first < last <= {num_jobs} jobs",
        )


def summarise(result: Result, window: Sequence[int] | None = None) -> dict[str, Any]:
    """The scalars of ``summary.json``.

    ``window`` ``(first, last)`` restricts waits and completion times to jobs first..last - 1 in
    order of submission, so that the ramps up and down do not count.
    """
    import numpy as np

    summary = result.summary()
    check_window(window, len(result.workload))
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
