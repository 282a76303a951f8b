"""Each figure of each paper is legible: nothing hidden, nothing over another, nothing outside.

tests/conftest.py checks every figure that is saved, so whoever
draws a figure in a test tests this too. Here are the papers whose runs are dear, drawn from made-up
tables; the others are drawn from toy runs by their own tests. The slow test draws all of them from
a finished reproduction; SCHEDLAB_RESULTS names another folder than results/quick.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.studies.beyond import runs as beyond_runs
from experiments.studies.beyond.claims import guessed as rows_of_guessed
from experiments.studies.beyond.figures_guessed import guessed_figure, over_exact

from experiments.papers import synergy
from experiments.papers.registry import load, papers
from experiments.report.contents import Figure
from experiments.studies import beyond, foresight
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from policies.fractional_gpus.state import RULES
from tests.pictures.made_up import results

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
        assert figure.png is None or figure.png.stat().st_size > 5000
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


def test_synergy(tmp_path, monkeypatch):
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
    drawn = synergy.PAGE.figures(results(synergy.PAGE, scalars, tables), tmp_path)
    headings(drawn)
    assert len(drawn) == len(synergy.PAGE.registered) == 18


def tenants(task, random):
    vc = np.repeat(["A", "B", "C"], 5) if "tenants" not in task.config else None
    names = beyond_runs.TENANTS if vc is None else None
    vc = np.repeat(list(names), 5) if names else vc
    wait_s = random.exponential(3600, 15)
    return pd.DataFrame({"vc": vc, "total_wait_s": wait_s, "gpu_seconds": 9e3})


def allocated(task, random):
    percent = np.arange(70, 132, 2)
    rows = [
        pd.DataFrame({"rule": rule, "arrived_percent": percent, "seed": seed,
                      "allocated_percent": np.minimum(percent, 85 + 2 * k) - seed / 5})
        for k, rule in enumerate(RULES) for seed in (1, 2)
    ]  # fmt: skip
    return pd.concat(rows)


def test_beyond(tmp_path):
    names = (
        "mean_jct_s", "leasing_cost", "mean_wait_s", "envy_gpu_h", "energy_kwh", "rejected_jobs", "late_jobs",
        "jobs", "completed_jobs", "total_tardiness_s", "promised_jobs", "broken_promises", "max_finish_time_fairness",
    )  # fmt: skip
    scalars = {"run_scenario": dict.fromkeys(names, 1000.0) | {"goodput": 0.5}}
    tables = {"run_scenario": {"jobs": tenants}, "run_filling": {"allocated": allocated}}
    runs = results(beyond.PAGE, scalars, tables)
    for task, run in runs._runs:
        if "nodes" in task.columns():  # of spot VMs, which are cheap: points of their own
            nodes = int(str(task.columns()["nodes"]))
            slow = 30.0 - float(str(task.columns()["notice_s"])) / 5
            run.scalars["leasing_cost"] = 1000.0 - 50 * nodes + 5 * task.config["seed"]
            run.scalars["mean_jct_s"] = 1000.0 + 20 * nodes * task.config["seed"] + slow * nodes
    drawn = beyond.PAGE.figures(runs, tmp_path)
    headings(drawn)
    some = {"checkpoints", "spot", "filling", "shared_queue", "tenants", "predictions"}
    assert some <= {f.name for f in drawn}
    assert verdict_of(runs, "promised due dates") == "not reproduced"
    for _, run in runs._runs:
        run.scalars["broken_promises"] = 0
    assert verdict_of(runs, "promised due dates") == "reproduced"


def test_failed_runs_do_not_fail_the_page_of_predictions():
    """Without exact SRTF of a seed that seed is left out; without SJF there is no line of SJF."""
    runs = results(beyond.PAGE, {"run_scenario": {"mean_jct_s": 1000.0}}, {})
    columns = [(task.columns(), (task, run)) for task, run in runs._runs]
    guessed = [(c, pair) for c, pair in columns if c.get("study") == "guessed"]
    seed = guessed[0][0]["seed"]
    runs._runs = [
        pair
        for c, pair in guessed
        if c["policy"] != "SJF" and (c["policy"], c["error"], c["seed"]) != ("SRTF", 0.0, seed)
    ]
    assert seed not in set(over_exact(runs)["seed"])
    assert "SJF" not in set(guessed_figure(runs).data["policy"])
    claims = [claim.claim for claim in rows_of_guessed(runs)]
    assert any(claim.startswith("mean completion time of Gittins") for claim in claims)


def verdict_of(runs: Results, text: str) -> str:
    """Of the claim that begins so."""
    (claim,) = (claim for claim in beyond.PAGE.claims(runs) if claim.claim.startswith(text))
    assert claim.why or claim.verdict == "reproduced"
    return claim.verdict


def test_foresight(tmp_path):
    costs = {"total_cost": 100.0, "mean_jct_s": 1000.0}
    scalars = {"run_scenario": costs, "run_bounds": {"best": 10.0}}
    drawn = foresight.PAGE.figures(results(foresight.PAGE, scalars, {}), tmp_path)
    headings(drawn)
    assert len(drawn) == 6


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
