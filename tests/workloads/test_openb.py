"""The openb trace as a workload: parts and times as in the file, who is left out, times drawn where there are none."""

import csv
from pathlib import Path

import numpy as np
import pytest

from experiments.scenario.run import run as run_of
from experiments.scenario.schema import Scenario, file_keys, read_scenario
from policies import make_policy
from simulator import InputError, simulate
from simulator.features.colocation import colocation_of
from simulator.workloads.openb import OpenbLikeJobs
from simulator.workloads.openb_trace import OpenbJobs
from simulator.workloads.table import Setting
from tests.command import refused, schedlab
from tests.errors import input_error

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p4,20000,65536,0,0,,LS,Running,50,900,60
p2,32000,65536,2,1000,,Burstable,Succeeded,300,800,310
p1,6000,12288,1,460,V100M16|V100M32,LS,Running,100,400,150
p3,11000,47104,1,1000,,BE,Pending,200,250,
p5,4000,4096,1,540,,LS,Failed,150,260,160
p6,4000,4096,8,1000,,LS,Running,10,90,20
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,T4\nn1,32000,262144,0,\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pods, nodes = tmp_path / "pods.csv", tmp_path / "nodes.csv"
    pods.write_text(PODS)
    nodes.write_text(NODES)
    return pods, nodes


def test_pods_as_they_are(files):
    pods, nodes = files
    jobs, cluster = OpenbJobs(path=pods, nodes=nodes).make(Setting(1))
    assert jobs.job_id == ("p1", "p5", "p2")
    assert jobs.submit_s.tolist() == [0.0, 50.0, 200.0]
    assert jobs.performance.duration_s.tolist() == [250.0, 100.0, 490.0]
    assert jobs.performance.part.tolist() == [0.46, 0.54, 1.0]
    assert jobs.num_gpus.tolist() == [1, 1, 2]
    assert jobs.num_cpus.tolist() == [6.0, 4.0, 32.0]
    assert (cluster.num_nodes, cluster.total_gpus) == (1, 2)
    assert [note.split(": ")[1] for note in jobs.notes] == [
        "1 pods without GPUs, left out",
        "1 pods that never ran, left out",
        "1 pods that fit on none of the machines, left out",
        "1 pods ask for a GPU model; here they may run on any model",
    ]
    # 460 and 540 thousandths share one GPU, and the pod of two GPUs waits for the longer of them.
    run = simulate(jobs, cluster, make_policy("shared"))
    assert run.first_start_s.tolist() == [0.0, 50.0, 250.0]
    # Counted with half of a GPU's memory and one slice for each, as [colocation] does.
    counted = colocation_of(jobs, gpu_memory_gb=16.0)
    assert counted.memory_gb.tolist() == pytest.approx([0.46 * 16, 0.54 * 16, 16])
    again = simulate(jobs, cluster, make_policy("shared"), features=[counted])
    assert again.first_start_s.tolist() == run.first_start_s.tolist()


def test_the_first_by_creation(files):
    jobs, _ = OpenbJobs(path=files[0], nodes=files[1], max_jobs=2).make(Setting(1))
    assert jobs.job_id == ("p1", "p5")
    jobs, cluster = OpenbJobs(path=files[0], num_nodes=30).make(Setting(1))
    assert cluster.num_nodes == 30
    assert set(jobs.job_id) <= {"p1", "p2", "p5", "p6"}


def test_times_are_drawn_where_there_are_none(files):
    pods, nodes = files
    rows = [",".join(line.split(",")[:6]) for line in PODS.splitlines()]
    pods.write_text("\n".join(rows))
    with pytest.raises(InputError, match=r"pods\.csv: has no column 'creation_time', expected"):
        OpenbJobs(path=pods, nodes=nodes).make(Setting(1))
    drawn = {"load": 0.5, "duration_s": "deterministic:100"}
    jobs, _ = OpenbJobs(path=pods, nodes=nodes, **drawn).make(Setting(1))
    assert jobs.job_id == ("p2", "p1", "p3", "p5")  # in the order of the list
    assert jobs.performance.duration_s.tolist() == [100.0] * 4
    assert (np.diff(jobs.submit_s) > 0).all()
    other, _ = OpenbJobs(path=pods, nodes=nodes, **drawn).make(Setting(2))
    assert (other.submit_s != jobs.submit_s).all()


LAW = {"duration_s": "deterministic:100"}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"load": 0.5}, "load and duration_s belong together, expected both or none"),
        (LAW, "load and duration_s belong together, expected both or none"),
        ({"num_nodes": 0}, "num_nodes: got 0, expected an integer >= 1"),
        ({"max_jobs": "all"}, 'max_jobs: got "all", expected an integer >= 1'),
        ({"num_nodes": 1.0}, r"num_nodes: got 1\.0, expected an integer >= 1"),
        ({"load": -1, **LAW}, "load: got -1, expected a number > 0"),
        ({"load": 0.5, "duration_s": 60}, "duration_s: got 60, expected text"),
        ({"load": 0.5, "duration_s": "60"}, "workload.duration_s: law '60': .*"),
    ],
)
def test_options_that_do_not_fit_together(files, options, line):
    with pytest.raises(InputError, match=f"^{line}$"):
        OpenbJobs(path=files[0], nodes=files[1], **options).make(Setting(1))


@pytest.mark.parametrize("name", ["num_jobs", "num_nodes", "load", "duration_s"])
def test_a_queue_like_openb_refuses_wrong_kinds_in_one_line(name):
    good = {"num_jobs": 5, "num_nodes": 5, "load": 0.5, **LAW}
    assert len(OpenbLikeJobs(**good).make(Setting(1))[0].job_id) == 5
    for wrong in ("x", None, -1, 0, [3], 1j, float("nan"), np.array([1, 2])):
        with pytest.raises(InputError, match=f"^(workload.)?{name}: .*expected"):
            OpenbLikeJobs(**{**good, name: wrong}).make(Setting(1))


SCENARIO = """\
policy = "slices"
[workload]
kind = "openb"
path = "pods.csv"
nodes = "nodes.csv"
[colocation]
slices = true
"""


def test_a_scenario_with_slices(files, tmp_path):
    """Its files are inputs of the run, and [colocation] counts the slices of its pods."""
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO)
    scenario = read_scenario(path)
    named = [table[key] for table, key in file_keys(scenario.model_dump())]
    assert sorted(named) == [str(files[1]), str(files[0])]
    assert schedlab("run", path, "--out", tmp_path / "out").returncode == 0
    with (tmp_path / "out" / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    # 460 and 540 thousandths are a slice of four sevenths each: on a GPU of their own.
    waits = [(row["job_id"], float(row["first_wait_s"])) for row in rows]
    assert waits == [("p1", 0.0), ("p5", 0.0), ("p2", 50.0)]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("nodes =", "load = 0.5\nnodes =", "load and duration_s belong together"),
        ("nodes =", "num_nodes = 7\nnodes =", "num_nodes is 7, the list has 1 with GPUs"),
        ("nodes.csv", "none.csv", "none.csv: no such file"),
    ],
)
def test_mistakes_are_one_line(files, tmp_path, old, new, line):
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO.replace(old, new))
    assert line in refused("run", path, "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("adapt", "parts", "noted"),
    [
        ({"due": "factor:1.5,4", "weights": "printed", "load": 1.2, "prices": 2.0}, True, ()),
        ({"models": "uniform", "sensitivity": "none"}, True, ()),
        ({"models": "uniform"}, False, ("hold whole ones: their rates depend on CPUs and memory",)),
        ({"speedup": "calibrated", "models": "uniform"}, None, ("adapt.speedup: ", "type 'G2'")),
        ({"power": "andreas"}, None, ("adapt.power: GPU type 'G2' has no power figures",)),
        ({"demand": "cheapest"}, None, ("adapt.demand: the jobs have fixed demands",)),
    ],
)
def test_with_adapt_and_tenants(adapt, parts, noted):
    """Parts are kept, or a note says that they are not, or one line says why it cannot be (docs/clusters.md)."""
    config = {
        "policy": "shared",
        "workload": {"kind": "openb-like", "num_jobs": 40, "num_nodes": 5, "load": 0.9, "duration_s": "exponential:3600"},
        "adapt": adapt,
        "tenants": {"draw": {"a": 1.0, "b": 1.0}, "quota": {"a": 6.0, "b": 6.0}},
    }  # fmt: skip
    if parts is None:
        with input_error(*noted):
            run_of(Scenario.model_validate(config))
        return
    result = run_of(Scenario.model_validate(config))
    assert any(share.gpus % 1 for share in result.schedule) == parts
    notes = [note for note in result.workload.notes if note.startswith("workload: ")]
    assert [text in note for text, note in zip(noted, notes, strict=True)] == [True] * len(noted)
    assert result.summary()["tenants"] == 2
