"""Shared GPUs with departures: no GPU given away twice, work conserved, wrong decisions refused."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.fractional_gpus.packing_experiment import RULES
from policies.fractional_gpus.policy import SharedFirstCome
from simulator import (
    Cluster,
    Decision,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    simulate,
)
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.fractional import SharedDuration
from simulator.laws import Exponential
from simulator.model.workload import Workload
from simulator.statistics import Streams, student
from simulator.theory import mmc_mean_wait_s
from simulator.workloads.openb import openb_queue


class Recorded:
    """A policy that keeps which GPUs it gave to whom."""

    def __init__(self, rule, kept):
        self.policy = SharedFirstCome(rule)
        self.kept = kept

    def __deepcopy__(self, memo):
        return self

    def decide(self, view):
        decision = self.policy.decide(view)
        for job, gpus in (decision.gpus_of or {}).items():
            self.kept[job, view.now_s] = gpus
        return decision


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 1000), st.sampled_from(list(RULES)), st.booleans())
def test_no_gpu_is_given_away_twice(seed, rule, failing):
    jobs, cluster = openb_queue(80, 3, 1.2, Exponential(1000.0), Streams(seed))
    cause = Outages.of_each_node(cluster.num_nodes, Exponential(4000.0), Exponential(500.0))
    failures = Failures([cause], Checkpoints(0.0)) if failing else None
    kept = {}
    result = simulate(jobs, cluster, Recorded(rule, kept), seed=seed, features=[failures])
    events = defaultdict(list)
    used = np.zeros(len(jobs))
    for share in result.schedule:
        gpus = kept[share.job, share.start_s]
        used[share.job] += share.gpus * (share.end_s - share.start_s)
        for g in gpus:
            part = share.gpus / len(gpus)
            events[share.node, g] += [(share.start_s, part), (share.end_s, -part)]
    for (node, g), changes in events.items():
        assert g < cluster.node_types[cluster.node_type_of[node]].gpus
        total = 0.0
        for _, part in sorted(changes):
            total += part
            assert total <= 1 + 1e-9
    np.testing.assert_allclose(used, jobs.performance.work_gpu_s(cluster), rtol=1e-6)


def test_halves_of_one_gpu_are_two_servers():
    """M/M/2: one GPU, jobs of half of it."""
    service, rate, count = 100.0, 1 / 70, 1000
    waits = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        submit = np.cumsum(rng.exponential(1 / rate, count))
        ones = np.ones(count, dtype=np.int64)
        times = SharedDuration(rng.exponential(service, count), ones, part=ones * 0.5)
        jobs = Workload([str(j) for j in range(count)], submit, times, num_gpus=ones)
        one = Cluster.of_nodes(NodeType("n", "GPU", 1), 1)
        result = simulate(jobs, one, make_policy("shared", rule="best-fit"), record_schedule=False)
        waits.append(result.wait_s[count // 10 :].mean())
    assert student(np.array(waits), 0.999).contains(mmc_mean_wait_s(rate, service, 2))


def two_jobs(part=0.6):
    ones = np.ones(2, dtype=np.int64)
    times = SharedDuration(np.array([50.0, 50.0]), ones, part=ones * part)
    return Workload(["a", "b"], [0.0, 0.0], times, num_gpus=ones)


@pytest.mark.parametrize(
    ("gpus_of", "told"),
    [
        ({0: (0,), 1: (0,)}, r"node 0: GPU 0 is given away 1\.2 times"),
        ({0: (0,), 1: (2,)}, r"names GPUs \(2,\) of node 0, which has 2"),
        ({0: (0,)}, "names GPUs None for job 1"),
        ({0: (0,), 1: (1, 1)}, r"names GPUs \(1, 1\) for job 1"),
    ],
)
def test_wrong_parts_are_refused(gpus_of, told):
    def wrong(view):
        placements = [Placement(job, 0, 0.6) for job in view.waiting]
        return Decision(placements, gpus_of=gpus_of)

    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 1)
    with pytest.raises(InfeasibleDecision, match=told):
        simulate(two_jobs(), cluster, wrong)


def test_other_mistakes():
    with pytest.raises(InputError, match="shared: rule is 'tightest'"):
        make_policy("shared", rule="tightest")
    with pytest.raises(InputError, match="parts of GPUs"):
        two_jobs(1.5)
    with pytest.raises(InputError, match="expected nodes of fixed types"):
        simulate(two_jobs(), Cluster.rental_pool(), make_policy("shared"))


def test_every_list_policy_runs_parts_as_whole_gpus():
    jobs, cluster = openb_queue(60, 3, 0.5, Exponential(600.0), Streams(2))
    shared_run = simulate(jobs, cluster, make_policy("shared"))
    whole = simulate(jobs, cluster, make_policy("fifo-backfill"))
    assert whole.jct_s.mean() >= shared_run.jct_s.mean()


@pytest.mark.parametrize(
    ("parts", "waves"),
    [
        ([1 / 3] * 6, [1, 1, 1, 2, 2, 2]),
        ([0.33349] * 6, [1, 1, 2, 2, 3, 3]),
        ([0.47] * 4, [1, 1, 2, 2]),
        ([1e-4] * 6, [1] * 6),
        ([0.33349, 0.6667, 0.33349], [1, 2, 1]),
    ],
)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_parts_that_are_no_thousandths(parts, waves, rule):
    """As many share the GPU as it holds, and each has the part that it asked for."""
    count = len(parts)
    ones = np.ones(count, dtype=np.int64)
    jobs = Workload(
        [f"j{j}" for j in range(count)],
        np.zeros(count),
        SharedDuration(np.full(count, 10.0), ones, part=np.array(parts)),
        num_gpus=ones,
    )
    one = Cluster.of_nodes(NodeType("n", "GPU", 1), 1)
    result = simulate(jobs, one, SharedFirstCome(rule))
    assert result.completion_s.tolist() == [10.0 * wave for wave in waves]
