"""The command line: what it writes, and how it says what is wrong."""

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.output import FORMAT, new_folder
from experiments.scenario.run import has_fixed_jobs
from experiments.scenario.schema import Scenario, read_scenario
from policies import wrapper_names
from simulator.errors import InputError
from simulator.metrics.job_table import JOBS
from tests.command import ROOT, done, refused, schedlab

SUMMARY = [
    "jobs", "mean_wait_s", "mean_jct_s", "p99_jct_s", "makespan_s", "leasing_cost", "energy_cost",
    "tardiness_cost", "total_cost", "decisions", "gpu_utilisation", "policy", "seed", "version",
]  # fmt: skip
HIERARCHICAL = 'policy = "fifo"\n[workload]\nkind = "hierarchical"\n'


def write_jobs(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


JOBS_OF_ONE_NODE = ["run", "examples/jobs.csv", "--set", "cluster.num_nodes=1", "--policy", "fifo"]
TWO_NODES = ["--set", "cluster.num_nodes=2", "--set", "cluster.gpus_per_node=4"]
HEAD = "job_id,submit_time_s,duration_s,num_gpus"
GOOD = f"{HEAD}\na,0,100,4\nb,10,50,8\nc,20,10,2\n"


def test_csv_of_jobs(tmp_path):
    jobs = write_jobs(tmp_path / "jobs.csv", GOOD)
    done("run", jobs, *TWO_NODES, "--policy", "fifo-strict", "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(SUMMARY) <= set(summary)
    assert summary["makespan_s"] == 160
    rows = pd.read_csv(tmp_path / "out" / "jobs.csv")
    assert list(rows) == [column.name for column in JOBS.columns if not column.when]
    assert rows["completion_s"].tolist() == [100, 150, 160]


def test_the_last_line_has_the_wait_in_all_and_the_use_of_the_gpus(tmp_path):
    """Two jobs of 4,320 s and one of 8,640 s share one GPU, shortest remaining first.

    The long one starts at 0 and is stopped twice: it waits 8,640 s in all and ends at 17,280 s.
    """
    rows = f"{HEAD}\na,0,8640,1\nb,360,4320,1\nc,720,4320,1\n"
    jobs = write_jobs(tmp_path / "jobs.csv", rows)
    one_gpu = ["--set", "cluster.num_nodes=1", "--set", "cluster.gpus_per_node=1"]
    ran = done("run", jobs, *one_gpu, "--policy", "srpt", "--out", tmp_path / "out")
    # Waits: 8,640 s, 0 s, and c from 720 to 4,680 s, that is 3,960 s; 4,200 s on average.
    assert "total wait 1.17 h (95th percentile 2.27 h, which rests on 1 of them)" in ran.stdout
    assert "100 % of GPU time in use" in ran.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["mean_wait_s"], summary["mean_total_wait_s"]) == (1320, 4200)
    assert (summary["gpu_utilisation"], summary["jobs_beyond_p99"]) == (1, 1)


def test_one_run_says_that_it_has_no_interval(tmp_path):
    """Of a random scenario; not of a file of jobs, and not where the run is long enough for an interval."""
    said = "one run of a random scenario, seed 7: its numbers have no interval"
    poisson = (
        "policy='fifo'\nseed=7\n[workload]\nkind='poisson'\narrival_rate_per_h=0.1\nnum_jobs={}\n"
        + ("[cluster]\nkind='nodes'\nnum_nodes=1\ngpus_per_node=1\n")
    )
    for jobs, expected in ((100, True), (5000, False)):
        file = write_jobs(tmp_path / "one.toml", poisson.format(jobs))
        assert (said in done("run", file, "--out", tmp_path / "a").stderr) == expected
    file = write_jobs(tmp_path / "jobs.csv", GOOD)
    ran = done("run", file, *TWO_NODES, "--policy", "fifo", "--out", tmp_path / "b")
    assert "one run" not in ran.stderr


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ({"kind": "openb", "path": "pods.csv"}, True),
        ({"kind": "openb", "path": "pods.csv", "num_nodes": 9}, False),
        ({"kind": "pollux", "path": "workload.csv"}, True),
        ({"kind": "elastic", "path": "types.toml"}, False),
        ({"kind": "gavel-like", "throughputs": "t.json", "gpus": {"v100": 1}}, False),
    ],
)
def test_jobs_of_a_file_are_not_random(jobs, expected):
    scenario = Scenario.model_validate({"policy": "fifo", "workload": jobs})
    assert has_fixed_jobs(scenario) is expected


def test_models_in_the_csv_bring_their_sensitivity(tmp_path):
    """Two jobs alone on a server get more than their share, and finish before their duration."""
    rows = f"{HEAD},model\na,0,9000,1,resnet18\nb,0,9000,1,gnmt\n"
    jobs = write_jobs(tmp_path / "jobs.csv", rows)
    keys = ("num_nodes=1", "cpus_per_node=24", "memory_gb_per_node=500")
    words = [word for key in keys for word in ("--set", f"cluster.{key}")]
    words += ["--set", "decisions.round_s=300", "--policy", "srtf+tune"]
    done("run", jobs, *words, "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {"p50_jct_s", "p95_jct_s", "rounds", "cpu_utilisation"} <= set(summary)
    ends = pd.read_csv(tmp_path / "out" / "jobs.csv")["completion_s"]
    assert ends[0] < 6000
    assert ends[1] == pytest.approx(9000, rel=0.05)


def test_jobs_of_a_file_on_nodes_of_the_command_line(tmp_path):
    """One node of one GPU under EASY: b, asked for 60 s, is killed then; c waits for both; nothing else is said of the run."""
    rows = "job_id,submit_time_s,duration_s,num_gpus,requested_s\na,0,100,1,120\nb,0,100,1,60\nc,0,10,1,60\n"
    words = (
        "run",
        write_jobs(tmp_path / "jobs.csv", rows),
        "--nodes",
        1,
        "--gpus",
        1,
        "--out",
        tmp_path / "o",
    )
    told = done(*words, "--set", "workload.kill_at_limit=true").stdout.splitlines()
    assert told[1].startswith("easy-backfill: 3 jobs, ")
    assert ", 1 jobs killed, " in told[1]
    assert told[2] == "of the time that jobs waited: 100 % too few GPUs free"
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert summary["killed_jobs"] == 1
    assert (
        summary["mean_total_wait_1_gpu_s"] == summary["mean_total_wait_s"] == pytest.approx(260 / 3)
    )
    again = done(*words, "--set", "cluster.num_nodes=3").stdout.splitlines()
    assert [line for line in again if line.startswith("of the time")] == []
    assert "killed" not in again[1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("job_id,submit_time_s,duration_s,cards\na,0,1,1\n", "num_gpus"),
        (f"{HEAD}\na,0,x,1\n", "duration_s"),
        (f"{HEAD}\na,0,5,99\n", "99"),
        (f"{HEAD},model\na,0,5,1,resnet9000\n", "resnet9000"),
    ],
)  # fmt: skip
def test_bad_jobs_are_one_line_and_nothing_is_written(tmp_path, text, complaint):
    jobs = write_jobs(tmp_path / "jobs.csv", text)
    limits = ("--set", "cluster.cpus_per_node=12", "--set", "cluster.memory_gb_per_node=250")
    words = ("run", jobs, *TWO_NODES, *limits, "--policy", "fifo-strict")
    assert complaint in refused(*words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "nowhere.toml"], "nowhere.toml: no such file"),
        (["run", "nowhere.csv", *TWO_NODES, "--policy", "fifo"], "nowhere.csv"),
        (["run", "examples/mmc.toml", "--policy", "fifo-strikt"], "did you mean 'fifo-strict'"),
        (["run", "examples/mmc.toml", "--set", "policy_options.x=1"], "unknown option 'x'"),
        (["run", "examples/mmc.toml", "--set", "x"], "expected KEY=VALUE"),
        (["run", "examples/mmc.toml", "--set", "x=1"], "mmc.toml with options: x: unknown key"),
        (
            ["run", "examples/mmc.toml", "--set", "dispatcher=nearest"],
            "examples/mmc.toml with options: dispatcher: unknown dispatcher 'nearest', expected one",
        ),
        (["run", "examples/mmc.toml", "--policy", "edf:x=1"], "policy_options: policy 'edf'"),
        (["run", "examples/hierarchical.toml", "--policy", "greedy:rho=inf"], "got Infinity, expected a finite number"),
        (["run", "examples/hierarchical.toml", "--set", "window=[3,2]"], "window: got 3:2, expected 0 <="),
        (["run", "examples/mmc.toml", "--set", "window=9-3"], 'window: got "9-3", expected a list'),
        (["run", "examples/mmc.toml", "--out", "/proc/nothing"], "cannot be written"),
        (["run", "examples/mmc.toml", "--out", "examples/mmc.toml"], "is a file, expected a folder"),
        (["run", "examples/mmc.toml", "--set", "decisions.round_s=3", "--set", "decisions.period_s=3"], "both round_s and"),
        (["run", "examples/mmc.toml", "--set", "decisions.period_s=nan"], "period_s: got NaN, expected a finite number >= 0.001"),
        (["run", "examples/mmc.toml", "--set", "window=[10,99999]"], "<= 12000 jobs"),
        ([*JOBS_OF_ONE_NODE[:2], "--policy", "fifo"], "expected nodes for them: --nodes 4"),
        (["run", "examples/andreas", "--kind", "instance"], "--policy is missing"),
        ([*JOBS_OF_ONE_NODE, "--set", "cluster.gpus_per_node=1"], "with options: workload: examples/jobs.csv: job"),
        ([*JOBS_OF_ONE_NODE, "--set", "cluster.cpus_per_node=0"], "cpus_per_node: got 0, expected a number > 0"),
        (
            [*JOBS_OF_ONE_NODE, *TWO_NODES, "--set", "cluster.num_controllers=2", "--set", "cluster.gpus_per_node=1"],
            "what the 1 nodes of a controller have together",
        ),
    ],
)  # fmt: skip
def test_bad_options_are_one_line(tmp_path, words, complaint):
    words = [*words, "--out", str(tmp_path / "out")] if "--out" not in words else words
    assert complaint in refused(*words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "--sed", "4"], "run: No such option: --sed (Possible options: "),
        (["run"], "run: Missing argument 'FILE'"),
        (["new", "policy", "nosuch/x.py"], "nosuch/x.py: its folder is not there, expected one that is"),
        (["run", "examples/mmc.toml", "--seed", "-1"], "run: --seed: got -1, expected greater than or equal"),
        (["run", "examples/mmc.toml", "--seed", "1.5"], "run: --seed: got 1.5, expected a valid integer"),
        (["run", "examples/mmc.toml", "--seed"], "schedlab: Option '--seed' requires an argument"),
        (["sweep", "run"], "sweep run: Missing argument"),
        (
            ["theory", "decision", "--instance", "x", "--nodes", "3", "--solver", "y"],
            "theory decision: --solver: 'y' is not",
        ),
        (["rum"], "No such command 'rum'"),
    ],
)  # fmt: skip
def test_usage_errors_name_the_option(words, complaint):
    told = refused(*words)
    assert told.startswith("schedlab")
    assert complaint in told


def test_help_is_no_error():
    assert schedlab("--help").returncode == 0
    assert "Usage: schedlab run" in schedlab("run", "--help").stdout
    bare = schedlab()
    assert "Usage: schedlab" in bare.stdout + bare.stderr
    assert bare.returncode == 2


def test_a_run_and_a_sweep_never_share_a_folder(tmp_path):
    sweep = 'policies = ["fifo"]\nscenario.workload = { kind = "hierarchical", num_nodes = 2 }\n'
    file = write_jobs(tmp_path / "some.toml", sweep)
    jobs = write_jobs(tmp_path / "jobs.csv", GOOD)
    run = ["run", jobs, "--set", "cluster.num_nodes=2", "--policy", "fifo"]
    swept = ("sweep", "run", file, "--workers", 1)
    done(*run, cwd=tmp_path)
    done(*swept, cwd=tmp_path)
    assert (tmp_path / "out" / "some" / "runs.sqlite").exists()
    told = refused(*swept, "--out", "out", cwd=tmp_path)
    assert "out: holds a run (summary.json)" in told
    told = refused(*run, "--out", "out/some", cwd=tmp_path)
    assert "out/some: holds a sweep (runs.sqlite)" in told
    assert not (tmp_path / "out" / "some" / "summary.json").exists()


def test_an_option_takes_the_place_of_the_file_s_decision_points(tmp_path):
    """Every 3,600 s at events too in the file; in rounds of a day alone as asked for."""
    points = ("--set", "decisions.period_s=", "--set", "decisions.round_s=86400")
    words = ("run", "examples/hierarchical.toml", "--policy", "fifo", *points)
    done(*words, "--out", tmp_path / "out")
    assert (pd.read_csv(tmp_path / "out" / "decisions.csv")["time_s"] % 86400 == 0).all()


def test_a_catalogue_beside_the_scenario_is_found_from_anywhere(tmp_path):
    write_jobs(tmp_path / "two.csv", "name,gpu_type,gpus,price_per_hour\nA,K80,1,1\nB,K80,2,1.9\n")
    vms = '[cluster]\nkind = "vms"\ncatalog = "two.csv"\n'
    scenario = write_jobs(tmp_path / "scenario.toml", f"{HIERARCHICAL}num_nodes = 2\n{vms}")
    done("run", scenario, "--out", tmp_path / "out")
    assert set(pd.read_csv(tmp_path / "out" / "schedule.csv")["node_type"]) <= {"A", "B"}


def test_rows_out_of_order_are_sorted_with_a_note(tmp_path):
    rows = GOOD.splitlines(True)
    jobs = write_jobs(tmp_path / "jobs.csv", "".join(rows[i] for i in (0, 3, 1, 2)))
    ran = done("run", jobs, *TWO_NODES, "--policy", "fifo-strict", "--out", tmp_path / "out")
    assert "schedlab: note: " in ran.stderr
    assert "sorted by submit_time_s" in ran.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('policy = "fifo"', "workload"),
        (HIERARCHICAL.replace("hier", "heir"), "workload"),
        (f"{HIERARCHICAL}num_nodes = -1", "num_nodes"),
        (f"{HIERARCHICAL}num_node = 5", "num_node"),
        (f'seed = "x"\n{HIERARCHICAL}', "seed"),
        ("policy = ", "not valid TOML"),
        ('policy = "fifo"\nworkload = { kind = "poisson", arrival_rate_per_h = 1 }', "brings no machines"),
        (
            f'{HIERARCHICAL}[cluster]\nkind = "nodes"\nnum_nodes = 4',
            "cluster.kind: got 'nodes', expected none or 'vms'",
        ),
        (
            f"window = [50, 101]\n{HIERARCHICAL}",
            "scenario.toml: window: got 50:101, expected 0 <= first < last <= 100 jobs",
        ),
        (f'{HIERARCHICAL}[server]\nservice = "expo:4"', "scenario.toml: server.service: law 'expo:4'"),
        (
            f'{HIERARCHICAL}[cluster]\nkind = "vms"\ncatalog = "aws"',
            "scenario.toml: cluster.catalog: got 'aws', expected hierarchical, thesis",
        ),
        (
            f'{HIERARCHICAL}[cluster]\nkind = "vms"\ngpu_types = ["K80", "V100"]',
            "scenario.toml: cluster.gpu_types: got 'V100', expected GPUs of the catalogue 'hierarchical': K80, ",
        ),
        (
            f"{HIERARCHICAL}[decisions]\nfinish_at_round = true",
            "scenario.toml: decisions.finish_at_round: given without round_s",
        ),
    ],
)  # fmt: skip
def test_bad_scenarios_are_one_line(tmp_path, text, complaint):
    path = write_jobs(tmp_path / "scenario.toml", text)
    assert complaint in refused("run", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "setting", "complaint"),
    [
        ('policy = "fifo"', "cluster.num_nodes=2", "workload"),
        (HIERARCHICAL, "cluster=3", "cluster"),
        (f"{HIERARCHICAL}[cluster]\nnum_nodes = 4", "seed=2", "cluster"),
        (f'{HIERARCHICAL}[cluster]\nkind = "nodes"', "seed=2", "cluster.num_nodes: missing"),
        ('policy = "fifo"\nworkload = 3', "cluster.num_nodes=2", "workload"),
    ],
)
def test_bad_scenarios_with_options_are_one_line(tmp_path, text, setting, complaint):
    path = write_jobs(tmp_path / "scenario.toml", text)
    line = refused("run", path, "--set", setting, "--out", tmp_path / "out")
    assert f"scenario.toml with options: {complaint}" in line


def test_an_option_mends_a_key_of_the_file(tmp_path):
    """The keys of file and options are checked once, together."""
    few = write_jobs(tmp_path / "scenario.toml", f"{HIERARCHICAL}num_nodes = -1")
    done("run", few, "--set", "workload.num_nodes=1", "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("command", "example", "said"),
    [
        ("run", "sweep_small", "holds a sweep, expected a scenario; try: schedlab sweep run "),
        ("run", "rental_figure1", "holds types of jobs for a rental, expected a scenario; try: schedlab theory rental "),
        ("sweep run", "hierarchical", "holds a scenario, expected a sweep; try: schedlab run "),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_answered_with_its_command(tmp_path, command, example, said):
    file = f"examples/{example}.toml"
    ran = schedlab(*command.split(), file, "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert ran.stderr == f"schedlab: {file}: {said}{file}\n"
    assert not (tmp_path / "out").exists()


WRITTEN = {
    "summary.json", "jobs.csv", "decisions.csv", "schedule.csv", "timeline.csv", "machines.json",
}  # fmt: skip
FEW = "workload.num_jobs=20"


@pytest.mark.parametrize(
    ("example", "smaller", "further"),
    [
        ("racks", FEW, set()),
        ("failures", FEW, {"outages.csv"}),
        ("tenants", FEW, {"shares.csv", "tenants.csv"}),
        ("goodput", "seed=1", {"configurations.csv"}),
        ("philly", "workload.max_jobs=20", {"tenants.csv"}),
    ],
)
def test_files_of_a_run(tmp_path, example, smaller, further):
    """Further ones where the scenario has failures, tenants or tables of goodput."""
    file = f"examples/{example}.toml"
    done("run", file, "--set", smaller, "--out", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == WRITTEN | further


SCENARIOS = [
    path
    for path in sorted((ROOT / "examples").glob("*.toml"))
    if not path.stem.startswith(("sweep", "rental"))
]


@pytest.mark.parametrize("example", SCENARIOS, ids=lambda path: path.stem)
def test_examples_are_scenarios(example):
    """Of jobs and machines that fit; tests/core/test_written.py runs them with fewer jobs."""
    ScenarioChecks()(read_scenario(example))


@pytest.mark.slow
@pytest.mark.parametrize("example", SCENARIOS, ids=lambda path: path.stem)
def test_examples_run(tmp_path, example):
    done("run", example, "--out", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} >= WRITTEN


def test_policies_are_listed_with_their_options():
    listed = " ".join(done("policies").stdout.split())
    names = (
        "fifo-strict",
        "milp",
        "randomised-greedy",
        "srtf+tune",
        "ORDERING+static",
        "ORDERING+tune",
    )
    options = ("sort=demand", "whole_gpus=False")
    for text in (*names, *options, *(f"POLICY{name} " for name in wrapper_names())):
        assert text in listed
    one = done("policies", "las+tune@hysteresis").stdout
    source = "Mohan et al. (Synergy), OSDI 2022"
    for text in (source, "one-kind", "hysteresis.threshold", "(the paper)"):
        assert text in one
    assert "due = " in done("policies", "milp", "--for", "examples/synergy.toml").stdout


def test_a_streamed_run_has_the_same_numbers_in_parquet(tmp_path):
    nodes = ("--set", "cluster.num_nodes=2", "--set", "cluster.gpus_per_node=8")
    jobs = ("examples/jobs.csv", *nodes, "--policy", "fifo-backfill")
    for out, more in (("kept", ()), ("streamed", ("--stream",))):
        done("run", *jobs, "--out", tmp_path / out, *more)
    kept, streamed = tmp_path / "kept", tmp_path / "streamed"
    tables = ("jobs", "schedule", "decisions")
    names = {*(f"{name}.parquet" for name in tables), "machines.json", "summary.json"}
    assert {p.name for p in streamed.iterdir()} == names
    before, after = (json.loads((d / "summary.json").read_text()) for d in (kept, streamed))
    assert after | {"fragmentation_ratio": 0.0} == before
    assert before["format"] == FORMAT
    files = {p: p.read_bytes() for p in streamed.iterdir()}
    for more in ((), ("--stream",)):
        told = refused("run", *jobs, "--out", streamed, *more)
        assert "holds jobs.parquet of another run, expected a folder without it" in told
    assert {p: p.read_bytes() for p in streamed.iterdir()} == files
    assert "holds jobs.csv of another run" in refused("run", *jobs, "--stream", "--out", kept)


def test_a_refused_run_leaves_the_folder_of_the_other(tmp_path, monkeypatch):
    """Both runs saw that the folder was missing; the one without the lock removes nothing."""
    out, exists = tmp_path / "out", Path.exists
    with new_folder(out):
        monkeypatch.setattr(Path, "exists", lambda path: path != out and exists(path))
        with pytest.raises(InputError, match="another run is writing"), new_folder(out):
            pass
        monkeypatch.undo()
        assert out.is_dir()
