"""The proof's runs: what is compared is the same instance, and no seed of the development."""

from __future__ import annotations

import pytest

from experiments.papers.foresight.families import FAMILIES
from experiments.papers.foresight.runs import ABLATIONS, run_bounds, run_bracket, run_method, tasks
from policies import make_policy


def test_a_run_and_its_bound() -> None:
    config = {"family": "andreas-1-10", "seed": 77}
    run = run_method({**config, "method": "foresight"}).scalars
    again = run_method({**config, "method": "foresight"}).scalars
    timed = ("decision_cpu_s",)
    assert {k: v for k, v in run.items() if k not in timed} == {
        k: v for k, v in again.items() if k not in timed
    }
    bounds = run_bounds(config).scalars
    assert bounds["best"] == max(bounds["alone"], bounds["lagrangian"])
    assert bounds["best"] <= run["total_cost"]
    plan = run_bracket({**config, "steps": 20}).scalars
    assert plan["foresight"] == pytest.approx(run["total_cost"])
    assert bounds["best"] <= plan["clairvoyant"] < plan["foresight"]


def test_seeds_are_fresh_and_tasks_are_distinct() -> None:
    for scale in ("quick", "paper"):
        made = tasks(scale)
        assert all(task.config["seed"] > 2000 for task in made)
        named = [(task.key, tuple(sorted(task.columns().items()))) for task in made]
        assert len(set(named)) == len(named)


def test_load_moves_arrivals_alone() -> None:
    slow, fast = (FAMILIES[name].draw(5)[0] for name in ("2021-5", "2021-5-high"))
    assert (slow.weight_per_s == fast.weight_per_s).all()
    assert slow.submit_s[-1] / fast.submit_s[-1] == pytest.approx(1.5)


def test_each_ablation_is_a_setting() -> None:
    for options in ABLATIONS.values():
        assert make_policy("foresight", **options) != make_policy("foresight")
