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

Every table and key is checked before anything runs; docs/keys.md lists them all, from the texts here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, PrivateAttr, create_model, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

from experiments.config import Config, FileKeys, path_keys, path_of, read_toml, validated
from experiments.scenario.extensions import is_registered
from simulator.errors import InputError
from simulator.features import registry
from simulator.features.table import FeatureTable
from simulator.keys import NonNegative, Positive, PositiveInt
from simulator.limits import MOST_GPUS, MOST_JOBS, MOST_NODES, expect_few
from simulator.model.workload import LATEST_S
from simulator.plugins import FILE

NodeCount = Annotated[int, Field(ge=1, le=MOST_NODES)]
JobCount = Annotated[int, Field(ge=1, le=MOST_JOBS)]
GpuCount = Annotated[int, Field(ge=1, le=MOST_GPUS)]
Delay = Annotated[float, Field(ge=0, lt=LATEST_S)]


class HierarchicalJobs(Config):
    """The random scenario of the hierarchical paper, Section V-A."""

    kind: Literal["hierarchical"]
    seed: Annotated[int, Field(ge=0)] | None = Field(default=None, examples=[1])
    """seed of the jobs alone, so that a sweep over the scenario's seeds keeps the jobs; left out: the scenario's"""
    num_nodes: NodeCount = 10
    """nodes for which jobs are drawn"""
    jobs_per_node: Annotated[int, Field(ge=1, le=100_000)] = 10
    """jobs for each node"""
    mean_gap_s: Positive = 45_000.0
    """mean gap between submissions, divided by the number of nodes"""
    arrivals: Literal["exponential", "poisson-distributed", "mixed"] = "exponential"
    """gaps: exponential; nearly constant (poisson-distributed); mixed: ten jobs at a high rate, then ten at a quarter of it"""
    due: Literal["min-2max", "min-3min", "min-max"] = "min-2max"
    """due dates: uniform from the least time of the job to 2 times the longest, 3 times the least, or the longest"""
    weights: Literal["printed", "released"] = "printed"
    """cost of tardiness: U[0.36, 1.08] an hour (printed) or U[0.003, 0.015] a second (released)"""
    times: Literal["throughput", "pool"] = "throughput"
    """execution times: fitted throughput, or the authors' public pool of jobs"""

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        expect_few(self.num_nodes * self.jobs_per_node, MOST_JOBS, "jobs in all")
        return self


class Modelled(Config):
    """Jobs that may have a model, whose speed depends on CPUs and memory (Synergy)."""

    speeds: Literal["paper", "released"] = "paper"
    """speeds of jobs with a model: published matrices, or the two speeds of Synergy's released simulator"""
    whole_iterations: bool | None = None
    """whether only whole iterations of a round count; left out: with released speeds in rounds"""


class CsvJobs(Modelled):
    """Jobs of fixed demand from a plain CSV file."""

    kind: Literal["csv"]
    path: str = Field(examples=["jobs.csv"])
    """plain CSV of jobs"""
    block_bootstrap: PositiveInt | None = Field(default=None, examples=[100])
    """each seed draws the jobs again, in blocks of so many consecutive jobs"""


class InstanceJobs(Config):
    """A folder in one of the authors' public formats: jobs, catalogue and nodes."""

    kind: Literal["instance"]
    path: str = Field(examples=["instances/5-50"])
    """folder in one of the authors' public formats"""
    block_bootstrap: PositiveInt | None = Field(default=None, examples=[100])
    """each seed draws the jobs again, in blocks of so many consecutive jobs"""


class GapsOf(Config):
    """A trace of which only the times between the submissions are used."""

    kind: Literal["csv", "philly", "philly-table", "gavel", "alibaba", "swf", "helios"]
    path: str = Field(examples=["jobs.csv"])
    """file of the trace"""


class PoissonJobs(Config):
    """Poisson arrivals of jobs of fixed demand: the queue of the textbooks."""

    kind: Literal["poisson"]
    num_jobs: JobCount = 1000
    """number of jobs"""
    arrival_rate_per_h: Positive | None = Field(default=None, examples=[12])
    """mean number of arrivals; this or load"""
    load: Positive | None = Field(default=None, examples=[0.8])
    """offered load of the GPUs of the cluster, in place of the rate: GPU-seconds that arrive over GPU-seconds that there are"""
    duration_s: str = "exponential:3600"
    """law of the durations"""
    num_gpus: list[GpuCount] = Field(default=[1], min_length=1)
    """a job asks for one of these, with equal chances"""
    gaps: str = "exponential"
    """gaps between arrivals, scaled to the rate: exponential, mmpp (bursts), trace, or a law"""
    gaps_of: GapsOf | None = Field(default=None, examples=[{"kind": "csv", "path": "jobs.csv"}])
    '''trace whose gaps are used in its order, with gaps = "trace"'''
    priorities: list[NonNegative] = Field(default_factory=list, examples=[[1, 3]])
    """shares of priority classes, the most urgent first"""
    patience: NonNegative | str | None = Field(default=None, examples=["exponential:1800"])
    """a job that has not started after so long leaves: s, or a law; 0: at once where all is busy"""

    @model_validator(mode="after")
    def _rate_or_load(self) -> Self:
        if (self.arrival_rate_per_h is None) == (self.load is None):
            raise ValueError("arrival_rate_per_h or load, expected one of them")
        return self

    @model_validator(mode="after")
    def _gaps_and_their_trace(self) -> Self:
        if (self.gaps == "trace") != (self.gaps_of is not None):
            raise ValueError('gaps = "trace" and the table gaps_of belong together, expected both')
        return self


class ElasticJobs(Config):
    """Elastic jobs on a rental pool, of the types in a file as `schedlab theory rental` reads it."""

    kind: Literal["elastic"]
    path: str = Field(examples=["examples/rental_figure1.toml"])
    """file of job types, as `schedlab theory rental` reads it"""
    num_jobs: JobCount = 1000
    """number of jobs"""
    arrivals: Literal["poisson", "deterministic", "mmpp"] = "poisson"
    """arrivals: mmpp has bursts"""
    sizes: str = "exponential:1"
    """law of a job's size over the mean size of its type; its mean is 1"""


class SynergyJobs(Modelled):
    """The derived trace of the Synergy paper, Section 5.1."""

    kind: Literal["synergy"]
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_hour: Positive | None = Field(default=None, examples=[9])
    """Poisson arrivals; left out: all jobs at time 0"""
    split: list[NonNegative] = Field(default=[20.0, 70.0, 10.0], min_length=3, max_length=3)
    """shares of image, language and speech models"""
    multi_gpu: bool = False
    """whether jobs ask for several GPUs, too"""
    gpu_law: Literal["philly", "gavel"] = "philly"
    """law of the GPUs, with multi_gpu: of the Philly log, or of Gavel's extract of it"""
    draw: Literal["seeded", "released"] = "seeded"
    """jobs from the seed, or the very jobs of the released simulator"""
    draw_seed: Annotated[int, Field(ge=0)] = 42
    '''seed with draw = "released"'''
    durations_at_cpus_per_gpu: Positive | None = Field(default=None, examples=[3])
    """CPUs per GPU of the servers at whose proportional share durations are drawn; left out: those of the cluster"""


class AndreasJobs(Config):
    """The random scenarios of ANDREAS, Section V-B, with their nodes and energy price."""

    kind: Literal["andreas"]
    num_nodes: Annotated[int, Field(ge=2, le=MOST_NODES)] = 10
    """nodes, which the workload brings; every second one has V100, the others T4"""
    scenario: Literal[1, 2] = 1
    """scenario of the paper"""
    arrivals: Literal["high", "low", "mixed"] = "mixed"
    """rate of arrivals; mixed: stretches at the high and at the low rate in turn"""
    jobs_per_node: PositiveInt = 10
    """jobs for each node"""
    idle_w: NonNegative = 0.0
    """power of an idle node"""
    rates: Literal["measured", "node"] | None = Field(default=None, examples=["node"])
    """the high rate follows the GPUs that were measured, or those of a node, as the main branch of the authors' generator has it; left out: measured"""

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        expect_few(self.num_nodes * self.jobs_per_node, MOST_JOBS, "jobs in all")
        return self


class PhillyLikeJobs(Modelled):
    """Jobs with the GPU demands and durations of the Philly trace, and Poisson arrivals."""

    kind: Literal["philly-like"]
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_hour: Positive = Field(examples=[20])
    """Poisson arrivals"""
    split: list[NonNegative] = Field(default=[20.0, 70.0, 10.0], min_length=3, max_length=3)
    """shares of image, language and speech models"""


class TraceJobs(Modelled):
    """A public trace, read by name of its format."""

    kind: Literal["philly", "philly-table", "gavel", "alibaba", "swf", "helios"]
    path: str = Field(examples=["cluster_job_log"])
    """file of the trace"""
    between_h: list[NonNegative] | None = Field(
        default=None, min_length=2, max_length=2, examples=[[2400, 3000]]
    )
    """only the jobs submitted from so many to so many hours after the first"""
    max_jobs: PositiveInt | None = Field(default=None, examples=[1000])
    """the first so many jobs only"""
    attempts: bool = False
    """jobs of Philly's log fail where they failed there, and run again"""
    block_bootstrap: PositiveInt | None = Field(default=None, examples=[100])
    """each seed draws the jobs again, in blocks of so many consecutive jobs"""
    split: list[NonNegative] | None = Field(
        default=None, min_length=3, max_length=3, examples=[[20, 70, 10]]
    )
    """shares of image, language and speech models, for speeds by CPUs and memory"""


class TrainingServers(Config):
    """GPUs that a workload of training steps brings, and what its jobs lose."""

    gpus: dict[str, GpuCount] = Field(min_length=1, examples=[{"v100": 32}])
    """GPUs of each type, in the order in which types are served"""
    gpus_per_node: GpuCount = 1
    """GPUs of a server"""
    resume_s: Delay = 20.0
    """lost in a full round by a job that did not run in the round before"""
    first_start_s: Delay | None = Field(default=None, examples=[20])
    """the same at the first start; left out: as resume_s"""
    reallocation_s: Delay = 0.0
    """lost by a job that changes its GPUs"""


class TrainingJobs(TrainingServers):
    """A trace in Gavel's format as training steps; brings its servers, by type of GPU.

    With ``round_s`` and ``round_ends = "last-finisher"`` in ``[decisions]``, steps are whole, and batch sizes
    change between rounds.
    """

    kind: Literal["training"]
    path: str = Field(examples=["trace.tsv"])
    """trace in Gavel's format"""
    throughputs: str | None = Field(default=None, examples=["throughputs.json"])
    """table of training steps/s; left out: found beside the trace"""


class GavelLikeJobs(TrainingServers):
    """Random jobs by the rule of Gavel's simulations, as training steps; brings its servers.

    The scenario's seeds 0, 1 and 2 give the jobs of the published runs.
    """

    kind: Literal["gavel-like"]
    throughputs: str = Field(examples=["throughputs.json"])
    """table of training steps/s, also on v100"""
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_h: NonNegative = 4.0
    """arrivals, a Poisson process; 0: all at the beginning"""
    multi_gpu: bool = False
    """whether jobs have 1, 2, 4 or 8 GPUs; else one each"""
    spread: list[str] | None = Field(default=None, examples=[["ResNet-18", "Transformer", "LM"]])
    """models of jobs of several GPUs; left out: ResNet-18, ResNet-50, Transformer, LM"""


class PolluxJobs(Config):
    """Jobs whose speed comes from tables of goodput, in the format of Pollux's simulator."""

    kind: Literal["pollux"]
    path: str = Field(examples=["workload.csv"])
    """workload in the format of Pollux's simulator, or a folder with one"""
    tables: str | None = Field(default=None, examples=["traces"])
    """folder of the tables of step times and gradient noise, flat or a folder for each application; left out: that of the workload, or `traces` in it or beside it"""
    max_local: dict[str, PositiveInt] | None = Field(default=None, examples=[{"yolov3": 8}])
    """largest local batch size of an application; left out: the largest measured"""
    kept_batch: list[str] | None = Field(default=None, examples=[["ncf"]])
    """applications whose jobs keep their users' batch sizes under every policy"""
    max_jobs: PositiveInt | None = Field(default=None, examples=[100])
    """the first so many jobs only"""


class ElasticflowJobs(Config):
    """Jobs of a trace in the format of ElasticFlow's simulator, with due dates."""

    kind: Literal["elasticflow"]
    path: str = Field(examples=["trace.csv"])
    """trace in the format of ElasticFlow's simulator"""
    throughputs: str | None = Field(default=None, examples=["throughputs"])
    """folder of the tables of iterations/s; left out: throughputs_A100 beside the trace"""
    elastic: bool = True
    """jobs take any number of GPUs of their table; otherwise those of their users"""


class OpenbLikeJobs(Config):
    """Pods with parts of GPUs, drawn from the marginals of Alibaba's openb trace; brings its nodes."""

    kind: Literal["openb-like"]
    num_jobs: JobCount = 1000
    """number of pods"""
    num_nodes: Annotated[int, Field(ge=1, le=1213)] = 40
    """machines of the trace, which the workload brings"""
    load: Positive = 0.9
    """offered load"""
    duration_s: str = "lognormal:3600,cv=2"
    """law of the durations"""


class OpenbJobs(Config):
    """Pods of Alibaba's openb trace with their parts of GPUs, from its files; brings its nodes."""

    kind: Literal["openb"]
    path: str = Field(examples=["openb_pod_list_default.csv"])
    """list of pods of the trace"""
    nodes: str | None = Field(default=None, examples=["openb_node_list_gpu_node.csv"])
    """list of machines; left out: the trace's 1,213 machines"""
    num_nodes: PositiveInt | None = Field(default=None, examples=[100])
    """so many of the machines, drawn by the seed; left out: all"""
    max_jobs: PositiveInt | None = Field(default=None, examples=[1000])
    """the first so many pods only"""
    load: Positive | None = Field(default=None, examples=[0.9])
    """offered load; times are drawn then, with duration_s"""
    duration_s: str | None = Field(default=None, examples=["lognormal:3600,cv=2"])
    """law of the durations, with load; left out: the file's own times"""

    @model_validator(mode="after")
    def _load_and_durations(self) -> Self:
        if (self.load is None) != (self.duration_s is None):
            raise ValueError("load and duration_s belong together, expected both or none")
        return self


class PluginJobs(Config):
    """Jobs that an installed package makes; ``kind = "NAME"`` beside its options means the same."""

    kind: Literal["plugin"]
    name: str = Field(examples=["day-and-night"])
    """name that an installed package registers"""
    options: dict[str, float | int | str | bool | list[float | int | str]] = Field(
        default_factory=dict, examples=[{"night": 0.1}]
    )
    """its options"""


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
    | GavelLikeJobs
    | PolluxJobs
    | ElasticflowJobs
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
    """Nodes that controllers share."""

    num_controllers: NodeCount | None = Field(default=None, examples=[4])
    """controllers, which share the nodes equally; left out: 1"""
    nodes_per_controller: NodeCount | None = Field(default=None, examples=[5])
    """nodes of a controller, in place of num_controllers"""
    nodes_per_rack: PositiveInt | None = Field(default=None, examples=[4])
    """nodes of a rack, neighbours by number; left out: all in one rack"""


class Vms(Partitioned):
    """VMs, configured at every decision from a catalogue."""

    kind: Literal["vms"]
    num_nodes: NodeCount | None = Field(default=None, examples=[10])
    """nodes; left out: those of the workload"""
    catalog: str | None = Field(default=None, examples=["hierarchical"])
    """types of VMs: hierarchical, thesis, figure1, or a CSV file with the columns name, gpu_type, gpus, price_per_hour; left out: the workload's"""
    gpu_types: Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, examples=[["K80", "M60"]]
    )
    """of the catalogue, only the types with these GPUs"""


class Nodes(Partitioned):
    """Equal servers."""

    kind: Literal["nodes"]
    num_nodes: NodeCount = Field(examples=[4])
    """servers, all equal"""
    gpus_per_node: GpuCount = 8
    """GPUs of a server"""
    gpu_type: str | None = Field(default=None, examples=["V100"])
    """type of its GPUs, for [adapt]"""
    cpus_per_node: Positive | None = Field(default=None, examples=[24])
    """CPUs of a server; left out: CPUs do not count"""
    memory_gb_per_node: Positive | None = Field(default=None, examples=[500])
    """main memory of a server; left out: memory does not count"""
    price_per_hour: NonNegative = 0.0
    """price of a server"""


class Pool(Config):
    """An unlimited pool of rented GPUs."""

    kind: Literal["pool"]
    price_per_gpu_hour: NonNegative = 0.0
    """price of a GPU"""


class InstanceNodes(Partitioned):
    """The nodes that the instance brings."""

    kind: Literal["instance"]


Machines = Annotated[Vms | Nodes | Pool | InstanceNodes, Field(discriminator="kind")]


class Adapt(Config):
    """Rules that add what a policy requires."""

    models: Literal["uniform", "trace"] | list[str] | list[NonNegative] | None = Field(
        default=None, examples=[[20, 70, 10]]
    )
    """a network for each job: shares of image, language and speech networks; drawn from all ten of Synergy (uniform); drawn from a list of names; or the file's own column, checked (trace)"""
    speedup: Literal["calibrated"] | None = None
    """jobs of fixed demand become elastic: a time for each node type and number of GPUs"""
    speedup_curve: Literal["calibrated"] | None = None
    """a speed-up curve s(k) for a rental pool: the concave hull of the same throughput, or of an elastic job's own times"""
    demand: Literal["stated", "cheapest", "efficient", "law:philly", "law:gavel"] | None = None
    """elastic jobs get a fixed number of GPUs: that of the users of jobs with tables of goodput (stated); of the cheapest configuration on time; of the one with the fewest GPU-seconds (efficient); or drawn as a trace's jobs ask for them"""
    sensitivity: Literal["synergy", "none"] | None = None
    """speeds depend on CPUs and memory as Synergy measured it (synergy), or they do not (none)"""
    gpu_type: str | None = Field(default=None, examples=["K80"])
    """GPU type that the file's durations belong to; left out: the first of the cluster"""
    due: str | None = Field(default=None, examples=["factor:1.5,4"])
    """due dates: min-2max, min-3min or min-max (uniform from the least time of the job to that end); factor:A,B (A to B times the duration that the job came with); none"""
    weights: str | dict[str, NonNegative] | None = Field(
        default=None, examples=[{"research": 2.0, "product": 0.5}]
    )
    """cost of tardiness: printed (U[0.36, 1.08] an hour), released (U[0.003, 0.015] a second), none, a law of the cost of an hour, or that cost for each virtual cluster"""
    load: Positive | None = Field(default=None, examples=[0.8])
    """offered load: all gaps between submissions are stretched by one factor"""
    prices: NonNegative | str | None = Field(default=None, examples=["hierarchical"])
    """price of a GPU-hour, or the catalogue of VMs whose GPU types have the prices"""
    power: Literal["andreas"] | None = None
    """power of V100 and T4 nodes by GPUs in use, and the energy price of ANDREAS"""


class Decisions(Config):
    """Times of decisions: at arrivals and completions, and periodically; or in rounds only."""

    period_s: Positive | None = Field(default=None, examples=[3600])
    """also once every so long; at least 0.001"""
    since_last_s: Positive | None = Field(default=None, examples=[3600])
    """also so long after each controller's own last decision"""
    round_s: Positive | None = Field(default=None, examples=[300])
    """only once every so long, not at arrivals and completions"""
    round_ends: Literal["grid", "last-finisher"] = "grid"
    """a round ends on the grid of round_s, or when its last job stops, if that is earlier"""
    finish_at_round: bool = False
    """a job that ends inside a round counts as done at its end"""
    least_gap_s: NonNegative = Field(default=0.0, examples=[240])
    """least time between two decisions; what asks for one sooner waits"""


class Server(Config):
    """The optimization server, which answers requests for decisions."""

    service: str = Field(examples=["exponential:40"])
    """time of a decision: a law (s), or measured: the CPU time of each decision itself"""
    servers: NodeCount = 1
    """servers that answer requests"""
    coalesce: bool = False
    """a controller that waits for the server does not ask a second time"""


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
    """Delays without progress, in place of one number."""

    first_s: Delay = 0.0
    """after the first start of a job"""
    resume_s: Delay = 0.0
    """after a job is resumed"""
    move_s: Delay = 0.0
    """after a job is moved, or its GPUs change"""
    doubling_s: Delay = 0.0
    """longer for each doubling of the job's GPUs, beyond one"""


if TYPE_CHECKING:
    FeatureTables = Config
else:
    FeatureTables = create_model(
        "FeatureTables",
        __base__=Config,
        **{
            name: (
                keys | None,
                Field(default=None, description=(keys.__doc__ or name).partition("\n")[0]),
            )
            for name, keys in registry.tables().items()
        },
    )
    """A key for each feature that there is (`simulator.features.registry`)."""


OLD_NAMES = {
    "sharing": "colocation",
    "spot.away": "spot.down",
    "network_penalty": "network.same_rack",
    "failures.nodes_per_rack": "cluster.nodes_per_rack",
    "network.nodes_per_rack": "cluster.nodes_per_rack",
}
"""Tables and keys by their names of before, which are read all the same for one release."""


def _renamed(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A scenario under the names of now, and a note on each that had another."""
    data = {key: {**value} if isinstance(value, dict) else value for key, value in data.items()}
    notes = []
    for old, new in OLD_NAMES.items():
        (*table, name), (*into, now) = old.split("."), new.split(".")
        at = data.get(table[0]) if table else data
        to = data.get(into[0], {}) if into else data
        if not (isinstance(at, dict) and isinstance(to, dict) and name in at):
            continue
        if to.get(now, at[name]) == at[name]:  # else both are given, which is one too many
            to[now] = at.pop(name)
            data |= {into[0]: to} if into else {}
            notes.append(f"{old} is called {new} now")
    return data, notes


class Scenario(FeatureTables):
    """One simulation: jobs, machines, a policy, and what else happens."""

    _old_names: list[str] = PrivateAttr(default_factory=list)

    workload: Jobs
    """the jobs: one of the kinds below"""
    cluster: Machines | None = None
    """the machines: one of the kinds below; left out: what the workload brings"""
    adapt: Adapt | None = None
    """what jobs or machines lack for the policy"""
    policy: str = Field(examples=["milp"])
    """name of a policy, or FILE.py:NAME (with --allow-code)"""
    policy_options: Annotated[
        dict[str, float | int | str | bool], BeforeValidator(_by_full_name)
    ] = Field(default_factory=dict, examples=[{"solver": "highs"}])
    """options of the policy"""
    seed: Annotated[int, Field(ge=0)] = 0
    """seed of all random streams"""
    decisions: Decisions = Decisions()
    """times of decisions; left out: at every arrival and completion"""
    dispatcher: str = "round-robin"
    """rule by which a job gets to one of several controllers: round-robin, join-shortest-queue, least-work-left, power-of-two, random, size-interval, least-tardiness, or a package's"""
    server: Server | None = None
    """optimization server; left out: decisions take no time"""
    reconfiguration_s: Delay | DelayKeys = 0.0
    """delay without progress after a move, a resize or a restart; or a table of delays"""
    window: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        default=None, examples=[[100, 900]]
    )
    """jobs over which waits and completion times are averaged: the first, and the first after them"""
    tables: list[Literal["jobs", "decisions", "schedule"]] = Field(default=["jobs", "decisions"])
    """tables that a sweep keeps of each run"""
    decision_facts: bool = False
    """a sweep's runs.csv also has the mean and the maximum of each number in decisions.csv"""

    @property
    def features(self) -> dict[str, FeatureTable]:
        """The tables of features that are given."""
        found = {name: getattr(self, name) for name in registry.tables()}
        return {name: table for name, table in found.items() if table is not None}

    @property
    def old_names(self) -> list[str]:
        """Notes on tables and keys that were given by their names of before."""
        return self._old_names

    @model_validator(mode="wrap")
    @classmethod
    def _under_old_names(cls, data: Any, handler: ModelWrapValidatorHandler[Scenario]) -> Scenario:
        """Tables and keys under their names of before are read all the same."""
        data, notes = _renamed(data) if isinstance(data, dict) else (data, [])
        made = handler(data)
        made._old_names.extend(notes)
        return made

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


def read_scenario(path: Path | str) -> Scenario:
    """Read and check a scenario file; relative paths in it are relative to the file.

    Raises
    ------
    InputError
        One line: file, key, value, what was expected.
    """
    path = Path(path)
    raw = read_toml(path)
    _expect_no_other_kind(raw, path)
    for table, key in file_keys(raw):
        table[key] = str(path.parent / table[key])
    return validated(Scenario, raw, str(path))


def _expect_no_other_kind(raw: Mapping[str, Any], path: Path) -> None:
    """A sweep and types of jobs are TOML files, too; each has a command of its own."""
    if {"scenario", "grid", "points"} & set(raw):
        kind, command = "a sweep", "sweep run"
    elif isinstance(raw.get("types"), list):
        kind, command = "types of jobs for a rental", "theory rental"
    else:
        return
    raise InputError(f"{path}: holds {kind}, expected a scenario; try: schedlab {command} {path}")
