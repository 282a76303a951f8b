"""Synergy through scenario files: traces with models, and the policies on the command line."""

import json

import pytest

from experiments.scenario.build import build
from experiments.scenario.schema import read_scenario
from policies import make_policy
from policies.synergy import ORDERINGS
from simulator import InputError, Sensitivity
from simulator.workloads.networks import WholeIterations
from simulator.workloads.synergy import deployment_trace
from tests.command import ROOT, done, refused

TABLE = "job_id,submit_time_s,duration_s,num_gpus,virtual_cluster\n" + "".join(
    f"{i},{900 * i},{3000 + 500 * (i % 7)},{1 + i % 2},vc\n" for i in range(40)
)
CLUSTER = """
[cluster]
kind = "nodes"
num_nodes = {nodes}
gpus_per_node = 8
cpus_per_node = {cpus}
memory_gb_per_node = 500
[decisions]
{decisions}
"""
ROUNDS = "round_s = 300\nfinish_at_round = true"
SERVERS = [
    "--set", "cluster.num_nodes=2", "--set", "cluster.gpus_per_node=8",
    "--set", "cluster.cpus_per_node=24", "--set", "cluster.memory_gb_per_node=500",
    "--set", "decisions.round_s=300",
]  # fmt: skip


def summary(out, *words):
    """Summary of a run that the command line makes."""
    done("run", *words, "--out", out)
    return json.loads((out / "summary.json").read_text())


@pytest.mark.parametrize("split", ["", "split = [1, 0, 0]"])
def test_philly_table_with_models_of_a_split(tmp_path, split):
    (tmp_path / "philly.csv").write_text(TABLE)
    head = 'policy = "srtf+tune"\nwindow = [10, 30]\n[workload]\nkind = "csv"\n'
    of_servers = CLUSTER.format(nodes=2, cpus=24, decisions="round_s = 300")
    scenario = tmp_path / "philly.toml"
    scenario.write_text(f'{head}path = "philly.csv"\n{split}{of_servers}')
    mean_s = summary(tmp_path / "out", scenario)["mean_jct_s"]
    # Never a queue: only image models, with more CPUs than their share, end before their duration.
    fastest = sum(3000 + 500 * (i % 7) for i in range(10, 30)) / 20
    assert (mean_s >= fastest) == (not split)


def test_the_philly_command_on_a_generated_log(tmp_path):
    """40 jobs an hour apart, of which those from 10 to 30 h count; the log has attempts and machines."""
    log = [
        {
            "status": "Pass", "vc": "a", "jobid": f"application_{i}", "user": "u",
            "submitted_time": f"2017-10-{1 + i // 24:02d} {i % 24:02d}:00:00",
            "attempts": [{
                "start_time": f"2017-10-{1 + i // 24:02d} {i % 24:02d}:00:00",
                "end_time": f"2017-10-{1 + i // 24:02d} {i % 24:02d}:{10 + i:02d}:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
            }],
        }
        for i in range(40)
    ]  # fmt: skip
    (tmp_path / "log").write_text(json.dumps(log))
    scenario = ROOT / "experiments" / "papers" / "synergy" / "philly_log.toml"
    words = ("--set", f"workload.path={tmp_path / 'log'}", "--policy", "srtf+proportional")
    smaller = (
        "--set",
        "workload.from=36000",
        "--set",
        "workload.until=108000",
        "--set",
        "window=[5, 15]",
        "--set",
        "cluster.num_nodes=2",
    )
    found = summary(tmp_path / "out", scenario, *words, *smaller)
    # Hours are whole rounds of 300 s, each job runs at once: jobs 15 to 24 take 25 to 34 minutes.
    assert found["mean_jct_s"] == pytest.approx(60 * sum(10 + i for i in range(15, 25)) / 10)
    none = refused(
        "run", scenario, *words, *smaller, "--set", "workload.from=180000", "--set", "workload.until=216000"
    )  # fmt: skip
    assert "no job" in none


MECHANISMS = ("proportional", "greedy", "tune", "opt", "static")


@pytest.mark.parametrize(("ordering", "mechanism"), list(zip(ORDERINGS, MECHANISMS, strict=False)))
def test_every_mechanism_runs_from_the_command_line(tmp_path, ordering, mechanism):
    jobs = tmp_path / "jobs.csv"
    rows = "".join(f"{i},{100 * i},{900 + 100 * i},{1 + i % 3},alexnet\n" for i in range(12))
    jobs.write_text("job_id,submit_time_s,duration_s,num_gpus,model\n" + rows)
    words = [*SERVERS, "--policy", f"{ordering}+{mechanism}", "--set", "window=[2,10]"]
    found = summary(tmp_path / "out", jobs, *words)
    assert found["p50_jct_s"] <= found["p95_jct_s"] <= found["p99_jct_s"]
    assert found["rounds"] > 0
    assert 0 < found["cpu_utilisation"] <= 1


def workload_of(tmp_path, policy="srtf+tune", keys="", options="", cpus=24, decisions=ROUNDS):
    of_servers = CLUSTER.format(nodes=1, cpus=cpus, decisions=decisions)
    path = tmp_path / "scenario.toml"
    path.write_text(
        f'policy = "{policy}"\n[workload]\nkind = "synergy"\nnum_jobs = 40\njobs_per_hour = 9\n'
        f"{keys}{of_servers}[policy_options]\n{options}"
    )
    return build(read_scenario(path))[0]


@pytest.mark.parametrize("policy", ["srtf+tune", "srtf+opt", "fifo"])
def test_a_policy_and_its_options_leave_the_jobs_alone(tmp_path, policy):
    performances = [
        workload_of(tmp_path, policy, options=text).performance for text in ("", "released = true")
    ]
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
    keys = 'speeds = "released"\nwhole_iterations = false'
    partial = workload_of(tmp_path, keys=keys).performance
    # AlexNet: 1.0 or 2.94 and nothing in between, where the matrix has 6 CPUs at twice the speed.
    job = workload_of(tmp_path).model.index("alexnet")
    half = [p.duration_s[job] / p.time_s(job, 0, 1, 6, 62.5) for p in (paper, partial)]
    assert half[0] > 1.5
    assert half[1] == 1


def test_the_released_draw_is_one_key(tmp_path):
    drawn = workload_of(tmp_path, keys='draw = "released"')
    again = workload_of(tmp_path, policy="fifo", keys='draw = "released"\ndraw_seed = 42')
    other = workload_of(tmp_path, keys='draw = "released"\ndraw_seed = 7')
    assert drawn.submit_s[:4].tolist() == again.submit_s[:4].tolist() == [409, 951, 1053, 1505]
    assert other.submit_s[0] != 409


def test_durations_at_another_ratio_keep_the_iterations(tmp_path):
    """At 6 CPUs per GPU a job takes as long as one of the ratio 3 takes with 6 CPUs there."""
    keys = ("", "", "durations_at_cpus_per_gpu = 3")
    at_three, at_six, fixed = (
        workload_of(tmp_path, "fifo+tune", key, cpus=cpus).performance
        for key, cpus in zip(keys, (24, 48, 48), strict=True)
    )
    for job in range(20):
        seconds = fixed.time_s(job, 0, 1, 6, 62.5)
        assert seconds == pytest.approx(at_three.time_s(job, 0, 1, 6, 62.5))
        assert seconds == pytest.approx(fixed.duration_s[job])
        assert at_six.duration_s[job] == at_three.duration_s[job]


def test_whole_iterations_need_rounds(tmp_path):
    with pytest.raises(InputError, match="whole_iterations"):
        workload_of(tmp_path, keys="whole_iterations = true", decisions="period_s = 300")


@pytest.mark.parametrize(("mechanism", "rounds"), [("proportional", 183), ("tune", 132)])
def test_keys_of_the_command_line_give_the_released_simulator(tmp_path, mechanism, rounds):
    trace = deployment_trace("static")
    rows = [
        f"{i},0,{duration!r},1,{model}"
        for i, (duration, model) in enumerate(
            zip(trace.performance.duration_s.tolist(), trace.model, strict=True)
        )
    ]
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("\n".join(["job_id,submit_time_s,duration_s,num_gpus,model", *rows, ""]))
    keys = (
        "cluster.num_nodes=4", "policy_options.released=true", "decisions.finish_at_round=true",
        "workload.speeds=released", "workload.whole_iterations=true",
    )  # fmt: skip
    words = [*SERVERS, "--policy", f"fifo+{mechanism}"]
    words += [word for key in keys for word in ("--set", key)]
    assert summary(tmp_path / "out", jobs, *words)["makespan_s"] == 300 * rounds


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("srtf+tun", "unknown mechanism 'tun'; did you mean 'tune'?"),
        ("srt+tune", "unknown ordering 'srt'; did you mean 'srtf'?"),
        ("greedy@tun", "unknown policy 'greedy@tun'; did you mean 'greedy@tune'?"),
    ],
)
def test_unknown_parts(name, line):
    with pytest.raises(InputError) as caught:
        make_policy(name)
    assert str(caught.value).startswith(line)
