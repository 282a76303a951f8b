"""Synergy through scenario files: traces with models, and the policies on the command line."""

from __future__ import annotations

import json

import pytest

from experiments.cli import app
from policies.synergy import ORDERINGS

TABLE = "job_id,submit_time_s,duration_s,num_gpus,virtual_cluster\n" + "".join(
    f"{i},{900 * i},{3000 + 500 * (i % 7)},{1 + i % 2},vc\n" for i in range(40)
)
SERVERS = [
    "--nodes", "2", "--gpus-per-node", "8", "--cpus-per-node", "24",
    "--memory-gb-per-node", "500", "--round-s", "300",
]  # fmt: skip


def run(*words):
    with pytest.raises(SystemExit) as ended:
        app(list(words))
    assert not ended.value.code


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("split", ["", "split = [1, 0, 0]"])
def test_philly_table_with_models_of_a_split(tmp_path, split):
    (tmp_path / "philly.csv").write_text(TABLE)
    scenario = tmp_path / "philly.toml"
    scenario.write_text(
        f"""
        policy = "srtf+tune"
        window = [10, 30]
        [workload]
        kind = "philly-table"
        path = "{tmp_path / "philly.csv"}"
        {split}
        [cluster]
        kind = "nodes"
        num_nodes = 2
        gpus_per_node = 8
        cpus_per_node = 24
        memory_gb_per_node = 500
        [decisions]
        round_s = 300
        """
    )
    run("run", str(scenario), "--out", str(tmp_path / "out"))
    mean_s = summary(tmp_path / "out")["mean_jct_s"]
    # Never a queue: only image models, with more CPUs than their share, end before their duration.
    fastest = sum(3000 + 500 * (i % 7) for i in range(10, 30)) / 20
    assert (mean_s >= fastest) == (not split)


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("mechanism", ["proportional", "greedy", "tune", "opt", "static"])
def test_every_policy_runs_from_the_command_line(tmp_path, ordering, mechanism):
    jobs = tmp_path / "jobs.csv"
    rows = "".join(f"{i},{100 * i},{900 + 100 * i},{1 + i % 3},alexnet\n" for i in range(12))
    jobs.write_text("job_id,submit_time_s,duration_s,num_gpus,model\n" + rows)
    arguments = ["run", "--jobs", str(jobs), *SERVERS, "--policy", f"{ordering}+{mechanism}"]
    run(*arguments, "--out", str(tmp_path / "out"), "--window", "2:10")
    found = summary(tmp_path / "out")
    assert found["p50_jct_s"] <= found["p95_jct_s"] <= found["p99_jct_s"]
    assert found["rounds"] > 0
    assert 0 < found["cpu_utilisation"] <= 1
