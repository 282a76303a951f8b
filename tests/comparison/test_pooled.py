"""Lower bounds on completion times and makespan, against the best of all schedules of tiny instances."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.pooled import pooled_bounds
from simulator import Cluster, FixedDuration, NodeType, TimeTable, Workload


def cluster(gpus: int) -> Cluster:
    return Cluster.of_nodes(NodeType("n", "V100", gpus=gpus), 1)


def jobs(submit_s, times_s, gpus) -> Workload:
    names = [f"j{k}" for k in range(len(submit_s))]
    return Workload(
        names, submit_s=np.array(submit_s, float), performance=FixedDuration(times_s, gpus)
    )


def best_of_all(submit, times, gpus, capacity) -> tuple[float, float]:
    """Least mean completion time and makespan of all schedules in whole seconds, with preemption."""
    count, seen = len(submit), {}

    def walk(now, left):
        if not any(left):
            return 0.0, float(now)
        if (now, left) in seen:
            return seen[now, left]
        alive = [j for j in range(count) if left[j] and submit[j] <= now]
        found = (np.inf, np.inf)
        for size in range(bool(alive), len(alive) + 1):
            for chosen in itertools.combinations(alive, size):
                if sum(gpus[j] for j in chosen) > capacity:
                    continue
                after = tuple(left[j] - (j in chosen) for j in range(count))
                ended = sum(now + 1 - submit[j] for j in chosen if after[j] == 0)
                rest, end = walk(now + 1, after)
                found = (min(found[0], ended + rest), min(found[1], end))
        seen[now, left] = found
        return found

    total, end = walk(min(submit), tuple(times))
    return total / count, end - min(submit)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_schedule_is_below(data):
    count = data.draw(st.integers(1, 4))
    capacity = data.draw(st.integers(1, 3))
    submit = sorted(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    times = data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    gpus = data.draw(st.lists(st.integers(1, capacity), min_size=count, max_size=count))
    bound = pooled_bounds(jobs(submit, times, gpus), cluster(capacity))
    mean, makespan = best_of_all(submit, times, gpus, capacity)
    assert bound["mean_jct_s"] <= mean + 1e-9
    assert bound["makespan_s"] <= makespan + 1e-9
    if (
        capacity == 1
    ):  # one server: shortest remaining time is optimal, and the server is never idle
        assert bound == pytest.approx({"mean_jct_s": mean, "makespan_s": makespan})


def test_each_bound_counts_where_it_is_the_largest():
    """By hand: two GPUs."""
    alone = pooled_bounds(jobs([0.0, 100.0], [30.0, 10.0], [1, 1]), cluster(2))
    assert alone == {"mean_jct_s": 20.0, "makespan_s": 110.0}  # nobody waits: the times themselves
    # Four equal jobs on both GPUs: one after another, ends 10, 20, 30, 40.
    wide = pooled_bounds(jobs([0.0] * 4, [10.0] * 4, [2] * 4), cluster(2))
    assert wide == {"mean_jct_s": 25.0, "makespan_s": 40.0}
    # Four equal jobs of one GPU: ends 10, 10, 20, 20. The pooled server ends at 5, 10, 15, 20 (mean 12.5); the mean
    # times of service are 2.5, 7.5, 12.5, 17.5, and 5 behind each is the end: mean 15, which is attained.
    assert pooled_bounds(jobs([0.0] * 4, [10.0] * 4, [1] * 4), cluster(2))["mean_jct_s"] == 15.0


def test_elastic_jobs_by_their_least_work_and_their_least_time():
    """One job: 10 s on one GPU, 6 s on two. Two such jobs on two GPUs: works 10 each, times 6."""
    times = np.full((2, 1, 3), np.nan)
    times[:, 0, 1:] = [10.0, 6.0]
    elastic = Workload(["a", "b"], submit_s=np.zeros(2), performance=TimeTable(times))
    bound = pooled_bounds(elastic, cluster(2))
    assert bound == {"mean_jct_s": (2.5 + 7.5) / 2 + 3.0, "makespan_s": 10.0}


def test_none_on_a_pool():
    pool = Cluster.rental_pool(1.0)
    assert pooled_bounds(jobs([0.0], [5.0], [1]), pool) == {}
