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

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, create_model, model_validator

from experiments.config import Config, FileKeys, checked, path_keys, path_of, read_toml
from experiments.scenario.extensions import is_registered
from simulator.errors import InputError
from simulator.features import registry
from simulator.features.network import Factor, NetworkKeys
from simulator.features.table import FeatureTable
from simulator.keys import KeyedError, NonNegative, Positive, PositiveInt
from simulator.plugins import FILE

MOST_NODES = 1_000_000
MOST_JOBS = 10_000_000
MOST_GPUS = 10_000
"""Of one node. What is larger is a slip of the pen, and would fill the memory."""

NodeCount = Annotated[int, Field(ge=1, le=MOST_NODES)]
JobCount = Annotated[int, Field(ge=1, le=MOST_JOBS)]
GpuCount = Annotated[int, Field(ge=1, le=MOST_GPUS)]


class HierarchicalJobs(Config):
    """The random scenario of the hierarchical paper, Section V-A.

    ``seed``: of the jobs alone; that of the scenario by default. With it, a sweep over the
    scenario's seeds draws a randomised policy anew on the same jobs.
    """

    kind: Literal["hierarchical"]
    seed: Annotated[int, Field(ge=0)] | None = None
    num_nodes: NodeCount = 10
    jobs_per_node: Annotated[int, Field(ge=1, le=100_000)] = 10
    mean_gap_s: Positive = 45_000.0
    arrivals: Literal["exponential", "poisson-distributed", "mixed"] = "exponential"
    due: Literal["min-2max", "min-3min", "min-max"] = "min-2max"
    weights: Literal["printed", "released"] = "printed"
    times: Literal["throughput", "pool"] = "throughput"

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        jobs = self.num_nodes * self.jobs_per_node
        if jobs > MOST_JOBS:
            raise ValueError(f"{jobs:,} jobs in all, expected at most {MOST_JOBS:,}")
        return self


class Modelled(Config):
    """Jobs that may have a model, whose speed depends on CPUs and memory (Synergy).

    ``speeds``: ``"paper"`` follows the published matrices, ``"released"`` the two speeds of the
    released simulator. ``whole_iterations``: whether only whole iterations of a round count; left
    out, they do with released speeds in rounds.
    """

    speeds: Literal["paper", "released"] = "paper"
    whole_iterations: bool | None = None


class CsvJobs(Modelled):
    """Jobs of fixed demand from a plain CSV file."""

    kind: Literal["csv"]
    path: str
    block_bootstrap: PositiveInt | None = None
    """Each seed draws the jobs again, in blocks of so many; `simulator.workloads.bootstrap`."""


class InstanceJobs(Config):
    """A folder in one of the authors' public formats: jobs, catalogue and nodes."""

    kind: Literal["instance"]
    path: str
    block_bootstrap: PositiveInt | None = None


class GapsOf(Config):
    """A trace of which only the times between the submissions are used."""

    kind: Literal["csv", "philly", "philly-table", "gavel", "alibaba", "swf", "helios"]
    path: str


class PoissonJobs(Config):
    """Poisson arrivals of jobs of fixed demand: the queue of the textbooks."""

    kind: Literal["poisson"]
    num_jobs: JobCount = 1000
    arrival_rate_per_h: Positive
    duration_s: str = "exponential:3600"
    num_gpus: list[GpuCount] = Field(default=[1], min_length=1)
    gaps: str = "exponential"
    gaps_of: GapsOf | None = None
    """The trace whose gaps are used, with ``gaps = "trace"``."""
    priorities: list[NonNegative] = Field(default_factory=list)
    patience: NonNegative | str | None = None
    """A job that has not started after so long leaves: s, or a law; 0: at once, where all is busy."""

    @model_validator(mode="after")
    def _gaps_and_their_trace(self) -> Self:
        if (self.gaps == "trace") != (self.gaps_of is not None):
            raise ValueError('gaps = "trace" and the table gaps_of belong together, expected both')
        return self


class ElasticJobs(Config):
    """Elastic jobs on a rental pool, of the types in a file as `schedlab theory rental` reads it.

    ``sizes``: the law of a job's size over the mean size of its type, so its mean is 1.
    """

    kind: Literal["elastic"]
    path: str
    num_jobs: JobCount = 1000
    arrivals: Literal["poisson", "deterministic", "mmpp"] = "poisson"
    sizes: str = "exponential:1"


class SynergyJobs(Modelled):
    """The derived trace of the Synergy paper, Section 5.1.

    ``draw = "released"`` makes the very jobs of the released simulator, from ``draw_seed``.
    """

    kind: Literal["synergy"]
    num_jobs: JobCount = 1000
    jobs_per_hour: Positive | None = None
    split: list[NonNegative] = Field(default=[20.0, 70.0, 10.0], min_length=3, max_length=3)
    multi_gpu: bool = False
    draw: Literal["seeded", "released"] = "seeded"
    draw_seed: Annotated[int, Field(ge=0)] = 42


class AndreasJobs(Config):
    """The random scenarios of ANDREAS, Section V-B, with their nodes and energy price.

    ``rates``: whether the high rate of arrivals follows the GPUs of a job as "measured", or those of
    a "node", as the main branch of the authors' generator has it.
    """

    kind: Literal["andreas"]
    num_nodes: Annotated[int, Field(ge=2)] = 10
    scenario: Literal[1, 2] = 1
    arrivals: Literal["high", "low", "mixed"] = "mixed"
    jobs_per_node: PositiveInt = 10
    idle_w: NonNegative = 0.0
    rates: Literal["measured", "node"] | None = None


class PhillyLikeJobs(Modelled):
    """Jobs with the GPU demands and durations of the Philly trace, and Poisson arrivals."""

    kind: Literal["philly-like"]
    num_jobs: PositiveInt = 1000
    jobs_per_hour: Positive
    split: list[NonNegative] = Field(default=[20.0, 70.0, 10.0], min_length=3, max_length=3)


class TraceJobs(Modelled):
    """A public trace, read by name of its format; ``split`` gives its jobs models (Synergy).

    ``attempts``: whether the jobs of Philly's log fail where they failed there, and run again.
    """

    kind: Literal["philly", "philly-table", "gavel", "alibaba", "swf", "helios"]
    path: str
    max_jobs: PositiveInt | None = None
    attempts: bool = False
    block_bootstrap: PositiveInt | None = None
    split: list[NonNegative] | None = Field(default=None, min_length=3, max_length=3)


class TrainingJobs(Config):
    """A trace in Gavel's format as training steps; brings its servers, by type of GPU.

    With ``round_s`` and ``round_ends = "last-finisher"`` in ``[decisions]``, steps are whole, batch sizes change
    between rounds, and ``resume_s``, ``first_start_s`` (as ``resume_s`` where left out) and ``reallocation_s``
    are lost in a full round.
    """

    kind: Literal["training"]
    path: str
    throughputs: str | None = None
    gpus: dict[str, GpuCount] = Field(min_length=1)
    gpus_per_node: GpuCount = 1
    resume_s: NonNegative = 20.0
    first_start_s: NonNegative | None = None
    reallocation_s: NonNegative = 0.0


class PolluxJobs(Config):
    """Jobs whose speed comes from tables of goodput, in the format of Pollux's simulator.

    ``path``: the workload, or a folder that holds one. ``tables``: the folder of the tables; left out, that
    of the workload. ``max_local``: largest local batch sizes by application. ``kept_batch``: applications whose
    jobs keep their users' batch sizes.
    """

    kind: Literal["pollux"]
    path: str
    tables: str | None = None
    max_local: dict[str, PositiveInt] | None = None
    kept_batch: list[str] | None = None
    max_jobs: PositiveInt | None = None


class OpenbLikeJobs(Config):
    """Pods with parts of GPUs, drawn from the marginals of Alibaba's openb trace; brings its nodes."""

    kind: Literal["openb-like"]
    num_jobs: PositiveInt = 1000
    num_nodes: Annotated[int, Field(ge=1, le=1213)] = 40
    load: Positive = 0.9
    duration_s: str = "lognormal:3600,cv=2"


class OpenbJobs(Config):
    """Pods of Alibaba's openb trace with their parts of GPUs, from its files; brings its nodes.

    ``load`` and ``duration_s`` belong together: then times are drawn, also where the file has them.
    """

    kind: Literal["openb"]
    path: str
    nodes: str | None = None
    num_nodes: PositiveInt | None = None
    max_jobs: PositiveInt | None = None
    load: Positive | None = None
    duration_s: str | None = None

    @model_validator(mode="after")
    def _load_and_durations(self) -> Self:
        if (self.load is None) != (self.duration_s is None):
            raise ValueError("load and duration_s belong together, expected both or none")
        return self


class PluginJobs(Config):
    """Jobs that an installed package makes; ``kind = "NAME"`` beside its options means the same."""

    kind: Literal["plugin"]
    name: str
    options: dict[str, float | int | str | bool | list[float | int | str]] = Field(
        default_factory=dict
    )


Jobs = Annotated[
    HierarchicalJobs
    | CsvJobs
    | InstanceJobs
    | PoissonJobs
    | ElasticJobs
    | SynergyJobs
    | AndreasJobs
    | PhillyLikeJobs
    | OpenbLikeJobs
    | OpenbJobs
    | TraceJobs
    | TrainingJobs
    | PolluxJobs
    | PluginJobs,
    Field(discriminator="kind"),
]


KINDS = frozenset(
    kind
    for model in get_args(get_args(Jobs)[0])
    for kind in get_args(model.model_fields["kind"].annotation)
)
"""The built-in kinds of workload. A package cannot take the name of one."""


class Partitioned(Config):
    """Nodes that controllers share: so many controllers (1), or one for so many nodes."""

    num_controllers: NodeCount | None = None
    nodes_per_controller: NodeCount | None = None
    nodes_per_rack: PositiveInt | None = None
    """Racks of neighbours by number, for ``[failures]`` and ``[network]``."""


class Vms(Partitioned):
    """VMs, configured at every decision from a catalogue.

    ``gpu_types``: of the catalogue, only the types with these GPUs.
    """

    kind: Literal["vms"]
    num_nodes: NodeCount | None = None
    catalog: str | None = None
    gpu_types: Annotated[list[str], Field(min_length=1)] | None = None


class Nodes(Partitioned):
    """Equal servers."""

    kind: Literal["nodes"]
    num_nodes: NodeCount
    gpus_per_node: GpuCount = 8
    gpu_type: str | None = None
    cpus_per_node: Positive | None = None
    memory_gb_per_node: Positive | None = None
    price_per_hour: NonNegative = 0.0


class Pool(Config):
    """An unlimited pool of rented GPUs."""

    kind: Literal["pool"]
    price_per_gpu_hour: NonNegative = 0.0


class InstanceNodes(Partitioned):
    """The nodes that the instance brings."""

    kind: Literal["instance"]


Machines = Annotated[Vms | Nodes | Pool | InstanceNodes, Field(discriminator="kind")]


class Adapt(Config):
    """Rules that add what a policy requires; see `simulator.adaptation.Rules`."""

    models: Literal["uniform", "trace"] | list[str] | list[NonNegative] | None = None
    speedup: Literal["calibrated"] | None = None
    speedup_curve: Literal["calibrated"] | None = None
    demand: Literal["stated", "cheapest", "efficient", "law:philly", "law:gavel"] | None = None
    sensitivity: Literal["synergy", "none"] | None = None
    gpu_type: str | None = None
    due: str | None = None
    weights: str | dict[str, NonNegative] | None = None
    load: Positive | None = None
    prices: NonNegative | str | None = None
    power: Literal["andreas"] | None = None


class Decisions(Config):
    """Times of decisions: at events, and every ``period_s``; or in rounds only.

    ``since_last_s``: also when a controller has not decided for so long. ``round_ends``: at the multiples of
    ``round_s``, or when the last job that runs has stopped.
    """

    period_s: Positive | None = None
    since_last_s: Positive | None = None
    round_s: Positive | None = None
    round_ends: Literal["grid", "last-finisher"] = "grid"
    finish_at_round: bool = False


class Server(Config):
    """The optimization server; ``service`` is a law (s), e.g. ``"exponential:40"``, or measured."""

    service: str
    servers: NodeCount = 1
    coalesce: bool = False


def _by_full_name(options: object) -> object:
    """Options of wrappers by their full names: ``hysteresis.threshold``, also from a table of their own."""
    if not isinstance(options, dict):
        return options
    found: dict[object, object] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            found[name] = value
    return found


class DelayKeys(Config):
    """Seconds without progress after the first start of a job, after it is resumed, and after it is moved."""

    first_s: NonNegative = 0.0
    resume_s: NonNegative = 0.0
    move_s: NonNegative = 0.0


if TYPE_CHECKING:
    FeatureTables = Config
else:
    FeatureTables = create_model(
        "FeatureTables",
        __base__=Config,
        **{name: (keys | None, None) for name, keys in registry.tables().items()},
    )
    """A key for each feature that there is (`simulator.features.registry`)."""


class Scenario(FeatureTables):
    """One simulation, as data."""

    workload: Jobs
    cluster: Machines | None = None
    adapt: Adapt | None = None
    policy: str
    policy_options: Annotated[
        dict[str, float | int | str | bool], BeforeValidator(_by_full_name)
    ] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0)] = 0
    decisions: Decisions = Decisions()
    dispatcher: str = "round-robin"
    server: Server | None = None
    reconfiguration_s: NonNegative | DelayKeys = 0.0
    network_penalty: Factor | None = None
    """How many times longer any job takes over several nodes than on one."""
    window: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    tables: list[Literal["jobs", "decisions", "schedule"]] = ["jobs", "decisions"]  # noqa: RUF012
    """What a sweep keeps of each run beside its summary."""
    decision_facts: bool = False
    """Mean and maximum of each number in decisions.csv join a sweep's scalars."""

    @property
    def features(self) -> dict[str, FeatureTable]:
        """The tables of features that are given; raises KeyedError where two say the same."""
        found = {name: getattr(self, name) for name in registry.tables()}
        if self.network_penalty is not None:
            if found["network"] is not None:
                raise KeyedError(
                    "network_penalty", "given with a table [network], expected one of them"
                )
            found["network"] = NetworkKeys(same_rack=self.network_penalty)
        return {name: table for name, table in found.items() if table is not None}

    @model_validator(mode="before")
    @classmethod
    def _kinds_of_packages(cls, data: Any) -> Any:
        """A kind of workload that a package registers is a kind like the others."""
        jobs = data.get("workload") if isinstance(data, dict) else None
        if not isinstance(jobs, dict):
            return data
        kind = jobs.get("kind")
        if not isinstance(kind, str) or kind in KINDS or not is_registered(kind):
            return data
        options = {name: value for name, value in jobs.items() if name != "kind"}
        return {**data, "workload": {"kind": "plugin", "name": kind, "options": options}}


def file_keys(config: dict[str, Any]) -> FileKeys:
    """Tables and keys of a scenario, or of a part of one, that name input files."""
    yield from path_keys(config)
    jobs, cluster = config.get("workload"), config.get("cluster")
    if isinstance(jobs, dict) and isinstance(jobs.get("throughputs"), str):
        yield jobs, "throughputs"
    if isinstance(jobs, dict):
        for kind, key in (("openb", "nodes"), ("pollux", "tables")):
            if jobs.get("kind") == kind and isinstance(jobs.get(key), str):
                yield jobs, key
    if isinstance(cluster, dict) and is_file(cluster.get("catalog")):
        yield cluster, "catalog"
    if isinstance(config.get("policy"), str) and FILE in config["policy"]:
        yield config, "policy"


def input_files(scenario: Scenario, file: Path | None) -> list[Path]:
    """Files that a run reads: the scenario's own file, jobs or an instance, a catalogue."""
    named = [path_of(table[key]) for table, key in file_keys(scenario.model_dump())]
    return [file, *named] if file is not None else named


def is_file(catalog: Any) -> bool:
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
    _expect_no_other_kind(raw, path)
    for table, key in file_keys(raw):
        table[key] = str(path.parent / table[key])
    return checked(Scenario, raw, str(path))


def _expect_no_other_kind(raw: Mapping[str, Any], path: Path) -> None:
    """A sweep and types of jobs are TOML files, too; each has a command of its own."""
    if {"scenario", "grid", "points"} & set(raw):
        kind, command = "a sweep", "sweep run"
    elif isinstance(raw.get("types"), list):
        kind, command = "types of jobs for a rental", "theory rental"
    else:
        return
    raise InputError(f"{path}: holds {kind}, expected a scenario; try: schedlab {command} {path}")
