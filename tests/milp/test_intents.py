"""Exact decisions in cases that are small enough to check by hand."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from policies.milp import JobOnNode, decide
from policies.solving import decision, highs
from policies.solving.decision import GREEDY
from policies.solving.greedy_start import greedy_start
from policies.solving.instance import DecisionInput, cost
from policies.solving.model import Model, Solution, SolverOptions
from policies.solving.nodes_of_solution import keep_nodes
from tests.solving.instances import like_the_paper

A = JobOnNode


@pytest.mark.parametrize(
    ("plan", "current", "types", "kept"),
    [
        # Node 0 holds one job that stays as it is, or three that only keep their type.
        (
            [A(0, 0, 2, 4), *(A(j, 1, 2, 1) for j in (1, 2, 3))],
            {0: (0, 2, 4), 1: (0, 2, 2), 2: (0, 2, 2), 3: (0, 2, 2)},
            None, {0: 0, 1: 1, 2: 1, 3: 1},
        ),
        # Job 1 is resized where it is, job 0 is new.
        ([A(0, 0, 1, 2), A(1, 1, 1, 2)], {1: (0, 1, 1)}, None, {0: 1, 1: 0}),
        # Job 0 is on node 1 as another type: only job 1, on its type, has a claim there.
        ([A(0, 0, 0, 1), A(1, 1, 1, 1)], {0: (1, 1, 1), 1: (1, 1, 2)}, None, {0: 0, 1: 1}),
        # A node that changes its type keeps nobody.
        ([A(0, 0, 1, 2)], {0: (1, 0, 2)}, None, {0: 0}),
        (
            [A(0, 0, 1, 2), A(1, 0, 1, 2), A(2, 1, 1, 4)],
            {2: (0, 1, 4), 0: (2, 1, 1), 1: (2, 1, 2)}, None, {0: 2, 1: 2, 2: 0},
        ),
        # Nodes keep their fixed type.
        ([A(0, 0, 1, 1), A(1, 1, 0, 1)], {0: (0, 0, 1)}, [0, 0, 1], {0: 2, 1: 0}),
    ],
)  # fmt: skip
def test_jobs_keep_their_node(plan, current, types, kept):
    assert {a.job: a.node for a in keep_nodes(plan, current, 3, types)} == kept


@pytest.mark.parametrize(("limit_s", "start"), [(1e-9, False), (0.05, False), (0.05, True)])
def test_at_a_time_limit_the_answer_is_never_worse_than_the_greedy_one(limit_s, start):
    instance = like_the_paper(3, 4, 20, monotone=False)
    answer = decide(instance, "literal", "highs", SolverOptions(1e-9, limit_s), start=start)
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


def test_an_incumbent_worse_than_the_greedy_answer_is_not_used(monkeypatch):
    instance = like_the_paper(3, 3, 6)
    monkeypatch.setattr(decision, "solve", stopping(worst))
    answer = decide(instance)
    greedy = greedy_start(instance)
    assert answer.fallback == GREEDY
    assert answer.objective == pytest.approx(cost(instance, greedy))
    assert set(answer.assignments) == set(greedy)


def test_an_incumbent_better_than_the_greedy_answer_is(monkeypatch):
    instance = like_the_paper(3, 4, 20, monotone=False)
    best = decide(instance, solver="highs").objective
    assert best < 0.999 * cost(instance, greedy_start(instance))
    monkeypatch.setattr(decision, "solve", stopping(lambda m: highs.solve(m, SolverOptions())))
    answer = decide(instance)
    assert (answer.fallback, answer.status) == ("", "feasible")
    assert answer.objective == pytest.approx(best)


def test_the_gap_leaves_out_what_no_decision_changes(monkeypatch):
    """The job is 50 s late and takes 100 s: 150 $ whatever is done, and 1 $ of lease. Half a dollar
    between objective and bound is a gap of 50 %, not of 0.3 %."""
    instance = DecisionInput(
        np.array([[[np.inf, 100.0]]]), np.array([-50.0]), np.ones(1), np.array([36.0]),
        np.array([1]), 1,
    )  # fmt: skip
    monkeypatch.setattr(
        decision, "solve", lambda m, *_: replace(highs.solve(m, SolverOptions()), bound=150.5)
    )
    answer = decide(instance)
    assert answer.objective == pytest.approx(151)
    assert answer.gap == pytest.approx(0.5)
