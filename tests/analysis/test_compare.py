"""`schedlab compare`: replications, precision, paired differences."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from experiments.analysis.compare import compare
from simulator.errors import InputError
from simulator.queueing import mmc_mean_response_s

ROOT = Path(__file__).parents[2]
SCENARIO = """policy = "fifo-strict"
seed = 3

[workload]
kind = "poisson"
num_jobs = {jobs}
arrival_rate_per_h = 1.2
duration_s = "exponential:3600"
num_gpus = {gpus}

[cluster]
kind = "nodes"
num_nodes = 1
gpus_per_node = 2
"""


def test_on_a_trace_one_run_and_no_interval(tmp_path):
    """The seed changes nothing: it is said, and no interval of width zero pretends otherwise."""
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_time_s,duration_s,num_gpus\na,0,100,4\nb,10,50,8\nc,20,10,2\n"
    )
    path = tmp_path / "trace.toml"
    path.write_text(
        'policy = "fifo"\n[workload]\nkind = "csv"\npath = "jobs.csv"\n'
        '[cluster]\nkind = "nodes"\nnum_nodes = 2\n'
    )
    with pytest.warns(UserWarning, match="the seed changes nothing here"):
        table = compare(path, ["fifo", "fifo-strict"], ["mean_jct_s"])
    assert table["replications"].tolist() == [1, 1, 1]
    assert table["lower"].isna().all()
    assert table["mean"].notna().all()


def scenario(tmp_path: Path, jobs: int = 60, gpus: str = "[1]") -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.format(jobs=jobs, gpus=gpus), encoding="utf-8")
    return path


def test_replicates_until_it_is_precise(tmp_path: Path) -> None:
    table = compare(scenario(tmp_path, jobs=400), [], ["mean_jct_s"], precision=0.05)
    row = table.iloc[0]
    assert (row["upper"] - row["lower"]) / 2 <= 0.05 * row["mean"]
    assert row["replications"] > 10
    # The empty start shortens the mean of so few jobs a little.
    truth = mmc_mean_response_s(1.2 / 3600, 3600, 2)
    assert 0.85 * truth < row["upper"] and row["lower"] < 1.05 * truth  # noqa: PT018


def test_differences_are_paired(tmp_path: Path) -> None:
    table = compare(
        scenario(tmp_path, gpus="[1, 2]"),
        ["fifo-strict", "fifo-backfill"],
        ["mean_jct_s", "makespan_s"],
        replications=12,
    )
    assert table["metric"].tolist() == ["mean_jct_s"] * 3 + ["makespan_s"] * 3
    strict, backfill, difference = (row for _, row in table[:3].iterrows())
    assert difference["minus"] == "fifo-strict"
    assert difference["mean"] == pytest.approx(backfill["mean"] - strict["mean"])
    assert difference["upper"] < 0  # backfilling helps, and so few replications show it
    half = (strict["upper"] - strict["lower"]) / 2
    assert (difference["upper"] - difference["lower"]) / 2 < half


def test_a_cap_is_told(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="stopped at 11 replications"):
        compare(scenario(tmp_path), [], ["mean_jct_s"], precision=0.001, replications=11)


def test_the_command(tmp_path: Path) -> None:
    words = ["compare", scenario(tmp_path), "--precision", "20%", "--metric", "mean_jct_s"]
    command = [sys.executable, "-m", "experiments.cli", *map(str, words)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("metric,policy,minus,mean,lower,upper,replications\nmean_jct_s,")
    bad = subprocess.run(
        [*command[:-3], "narrow"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "expected a percentage" in bad.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policies": ["fifo-strict", "fifo-strict"]}, "different"),
        ({"metrics": ["speed"]}, "mean_jct_s"),
        ({"metrics": ["makespan_s", "makespan_s"]}, "different"),
        ({"replications": 1}, "at least 2"),
        ({"policies": ["no-such"]}, "no-such"),
        ({"policies": ["edf", "edf:x=1"]}, "--policy edf:x=1: policy 'edf': unknown option 'x'"),
        ({"policies": ["edf:"]}, "--policy edf:: '': expected name=value"),
        ({"policies": ["edf:x"]}, "--policy edf:x: 'x': expected name=value"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, options: dict, told: str) -> None:  # type: ignore[type-arg]
    arguments = {"policies": [], "metrics": ["mean_jct_s"], **options}
    with pytest.raises(InputError, match=told) as caught:
        compare(scenario(tmp_path), **arguments)
    assert "\n" not in str(caught.value)


def test_a_policy_is_compared_with_itself_under_other_options(tmp_path: Path) -> None:
    """With the local search that no options name, and with none of it, on the same jobs."""
    path = tmp_path / "scenario.toml"
    path.write_text(
        'policy = "local-search"\n[policy_options]\niterations = 3\n'
        '[workload]\nkind = "hierarchical"\nnum_nodes = 2\njobs_per_node = 8\nmean_gap_s = 9000\n'
    )
    names = ["local-search", "local-search:iterations=1,rho=1", "local-search:iterations=3"]
    table = compare(path, names, ["total_cost"], replications=2)
    mean = table[table["minus"] == ""].set_index("policy")["mean"]
    assert list(mean.index) == names
    assert mean.iloc[0] == mean.iloc[2]
    assert mean.iloc[0] != mean.iloc[1]


def test_same_seed_same_table(tmp_path: Path) -> None:
    tables = [compare(scenario(tmp_path), [], ["total_cost", "mean_wait_s"]) for _ in range(2)]
    pd.testing.assert_frame_equal(*tables)
