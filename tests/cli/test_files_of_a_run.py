"""Files that a run writes: the same bytes for the same scenario and seed, and tables as docs/files.md lists them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from experiments.scenario.output import FORMAT, TABLES, write_result
from experiments.scenario.reading import read_run_table
from experiments.text import write_csv
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.registry import COLUMNS
from simulator.laws import Deterministic, Exponential
from simulator.metrics.run_tables import TABLES as SCHEMAS
from tests.command import ROOT, done
from tests.core.jobs import fixed, nodes, run

MILP = """
policy = "milp"
seed = 3
workload = { kind = "hierarchical", num_nodes = 2 }
[cluster]
kind = "vms"
"""
TROUBLE = """
policy = "capacity"
seed = 4
reconfiguration_s = 20
cluster = { kind = "nodes", num_nodes = 4, gpus_per_node = 4, price_per_hour = 2 }
checkpoints = { interval_s = "daly", cost_s = 20 }
spot = { nodes = 1, time_to_reclaim = "exponential:8000", down = "exponential:1200" }
maintenance = { every_s = 15000, duration_s = 700 }
predictions = { noise = 0.3, learned = true }
[workload]
kind = "poisson"
num_jobs = 40
arrival_rate_per_h = 20
num_gpus = [1, 1, 2, 4]
patience = "exponential:20000"
[failures]
time_to_failure = "exponential:9000"
repair = "exponential:900"
job_time_to_failure = "exponential:20000"
[tenants]
draw = { a = 0.5, b = 0.3, c = 0.2 }
quota = { a = 8, b = 4, c = 4 }
borrowing = true
"""
SERVER = """
policy = "randomised-greedy"
policy_options = { iterations = 20 }
seed = 5
dispatcher = "power-of-two"
workload = { kind = "hierarchical", num_nodes = 4, jobs_per_node = 5 }
cluster = { kind = "vms", num_controllers = 2 }
server = { service = "exponential:40" }
"""
OTHER_PROCESS = """
import sys
from tests.command import schedlab
assert all(schedlab("run", name, "--out", f"{name}-b").returncode == 0 for name in sys.argv[1:])
"""


@pytest.mark.long
def test_two_runs_of_a_scenario_leave_the_same_bytes(tmp_path):
    """In two processes; also where the policy notes the CPU time of its solver."""
    scenarios = {"milp": f"{MILP}num_controllers = 2\n", "trouble": TROUBLE, "server": SERVER}
    paths = [tmp_path / f"{name}.toml" for name in scenarios]
    for path, text in zip(paths, scenarios.values(), strict=True):
        path.write_text(text)
        done("run", path, "--out", f"{path}-a")
    command = [sys.executable, "-c", OTHER_PROCESS, *paths]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    for path in paths:
        one, other = (Path(f"{path}-{run}") for run in "ab")
        names = sorted(file.name for file in one.iterdir())
        assert "timing.csv" not in names
        assert names == sorted(file.name for file in other.iterdir())
        for name in names:
            assert (one / name).read_bytes() == (other / name).read_bytes(), (path.stem, name)
        assert ("objective" in pd.read_csv(one / "decisions.csv")) == (path.stem == "milp")


@pytest.mark.long
def test_cpu_times_have_a_file_of_their_own(tmp_path):
    scenario, out = tmp_path / "scenario.toml", tmp_path / "out"
    scenario.write_text(MILP)
    done("run", scenario, "--out", out, "--timing")
    decisions, timing = (pd.read_csv(out / f"{name}.csv") for name in ("decisions", "timing"))
    assert list(timing)[:3] == ["time_s", "controller", "cpu_s"]
    assert (timing["cpu_s"] > 0).all()
    assert "solve_cpu_s" in timing
    assert timing["time_s"].tolist() == decisions["time_s"].tolist()
    measured = [name for name in decisions if name.endswith(("cpu_s", "wall_s"))]
    assert measured == []
    summary = json.loads((out / "summary.json").read_text())
    assert next(iter(summary)) == "format"
    assert summary["format"] == FORMAT
    assert not [name for name in summary if name.endswith(("cpu_s", "wall_s"))]
    # A later run that does not measure leaves none of the earlier one.
    done("run", scenario, "--out", out)
    assert not (out / "timing.csv").exists()


def test_every_column_of_a_run_is_in_its_schema(tmp_path):
    """A run with outages and tenants: all names in its files are those that the documentation lists."""
    rng = np.random.default_rng(1)
    gpus = rng.choice([1, 2, 4], 30)
    submit_s, duration_s = np.cumsum(rng.exponential(300, 30)), rng.uniform(100, 4000, 30)
    named = {"user": ["ann", "bob"] * 15, "model": ["resnet50"] * 30}
    cause = Outages.of_each_node(2, Exponential(3000.0), Deterministic(400.0))
    failures = Failures([cause], Checkpoints(interval_s=300.0))
    jobs = fixed(submit_s, duration_s, gpus, **named)
    result = run(jobs, nodes(8, 2), "fifo-backfill", failures)
    write_result(result, tmp_path)
    found = {path.name for path in tmp_path.glob("*.csv")}
    names = ("jobs", "decisions", "schedule", "timeline", "outages", "tenants")
    assert found == {f"{name}.csv" for name in names} < set(TABLES)
    for name in names:
        table = pd.read_csv(tmp_path / f"{name}.csv")
        added = [column.name for column in COLUMNS] if name == "jobs" else []
        assert not set(table) - {*SCHEMAS[name].schema.names, *added}
        required = {c.name for c in SCHEMAS[name].schema.columns if not c.when}
        assert required <= set(table)
        pd.testing.assert_frame_equal(table, result.table(name), check_dtype=False)
    assert {"failures", "lost_gpu_s"} <= set(result.jobs_table())


@pytest.mark.parametrize(
    "text", ["plain", "with, comma", 'with "quotes"', "two\nlines", "a\rb", "'"]
)
def test_texts_and_numbers_survive_csv(tmp_path, text):
    numbers = [0.1, 1e300, -5e-324, 123456789.123456]
    columns = {text: [text, "x", None, ""], "number": numbers, "none": [None, 1.5, None, None]}
    table = pa.table(columns)
    path = tmp_path / "table.csv"
    with path.open("wb") as file:
        write_csv(table, file)
    read = pd.read_csv(path)
    assert list(read) == [text, "number", "none"]
    assert read[text][0] == text
    assert read["number"].tolist() == numbers
    assert read["none"].isna().tolist() == [True, False, True, True]


def test_a_comma_in_a_name_leaves_blank_numbers_readable(tmp_path):
    """A job that never started has no first start, whatever the others are called."""
    table = pa.table({"job_id": ["a, b", "c"], "first_start_s": pa.array([1.0, None])})
    path = tmp_path / "jobs.csv"
    with path.open("wb") as file:
        write_csv(table, file)
    read = read_run_table(path, ("job_id",), (), or_blank=("first_start_s",))
    assert read["job_id"].tolist() == ["a, b", "c"]
    assert read["first_start_s"].isna().tolist() == [False, True]
