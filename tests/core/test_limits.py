"""What waiting jobs lacked, by hand and by a look at every instant, and the metrics that operators read."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from simulator import FIXED, Cluster, Decision, NodeType, Placement
from simulator.features.failures import Failures, Outages
from simulator.laws import Deterministic, Exponential
from simulator.metrics import limits as module
from simulator.metrics.limits import limits
from simulator.metrics.operator_metrics import operator_summary
from simulator.workloads.partitions import in_partitions
from tests.core.jobs import elastic, fixed, nodes, run


def waited(result):
    return {why: s for why, s in limits(result).waited_s.items() if s}


def test_gpus_and_the_order():
    """Two GPUs, held in part by j0 until 100 s; j1 needs both, j2 would fit beside j0 but stands behind j1."""
    jobs = fixed([0, 0, 0], [100, 50, 10], [1, 2, 1])
    strict = run(jobs, nodes(2), "fifo-strict")
    assert waited(strict) == {"GPUs": 100 + 50, "order": 100}
    assert operator_summary(strict)["fragmentation_ratio"] == 0
    assert waited(run(jobs, nodes(2), "fifo-backfill")) == {"GPUs": 100}
    assert limits(strict).shares() == {"GPUs": 0.6, "order": 0.4}


def emptiest(view, strict=False):
    """Each job whole on the node with most free GPUs; strict: none before an earlier one."""
    free, placed = view.free_gpus.copy(), []
    for job in view.waiting:
        gpus, node = view.workload.num_gpus[job], int(np.argmax(free))
        if free[node] >= gpus:
            free[node] -= gpus
            placed.append(Placement(job, node, int(gpus), FIXED, 0.0, 0.0))
        elif strict:
            break
    return Decision(placed, keep_running=True)


def test_fragmentation():
    """Two nodes of two GPUs with a job of one GPU each: a job of two finds one free on each from 100 to 200 s."""
    result = run(fixed([0, 0, 100], [200, 300, 50], [1, 1, 2]), nodes(2, 2), emptiest)
    assert waited(result) == {"fragmentation": 100}
    told = operator_summary(result)
    assert told["fragmentation_ratio"] == 100 * 2 / (4 * 300)
    assert told["allocation_ratio"] == (200 + 300 + 2 * 50) / (4 * 300)
    assert told["effective_training_ratio"] == 1
    assert told["mean_total_wait_1_gpu_s"] == 0
    assert told["mean_total_wait_2_to_4_gpus_s"] == 100


def test_gpus_that_a_job_would_fit_on_are_not_lost_to_fragmentation():
    """The same, and behind the job of two GPUs one of one GPU that would fit: from 100 to 200 s no GPU is lost."""
    jobs = fixed([0, 0, 100, 100], [200, 300, 50, 50], [1, 1, 2, 1])
    result = run(jobs, nodes(2, 2), partial(emptiest, strict=True))
    assert waited(result) == {"fragmentation": 100, "order": 100}
    assert operator_summary(result)["fragmentation_ratio"] == 0


A100_AND_V100 = Cluster(
    (NodeType("a", "A100", 2), NodeType("v", "V100", 2)), 3, node_type_of=(0, 1, 1)
)


def test_gpus_of_a_type():
    """j0 holds both A100 until 100 s, while four V100 are free; j1 waits for one, j2 for one on any node."""
    jobs = fixed([0, 0, 0], [100, 50, 10], [2, 1, 2], gpu_types=["A100", "A100", ""])
    result = run(jobs, A100_AND_V100, "fifo-backfill")
    assert waited(result) == {"too few A100 free": 100}
    # the next two come together at 100 s, and j1 goes first: the order of two that ask for the same
    jobs = fixed([0, 0, 0], [100, 50, 10], [2, 2, 1], gpu_types=["A100"] * 3)
    assert waited(run(jobs, A100_AND_V100, "fifo-strict")) == {"too few A100 free": 100 + 100 + 50}
    assert operator_summary(result)["fragmentation_ratio"] == 0


def test_gpus_of_types_that_will_do():
    jobs = fixed([0, 0], [100, 50], [6, 2], gpu_types=["", "V100|K80"])
    assert waited(run(jobs, A100_AND_V100)) == {"too few V100 or K80 free": 100}


def test_gpus_of_a_partition():
    """The long partition is node 0; the jobs name theirs as their virtual cluster."""
    jobs = fixed([0, 0], [100, 50], [2, 1], vc=["long", "long"])
    jobs = in_partitions(jobs, A100_AND_V100, [frozenset({"long"}), frozenset({"short"})])
    assert waited(run(jobs, A100_AND_V100)) == {"too few GPUs of partition long free": 100}


def test_fragmentation_of_a_type():
    """One V100 is free on each of two nodes, and two A100 on one: a job of two V100 finds them on no node."""
    jobs = fixed([0, 0, 0], [100, 100, 50], [1, 1, 2], gpu_types=["V100"] * 3)

    def apart(view):
        waiting = [*view.waiting]
        if 0 in waiting:
            return Decision(
                [Placement(j, j + 1, 1, FIXED, 0.0, 0.0) for j in (0, 1)], keep_running=True
            )
        last = [Placement(2, 1, 2, FIXED, 0.0, 0.0)] if view.free_gpus[1] == 2 else []
        return Decision(last if waiting else [], keep_running=True)

    assert waited(run(jobs, A100_AND_V100, apart)) == {"fragmentation": 100}


def test_effective_training():
    """The node is down from 70 to 100 s: the second of two jobs of 60 s loses 10 s of work and takes 100 s from its start."""
    failing = Failures([Outages(Deterministic(70.0), Deterministic(30.0), [(0,)])])
    told = operator_summary(run(fixed([0, 20], [60, 60]), nodes(), "fifo-strict", failing))
    assert told["effective_training_ratio"] == 120 / (60 + 100)
    assert told["allocation_ratio"] == (60 + 10 + 60) / 160


def test_no_answer():
    """Of jobs whose GPUs policies choose."""
    result = run(elastic([[[np.inf, 100.0, 60.0]]]), nodes(2), "fifo")
    assert limits(result) is None
    assert {*operator_summary(result)} == {"allocation_ratio"}


@pytest.mark.long
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("policy", ["fifo-backfill", "fifo-strict", "srpt", emptiest])
def test_every_instant(policy, fails):
    """By a plain look at each instant of a random run."""
    rng = np.random.default_rng(4)
    count, beside = 60, policy is not emptiest
    columns = {
        "num_cpus": rng.choice([1.0, 6.0, np.nan], count), "memory_gb": rng.choice([10.0, 70.0], count),
    } if beside else {}  # fmt: skip
    jobs = fixed(
        np.cumsum(rng.exponential(20, count)), rng.uniform(20, 400, count), rng.integers(1, 5, count), **columns
    )  # fmt: skip
    cluster = nodes(4, 3, **({"cpus": 8, "memory_gb": 80} if beside else {}))
    cause = Outages.of_each_node(3, Exponential(900.0), Deterministic(200.0))
    result = run(jobs, cluster, policy, *([Failures([cause])] if fails else []))
    expected = by_hand(result, beside)
    found = limits(result)
    assert found.waited_s == pytest.approx(expected, abs=1e-6)
    assert sum(found.waited_s.values()) == pytest.approx(result.total_wait_s.sum())
    assert len([why for why, s in expected.items() if s]) > 1


def by_hand(result, beside):
    """Seconds of each reason, from the tables."""
    jobs, shares = result.workload, result.schedule_table()
    down = [row for part in result.parts.values() for row in part.down.tolist()]
    row = {name: j for j, name in enumerate(jobs.job_id)}
    shares["job"] = [row[name] for name in shares["job_id"]]
    several = shares.groupby(["job", "start_s"])["node"].count()
    spreads = any(several > 1)
    events = {*jobs.submit_s, *result.completion_s, *shares["start_s"], *shares["end_s"]}
    events |= {t for _, a, b in down for t in (a, b)}
    found = dict.fromkeys(module.REASONS, 0.0)
    for at, until in itertools.pairwise(sorted(events)):
        now = shares[(shares["start_s"] <= at) & (shares["end_s"] > at)]
        free = {
            n: [4.0, 8.0 if beside else math.inf, 80.0 if beside else math.inf] for n in range(3)
        }
        for share in now.itertuples():
            for k, name in enumerate(("gpus", "cpus", "memory_gb")):
                free[share.node][k] -= getattr(share, name)
        for node, a, b in down:
            if a <= at < b:
                free[node] = [0.0, 0.0, 0.0]
        there = [
            j for j in range(len(jobs))
            if jobs.submit_s[j] <= at < result.completion_s[j] and j not in set(now["job"])
        ]  # fmt: skip
        for j in there:
            found[reason(jobs, j, free, spreads, beside)] += until - at
    return found


def reason(jobs, j, free, spreads, beside):
    """What a job lacks."""
    gpus = int(jobs.num_gpus[j])
    cpus, memory_gb = (
        2.0 * gpus if math.isnan(jobs.num_cpus[j]) else jobs.num_cpus[j],
        20.0 * gpus if math.isnan(jobs.memory_gb[j]) else jobs.memory_gb[j],
    )

    def rooms(*per_gpu):
        return [
            math.floor(1e-9 + min([g, *(f / p for f, p in zip((c, m), per_gpu, strict=False))]))
            for g, c, m in free.values()
        ]

    def fits(rooms):
        return (sum(rooms) if spreads else max(rooms)) >= gpus

    if sum(g for g, _, _ in free.values()) < gpus:
        return "GPUs"
    if not fits(rooms()):
        return "fragmentation"
    if beside and not fits(rooms(cpus / gpus)):
        return "CPUs"
    if beside and not fits(rooms(cpus / gpus, memory_gb / gpus)):
        return "memory"
    return "order"


def test_of_many_instants_some_are_looked_at(monkeypatch):
    """Each of them stands for those up to the next; what is found is near."""
    rng = np.random.default_rng(1)
    count = 300
    jobs = fixed(
        np.cumsum(rng.exponential(60, count)),
        rng.uniform(20, 400, count),
        rng.integers(1, 5, count),
        num_cpus=rng.choice([1.0, 6.0], count),
    )
    result = run(jobs, nodes(4, 2, cpus=8), "fifo-strict")
    whole = limits(result)
    monkeypatch.setattr(module, "MOST_CELLS", 5000)
    monkeypatch.setattr(module, "CHUNK_CELLS", 60)
    some = limits(result)
    assert some.waited_s != whole.waited_s
    assert some.shares() == pytest.approx(whole.shares(), abs=0.1)
