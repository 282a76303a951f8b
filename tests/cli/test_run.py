"""The command line: what it writes, and how it says what is wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from experiments.commands.renamed import renamed
from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.output import FORMAT
from experiments.scenario.schema import read_scenario
from simulator.errors import InputError
from tests.command import ROOT, schedlab

SUMMARY = [
    "jobs", "mean_wait_s", "mean_jct_s", "p99_jct_s", "makespan_s", "leasing_cost", "energy_cost",
    "tardiness_cost", "total_cost", "decisions", "gpu_utilisation", "policy", "seed", "version",
]  # fmt: skip
JOBS = [
    "job_id", "arrival_s", "first_start_s", "completion_s", "gpu_seconds", "preemptions",
    "tardiness_s", "gpus", "ideal_s", "slowdown", "due_s", "weight_per_s", "model", "first_wait_s",
    "total_wait_s",
]  # fmt: skip


def write_jobs(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


JOBS_OF_ONE_NODE = ["run", "examples/jobs.csv", "--set", "cluster.num_nodes=1", "--policy", "fifo"]
TWO_NODES = ["--set", "cluster.num_nodes=2", "--set", "cluster.gpus_per_node=4"]
GOOD = "job_id,submit_time_s,duration_s,num_gpus\na,0,100,4\nb,10,50,8\nc,20,10,2\n"


def test_csv_of_jobs(tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs.csv", GOOD)
    ran = schedlab(
        "run", jobs, *TWO_NODES, "--policy", "fifo-strict",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(SUMMARY) <= set(summary)
    assert summary["makespan_s"] == 160
    with (tmp_path / "out" / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == JOBS
    assert [float(r["completion_s"]) for r in rows] == [100, 150, 160]


def test_models_in_the_csv_bring_their_sensitivity(tmp_path: Path) -> None:
    """Two jobs alone on a server get more than their share, and finish before their duration."""
    jobs = write_jobs(
        tmp_path / "jobs.csv",
        "job_id,submit_time_s,duration_s,num_gpus,model\na,0,9000,1,resnet18\nb,0,9000,1,gnmt\n",
    )
    ran = schedlab(
        "run", jobs, "--set", "cluster.num_nodes=1", "--set", "cluster.cpus_per_node=24",
        "--set", "cluster.memory_gb_per_node=500", "--set", "decisions.round_s=300", "--policy", "srtf+tune",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {"p50_jct_s", "p95_jct_s", "rounds", "cpu_utilisation"} <= set(summary)
    with (tmp_path / "out" / "jobs.csv").open() as file:
        done = [float(r["completion_s"]) for r in csv.DictReader(file)]
    assert done[0] < 6000
    assert done[1] == pytest.approx(9000, rel=0.05)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("job_id,submit_time_s,duration_s,gpus\na,0,1,1\n", "num_gpus"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,0,nan,1\n", "duration_s"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,0,-5,1\n", "duration_s"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,0,0,1\n", "duration_s"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,-1,5,1\n", "submit_time_s"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,0,5,1.5\n", "num_gpus"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,0,5,1\na,1,5,1\n", "'a'"),
        ("job_id,submit_time_s,duration_s,num_gpus,due_s\na,9,5,1,3\n", "due_s"),
        ("job_id,submit_time_s,duration_s,num_gpus\na,0,5,99\n", "99"),
        ("job_id,submit_time_s,duration_s,num_gpus,model\na,0,5,1,resnet9000\n", "resnet9000"),
    ],
)  # fmt: skip
def test_bad_jobs_are_one_line_and_nothing_is_written(
    tmp_path: Path, text: str, complaint: str
) -> None:
    jobs = write_jobs(tmp_path / "jobs.csv", text)
    ran = schedlab(
        "run", jobs, *TWO_NODES, "--set", "cluster.cpus_per_node=12",
        "--set", "cluster.memory_gb_per_node=250", "--policy", "fifo-strict", "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert complaint in ran.stderr
    assert "Traceback" not in ran.stderr
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
        (["run", "examples/hierarchical.toml", "--set", "cluster.num_controllers=3"], "3 controllers for 10 nodes"),
        (["run", "examples/mmc.toml", "--out", "/proc/nothing"], "cannot be written"),
        (["run", "examples/mmc.toml", "--out", "examples/mmc.toml"], "is a file, expected a folder"),
        (["run", "examples/mmc.toml", "--set", "decisions.round_s=3", "--set", "decisions.period_s=3"], "both round_s and"),
        (["run", "examples/mmc.toml", "--set", "decisions.period_s=nan"], "period_s: got NaN, expected a finite number > 0"),
        (["run", "examples/mmc.toml", "--set", "window=[10,99999]"], "<= 12000 jobs"),
        ([*JOBS_OF_ONE_NODE[:2], "--policy", "fifo"], "expected nodes for them: --set cluster.num_nodes=4"),
        (JOBS_OF_ONE_NODE[:4], "--policy is missing"),
        ([*JOBS_OF_ONE_NODE, "--set", "cluster.gpus_per_node=1"], "with options: workload: examples/jobs.csv: job"),
        ([*JOBS_OF_ONE_NODE, "--set", "cluster.cpus_per_node=0"], "cpus_per_node: got 0, expected a number > 0"),
        (
            [*JOBS_OF_ONE_NODE, *TWO_NODES, "--set", "cluster.num_controllers=2", "--set", "cluster.gpus_per_node=1"],
            "what the 1 nodes of a controller have together",
        ),
    ],
)  # fmt: skip
def test_bad_options_are_one_line(tmp_path: Path, words: list[str], complaint: str) -> None:
    words = [*words, "--out", str(tmp_path / "out")] if "--out" not in words else words
    ran = schedlab(*words)
    assert ran.returncode == 2
    assert complaint in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "--sed", "4"], "run: No such option: --sed (Possible options: "),
        (["run"], "run: Missing argument 'FILE'"),
        (
            ["run", "examples/mmc.toml", "--seed", "-1"],
            "run: --seed: expected greater than or equal",
        ),
        (["run", "examples/mmc.toml", "--seed", "1.5"], "run: --seed: expected a valid integer"),
        (["run", "examples/mmc.toml", "--seed"], "schedlab: Option '--seed' requires an argument"),
        (["sweep", "run"], "sweep run: Missing argument"),
        (
            ["theory", "decision", "--instance", "x", "--nodes", "3", "--solver", "y"],
            "theory decision: --solver: 'y' is not",
        ),
        (["rum"], "No such command 'rum'"),
    ],
)
def test_usage_errors_name_the_option(words: list[str], complaint: str) -> None:
    ran = schedlab(*words)
    assert ran.returncode == 2
    assert complaint in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("schedlab")


def test_earlier_names_work_with_one_note() -> None:
    """Each old form becomes the new one; the note names both."""
    old = "run --jobs a.csv --nodes=2 --gpus-per-node 4 -o x=1 --round-s 60 --adapt models=20,70,10 --window 2:9"
    now, note = renamed(old.split())
    assert " ".join(now) == (
        "run --set decisions.period_s= a.csv --set cluster.num_nodes=2 --set cluster.gpus_per_node=4 "
        "--set policy_options.x=1 --set decisions.round_s=60 --set adapt.models=[20,70,10] "
        "--set window=[2, 9]"
    )
    assert note.startswith("note: `--jobs a.csv --nodes 2 ")
    assert renamed(["gantt", "out"]) == (
        ["show", "gantt", "out"],
        "note: `gantt` is now `show gantt`; the old form works in this release",
    )
    assert renamed(["sweep", "a.toml"])[0] == ["sweep", "run", "a.toml"]
    assert renamed(["fill"])[0] == ["theory", "packing"]
    for words in (["run", "a.toml", "--set", "seed=1"], ["sweep", "status", "out"], ["--help"], []):
        assert renamed(words) == (words, "")
    ran = schedlab("size-server", "--help")
    assert (ran.returncode, ran.stderr.count("\n")) == (0, 1)


def test_help_is_no_error() -> None:
    assert schedlab("--help").returncode == 0
    assert "Usage: schedlab run" in schedlab("run", "--help").stdout
    bare = schedlab()
    assert "Usage: schedlab" in bare.stdout + bare.stderr
    assert bare.returncode == 2


def test_a_run_and_a_sweep_never_share_a_folder(tmp_path: Path) -> None:
    file = write_jobs(
        tmp_path / "some.toml",
        'policies = ["fifo"]\nscenario.workload = { kind = "hierarchical", num_nodes = 2 }\n',
    )
    jobs = write_jobs(tmp_path / "jobs.csv", GOOD)
    run = ["run", jobs, "--set", "cluster.num_nodes=2", "--policy", "fifo"]
    assert schedlab(*run, cwd=tmp_path).returncode == 0
    assert schedlab("sweep", "run", file, "--workers", 1, cwd=tmp_path).returncode == 0
    assert (tmp_path / "out" / "some" / "runs.sqlite").exists()
    second = schedlab("sweep", "run", file, "--out", "out", "--workers", 1, cwd=tmp_path)
    assert (second.returncode, second.stderr.count("\n")) == (2, 1)
    assert "out: holds a run (summary.json)" in second.stderr
    second = schedlab(*run, "--out", "out/some", cwd=tmp_path)
    assert (second.returncode, second.stderr.count("\n")) == (2, 1)
    assert "out/some: holds a sweep (runs.sqlite)" in second.stderr
    assert not (tmp_path / "out" / "some" / "summary.json").exists()


def test_an_option_takes_the_place_of_the_file_s_decision_points(tmp_path: Path) -> None:
    """Every 3,600 s at events too in the file; in rounds of a day alone as asked for."""
    ran = schedlab(
        "run", "examples/hierarchical.toml", "--policy", "fifo", "--set", "decisions.period_s=", "--set", "decisions.round_s=86400",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    with (tmp_path / "out" / "decisions.csv").open() as file:
        assert all(float(row["time_s"]) % 86400 == 0 for row in csv.DictReader(file))


def test_a_catalogue_beside_the_scenario_is_found_from_anywhere(tmp_path: Path) -> None:
    write_jobs(tmp_path / "two.csv", "name,gpu_type,gpus,price_per_hour\nA,K80,1,1\nB,K80,2,1.9\n")
    scenario = write_jobs(
        tmp_path / "scenario.toml",
        'policy = "fifo"\n[workload]\nkind = "hierarchical"\nnum_nodes = 2\n'
        '[cluster]\nkind = "vms"\ncatalog = "two.csv"\n',
    )
    ran = schedlab("run", scenario, "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    with (tmp_path / "out" / "schedule.csv").open() as file:
        assert {row["node_type"] for row in csv.DictReader(file)} <= {"A", "B"}


def test_rows_out_of_order_are_sorted_with_a_note(tmp_path: Path) -> None:
    jobs = write_jobs(
        tmp_path / "jobs.csv", "".join(GOOD.splitlines(True)[i] for i in (0, 3, 1, 2))
    )
    ran = schedlab(
        "run", jobs, *TWO_NODES, "--policy", "fifo-strict",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.returncode == 0
    assert "schedlab: note: " in ran.stderr
    assert "sorted by submit_time_s" in ran.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('policy = "fifo"', "workload"),
        ('policy = "fifo"\n[workload]\nkind = "poison"', "workload"),
        ('policy = "fifo"\n[workload]\nkind = "hierarchical"\nnum_nodes = -1', "num_nodes"),
        ('policy = "fifo"\n[workload]\nkind = "hierarchical"\nnum_node = 5', "num_node"),
        ('policy = "fifo"\nseed = "x"\n[workload]\nkind = "hierarchical"', "seed"),
        ("policy = ", "not valid TOML"),
        (
            'policy = "fifo"\n[workload]\nkind = "poisson"\narrival_rate_per_h = 1',
            "brings no machines",
        ),
        (
            'policy = "fifo"\n[workload]\nkind = "hierarchical"\n'
            '[cluster]\nkind = "nodes"\nnum_nodes = 4',
            "cluster.kind: got 'nodes', expected none or 'vms'",
        ),
        (
            'policy = "fifo"\nwindow = [50, 101]\n[workload]\nkind = "hierarchical"',
            "scenario.toml: window: got 50:101, expected 0 <= first < last <= 100 jobs",
        ),
        (
            'policy = "fifo"\n[workload]\nkind = "hierarchical"\n[server]\nservice = "expo:4"',
            "scenario.toml: server.service: law 'expo:4'",
        ),
        (
            'policy = "fifo"\n[workload]\nkind = "hierarchical"\n'
            '[cluster]\nkind = "vms"\ncatalog = "aws"',
            "scenario.toml: cluster.catalog: got 'aws', expected hierarchical, thesis",
        ),
        (
            'policy = "fifo"\n[workload]\nkind = "hierarchical"\n'
            '[cluster]\nkind = "vms"\ngpu_types = ["K80", "V100"]',
            "scenario.toml: cluster.gpu_types: got 'V100', expected GPUs of the catalogue "
            "'hierarchical': K80, ",
        ),
        (
            'policy = "fifo"\n[workload]\nkind = "hierarchical"\n[decisions]\nfinish_at_round = true',
            "scenario.toml: decisions.finish_at_round: given without round_s",
        ),
    ],
)
def test_bad_scenarios_are_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = write_jobs(tmp_path / "scenario.toml", text)
    ran = schedlab("run", path, "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert complaint in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "example", "said"),
    [
        ("run", "sweep_small", "holds a sweep, expected a scenario; try: schedlab sweep run "),
        ("run", "rental_figure1", "holds types of jobs for a rental, expected a scenario; try: schedlab theory rental "),
        ("sweep run", "hierarchical", "holds a scenario, expected a sweep; try: schedlab run "),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_answered_with_its_command(
    tmp_path: Path, command: str, example: str, said: str
) -> None:
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
def test_files_of_a_run(tmp_path: Path, example: str, smaller: str, further: set[str]) -> None:
    """Further ones where the scenario has failures, tenants or tables of goodput."""
    file = f"examples/{example}.toml"
    ran = schedlab("run", file, "--set", smaller, "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == WRITTEN | further


SCENARIOS = [
    path
    for path in sorted((ROOT / "examples").glob("*.toml"))
    if not path.stem.startswith(("sweep", "rental"))
]


@pytest.mark.parametrize("example", SCENARIOS, ids=lambda path: path.stem)
def test_examples_are_scenarios(example: Path) -> None:
    """Of jobs and machines that fit; tests/core/test_written.py runs them with fewer jobs."""
    ScenarioChecks()(read_scenario(example))


@pytest.mark.slow
@pytest.mark.parametrize("example", SCENARIOS, ids=lambda path: path.stem)
def test_examples_run(tmp_path: Path, example: Path) -> None:
    ran = schedlab("run", example, "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} >= WRITTEN


def test_policies_are_listed_with_their_options() -> None:
    listed = schedlab("policies").stdout
    for name in ("fifo-strict", "milp", "randomised-greedy", "srtf+tune"):
        assert name in listed
    one = schedlab("policies", "las+tune@hysteresis").stdout
    for text in (
        "Mohan et al. (Synergy), OSDI 2022",
        "one-kind",
        "hysteresis.threshold",
        "(the paper)",
    ):
        assert text in one
    both = schedlab("policies", "milp", "--for", "examples/synergy.toml")
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)


def test_a_streamed_run_has_the_same_numbers_in_parquet(tmp_path: Path) -> None:
    import pandas as pd

    nodes = ("--set", "cluster.num_nodes=2", "--set", "cluster.gpus_per_node=8")
    jobs = ("examples/jobs.csv", *nodes, "--policy", "fifo-backfill")
    for out, more in (("kept", ()), ("streamed", ("--stream",))):
        ran = schedlab("run", *jobs, "--out", tmp_path / out, *more)
        assert ran.returncode == 0, ran.stderr
    kept, streamed = tmp_path / "kept", tmp_path / "streamed"
    names = [
        "decisions.parquet",
        "jobs.parquet",
        "machines.json",
        "schedule.parquet",
        "summary.json",
    ]
    assert sorted(p.name for p in streamed.iterdir()) == names
    before, after = (json.loads((d / "summary.json").read_text()) for d in (kept, streamed))
    assert after == before
    assert before["format"] == FORMAT
    for name in ("jobs", "schedule", "decisions"):
        found = pd.read_parquet(streamed / f"{name}.parquet")
        told = pd.read_csv(
            kept / f"{name}.csv",
            dtype={"job_id": str, "model": str},
            keep_default_na=False,
            na_values={"due_s": ""},
        )
        pd.testing.assert_frame_equal(found, told, check_dtype=False)
    files = {p: p.read_bytes() for p in streamed.iterdir()}
    for more in ((), ("--stream",)):
        ran = schedlab("run", *jobs, "--out", streamed, *more)
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1
        assert "holds jobs.parquet of another run, expected a folder without it" in ran.stderr
    assert {p: p.read_bytes() for p in streamed.iterdir()} == files
    ran = schedlab("run", *jobs, "--stream", "--out", kept)
    assert (ran.returncode, "holds jobs.csv of another run" in ran.stderr) == (2, True)


def test_a_refused_run_leaves_the_folder_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs saw that the folder was missing; the one without the lock removes nothing."""
    from experiments.scenario.output import new_folder

    out, exists = tmp_path / "out", Path.exists
    with new_folder(out):
        monkeypatch.setattr(Path, "exists", lambda path: path != out and exists(path))
        with pytest.raises(InputError, match="another run is writing"), new_folder(out):
            pass
        monkeypatch.undo()
        assert out.is_dir()
