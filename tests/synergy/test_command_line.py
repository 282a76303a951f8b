"""Synergy through scenario files: traces with models, and the policies on the command line."""

from __future__ import annotations

import itertools
import json

import pytest

from experiments.cli import app
from experiments.commands.renamed import renamed
from experiments.scenario.build import build
from experiments.scenario.schema import read_scenario
from policies.synergy import ORDERINGS
from simulator import InputError, Sensitivity
from simulator.workloads.synergy import WholeIterations, deployment_trace

TABLE = "job_id,submit_time_s,duration_s,num_gpus,virtual_cluster\n" + "".join(
    f"{i},{900 * i},{3000 + 500 * (i % 7)},{1 + i % 2},vc\n" for i in range(40)
)
SERVERS = [
    "--set", "cluster.num_nodes=2", "--set", "cluster.gpus_per_node=8",
    "--set", "cluster.cpus_per_node=24", "--set", "cluster.memory_gb_per_node=500",
    "--set", "decisions.round_s=300",
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


MECHANISMS = ("proportional", "greedy", "tune", "opt", "static")


@pytest.mark.parametrize(
    ("ordering", "mechanism"), list(zip(ORDERINGS, itertools.cycle(MECHANISMS), strict=False))
)
def test_every_policy_runs_from_the_command_line(tmp_path, ordering, mechanism):
    jobs = tmp_path / "jobs.csv"
    rows = "".join(f"{i},{100 * i},{900 + 100 * i},{1 + i % 3},alexnet\n" for i in range(12))
    jobs.write_text("job_id,submit_time_s,duration_s,num_gpus,model\n" + rows)
    arguments = ["run", str(jobs), *SERVERS, "--policy", f"{ordering}+{mechanism}"]
    run(*arguments, "--out", str(tmp_path / "out"), "--set", "window=[2,10]")
    found = summary(tmp_path / "out")
    assert found["p50_jct_s"] <= found["p95_jct_s"] <= found["p99_jct_s"]
    assert found["rounds"] > 0
    assert 0 < found["cpu_utilisation"] <= 1


SCENARIO = """
policy = "{policy}"
[workload]
kind = "synergy"
num_jobs = 40
jobs_per_hour = 9
{keys}
[cluster]
kind = "nodes"
num_nodes = 1
gpus_per_node = 8
cpus_per_node = 24
memory_gb_per_node = 500
[decisions]
round_s = 300
finish_at_round = true
[policy_options]
{options}
"""


def workload_of(tmp_path, policy="srtf+tune", keys="", options=""):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.format(policy=policy, keys=keys, options=options))
    return build(read_scenario(path))[0]


@pytest.mark.parametrize("policy", ["srtf+tune", "srtf+opt", "fifo"])
def test_a_policy_and_its_options_leave_the_jobs_alone(tmp_path, policy):
    plain = workload_of(tmp_path, policy)
    released = workload_of(tmp_path, policy, options="released = true")
    performances = [w.performance for w in (plain, released)]
    assert type(performances[0]) is type(performances[1]) is Sensitivity
    for job in range(40):
        fast = [p.time_s(job, 0, 1, 12, 200) for p in performances]
        assert fast[0] == fast[1] <= performances[0].duration_s[job]


def test_speeds_are_a_key_of_the_workload(tmp_path):
    paper = workload_of(tmp_path).performance
    released = workload_of(tmp_path, keys='speeds = "released"').performance
    assert isinstance(released, WholeIterations)
    whole = workload_of(tmp_path, keys="whole_iterations = true").performance
    assert isinstance(whole, WholeIterations)
    partial = workload_of(
        tmp_path, keys='speeds = "released"\nwhole_iterations = false'
    ).performance
    # AlexNet: 1.0 or 2.94 and nothing in between, where the matrix has 6 CPUs at twice the speed.
    job = workload_of(tmp_path).model.index("alexnet")
    half = [p.duration_s[job] / p.time_s(job, 0, 1, 6, 62.5) for p in (paper, partial)]
    assert half[0] > 1.5
    assert half[1] == 1


def test_the_released_draw_is_one_key(tmp_path):
    drawn = workload_of(tmp_path, keys='draw = "released"')
    again = workload_of(tmp_path, policy="fifo", keys='draw = "released"\ndraw_seed = 42')
    other = workload_of(tmp_path, keys='draw = "released"\ndraw_seed = 7')
    assert drawn.submit_s[:4].tolist() == again.submit_s[:4].tolist() == [30, 363, 467, 489]
    assert other.submit_s[0] != 30
    with pytest.raises(InputError, match="multi_gpu"):
        workload_of(tmp_path, keys='draw = "released"\nmulti_gpu = true')


def test_durations_at_another_ratio_keep_the_iterations(tmp_path):
    """At 6 CPUs per GPU a job takes as long as one of the ratio 3 takes with 6 CPUs there."""
    path = tmp_path / "scenario.toml"

    def performance(cpus, keys=""):
        text = SCENARIO.format(policy="fifo+tune", keys=keys, options="")
        path.write_text(text.replace("cpus_per_node = 24", f"cpus_per_node = {cpus}"))
        return build(read_scenario(path))[0].performance

    at_three, at_six = performance(24), performance(48)
    fixed = performance(48, "durations_at_cpus_per_gpu = 3")
    for job in range(20):
        seconds = fixed.time_s(job, 0, 1, 6, 62.5)
        assert seconds == pytest.approx(at_three.time_s(job, 0, 1, 6, 62.5))
        assert seconds == pytest.approx(fixed.duration_s[job])
        assert at_six.duration_s[job] == at_three.duration_s[job]


def test_whole_iterations_need_rounds(tmp_path, capsys):
    path = tmp_path / "scenario.toml"
    text = SCENARIO.format(policy="fifo+tune", keys="whole_iterations = true", options="")
    path.write_text(text.replace("round_s = 300\nfinish_at_round = true", "period_s = 300"))
    with pytest.raises(InputError, match="whole_iterations"):
        build(read_scenario(path))


@pytest.mark.parametrize(("mechanism", "rounds"), [("proportional", 183), ("tune", 132)])
def test_released_on_the_command_line_is_the_released_simulator(tmp_path, mechanism, rounds):
    trace = deployment_trace("static")
    rows = [
        f"{i},0,{float(trace.performance.duration_s[i])!r},1,{trace.model[i]}"
        for i in range(len(trace))
    ]
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("\n".join(["job_id,submit_time_s,duration_s,num_gpus,model", *rows, ""]))
    as_released, _ = renamed(["run", "--policy", f"fifo+{mechanism}", "--released"])
    run(
        *as_released,
        str(jobs),
        *SERVERS,
        "--set",
        "cluster.num_nodes=4",
        "--out",
        str(tmp_path / "out"),
    )
    assert summary(tmp_path / "out")["makespan_s"] == 300 * rounds
