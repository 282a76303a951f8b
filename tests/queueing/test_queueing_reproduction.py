"""The queueing laboratory as a whole, at a toy scale: every run, figure and claim."""

import numpy as np
import pytest

from experiments.studies.queueing import PAGE, one_server, runs
from experiments.studies.queueing.runs import (
    run_filling,
    run_loss,
    run_order,
    run_queue,
    run_unlimited,
    run_waits,
)
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from experiments.sweep.task import Task
from simulator.statistics import student
from simulator.theory import erlang_b, fcfs_wait_s
from tests.command import compute
from tests.pictures.some import painted
from tests.report.redrawn import check_drawn_again


def test_the_engine_and_the_recursion_wait_alike():
    """The same arrivals and services through strict FIFO and through Kiefer and Wolfowitz."""
    config = {"servers": 3, "load": 0.8, "gaps": "exponential", "service": "bimodal"}
    config |= {"jobs": 400, "seed": 4}
    found = run_queue(config).scalars
    wait = fcfs_wait_s(*runs.sample(config, 3), 3)[100:]
    assert found["mean_wait_s"] == pytest.approx(wait.mean(), rel=1e-9)
    assert found["waits"] == pytest.approx((wait > 0).mean())
    assert found["exceeds_200"] == pytest.approx((wait > 200).mean())


def test_orders_keep_the_work_and_differ_in_whom_they_serve():
    config = {"load": 0.8, "jobs": 700, "seed": 2}
    found = {
        order: run_order(config | {"order": order}).scalars
        for order in (*runs.WITHOUT_CLASSES, *runs.WITH_CLASSES)
    }
    mean = {order: float(scalars["mean_response_s"]) for order, scalars in found.items()}
    assert mean["shortest remaining"] == min(mean.values())
    assert mean["processor sharing"] < mean["first come"]
    for order in runs.WITH_CLASSES:
        assert found[order]["urgent_response_s"] < found[order]["normal_response_s"]
    fcfs = {"servers": 1, "gaps": "exponential", "service": runs.ORDER_LAW}
    same = run_queue(config | fcfs).scalars["mean_response_s"]
    assert mean["first come"] == pytest.approx(same, rel=1e-9)


def test_unlimited_servers_and_a_queue_from_empty():
    pool = run_unlimited({"service": "lognormal", "load": 4.0, "jobs": 2000, "seed": 1}).scalars
    parts = [float(pool[f"at_{n}"]) for n in range(16)]
    assert sum(parts) == pytest.approx(1, abs=0.02)
    assert pool["mean_number"] == pytest.approx(4, rel=0.15)
    paths = run_filling({"load": 0.9, "runs": 3, "jobs": 1, "seed": 1}).tables["paths"]
    assert (paths[paths["time_s"] == 0]["number"] == 0).all()
    assert paths["number"].min() == 0
    assert len(paths) == 3 * len(runs.FILLING_S)


def test_a_loss_system_turns_away_who_finds_all_servers_busy():
    lost = [
        float(run_loss({"servers": 4, "load": 0.85, "jobs": 800, "seed": s}).scalars["lost"])
        for s in range(6)
    ]
    assert student(lost, 0.99).contains(erlang_b(3.4, 4))


def test_waits_are_those_of_the_queue():
    config = {"service": "exponential", "load": 0.7, "jobs": 500, "seed": 3}
    found = run_waits(config)
    wait_s = found.tables["waits"]["wait_s"].to_numpy()
    same = run_queue(config | {"servers": 1, "gaps": "exponential"}).scalars["mean_wait_s"]
    assert wait_s[125:].mean() == pytest.approx(same)
    assert found.scalars["quantile_0.9_s"] == pytest.approx(np.quantile(wait_s[125:], 0.9))


@pytest.mark.long
def test_figures_and_claims_of_a_toy_scale(tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "code", "")  # a version takes seconds
    monkeypatch.setitem(runs.JOBS, "quick", 80)
    monkeypatch.setitem(runs.SEEDS, "quick", (1, 2))
    monkeypatch.setitem(runs.LOADS, "quick", (0.7,))
    monkeypatch.setitem(runs.ONE_RUN_JOBS, "quick", 3500)
    monkeypatch.setitem(runs.FILLING_RUNS, "quick", 3)
    # Lines of a picture; tests/queueing/test_closed_forms.py has what they are.
    monkeypatch.setattr(one_server, "mg1_wait_exceeds", lambda rate, law, t: 0.7 * np.exp(-t / 1e5))
    monkeypatch.setattr(one_server, "mg1_wait_quantile_s", lambda rate, law, q: -np.log1p(-q) * 1e4)
    listed = PAGE.tasks("quick")
    with Store(tmp_path / "store", create=True) as store:
        compute(listed, store)
        results = Results(store, listed, "quick")
        assert not results.missing
        with painted("orders", "one_run"):
            drawn = PAGE.figures(results, tmp_path)
        made = PAGE.claims(results)
        check_drawn_again(PAGE, results, tmp_path, drawn, made)
    assert {figure.name for figure in drawn} == {figure.name for figure in PAGE.registered}
    numbers_alone = {figure.name for figure in drawn if figure.png is None}
    assert numbers_alone >= {"little", "kingman", "unlimited"}
    painted_here = {path.stem for path in tmp_path.glob("*.png") if path.stat().st_size > 5000}
    assert painted_here == {"orders", "one_run"}
    sizing = [c.ours for c in made if c.unit == "servers"]
    assert sizing == [4, 20]  # for 200 and 2,000 controllers; 20 are in the hierarchical claims
