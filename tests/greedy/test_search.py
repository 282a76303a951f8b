"""Local search and path relinking against their plain-Python twins, and what must always hold."""

import numpy as np
import pytest

from policies.greedy import neighbourhoods, relinking, search
from policies.greedy.plan import HOSTED, TYPE
from policies.greedy.policy import LocalSearchPolicy, PathRelinkingPolicy, RandomisedGreedyPolicy
from policies.greedy.pool import randomised_greedy
from policies.greedy.problem import OBJECTIVES, settings_of
from policies.greedy.queue import pressure_order
from tests.greedy import reference, reference_search
from tests.greedy.instances import random_instance, random_settings

SEARCHED = ["paper", "own-finish", "paper", "ratio", "first-finish"]


def prepared(seed):
    instance, options = random_instance(seed), random_settings(seed)
    settings = settings_of(**options)
    order = pressure_order(*instance[:2], settings.weigh_late)
    pool = randomised_greedy(order, *instance, settings, 12, 4, np.uint64(seed))
    x, plans = reference.randomised_greedy(*instance, settings, 12, 4, seed)
    return instance, settings, pool, x, plans, OBJECTIVES[SEARCHED[seed // 5 % 5]]


def nodes_of(nodes, hosted, gpus):
    return [
        (int(node[TYPE]), jobs[: node[HOSTED]].tolist())
        for node, jobs in zip(nodes, np.stack([hosted, gpus], axis=2), strict=True)
        if node[HOSTED] > 0
    ]


def test_local_search_is_its_twin():
    for seed in range(120):
        (_, profile, m), settings, pool, x, plans, objective = prepared(seed)
        queue, opens, nodes, hosted, gpus, _, _ = pool
        promise = neighbourhoods.promises(queue, profile)
        answer = search.local_search(
            queue, opens, nodes, hosted, gpus, np.argsort(-promise, kind="stable"), promise,
            profile, m, objective, settings.mu, 4, 3,
        )  # fmt: skip
        found, value = reference_search.local_search(x, plans, objective, 4, 3)
        assert answer[3] == value, seed
        assert nodes_of(*answer[:3]) == [(n.node_type, n.hosted) for n in found], seed


def test_path_relinking_is_its_twin():
    for seed in range(120):
        (_, profile, m), settings, pool, x, plans, objective = prepared(seed)
        queue, opens, nodes, hosted, gpus, _, _ = pool
        answer = relinking.path_relinking(
            queue, opens, nodes, hosted, gpus, profile, m, objective, settings.mu
        )
        found, value = reference_search.path_relinking(x, plans, objective)
        assert answer[3] == pytest.approx(value, rel=1e-12, abs=1e-12 * abs(x.base)), seed
        assert nodes_of(*answer[:3]) == [(n.node_type, n.hosted) for n in found], seed


@pytest.mark.parametrize("policy", [LocalSearchPolicy, PathRelinkingPolicy])
@pytest.mark.parametrize("objective", ["paper", "first-finish"])
@pytest.mark.parametrize("mu", [0.0, 0.001])
def test_never_worse_than_its_start_and_feasible(policy, objective, mu):
    options = {"iterations": 30, "candidate_share": 0.3, "mu": mu, "objective": objective}
    better = 0
    for seed in range(20):
        jobs, profile, m = random_instance(seed, 30, 8)
        start, _ = RandomisedGreedyPolicy(**options).solve(jobs, profile, m, seed)
        found, _ = policy(**options).solve(jobs, profile, m, seed)
        assert found.objective <= start.objective * (1 + 1e-9) + 1e-9
        better += found.objective < start.objective * (1 - 1e-9)
        for solution in (start, found):
            check(solution, jobs, profile, m)
    assert better > 3


@pytest.mark.parametrize("policy", [LocalSearchPolicy, PathRelinkingPolicy])
@pytest.mark.parametrize("objective", ["first-finish", "own-finish", "ratio"])
def test_value_is_that_of_the_whole_solution(policy, objective):
    searched = policy(iterations=30, candidate_share=0.3, objective=objective)
    for seed in range(25):
        jobs, profile, m = random_instance(seed, 30, 8)
        found, _ = searched.solve(jobs, profile, m, seed)
        x = reference.Instance(jobs, profile, m, searched.settings)
        position = {place: i for i, place in enumerate(x.order)}
        nodes = []
        for v, k, hosted, gpus in zip(
            found.node_type, found.num_jobs, found.jobs, found.gpus, strict=True
        ):
            pairs = [[position[j], int(g)] for j, g in zip(hosted[:k], gpus[:k], strict=True)]
            nodes.append(reference.Node(v, int(m.gpus[v] - gpus[:k].sum()), pairs))
        expected = reference.released_objective(x, nodes)
        assert found.objective == pytest.approx(expected, rel=1e-9, abs=1e-9 * x.base), seed


def check(solution, jobs, profile, m):
    """The solution can be carried out."""
    opened = np.bincount(m.family_of[solution.node_type], minlength=len(m.families))
    assert (opened <= m.families[:, 2]).all()
    assert len(solution.node_type) <= m.num_nodes
    placed = []
    for v, k, hosted, gpus in zip(
        solution.node_type, solution.num_jobs, solution.jobs, solution.gpus, strict=True
    ):
        assert k > 0
        assert gpus[:k].sum() <= m.gpus[v]
        assert np.isfinite(profile.times_s[jobs.row[hosted[:k]], v, gpus[:k]]).all()
        placed += hosted[:k].tolist()
    assert len(placed) == len(set(placed))
