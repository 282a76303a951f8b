"""The plain simulations of the hierarchical paper are data: one sweep file, the same runs by `schedlab sweep`."""

from collections import Counter

import pytest

from experiments.papers.hierarchical.runs import FIGURE_3
from experiments.papers.hierarchical.runs import tasks as hierarchical_tasks
from experiments.sweep.sweepfile import read_sweep
from experiments.sweep.task import resolve
from tests.papers.listed import listed


def size_tasks(scale):
    return [t for t in listed(hierarchical_tasks, scale) if (t.labels or {}).get("study") == "size"]


def test_every_run_of_the_file_is_one_of_the_paper_scale_or_central_beyond_it():
    """Central methods end at 40 nodes; the one that no paper has at the third seed, the other at the tenth."""
    _, swept = read_sweep(FIGURE_3)
    swept = [task for task in swept if task.config["workload"]["due"] == "min-2max"]
    ours = {t.config_json for t in size_tasks("paper")}
    left_out = [t for t in swept if t.config_json not in ours]
    assert len(ours) + len(left_out) == len(swept)
    for task in left_out:
        last = 3 if task.config["policy"] == "milp" else 10
        assert task.config["workload"]["num_nodes"] > 40 or task.config["seed"] > last
        assert str(task.config["policy"]).startswith("milp")
        assert "nodes_per_controller" not in task.config["cluster"]


def test_scales_and_methods():
    quick = Counter(t.labels["method"] for t in size_tasks("quick"))
    assert quick == {
        **dict.fromkeys(("fifo", "edf", "ps", "fifo-fastest", "edf-fastest", "ps-fastest"), 7), "hierarchical": 7, "central": 1, "central-2019": 2
    }  # fmt: skip
    assert {t.labels["num_nodes"] for t in size_tasks("paper")} == {5, 10, 20, 40, 70, 100}


def few_jobs(config):
    return {**config, "workload": {**config["workload"], "jobs_per_node": 2}}


@pytest.mark.long
def test_with_five_nodes_hierarchical_is_central():
    """One controller has all five, so the two methods are one run."""
    small = {
        t.labels["method"]: resolve(t.function)(few_jobs(t.config)).scalars
        for t in size_tasks("paper")
        if t.labels["num_nodes"] == 5 and t.labels["seed"] == 1
        if t.labels["method"] in ("fifo", "hierarchical", "central")
    }
    assert small["hierarchical"]["total_cost"] == small["central"]["total_cost"]
    assert small["hierarchical"]["total_cost"] < small["fifo"]["total_cost"]
    assert small["hierarchical"]["mean_columns"] > 0


@pytest.mark.long
def test_readings_of_the_setup_that_change_nothing_share_their_runs():
    """The first reading is Figure 3's own; rules that ignore H have one run for three readings."""
    by_key: dict[str, set[str]] = {}
    for task in listed(hierarchical_tasks, "paper"):
        labels = task.labels or {}
        if labels.get("seed") == 1 and labels.get("num_nodes") == 20 and "study" in labels:
            by_key.setdefault(task.key, set()).add(f"{labels['study']}, {labels['method']}")
    shared = set(map(frozenset, by_key.values()))
    assert {"size, hierarchical", "as printed, hierarchical"} in shared
    assert {
        "size, edf", "as printed, edf", "events only (no H), edf", "H since the last decision, edf"
    } in shared  # fmt: skip
    assert {"all as released, hierarchical"} in shared
