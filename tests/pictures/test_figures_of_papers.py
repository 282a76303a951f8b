"""Each figure of each paper is legible: nothing hidden, nothing over another, nothing outside.

tests/conftest.py checks every figure that is saved, so whoever
draws a figure in a test tests this too. Here are the papers whose runs are dear, made of made-up
tables; the others are made of toy runs by their own tests. Some of each kind are painted and looked at, all of them
in the slow tests, and there once more from a finished reproduction; SCHEDLAB_RESULTS names another folder than results/quick.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.papers import synergy
from experiments.papers.registry import load, papers
from experiments.report.contents import Figure
from experiments.studies import clusters, foresight
from experiments.studies.clusters.questions import questions
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from tests.pictures.made_up import results
from tests.pictures.some import painted

RESULTS = Path(os.environ.get("SCHEDLAB_RESULTS", Path(__file__).parents[2] / "results" / "quick"))


def headings(figures: list[Figure]) -> None:
    """A figure named after one of the paper has its number in the heading."""
    for figure in figures:
        kind, _, number = figure.name.partition("_")
        if kind == "figure" and number[0].isdigit():
            number = number.replace("_", ".") if number.replace("_", "").isdigit() else number
            assert figure.title.startswith(
                (f"Figure {number.partition('_')[0]}", f"Figures {number.partition('_')[0]} ")
            ), figure.name
        if figure.png is not None and figure.png.exists():
            assert figure.png.stat().st_size > 5000
        assert len(figure.csv.read_text(encoding="utf-8").splitlines()) > 1


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


ALL = pytest.param(None, marks=pytest.mark.slow, id="all")


def drawn_of(experiment, runs, folder, names):
    """Figures of a page, of which those with these names, or all, are painted."""
    with painted(*(names or [one.name for one in experiment.registered])):
        drawn = experiment.figures(runs, folder)
    headings(drawn)
    pictures = {one.name for one in drawn if one.png is not None and one.png.exists()}
    assert pictures >= {*(names or ())}
    return drawn


@pytest.mark.long
@pytest.mark.parametrize("names", [("figure_3", "figure_9", "figure_13"), ALL])
def test_synergy(tmp_path, monkeypatch, names):
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
    assert len(drawn) == len(synergy.PAGE.registered) == 16


@pytest.mark.long
@pytest.mark.parametrize("names", [("promises",), ALL])
def test_clusters(tmp_path, names):
    """A picture a question, and one where a policy failed; promises are counted."""
    metrics = {name for one in questions() for name in one.metrics} | {"promised_jobs"}
    runs = results(clusters.PAGE, {"run_scenario": dict.fromkeys(metrics, 1000.0)}, {})
    runs._runs = [pair for pair in runs._runs if pair[0].columns()["policy"] != "edf-shared"]
    drawn = drawn_of(clusters.PAGE, runs, tmp_path, names)
    assert [one.name for one in drawn] == [one.name for one in questions()]
    if names is None:
        assert [text.figure for text in clusters.PAGE.texts(runs)] == [one.name for one in drawn]
    assert clusters.PAGE.claims(runs)[0].verdict == "not reproduced"


@pytest.mark.parametrize("names", [(), ALL])
def test_foresight(tmp_path, names):
    costs = {"total_cost": 100.0, "mean_jct_s": 1000.0}
    scalars = {"run_scenario": costs, "run_bounds": {"best": 10.0}}
    drawn = drawn_of(foresight.PAGE, results(foresight.PAGE, scalars, {}), tmp_path, names)
    assert len(drawn) == 4


@pytest.mark.slow
@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_figures_of_a_reproduction(paper, tmp_path):
    if not (RESULTS / "store" / "runs.sqlite").exists():
        pytest.skip(f"{RESULTS} holds no reproduction")
    experiment = load(paper)
    with Store(RESULTS / "store") as store:
        runs = Results(store, experiment.tasks("quick"), "quick")
        if runs.missing:
            pytest.skip(f"{len(runs.missing)} runs of {paper.name} are missing in {RESULTS}")
        headings(experiment.figures(runs, tmp_path))
