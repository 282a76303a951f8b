"""The compiled construction against its plain-Python twin, and against what must always hold."""

import numpy as np
import pytest

from policies.greedy.plan import FREE, HOSTED, TYPE
from policies.greedy.pool import randomised_greedy
from policies.greedy.problem import Settings, settings_of
from policies.greedy.queue import POSTPONED, pressure_order
from tests.greedy import reference, reference_search
from tests.greedy.instances import random_instance, random_settings


def solve(instance, settings, iterations, pool, seed):
    order = pressure_order(*instance[:2], settings.weigh_late)
    return randomised_greedy(order, *instance, settings, iterations, pool, np.uint64(seed))


def nodes_of(answer, rank):
    _, opens, nodes, hosted, gpus, _, _ = answer
    jobs = np.stack([hosted, gpus], axis=3)[rank]
    return [
        (*nodes[rank, k, [TYPE, FREE]].tolist(), jobs[k, : nodes[rank, k, HOSTED]].tolist())
        for k in range(opens[rank])
    ]


def test_kernel_is_its_twin_to_the_last_bit():
    for seed in range(250):
        instance, settings = random_instance(seed), settings_of(**random_settings(seed))
        answer = solve(instance, settings, 6, 3, seed)
        x, pool = reference.randomised_greedy(*instance, settings, 6, 3, seed)
        assert answer[0].place.tolist() == x.order, seed
        assert answer[5].tolist() == [plan.objective for plan in pool], seed
        for rank, plan in enumerate(pool):
            expected = [(node.node_type, node.free, node.hosted) for node in plan.nodes]
            assert nodes_of(answer, rank) == expected, seed
            value = reference_search.Context(x, x.s.objective).total(plan.nodes)
            assert plan.objective == pytest.approx(value, rel=1e-9, abs=1e-9 * abs(x.base)), seed


def test_randomised_finds_better_than_pure():
    better = sum(
        solve(random_instance(seed, 30, 6), Settings(candidate_share=0.3), 200, 1, 1)[5][0]
        < solve(random_instance(seed, 30, 6), Settings(), 1, 1, 0)[5][0]
        for seed in range(40)
    )
    assert better > 10


def test_jobs_that_can_run_nowhere_wait():
    jobs, profile, machines = random_instance(8)
    profile.num_configs[:] = 0
    answer = solve((jobs, profile, machines), Settings(), 5, 1, 0)
    assert answer[1][0] == 0
    assert answer[5][0] == answer[0].jobs[:, POSTPONED].sum()
