"""Values at the edge of what numbers hold: one line that names the key, and no file left behind."""

import json

import pytest

from simulator import InputError, NodeType
from simulator.errors import LONGEST, LONGEST_WORD
from simulator.features.tenants import tenants_of
from simulator.workloads.openb_trace import OpenbJobs
from simulator.workloads.table import Setting
from tests.command import done, refused, schedlab
from tests.core.jobs import fixed, nodes, run

WORKLOAD = """
policy = "srpt"
cluster = { kind = "nodes", num_nodes = 2, gpus_per_node = 4 }
[workload]
kind = "poisson"
num_jobs = 5
arrival_rate_per_h = 4
"""
MODELS = "\n[colocation]\npart = 0.5\ndraw = { resnet50 = 1e308, transformer = 1e308 }\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[predictions]\nnoise = 1e100\n", "predictions.noise: got 1e+100, expected a number >= 0 and <= 1000000"),
        ("[predictions]\nbias = 1e308\n", "predictions.bias: got 1e+308, expected a number > -1 and <= 1000000"),
        ('duration_s = "deterministic:1e-308"\n', "workload: duration_s: the mean is 1e-308 s, ex"),
        ("priorities = [0, 0]\n", "workload.priorities: priorities are [0.0, 0.0], expected shares"),
        (
            "[tenants]\ndraw = { a = 1 }\nweight = { a = 1e308 }\n",
            "tenants: weight of 'a' is 1e+308, expected a number above 0, at most 1e+12",
        ),
        ("[reconfiguration_s]\nmove_s = 1e308\n", "reconfiguration_s.move_s: got 1e+308, expected a"),
        ("[decisions]\nround_s = 1e308\n", "decisions.round_s: got 1e+308, expected a number >= 0.001"),
        ("[tenants]\ndraw = { a = 1e308, b = 1e308 }\n", "tenants.draw: draw is {'a': 1e+308"),
        (MODELS, "colocation.draw: draw is {'resnet50': 1e+308"),
        ("[network]\nsame_rack = 1e200\n", "network.same_rack: got 1e+200, expected a number >= 1"),
    ],
)  # fmt: skip
def test_one_line_and_no_files(text, told, tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(WORKLOAD + text)
    assert told in refused("run", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_price_whose_sums_no_number_holds():
    told = r"'n': price_per_hour is 1e\+308, expected at most 1e\+12"
    with pytest.raises(InputError, match=told):
        NodeType("n", "GPU", 2, price_per_hour=1e308)


def test_foresight_under_the_largest_noise(tmp_path):
    path = tmp_path / "scenario.toml"
    workload = '{ kind = "hierarchical", num_nodes = 2, jobs_per_node = 3 }'
    path.write_text(f'policy = "foresight"\nworkload = {workload}\npredictions.noise = 1e6\n')
    done("run", path, "--out", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["jobs"] == 6


def test_messages_stay_readable(tmp_path):
    long = schedlab("run", tmp_path / ("a/" * 50_000), "--out", tmp_path / "out")
    assert long.returncode == 2
    assert len(long.stderr) < LONGEST
    assert len(str(InputError("b" * 10**6))) <= LONGEST_WORD
    assert len(str(InputError("one, " * 10**5))) <= LONGEST
    assert str(InputError("file.csv: as it is")) == "file.csv: as it is"


def test_pods_that_end_before_they_begin(tmp_path):
    pods = tmp_path / "pods.csv"
    pods.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\np,1000,1000,1,500,,LS,Succeeded,0,50,100\n"
    )
    told = r"line 2.*deletion_time.*a time not before scheduled_time"
    with pytest.raises(InputError, match=told):
        OpenbJobs(path=pods).make(Setting(1))


@pytest.mark.parametrize("policy", ["fair-share", "drf"])
def test_many_tenants_are_served_least_share_first(policy):
    """One GPU, ten jobs at 0 s: each tenant's first job, by share over weight and then by name."""
    who = [*"aaabbbcccc"]
    jobs = fixed([0] * 10, [10] * 10, vc=who)
    tenants = tenants_of(jobs, weight={"c": 2.0}, known=("a", "b", "c"))
    result = run(jobs, nodes(6), policy, tenants)
    # Six GPUs: a, b, c (no shares yet), then c (0.5 of a GPU for its weight), then a before b and c at 1.
    at_once = [who[j] for j in range(10) if result.first_start_s[j] == 0]
    assert at_once == ["a", "a", "b", "b", "c", "c"]
