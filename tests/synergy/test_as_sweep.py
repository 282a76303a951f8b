"""Synergy's orderings as a sweep file: its runs are those of the figures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.papers.synergy.runs import run_cell
from experiments.scenario.run import run_scenario
from experiments.sweep.sweepfile import read_sweep

FILE = Path(__file__).parents[2] / "examples" / "sweep_synergy_orderings.toml"
SMALL = {"workload.num_jobs": 60, "cluster.num_nodes": 2, "window": [10, 50]}


@pytest.fixture(scope="module")
def runs() -> list[tuple[str, dict]]:
    """Policy and configuration of each run of the file, at a toy size."""
    _, tasks = read_sweep(FILE, changes=SMALL)
    return [(str(task.config["policy"]), dict(task.config)) for task in tasks]


def test_each_ordering_is_there_with_and_without_tune(runs):
    found = {policy for policy, _ in runs}
    beside = {"las": "proportional", "srtf": "proportional", "ftf": "proportional"}
    beside |= {"drf": "static", "tetris": "static"}
    assert found == {f"{o}+{m}" for o, other in beside.items() for m in (other, "tune")}


@pytest.mark.parametrize("policy", ["las+tune", "srtf+proportional", "ftf+tune", "drf+static"])
def test_a_run_of_the_file_is_the_figures_own(runs, policy):
    config = next(c for p, c in runs if p == policy)
    ordering, mechanism = policy.split("+")
    workload = config["workload"]
    # The file says jobs an hour of this cluster, the figures those of 16 servers.
    own = run_cell(
        {
            "ordering": ordering, "mechanism": mechanism, "load": workload["jobs_per_hour"] * 16 / 2,
            "seed": 1, "split": "20-70-10", "multi_gpu": bool(workload.get("multi_gpu")), "ratio": 3,
            "released": False, "jobs": [60, 10, 50], "nodes": 2, "keep": True,
        }
    )  # fmt: skip
    outcome = run_scenario(config)
    jobs = outcome.tables["jobs"]
    pd.testing.assert_series_equal(
        (jobs["completion_s"] - jobs["arrival_s"]) / 3600,
        own.tables["jobs"]["jct_h"],
        check_names=False,
        rtol=0,
        atol=0,
    )
    assert outcome.scalars["mean_jct_s"] / 3600 == pytest.approx(own.scalars["mean_jct_h"])
