"""Keys that change nothing are said, whatever the reason; keys that change something are not."""

import pytest

from experiments.scenario.effects import without_effect
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator.workloads.trace import Trace
from tests.command import done

POISSON = {"kind": "poisson", "num_jobs": 60, "arrival_rate_per_h": 20.0, "num_gpus": [1, 2]}
NODES = {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 2}
BASE = {"workload": POISSON, "cluster": NODES, "policy": "fifo-backfill"}


def said(**keys) -> list[str]:
    """Keys of which a run says that they changed nothing."""
    tables = {name: BASE[name] | keys.pop(name) for name in ("workload", "cluster") if name in keys}
    scenario = Scenario.model_validate(BASE | tables | keys)
    result = run(scenario, measure=False)
    return [line.partition(": ")[0] for line in without_effect(scenario, result, 60.0)]


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"cluster": {"gpu_type": "H100"}}, ["cluster.gpu_type"]),
        ({"cluster": {"nodes_per_rack": 2}}, ["cluster.nodes_per_rack"]),
        ({"cluster": {"num_controllers": 2}}, []),
        ({"dispatcher": "least-work-left"}, ["dispatcher"]),
        ({"dispatcher": "least-work-left", "cluster": {"num_controllers": 2}}, []),
        ({"workload": {"patience": 1e9}}, []),  # jobs.csv has a column more
        ({"workload": {"priorities": [1, 3]}, "policy": "weight-priority"}, []),
        ({"tables": ["jobs"], "decision_facts": True}, ["tables", "decision_facts"]),
        ({"reconfiguration_s": {"move_s": 60.0, "first_s": 5.0}}, ["reconfiguration_s.move_s"]),
        ({"checkpoints": {"interval_s": 1e9}}, ["checkpoints.interval_s"]),
        ({"policy": "srpt", "failures": {"time_to_failure": "exponential:90000", "repair": "exponential:900"}}, []),
        ({"policy": "consolidating", "policy_options": {"wait_rack_s": 7.0}}, ["policy_options.wait_rack_s"]),
        ({"decisions": {"least_gap_s": 0.0}, "cluster": {"gpus_per_node": 8}}, []),  # defaults
    ],
)  # fmt: skip
def test_keys_that_change_nothing(keys, named):
    assert said(**keys) == named


def test_the_command_says_it(tmp_path):
    words = ("run", "examples/jobs.csv", "--policy", "fifo", "--set", "cluster.num_nodes=2")
    ran = done(*words, "--set", "cluster.nodes_per_rack=2", "--out", tmp_path / "out")
    text = "cluster.nodes_per_rack: has no effect here; all numbers are the same without it"
    assert ran.stderr == f"schedlab: note: {text}\n"


def test_a_file_of_jobs_is_read_once(tmp_path, monkeypatch):
    """Also where keys of other tables are taken away, to see what they change."""
    read, files = Trace.raw, []
    monkeypatch.setattr(Trace, "raw", lambda trace: files.append(trace.path) or read(trace))
    words = ("run", "examples/jobs.csv", "--policy", "fifo", "--set", "cluster.num_nodes=2")
    done(*words, "--set", "cluster.nodes_per_rack=2", "--out", tmp_path / "out")
    assert files == ["examples/jobs.csv"]
    done(*words, "--set", "workload.skip=true", "--out", tmp_path / "out")
    assert len(files) == 3  # the jobs may be others without a key of theirs
