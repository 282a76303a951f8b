"""Random jobs by the rule of Gavel's simulations, and the published runs that they give."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from experiments.scenario import run as scenarios
from experiments.scenario.effects import without_effect
from experiments.scenario.schema import Scenario
from simulator.errors import InputError
from simulator.workloads.gavel_like import (
    JOB_TYPES,
    SPREAD,
    GavelLikeJobs,
    draw_arrivals,
    draw_jobs,
)
from simulator.workloads.table import Setting
from simulator.workloads.training import job_type


@pytest.fixture
def throughputs(tmp_path):
    """Steps/s: 10 on V100, 4 on K80, twice as many on two GPUs and so on."""
    rates = {
        kind: {
            str((job_type(*each), gpus)): {"null": rate * gpus}
            for each in JOB_TYPES
            for gpus in ((1, 2, 4, 8) if each[0] in SPREAD else (1,))
        }
        for kind, rate in (("v100", 10.0), ("k80", 4.0))
    }
    path = tmp_path / "throughputs.json"
    path.write_text(json.dumps(rates))
    return path


def test_jobs_follow_the_stated_laws():
    jobs = draw_jobs(4000, seed=7, multi_gpu=True)
    gpus = np.array([job[2] for job in jobs])
    minutes = np.array([job[3] for job in jobs]) / 60
    assert {job[:2] for job in jobs} == set(JOB_TYPES)
    assert all(model in SPREAD for model, _, count, _ in jobs if count > 1)
    assert [np.mean(gpus == n) for n in (1, 2, 4, 8)] == pytest.approx(
        [0.7, 0.1, 0.15, 0.05], abs=0.025
    )
    assert minutes.min() >= 10**1.5
    assert minutes.max() <= 1e4
    assert np.mean(minutes > 1000) == pytest.approx(0.2, abs=0.02)
    assert {job[2] for job in draw_jobs(100, seed=7)} == {1}
    gaps_s = np.diff(draw_arrivals(4000, 2.0, seed=7))
    assert gaps_s.mean() == pytest.approx(1800, rel=0.05)
    assert gaps_s.std() == pytest.approx(1800, rel=0.1)
    assert not draw_arrivals(5, 0.0, seed=7).any()


def test_steps_take_the_drawn_time_on_v100(throughputs):
    workload, cluster = GavelLikeJobs(
        num_jobs=50,
        jobs_per_h=0.0,
        throughputs=throughputs,
        gpus={"v100": 8, "k80": 8},
        multi_gpu=True,
    ).make(Setting(1))
    drawn = draw_jobs(50, 1, True)
    times_s = workload.performance.times_s
    assert times_s[:, 0] == pytest.approx([job[3] for job in drawn], abs=0.1)
    assert times_s[:, 1] == pytest.approx(2.5 * times_s[:, 0])
    assert workload.num_gpus.tolist() == [job[2] for job in drawn]
    assert cluster.num_nodes == 16


def test_a_scenario_names_it(throughputs):
    scenario = Scenario.model_validate(
        {
            "policy": "gandiva-fair",
            "seed": 1,
            "workload": {
                "kind": "gavel-like",
                "num_jobs": 5,
                "throughputs": str(throughputs),
                "gpus": {"v100": 4},
            },
            "decisions": {"round_s": 360, "round_ends": "last-finisher"},
        }
    )
    result = scenarios.run(scenario)
    drawn_s = np.array([job[3] for job in draw_jobs(5, 1)])
    assert (result.jct_s >= drawn_s - 1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_jobs": 0}, "num_jobs: got 0, expected an integer >= 1"),
        ({"jobs_per_h": -1.0}, r"jobs_per_h: got -1\.0, expected a number >= 0"),
        ({"spread": ["A3C"]}, r'spread\[0\]: got "A3C", expected one of ResNet-18, '),
        ({"spread": []}, r"spread: got \[\], expected a list of"),
        ({"gpus": {"v100": 4}}, "8 GPUs, expected a type of GPU with as many"),
        ({"gpus": {"a100": 8}}, "no rates of 'a100', found v100, k80"),
    ],
)
def test_bad_input_is_one_line(throughputs, arguments, message):
    given = {"num_jobs": 50, "jobs_per_h": 1.0, "gpus": {"v100": 8}, **arguments}
    with pytest.raises(InputError, match=message) as error:
        GavelLikeJobs(throughputs=throughputs, multi_gpu=True, **given).make(Setting(1))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("notebook", "several", "rate"),
    [("continuous_jobs", False, 0.4), ("continuous_jobs_multigpu", True, 0.2)],
)
def test_seed_0_gives_the_jobs_of_the_published_runs(notebook, several, rate):
    """The mean time under a first-in-first-out queue that is all but empty: that on the fastest types."""
    folder = Path(os.environ.get("SCHEDLAB_FACTS") or "/nowhere") / "peers" / "gavel"
    if not folder.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with the published results of other schedulers")
    with (folder / "notebook_jct_or_ftf_by_rate.csv").open() as file:
        published = {
            (r["notebook"], r["cell"], r["policy"], float(r["input_job_rate_per_h"])): r["value"]
            for r in csv.DictReader(file)
        }
    workload, _ = GavelLikeJobs(
        num_jobs=5001,
        jobs_per_h=rate,
        throughputs=folder / "simulation_throughputs.json.gz",
        gpus={"v100": 36, "p100": 36, "k80": 36},
        multi_gpu=several,
        spread=["ResNet-18", "Transformer", "LM"],
    ).make(Setting(0))
    fastest_h = workload.performance.times_s.min(axis=1)[4000:].mean() / 3600
    expected = float(published[notebook, "10", "fifo_perf", rate])
    assert fastest_h == pytest.approx(expected, rel=0.003)


def test_models_of_several_gpus_are_said_to_change_nothing_without_them(throughputs):
    jobs = {"kind": "gavel-like", "throughputs": str(throughputs), "num_jobs": 4}
    keys = {"gpus": {"v100": 2}, "spread": ["LM"]}
    scenario = Scenario.model_validate({"policy": "max-min-fairness", "workload": jobs | keys})
    said = list(without_effect(scenario, scenarios.run(scenario), 60.0))
    assert "workload.spread: has no effect here; all numbers are the same without it" in said
