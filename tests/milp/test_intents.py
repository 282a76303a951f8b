"""Exact decisions in cases that are small enough to check by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.milp import Assignment, decision, highs
from policies.milp.decision import GREEDY, decide
from policies.milp.greedy_start import greedy_start
from policies.milp.instance import Instance, cost
from policies.milp.model import Model, Solution, SolverOptions
from policies.milp.placing import keep_nodes
from tests.milp.instances import like_the_paper


def test_a_job_undisturbed_is_worth_more_than_many_resized() -> None:
    """Node 5 holds one job that stays as it is; node 6 three that only keep their type."""
    plan = [Assignment(0, 0, 2, 4), *(Assignment(j, 1, 2, 1) for j in (1, 2, 3))]
    current = {0: (0, 2, 4), 1: (0, 2, 2), 2: (0, 2, 2), 3: (0, 2, 2)}
    kept = {a.job: a.node for a in keep_nodes(plan, current, 2)}
    assert kept == {0: 0, 1: 1, 2: 1, 3: 1}


def test_a_job_resized_where_it_is_beats_one_that_moves() -> None:
    plan = [Assignment(0, 0, 1, 2), Assignment(1, 1, 1, 2)]
    kept = {a.job: a.node for a in keep_nodes(plan, {1: (0, 1, 1)}, 3)}
    assert kept[1] == 0
    assert kept[0] != 0


def test_a_type_that_changes_gives_no_claim_on_the_node() -> None:
    """Job 0 is on node 1 as another type: only job 1, on its type, has a claim there."""
    plan = [Assignment(0, 0, 0, 1), Assignment(1, 1, 1, 1)]
    kept = {a.job: a.node for a in keep_nodes(plan, {0: (1, 1, 1), 1: (1, 1, 2)}, 2)}
    assert kept == {0: 0, 1: 1}


@pytest.mark.parametrize("limit_s", [1e-9, 0.05])
def test_at_a_time_limit_the_answer_is_never_worse_than_the_greedy_one(limit_s: float) -> None:
    instance = like_the_paper(3, 4, 20, monotone=False)
    answer = decide(instance, "literal", "highs", SolverOptions(1e-9, limit_s))
    greedy = cost(instance, list(greedy_start(instance)))
    assert answer.objective <= greedy * (1 + 1e-12)
    assert answer.objective == pytest.approx(cost(instance, list(answer.assignments)))
    if answer.fallback:
        assert answer.fallback == GREEDY
        assert answer.objective == pytest.approx(greedy)


def stopping(after: Callable[[Model], Solution]) -> Callable[..., Solution]:
    """A solver that stops at its limit of time with what ``after`` found."""
    return lambda model, *_: replace(after(model), status="feasible")


def worst(model: Model) -> Solution:
    """The plan of the highest cost that the model allows."""
    return highs.solve(replace(model, cost=-model.cost), SolverOptions())


def test_an_incumbent_worse_than_the_greedy_answer_is_not_used(monkeypatch: Any) -> None:
    instance = like_the_paper(3, 3, 6)
    monkeypatch.setattr(decision, "solve", stopping(worst))
    answer = decide(instance)
    greedy = greedy_start(instance)
    assert answer.fallback == GREEDY
    assert answer.objective == pytest.approx(cost(instance, greedy))
    assert set(answer.assignments) == set(greedy)


def test_an_incumbent_better_than_the_greedy_answer_is(monkeypatch: Any) -> None:
    instance = like_the_paper(3, 4, 20, monotone=False)
    best = decide(instance, solver="highs").objective
    assert best < 0.999 * cost(instance, greedy_start(instance))
    monkeypatch.setattr(decision, "solve", stopping(lambda m: highs.solve(m, SolverOptions())))
    answer = decide(instance)
    assert (answer.fallback, answer.status) == ("", "feasible")
    assert answer.objective == pytest.approx(best)


def test_the_gap_leaves_out_what_no_decision_changes(monkeypatch: Any) -> None:
    """The job is 50 s late and takes 100 s: 150 $ whatever is done, and 1 $ of lease. Half a dollar
    between objective and bound is a gap of 50 %, not of 0.3 %."""
    instance = Instance(
        np.array([[[np.inf, 100.0]]]), np.array([-50.0]), np.ones(1), np.array([36.0]),
        np.array([1]), 1,
    )  # fmt: skip
    monkeypatch.setattr(
        decision, "solve", lambda m, *_: replace(highs.solve(m, SolverOptions()), bound=150.5)
    )
    answer = decide(instance)
    assert answer.objective == pytest.approx(151)
    assert answer.gap == pytest.approx(0.5)
