"""One limit for a size, whichever way it is given; and refusals that leave nothing behind."""

import gzip
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from experiments.analysis.lower_bound import lower_bounds
from experiments.scenario.options import set_key
from simulator import Cluster, NodeType
from simulator.arguments import MOST_GPUS, MOST_JOBS, MOST_NODES, MOST_TIMES, times_shape
from simulator.errors import InputError, meant
from simulator.files.inputs import read_input, read_json
from simulator.laws import Deterministic, Exponential
from simulator.statistics import Streams, replications_needed
from simulator.workloads.authors import read_instance
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.elastic import elastic_jobs
from simulator.workloads.hierarchical import HierarchicalJobs
from simulator.workloads.openb import OpenbLikeJobs
from simulator.workloads.philly_like import PhillyLikeJobs
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.poisson import poisson_jobs
from simulator.workloads.table import Setting
from tests.command import ROOT, refused, schedlab
from tests.errors import input_error
from tests.families import module

synergy = module("simulator.workloads.synergy")
gavel_like = module("simulator.workloads.gavel_like")
gavel = module("simulator.workloads.gavel")
andreas = module("simulator.workloads.andreas")

HOUR = Exponential(3600.0)
MMC = ROOT / "examples" / "mmc.toml"
BACKFILL = ROOT / "examples" / "backfill.toml"
GENERATORS = {
    "gavel-like": lambda n: gavel_like.GavelLikeJobs(
        num_jobs=n, jobs_per_h=1.0, throughputs="none.json", gpus={"v100": 8}
    ).make(Setting()),
    "philly-like": lambda n: PhillyLikeJobs(num_jobs=n, jobs_per_hour=1.0).make(Setting(0)),
    "openb-like": lambda n: OpenbLikeJobs(num_jobs=n, num_nodes=4, load=0.5).make(Setting(0)),
    "synergy": lambda n: synergy.derived_trace(n, Streams(0)),
    "synergy, released": lambda n: synergy.released_draw(n, 1.0),
    "poisson": lambda n: poisson_jobs(n, Streams(0), arrival_rate_per_h=1, duration_s=HOUR),
    "elastic": lambda n: elastic_jobs(
        n, Streams(0), names=["a"], arrival_rates_per_h=[1], sizes_h=[HOUR], speedups=[None]
    ),
    "hierarchical": lambda n: HierarchicalJobs(num_nodes=n // 10, jobs_per_node=11),
    "andreas": lambda n: andreas.AndreasJobs(num_nodes=10, jobs_per_node=n // 10 + 1),
}


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("count", [MOST_JOBS + 1, 10**12])
def test_jobs_that_are_generated(name, count):
    with pytest.raises(InputError, match=r"at most 10,000,000|<= 10*$"):
        GENERATORS[name](count)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("gavel-like", 'throughputs = "none.json"\ngpus = { v100 = 8 }\nnum_jobs = '),
        ("philly-like", "jobs_per_hour = 20\nnum_jobs = "),
        ("openb-like", "num_jobs = "),
        ("andreas", "num_nodes = 100_000\njobs_per_node = "),
        ("synergy", "num_jobs = "),
        ("elastic", 'path = "none.toml"\nnum_jobs = '),
    ],
)
def test_jobs_of_a_scenario(tmp_path, kind, keys):
    path = tmp_path / "scenario.toml"
    path.write_text(f'policy = "fifo"\n[workload]\nkind = "{kind}"\n{keys}1000000000000\n')
    told = refused("run", path, "--out", tmp_path / "out")
    assert f"{path}: workload" in told
    assert "<= 10000000" in told or "expected at most 10,000,000" in told


def test_machines():
    with input_error("node type 'a': gpus is 10001, expected at most 10,000"):
        NodeType("a", "K80", MOST_GPUS + 1)
    NodeType("a", "K80", MOST_GPUS)
    for build in (Cluster.of_nodes, lambda t, n: Cluster.of_vms([t], n)):
        with input_error("cluster: num_nodes is 1000001, expected at most 1,000,000"):
            build(NodeType("a", "K80", 1), MOST_NODES + 1)


def test_gpus_in_files(tmp_path):
    (tmp_path / "c.csv").write_text("name,gpu_type,gpus,price_per_hour\nA,K80,1000000000,0.9\n")
    with input_error("c.csv, line 2: gpus is '1000000000', expected a whole number >= 1"):
        read_catalog(tmp_path / "c.csv")
    (tmp_path / "Lof_selectjobs.csv").write_text(
        "ID,SubmissionTime,Deadline,Tardinessweight\nJ1,0,5000,0.01\n"
    )
    (tmp_path / "tNodes.csv").write_text("Nodes\nN1\n")
    row = "ID,VMtype,GpuType,GpuNumber,maxGpuNumber,cost,ExecutionTime\nJ1,A,K80,1,{},0.9,1000\n"
    (tmp_path / "SelectJobs_times.csv").write_text(row.format(1000000000))
    with input_error("SelectJobs_times.csv, line 2: maxGpuNumber is '1000000000'"):
        read_instance(tmp_path)


def test_a_table_of_times_that_would_fill_the_memory():
    """1,000 jobs on 100 types of 10,000 GPUs: 8 GB, although each number is within its limit."""
    assert times_shape(10, 2, 4) == (10, 2, 5)
    with input_error("1,000,100,000 times of 1,000 jobs on 100 node types of up to 10,000 GPUs"):
        times_shape(1000, 100, 10_000)
    assert 8 * MOST_TIMES == 2e9


@pytest.mark.long
def test_compressed_gigabytes_are_never_held(tmp_path):
    """128 MB in 130 kB are refused at the 64 MiB that are free, and none of them is kept."""
    path = tmp_path / "jobs.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(128):
            file.write(bytes(2**20))
    tracemalloc.start()
    with input_error("jobs.csv.gz: has more than 67,108,864 bytes"):
        CsvJobs(path=path).read()
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()
    path.write_bytes(gzip.compress(bytes(60 * 2**20)))  # more than 100 times its size, but small
    assert len(read_input(path)) == 60 * 2**20


# -- values that were taken, or that broke a reader ---------------------------------------------


@pytest.mark.parametrize("rate", ["true", "1" + "0" * 400, "-1.5", '"3"', "null", "1e999", "NaN"])
def test_rates_that_are_none(tmp_path, rate):
    """Also rates that no job uses, alone and of pairs."""
    key = "('A3C', 1)"
    path = tmp_path / "rates.json"
    path.write_text(f'{{"v100": {{"{key}": {{"null": {rate}}}}}}}')
    with input_error(f"{path}: v100 {key}: got", "steps/s, expected a number >= 0"):
        gavel.read_rates(path, ("v100",))
    path.write_text(f'{{"v100": {{"{key}": {{"{key}": [2.0, {rate}]}}}}}}')
    with input_error(f"{path}: {key} {key}", "expected two rates of at least 0"):
        gavel.read_pair_rates(path, ("v100",))


def test_half_a_character(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('["\\ud800"]')
    with input_error(f"{path}: has half a character"):
        read_json(path, "a list")
    path.write_text(
        '["\\ud83d\\ude00", "\\\\ud800"]'
    )  # a pair, and a text that only looks like one
    assert read_json(path, "a list") == ["\U0001f600", "\\ud800"]


def test_two_costs_of_the_same_gpus(tmp_path):
    (tmp_path / "Lof_selectjobs.csv").write_text(
        "ID,SubmissionTime,Deadline,Tardinessweight\nJ1,0,5000,0.01\n"
    )
    (tmp_path / "tNodes.csv").write_text("Nodes,GpuType,GpuNumber\nN1,V100,1\n")
    (tmp_path / "SelectJobs_times.csv").write_text(
        "ID,GpuType,GpuNumber,ExecutionTime\nJ1,V100,1,10\n"
    )
    costs = tmp_path / "GPU-costs.csv"
    costs.write_text("GpuType,GpuNumber,cost\nV100,1,0.5\nV100,1,0.5\n")
    read_instance(tmp_path)  # twice the same says nothing else
    costs.write_text("GpuType,GpuNumber,cost\nV100,1,0.5\nV100,1,0.7\n")
    with input_error("GPU-costs.csv, line 3: cost is '0.7', expected 0.5 as in the row before"):
        read_instance(tmp_path)


def test_a_setting_of_several_lines_is_one_value():
    config = {}
    set_key(config, "a=1\nseed=5")
    assert config == {"a": "1\nseed=5"}
    set_key(config, "a=1\n")
    assert config == {"a": 1}


@pytest.mark.parametrize("value", ["1e308", "1e12"])
@pytest.mark.parametrize("key", ["reconfiguration_s", "reconfiguration_s.resume_s"])
def test_delays(tmp_path, key, value):
    told = refused("run", MMC, "--set", f"{key}={value}", "--out", tmp_path / "out")
    assert f"{MMC} with options: {key}" in told
    assert not (tmp_path / "out").exists()


def test_times_of_a_trace_name_their_line(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("name,time,application,num_replicas,batch_size\na,1e300,x,1,1\n")
    told = refused("run", path, "--kind", "pollux", "--policy", "fifo", "--set",
                   "cluster.num_nodes=1", "--out", tmp_path / "out")  # fmt: skip
    assert "jobs.csv, line 2: time is '1e300', expected a number >= 0 and below 1e+12" in told


def test_no_warnings_of_numpy_beside_the_line(tmp_path):
    assert "adapt.load" in refused(
        "run", MMC, "--set", "adapt.load=1e-308", "--out", tmp_path / "o"
    )


@pytest.mark.parametrize("precision", [1e-300, 5e-324])
def test_a_precision_that_nothing_reaches(precision):
    assert replications_needed([1.0, 2.0, 3.0], precision) == 6  # twice as many at most


def test_names_that_are_not_known():
    many = [f"policy-{n}" for n in range(50)]
    assert meant("policy-7x", many, "in a list") == "did you mean 'policy-7'?"
    assert meant("zzz", many, "in a list") == "expected one of the 50 in a list"
    assert meant("zzz", ["a", "b"], "in a list") == "expected one of a, b"
    assert len(refused("run", MMC, "--policy", "bayes", "--out", "nowhere")) < 400


def test_where_nothing_is_to_be_chosen(tmp_path):
    assert (
        schedlab("run", MMC, "--set", "workload.num_jobs=5", "--out", tmp_path / "o").returncode
        == 0
    )
    for command in ("gantt", "replay"):
        assert "--where: given with" in refused(
            "show", command, tmp_path / "o", "--where", "seed=1"
        )


def test_gaps_of_a_law_are_a_poisson_process():
    one, other = (
        schedlab("theory", "queue", "--load", "0.8", "--gaps", gaps).stdout
        for gaps in ("exponential", "exponential:5")
    )
    assert one == other
    assert "M/M/1" in one


@pytest.mark.parametrize("metric", ["", "mean_jct_s,"])
def test_metrics_that_are_none(metric):
    assert "--metric: got " in refused(
        "compare", BACKFILL, "--policy", "fifo-backfill", "--metric", metric
    )


def test_where_no_schedule_costs_anything():
    """No price and no due date that weighs: 0 without a search, also of 2,000 jobs."""
    minute = Deterministic(60.0)
    jobs = poisson_jobs(2000, Streams(0), arrival_rate_per_h=1, duration_s=minute)
    found = lower_bounds(jobs, Cluster.of_nodes(NodeType("a", "b", 1), 4))
    assert (found["best"], list(found["bounds"])) == (0.0, ["alone"])
    one = jobs.head(1)
    weighed = replace(one, due_s=one.submit_s + 30.0, weight_per_s=np.array([2.0]))
    begun: list[str] = []
    cluster = Cluster.of_nodes(NodeType("a", "b", 1), 4)
    found = lower_bounds(weighed, cluster, begins=begun.append)
    assert begun == list(found["bounds"]) == ["alone", "shared", "lagrangian"]
    assert found["best"] == pytest.approx(60.0)  # 30 s late at 2 a second


# -- nothing is left behind, nothing is written through -----------------------------------------


def test_a_dangling_link_is_not_written_through(tmp_path):
    (tmp_path / "mine.py").symlink_to(tmp_path / "elsewhere.py")
    assert "is there already" in refused("new", "policy", tmp_path / "mine.py")
    assert not (tmp_path / "elsewhere.py").exists()


@pytest.mark.parametrize("value", ["10**400", "-(2**63)", "10**5000"])
def test_a_fact_that_no_table_holds(tmp_path, value):
    own = tmp_path / "own.py"
    own.write_text(
        "from simulator import Decision\n"
        f"def idle(view):\n    return Decision(info={{'b': {value}}})\n"
    )
    told = refused("run", MMC, "--policy", f"{own}:idle", "--allow-code", "--out", tmp_path / "out")
    assert "info 'b' of" in told
    assert not (tmp_path / "out").exists()


def test_a_function_whose_module_breaks(tmp_path):
    (tmp_path / "broken_curve.py").write_text("1 / 0\n")
    types = tmp_path / "types.toml"
    types.write_text(
        '[[types]]\nname = "a"\narrival_rate_per_h = 1\nmean_size_h = 1\n'
        'speedup = { kind = "function", function = "broken_curve:s" }\n'
    )
    told = refused("theory", "rental", types, "--budgets", "2", "--allow-code")
    assert "types[0].speedup" in told
    assert "its module cannot be imported (ZeroDivisionError: division by zero)" in told
