"""Every policy on every kind of workload and cluster: it runs, or one line says what is missing."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from policies import (
    check_requirements,
    composed_names,
    make_policy,
    missing_requirements,
    policy_names,
)
from policies.registry.requirements import (
    DUE,
    MODELS,
    OWN,
    PRICES,
    SPEEDUP,
    WEIGHTS,
    MissingRequirement,
    supplied_by,
)
from simulator import Cluster, FixedDuration, InputError, NodeType, Workload
from simulator.adaptation import Adapted, Rules, adapt
from simulator.features.reconfiguration import Delays
from simulator.laws import Exponential
from simulator.statistics import Streams
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.fits import check_fits
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from simulator.workloads.philly_like import PhillyLikeJobs
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.poisson import poisson_jobs
from simulator.workloads.reshaping import curves_of_table, on_nodes, time_shared
from simulator.workloads.table import Setting
from tests.core.jobs import fixed as fixed_jobs
from tests.core.jobs import run
from tests.errors import input_error
from tests.families import module

andreas = module("simulator.workloads.andreas")

STREAMS = Streams(5)
WRAPPED = (
    "greedy@hysteresis", "srtf+tune@hysteresis", "capacity@hysteresis",
    "rental-equi@hysteresis", "foresight@hysteresis", "consolidating@hysteresis", "edf@self-timed",
    "greedy@tune", "edf-shared@tune", "rental-on-nodes@tune@hysteresis",
)  # fmt: skip
"""Of those that stand behind any policy's name: a policy of each room."""
POLICIES = (*(n for n in policy_names() if "+" not in n), *composed_names(), *WRAPPED)
FEW = {name: {"iterations": 3} for name in ("randomised-greedy", "local-search", "path-relinking")}
VMS = Cluster.of_vms(read_catalog("hierarchical"), 2)
CLUSTERS = {
    "vms": VMS,
    "nodes": Cluster.of_nodes(NodeType("n", "K80", 4, 1.0), 2),
    "servers": Cluster.of_nodes(NodeType("s", "K80", 4, 1.0, cpus=12, memory_gb=250), 2),
    "mixed": Cluster((NodeType("a", "K80", 4, 1.0), NodeType("b", "M60", 4, 2.0)), 2, (0, 1)),
    "pool": Cluster.rental_pool(1.0),
}


def hierarchical() -> Workload:
    return generate(HierarchicalJobs(num_nodes=1, jobs_per_node=6, seed=2))


def fixed(models: bool, due: bool = False) -> Workload:
    drawn = {"duration_s": Exponential(3600.0), "num_gpus": [1, 2, 4]}
    jobs = poisson_jobs(6, STREAMS, arrival_rate_per_h=2.0, **drawn)
    late = {"due": "min-2max", "weights": "printed"} if due else {}
    rules = Rules(models="uniform" if models else None, **late)
    return adapt(jobs, CLUSTERS["nodes"], rules, STREAMS).workload


WORKLOADS = {
    "hierarchical": hierarchical,
    "andreas": lambda: andreas.AndreasJobs(num_nodes=2, jobs_per_node=3).make(Setting())[0],
    "fixed": lambda: fixed(False),
    "fixed-models": lambda: fixed(True),
    "fixed-due": lambda: fixed(True, due=True),
    "time-shared": lambda: time_shared(fixed(False)),
    "large": lambda: replace_gpus(fixed(True, due=True)),
    "elastic-sensitive": lambda: fixed(True, due=True),
    "philly-like": lambda: PhillyLikeJobs(num_jobs=6, jobs_per_hour=2).make(Setting(STREAMS.seed)),
}


def replace_gpus(jobs: Workload) -> Workload:
    """With a job that is larger than a node."""
    gpus = np.array([6, *jobs.num_gpus[1:]])
    times = FixedDuration(jobs.performance.duration_s, gpus)
    return replace(jobs, performance=times)


def built(kind: str, machines: str) -> Adapted:
    """Jobs as a scenario file would put them on the machines."""
    jobs, cluster = WORKLOADS[kind](), CLUSTERS[machines]
    if kind == "andreas":
        own = andreas.AndreasJobs(num_nodes=2, jobs_per_node=3).make(Setting())[1]
        if cluster.is_pool:
            return Adapted(curves_of_table(jobs, own), cluster)
        cluster = own if machines == "mixed" else Cluster.of_nodes(own.node_types[0], 2)
        return Adapted(on_nodes(jobs, own, cluster), cluster)
    if kind == "hierarchical":
        if cluster.is_pool:
            return Adapted(curves_of_table(jobs, VMS), cluster)
        return Adapted(on_nodes(jobs, VMS, cluster), cluster)
    if machines == "servers" and kind in ("philly-like", "fixed-models"):
        jobs = adapt(jobs, cluster, Rules(sensitivity="synergy"), STREAMS).workload
    if kind == "elastic-sensitive" and not cluster.is_pool:
        both = "synergy" if machines == "servers" else None
        rules = Rules(speedup="calibrated", sensitivity=both)
        jobs = adapt(jobs, cluster, rules, STREAMS).workload
    return Adapted(jobs, cluster)


def runs(policy: str, jobs: Workload, cluster: Cluster) -> None:
    made, delays = (
        make_policy(policy, **FEW.get(policy, {})),
        Delays.of(60.0 if "@" in policy else 0.0),
    )
    result = run(jobs, cluster, made, delays, round_s=3600.0 if "+" in policy else None)
    assert np.isfinite(result.completion_s).all()


def is_refused(policy: str, jobs: Workload, cluster: Cluster) -> bool:
    """Whether something essential is missing; then one line says what."""
    if not any(lack.essential for lack in missing_requirements(policy, jobs, cluster)):
        check_requirements(policy, jobs, cluster)
        return False
    with pytest.raises(InputError) as error:
        check_requirements(policy, jobs, cluster)
    line = str(error.value)
    assert line.startswith(f"policy {policy!r}: ")
    assert "\n" not in line
    return True


@pytest.mark.long
def test_every_policy_and_every_place_runs_once_and_every_other_pair_is_refused_in_one_line():
    """A policy runs in that one of its possible places which has run the fewest; places left over, their first."""
    places = {at: built(*at) for at in itertools.product(WORKLOADS, CLUSTERS)}
    for place in places.values():
        check_fits(*place)
    possible = {p: [key for key, at in places.items() if not is_refused(p, *at)] for p in POLICIES}
    nowhere = [policy for policy in POLICIES if not possible[policy]]
    assert nowhere == ["rental-equi@hysteresis"], "it needs a pool, and its wrapper nodes"
    ran = dict.fromkeys(places, 0)
    for policy in filter(possible.get, POLICIES):
        chosen = min(possible[policy], key=ran.__getitem__)
        runs(policy, *places[chosen])
        ran[chosen] += 1
    for left in (key for key, times in ran.items() if not times):
        runs(next(p for p in POLICIES if left in possible[p]), *places[left])


@pytest.mark.slow
@pytest.mark.parametrize("machines", CLUSTERS)
@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_pair_that_is_not_refused_runs(kind, machines):
    place = built(kind, machines)
    for policy in POLICIES:
        if not is_refused(policy, *place):
            runs(policy, *place)


def test_keys_supply_what_they_are_named_for():
    """Whoever follows the line can run the pair: for policies on nodes with CPUs, on fixed jobs."""
    jobs, cluster = built("fixed", "servers")
    for policy in POLICIES:
        lacking = [lack for lack in missing_requirements(policy, jobs, cluster) if lack.essential]
        keys = supplied_by(lacking)
        if lacking and keys is not None:
            given = dict(key.split(" = ") for key in keys)
            rules = Rules(**{k: v.strip('"') for k, v in given.items()})
            check_requirements(policy, *adapt(jobs, cluster, rules, STREAMS))


@pytest.mark.parametrize(
    ("policy", "kind", "machines", "line"),
    [
        ("edf", "fixed", "nodes", 'no due dates; [adapt] due = "min-2max" supplies it'),
        ("ps", "fixed", "nodes", 'no tardiness weights; [adapt] weights = "printed"'),
        ("priority", "fixed", "nodes", "the same priority and no weights, expected a column priority in the file of jobs"),
        ("milp", "fixed-models", "pool", "the cluster is a rental pool, the policy needs nodes"),
        ("fifo-shared", "fixed", "pool", "the cluster is a rental pool, the policy needs nodes"),
        ("fifo-shared", "hierarchical", "vms", "VMs without a fixed type"),
        ("greedy", "large", "nodes", "asks for 6 GPUs, a node has 4"),
        ("fifo", "large", "vms", "asks for 6 GPUs"),
        ("srtf+tune", "hierarchical", "servers", 'no fixed number of GPUs; [adapt] demand ='),
        ("srtf+tune", "hierarchical", "vms", "VMs without a fixed type"),
        ("rental-srpt", "fixed", "pool", 'no speed-up curves; [adapt] models = "uniform" and'),
        ("rental-on-nodes", "fixed", "nodes", 'fixed demand; [adapt] models = "uniform" and spee'),
        ("fifo+static", "andreas", "mixed", "several types"),
        ("greedy@tune", "fixed-due", "nodes", "the nodes have no CPUs and memory to give out"),
        ("greedy@tune", "fixed-due", "servers", '[adapt] speedup = "calibrated" and sensitivity = "s'),
        ("milp@hysteresis", "fixed-models", "pool", "the cluster is a rental pool, the policy needs nodes"),
    ],
)  # fmt: skip
def test_the_line(policy, kind, machines, line):
    if kind == "large" and machines == "vms":
        jobs = replace(WORKLOADS["large"]())
        cluster = Cluster.of_vms([NodeType("v", "K80", 4, 1.0)], 2)
    else:
        jobs, cluster = built(kind, machines)
    with input_error(line):
        check_requirements(policy, jobs, cluster)


RANDOM, FILE = "supplies it with random values, the", "of a file of jobs with your own"


@pytest.mark.parametrize(
    ("policy", "priorities", "line"),
    [
        ("ps", [0, 0], f'the jobs have no tardiness weights; [adapt] weights = "printed" {RANDOM} column tardiness_weight_per_h of'),
        ("ps", [0, 2], 'the jobs have no tardiness weights but priorities, by which the policy priority serves them; [adapt]'),
        ("edf", [0, 2], f'the jobs have no due dates; [adapt] due = "min-2max" {RANDOM} column due_s of a file of jobs with your own'),
    ],
)  # fmt: skip
def test_what_a_file_can_state_is_not_only_drawn(policy, priorities, line):
    of_two = fixed_jobs([0, 0], [10, 20])
    jobs = replace(of_two, priority=np.array(priorities, dtype=float))
    with input_error(line):
        check_requirements(policy, jobs, CLUSTERS["nodes"])


def test_the_columns_that_are_named_are_those_of_the_format():
    assert set(OWN.values()) <= {column.name for column in CsvJobs.reads}
    lines = {
        keys: str(MissingRequirement("none", keys))
        for keys in ((DUE, WEIGHTS), (MODELS, SPEEDUP), (PRICES,))
    }
    assert lines == {
        (DUE, WEIGHTS): f"none; [adapt] {DUE} and {WEIGHTS} {RANDOM} columns due_s and tardiness_weight_per_h {FILE}",
        (MODELS, SPEEDUP): f"none; [adapt] {MODELS} and {SPEEDUP} {RANDOM} column model {FILE}",
        (PRICES,): "none; [adapt] prices = 1.0 supplies it",
    }  # fmt: skip


def test_nothing_to_optimise_is_said():
    jobs, _ = built("fixed", "nodes")
    free = Cluster.of_nodes(NodeType("n", "K80", 4), 2)
    for policy in ("greedy", "milp", "local-search"):
        with pytest.raises(InputError, match="nothing is optimised: the nodes have no prices"):
            check_requirements(policy, jobs, free)
    check_requirements("milp", fixed(False, due=True), free)


def test_mechanisms_that_are_alike_run_with_a_note():
    notes = check_requirements("srtf+tune", *built("fixed", "nodes"))
    assert len(notes) == 1
    assert "all mechanisms are alike" in notes[0]
    assert check_requirements("srtf+tune", *built("fixed-models", "servers")) == []
    assert check_requirements("srtf+proportional", *built("fixed", "nodes")) == []


def test_an_unsuppliable_lack_is_told_first():
    """No key makes a pool of nodes, so that is what the line says."""
    jobs, pool = built("fixed", "pool")
    with input_error("rental pool"):
        check_requirements("greedy", jobs, pool)
    assert supplied_by([MissingRequirement("a", ("x = 1",)), MissingRequirement("b")]) is None
