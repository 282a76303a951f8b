"""`[adapt]`, `[predictions]` and `schedlab policies --for`."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.scenario.options import set_key
from simulator.errors import InputError

JOBS = """job_id,submit_time_s,duration_s,num_gpus
a,0,3600,1
b,60,7200,2
c,90,1800,1
d,99,900,4
"""
ON_VMS = """
policy = "milp"
[workload]
kind = "csv"
path = "jobs.csv"
[cluster]
kind = "vms"
num_nodes = 2
[adapt]
models = [20, 70, 10]
speedup = "calibrated"
due = "min-2max"
weights = "printed"
"""
SYNERGY = """
policy = "srtf+tune"
decisions.round_s = 3600
workload = { kind = "hierarchical", num_nodes = 2, jobs_per_node = 3 }
[cluster]
kind = "nodes"
num_nodes = 2
gpus_per_node = 4
cpus_per_node = 12
memory_gb_per_node = 250
[adapt]
models = [20, 70, 10]
demand = "efficient"
sensitivity = "synergy"
"""


def scenario(folder: Path, text: str) -> Path:
    (folder / "jobs.csv").write_text(JOBS)
    path = folder / "s.toml"
    path.write_text(text)
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: object) -> str:
    with pytest.raises(InputError) as error:
        CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    return str(error.value)


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("text", [ON_VMS, SYNERGY], ids=["csv on VMs", "hierarchical on servers"])
def test_the_examples_of_adaptation_run(tmp_path, text):
    run("run", scenario(tmp_path, text), "--out", tmp_path / "out")
    added = summary(tmp_path / "out")["adaptation"]
    assert "models are in shares of image, language and speech 20, 70, 10" in added


def test_options_add_to_the_table(tmp_path):
    path = scenario(tmp_path, ON_VMS)
    settings = ("--set", "adapt.due=factor:3,4", "--set", "adapt.load=0.5")
    run("run", path, *settings, "--out", tmp_path / "out")
    added = summary(tmp_path / "out")["adaptation"]
    assert "factor:3,4" in added
    assert "offered load 0.5" in added


def test_values_of_keys():
    config = {"adapt": {"due": "none"}, "decisions": {"period_s": 60}}
    for setting in (
        "adapt.models=[20,70,10]", "adapt.due=factor:1,2", "decisions.period_s=", "policy=fifo",
        "policy_options.hysteresis.threshold=0.5",
    ):  # fmt: skip
        set_key(config, setting)
    assert config == {
        "adapt": {"models": [20, 70, 10], "due": "factor:1,2"},
        "decisions": {},
        "policy": "fifo",
        "policy_options": {"hysteresis": {"threshold": 0.5}},
    }
    for wrong in ("due", "=3", "policy.name=3"):
        with pytest.raises(InputError, match=f"--set '{wrong}': "):
            set_key(config, wrong)


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("deu=none", "adapt.deu: unknown key, did you mean 'due'?"),
        ("due=soon", "adapt.due: got 'soon', expected min-2max"),
        ("models=[-1,2,3]", "adapt.models[0]: got -1, expected text or a number >= 0"),
        ("load=0", "adapt.load: got 0, expected a number > 0"),
        ("speedup=linear", 'adapt.speedup: got "linear", expected'),
        ("gpu_type=TPU", "adapt.gpu_type: got 'TPU', expected a GPU type of A10, A100,"),
    ],
)
def test_each_wrong_key_is_one_line(tmp_path, option, line):
    path = scenario(tmp_path, ON_VMS)
    assert line in refused("run", path, "--set", f"adapt.{option}", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_policy_that_lacks_something_is_one_line(tmp_path):
    bare = ON_VMS[: ON_VMS.index("[adapt]")].replace('"vms"', '"nodes"').replace("milp", "edf")
    line = refused("run", scenario(tmp_path, bare), "--out", tmp_path / "out")
    assert line.endswith(
        'policy: edf: the jobs have no due dates; [adapt] due = "min-2max" supplies it with random values, the column '
        "due_s of a file of jobs with your own"
    )
    sweep, base = tmp_path / "sweep.toml", bare
    for table in ("workload", "cluster"):
        base = base.replace(f"[{table}]", f"[scenario.{table}]")
    sweep.write_text(base.replace('policy = "edf"', '[scenario]\npolicy = "edf"'))
    assert "due" in refused("sweep", "run", sweep, "--out", tmp_path / "swept")


def test_machines_of_a_workload_are_replaced_only_with_adaptation(tmp_path):
    without = SYNERGY[: SYNERGY.index("[adapt]")]
    line = refused("run", scenario(tmp_path, without), "--out", tmp_path / "out")
    assert "with a table [adapt] it runs on others" in line


def test_no_predictions_and_exact_ones_are_the_same_bytes(tmp_path):
    keys = (
        "",
        "[predictions]\nnoise = 0\n",
        "[predictions]\nconfiguration_noise = 3\nlearned = true\n",
    )
    jobs = []
    for k, table in enumerate(keys):
        run("run", scenario(tmp_path, ON_VMS + table), "--out", tmp_path / f"{k}")
        jobs.append((tmp_path / f"{k}" / "jobs.csv").read_bytes())
    assert jobs[0] == jobs[1] != jobs[2]


def test_wrong_predictions_are_one_line(tmp_path):
    path = scenario(tmp_path, ON_VMS + "[predictions]\nbias = -2\n")
    assert "predictions.bias: got -2" in refused("run", path, "--out", tmp_path / "out")


def groups(output: str) -> dict[str, str]:
    """Answer of `policies --for` for each policy: policies that are alike stand together."""
    parts = [" ".join(p.split()) for p in re.split(r"\n\s*\n", output)]
    return {word.rstrip(","): part for part in parts for word in part.split()}


def test_the_matrix_of_a_scenario(tmp_path):
    found = groups(run("policies", "--for", scenario(tmp_path, ON_VMS)))
    assert "runs" in found["milp"]
    assert "makes no sense" in found["srtf+tune"]
    bare = ON_VMS[: ON_VMS.index("[adapt]")].replace('"vms"', '"nodes"').replace("milp", "fifo")
    found = groups(run("policies", "--for", scenario(tmp_path, bare)))
    assert 'due = "min-2max"' in found["edf"]
    assert 'models = "uniform", speedup = "calibrated"' in found["rental-on-nodes"]
    assert "rental pool" in found["rental-srpt"]
    assert found["foresight"] == found["milp"] != found["edf"]
