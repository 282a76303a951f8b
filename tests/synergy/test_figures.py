"""Each figure of the page is legible, drawn from made-up tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from experiments.papers import synergy
from experiments.papers.synergy import panels
from tests.pictures.drawn import ALL, drawn_of
from tests.pictures.made_up import results


def jobs(task, random):
    """Jobs of a run on Synergy's clusters: all of a trace, or the hundred of a deployment."""
    count = task.config["workload"]["num_jobs"] if "workload" in task.config else 100
    jct_h = random.lognormal(1.0, 1.5, count) * random.uniform(1, 4, count)
    arrival_s = np.linspace(0, 1e6, count)
    return pd.DataFrame(
        {"job": np.arange(count), "jct_h": jct_h, "arrival_s": arrival_s,
         "completion_s": arrival_s + 3600 * jct_h}
    )  # fmt: skip


def schedule(task, random):
    """Twenty jobs on 2 GPUs each, one after another."""
    start_s = np.linspace(0, 2e5, 20)
    return pd.DataFrame(
        {"job_id": [str(j) for j in range(20)], "start_s": start_s, "end_s": start_s + 4e4,
         "gpus": 2.0, "cpus": 6.0}
    )  # fmt: skip


def held_out(task, random):
    """Published points and a fit that misses them by up to a tenth."""
    rows = [
        {"model": model, "half": half, "cpus": cpus, "memory_gb": memory_gb, "given": cpus % 2 == 0,
         "published": published, "fitted": published * random.uniform(0.9, 1.1)}
        for model in ("alexnet", "resnet18") for half in ("memory", "cpus")
        for cpus in (1.0, 2.0, 3.0, 6.0, 9.0, 12.0, 24.0) for memory_gb in (62.5, 125, 187.5, 250)
        for published in [min(cpus / 3, memory_gb / 40)]
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.long
@pytest.mark.parametrize("names", [("figure_3", "figure_9", "figure_13"), ALL])
def test_all_figures_are_drawn(tmp_path, monkeypatch, names):
    monkeypatch.setattr("simulator.workloads.synergy.draw.LOG_JOBS", 100)  # drawn to check a file
    ends = ("", "_low", "_high")
    mechanisms = ("tune", "tune_by_gpus", "tune_released")
    rounds = {f"{m}_of_opt{end}": 0.9 for m in mechanisms for end in ends}
    times = {
        "tune_round_cpu_s": 0.001,
        "opt_round_cpu_s": 0.01,
        "least_rate": 1.0,
        "opt_most_cut": 9.0,
    }
    scalars = {
        "run_scenario": dict.fromkeys(("mean_jct_s", "p95_jct_s", "p99_jct_s"), 72_000.0),
        "run_deployment": dict.fromkeys(("makespan", "mean", "p99"), 10.0),
        "run_round_times": rounds | times,
    }
    tables = {
        "run_scenario": {"jobs": jobs, "schedule": schedule},
        "run_deployment": {"jobs": jobs},
        "run_profiling": {"held_out": held_out},
    }
    drawn = drawn_of(synergy.PAGE, results(synergy.PAGE, scalars, tables), tmp_path, names)
    assert len(drawn) == len(synergy.PAGE.registered)


def test_the_authors_draw_lies_within_its_panel(monkeypatch):
    """Its load and hours may be beyond those of the lines, whose panel has its limits by then."""
    ours = pd.DataFrame(
        {"load": [3.0, 5.5], "seed": 1, "mechanism": "tune", "mean_jct_h": [10.0, 20.0]}
    )
    theirs = pd.DataFrame({"load": [7.0], "mechanism": ["tune"], "mean_jct_h": [40.0]})
    monkeypatch.setattr(panels, "cells", lambda *_, **__: theirs)
    _, ax = pyplot.subplots()
    panels.load_panel(ax, ours, "")
    assert ax.get_ylim()[1] < 40.0
    panels.their_stars(ax, None, "draws_several")
    assert ax.get_ylim()[1] > 40.0
    assert [label.get_text() for label in ax.get_xticklabels()] == ["3", "5.5", "7"]
