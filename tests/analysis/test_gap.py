"""The heuristics against the exact optimum of the same objective."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.analysis.gap import assignments_of, gaps, milp_instance
from policies.greedy import (
    GreedyPolicy,
    LocalSearchPolicy,
    PathRelinkingPolicy,
    RandomisedGreedyPolicy,
)
from policies.greedy.problem import Jobs, machines_of, profile_of
from policies.solving.decision import solve_decision
from policies.solving.instance import check_assignments, cost
from simulator.model.cluster import Cluster, NodeType
from tests.greedy.instances import random_instance
from tests.solving.brute_force import least_cost

slow = pytest.mark.slow
MORE = {"iterations": 50, "candidate_share": 1.0}
SEARCHES = (RandomisedGreedyPolicy, LocalSearchPolicy, PathRelinkingPolicy)
METHODS = [(GreedyPolicy, {}), *((kind, MORE) for kind in SEARCHES)]


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(s, marks=slow) for s in range(20, 40))]
)
def test_no_heuristic_is_below_the_exact_optimum(seed):
    jobs, profile, m = random_instance(seed, 12, 4)
    options = {"mu": [0.0, 0.002][seed % 2], "horizon_s": 20.0}
    for kind, more in METHODS:
        policy = kind(**options, **more)
        solution, _ = policy.solve(jobs, profile, m, seed)
        instance = milp_instance(jobs, profile, m, policy.settings)
        assignments = assignments_of(solution, m)
        check_assignments(instance, assignments)
        value = cost(instance, assignments)
        scale = 1e-9 * max(1.0, float(instance.postponed_cost.sum()))
        assert solution.objective == pytest.approx(value, abs=scale)
        if not assignments:
            continue
        # (P1n) apart: the optimum over plans that open as many nodes.
        exact = solve_decision(
            replace(instance, open_nodes=len(solution.node_type)), solver="highs"
        )
        assert exact.status == "optimal"
        assert value >= exact.objective - 1e-6 * max(1.0, exact.objective)


@pytest.mark.parametrize(
    "seed", [*range(1, 24, 2), *(pytest.param(s, marks=slow) for s in range(25, 48, 2))]
)
def test_exact_optimum_is_brute_force_on_tiny_andreas_instances(seed):
    jobs, profile, m = random_instance(seed, 3, 2)
    settings = GreedyPolicy(mu=0.001, horizon_s=30.0).settings
    instance = milp_instance(jobs, profile, m, settings)
    answer = solve_decision(instance, solver="highs")
    assert answer.objective == pytest.approx(least_cost(instance), rel=1e-7, abs=1e-9)


def test_gaps_rank_the_methods():
    methods = {kind.name: kind(**more) for kind, more in METHODS}
    found = [gaps(*random_instance(s, 14, 3), methods, s) for s in range(20, 40)]
    mean = {name: np.mean([g[name].gap for g in found]) for name in methods}
    assert mean["greedy"] > mean["randomised-greedy"] >= mean["local-search"]
    assert mean["randomised-greedy"] >= mean["path-relinking"]


@pytest.mark.parametrize("later_s", [0.0, 1e4, 1e6])
def test_lateness_that_no_decision_changes_leaves_the_gap_as_it_is(later_s):
    """Every job is overdue already; more of it adds the same cost to every plan that runs all."""
    cluster = Cluster.of_vms([NodeType("one", "A", 1, 1.0), NodeType("two", "A", 2, 10.0)], 2)
    machines, price = machines_of(cluster, range(2))
    times = np.full((2, 2, 3), np.inf)
    times[:, :, 1] = 100.0
    times[:, 1, 2] = 99.0
    jobs = Jobs(np.arange(2), np.ones(2), np.full(2, -10.0 - later_s), np.full(2, 1e-6))
    found = gaps(jobs, profile_of(times, machines, price), machines, {"greedy": GreedyPolicy()}, 0)
    gap = found["greedy"]
    # Overdue jobs get the fastest by the greedy rule, 99 s of a whole node at 10 an hour each; the
    # optimum runs each for 100 s at 1 an hour. Tardiness from now on is what a plan can change.
    hour = 3600.0
    greedy = 2 * (99 * 10 / hour + 1e-6 * (99 + 10 + later_s))
    best = 2 * (100 * 1 / hour + 1e-6 * (100 + 10 + later_s))
    assert gap.proxy == pytest.approx(greedy)
    assert gap.optimum == pytest.approx(best)
    assert gap.gap > 5
    base = 2 * (100 / hour + 1e-6 * 110)
    assert gap.gap == pytest.approx((greedy - best) / (base - 2e-6 * 10), rel=0.05)
