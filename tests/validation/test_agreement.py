"""Agreement of a simulation with a record, against sums of this file's own."""

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest

from experiments.validation.agreement import Side, agreement_of, hourly
from experiments.validation.calibrating import _shared, fitted


def side(rng: np.random.Generator, submit_s: np.ndarray, gpus: np.ndarray) -> Side:
    start_s = submit_s + rng.integers(0, 20_000, len(submit_s)) * (rng.random(len(submit_s)) < 0.6)
    return Side(submit_s, start_s, start_s + rng.integers(60, 9000, len(submit_s)), gpus)


@pytest.fixture(scope="module")
def both() -> tuple[Side, Side]:
    rng = np.random.default_rng(1)
    submit_s = np.sort(rng.integers(0, 20 * 86_400, 300)).astype(float)
    gpus = rng.integers(1, 5, 300).astype(float)
    return side(rng, submit_s, gpus), side(rng, submit_s, gpus)


def ranks(values) -> list[float]:
    """Mean ranks, from pairs."""
    return [sum(v < x for v in values) + sum(v == x for v in values) / 2 for x in values]


def test_means_and_rank_correlation(both):
    one, other = both
    found = agreement_of(one, other, 12)
    waits = [(s.start_s - s.submit_s).tolist() for s in both]
    assert found.ratio.mean == pytest.approx(sum(waits[1]) / sum(waits[0]))
    assert found.recorded.mean_s == pytest.approx(sum(waits[0]) / 300)
    assert found.recorded.at_once == sum(w <= 60 for w in waits[0]) / 300
    assert found.waits == pytest.approx(np.corrcoef(*map(ranks, waits))[0, 1])
    assert found.ratio.lower < found.ratio.mean < found.ratio.upper


def test_queue_and_use_minute_by_minute():
    # Whole minutes, so that a sample in the middle of each is exact.
    rng = np.random.default_rng(2)
    submit_s = np.sort(rng.integers(0, 300, 40)) * 60.0
    start_s = submit_s + 60.0 * rng.integers(0, 90, 40)
    end_s, gpus = start_s + 60.0 * rng.integers(1, 200, 40), rng.integers(1, 5, 40).astype(float)
    at, queue, use = hourly(Side(submit_s, start_s, end_s, gpus))
    for hour in range(len(at)):
        times = submit_s[0] + 3600 * hour + np.arange(30, 3600, 60)
        waiting = [((submit_s <= t) & (t < start_s)).sum() for t in times]
        running = [gpus[(start_s <= t) & (t < end_s)].sum() for t in times]
        assert queue[hour] == pytest.approx(np.mean(waiting))
        assert use[hour] == pytest.approx(np.mean(running))


def test_room_in_pools():
    """2 and 4 GPUs. a and b hold the first pool until 10 s, so c waits without room, though the other pool is empty.

    d waits in the other pool, of which e holds 3, for 5 s with room for its one GPU.
    """
    columns = [
        (0, 0, 10, 1, 0), (0, 0, 10, 1, 0), (0, 10, 20, 1, 0), (0, 5, 20, 1, 1), (0, 0, 20, 3, 1),
    ]  # fmt: skip
    submit_s, start_s, end_s, gpus, pool = np.array(columns, dtype=float).T
    one = Side(submit_s, start_s, end_s, gpus, pool.astype(int))
    assert one.room_s([2, 4]).tolist() == [0, 0, 0, 5, 0]
    assert one.take(np.array([2, 3])).room_s([2, 4]).tolist() == [10, 5]
    whole = Side(submit_s, start_s, end_s, gpus)
    assert whole.room_s(6).tolist() == [0, 0, 5, 5, 0]  # d takes the last GPU at 5 s
    found = agreement_of(one, one, [2, 4])
    assert found.recorded_room == 5 / 15


def test_a_record_agrees_with_itself(both):
    found = agreement_of(both[0], both[0], 12)
    assert (found.ratio.mean, found.ratio.lower, found.ratio.upper) == (1, 1, 1)
    assert found.waits == found.queue == found.use == pytest.approx(1)
    assert found.recorded_room == found.simulated_room > 0


def test_jobs_without_a_recorded_start_are_left_out(both):
    one, other = both
    start_s = one.start_s.copy()
    start_s[::3] = np.nan
    known = np.isfinite(start_s)
    found = agreement_of(Side(one.submit_s, start_s, one.end_s, one.gpus), other, 12)
    assert found.recorded.count == found.simulated.count == known.sum()
    assert found.ratio.mean == pytest.approx(other.wait_s[known].mean() / one.wait_s[known].mean())


def test_room_of_some_jobs_counts_what_the_others_hold():
    """Two GPUs. A's job holds both until 100 s; B's, of 10 s, waits for them all the time. Of the whole, too."""
    jobs = Side(
        np.array([0.0, 10.0]),
        np.array([0.0, 100.0]),
        np.array([100.0, 200.0]),
        np.array([2.0, 1.0]),
    )
    of_b = agreement_of(jobs, jobs, 2, np.array([False, True]))
    assert (of_b.recorded.count, of_b.recorded.mean_s, of_b.recorded_room) == (1, 90.0, 0.0)
    assert agreement_of(jobs, jobs, 3, np.array([False, True])).recorded_room == 1.0


def test_of_no_job_nothing_is_known():
    none = Side(*(np.array([1.0, 2.0]) for _ in range(4))).take(np.array([False, False]))
    found = agreement_of(none, none, 2)
    assert found.recorded.count == 0
    assert math.isnan(found.queue)
    assert math.isnan(found.ratio.mean)


@pytest.mark.parametrize(
    ("groups", "nodes", "shares"),
    [([10, 10], 15, [8, 7]), ([10, 10, 10], 31, [10, 10, 11]), ([1, 1], 3, [2, 1]), ([4, 16], 10, [2, 8]), ([1, 9], 2, [1, 1])],
)  # fmt: skip
def test_nodes_that_groups_share_are_as_many_as_are_told(groups, nodes, shares):
    found = _shared({f"g{k}": count for k, count in enumerate(groups)}, nodes)
    assert list(found.values()) == shares
    assert list(found) == [f"g{k}" for k in range(len(groups))]


def test_nothing_waits_and_few_days():
    submit_s = np.arange(5.0) * 86_400
    still = Side(submit_s, submit_s, submit_s + 60, np.ones(5))
    late = Side(submit_s, submit_s + 60, submit_s + 120, np.ones(5))
    found = agreement_of(still, late, 4)
    assert math.isnan(found.ratio.mean)
    assert math.isnan(found.recorded_room)
    assert math.isnan(found.waits)
    few = agreement_of(late, still, 4)
    assert (few.ratio.mean, few.ratio.lower, few.ratio.upper) == (0, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("curve", "wanted", "few", "nodes"),
    [
        (lambda n: 1000 / n, 100, 1, 10),  # as documented
        (lambda n: 1000 / n, 92, 1, 10),  # and near enough, though 91 is nearer
        (lambda n: 1000 / n, 108, 1, 10),
        (lambda n: 1000 / n, 130, 1, 8),  # 125 is nearer than 143
        (lambda n: 1000 / n, 136, 1, 7),  # 143 is nearer than 125
        (lambda n: 1000 / n, 40, 1, 25),  # more than documented
        (lambda n: 1000 / n, 1, 1, 40),  # more than are tried
        (lambda n: 1000 / n, 500, 5, 5),  # fewer than are tried
        (lambda n: 0.0, 100, 3, 3),
    ],
)
def test_number_of_nodes_with_the_wanted_mean(curve, wanted, few, nodes):
    asked = []

    def at(n: int) -> float:
        asked.append(n)
        return curve(n)

    assert fitted(at, wanted, 10, few) == (nodes, curve(nodes))
    assert len(asked) == len({*asked}) <= 8
    assert len(asked) == 1 or nodes != 10
    assert asked[0] == 10


FACTS = os.environ.get("SCHEDLAB_FACTS")


@pytest.mark.long
@pytest.mark.skipif(not FACTS, reason="SCHEDLAB_FACTS names no folder of collected facts")
def test_kth_by_plain_sums():
    """The record of a real log, from the lines of its file."""
    from experiments.validation.simulating import Side
    from simulator.workloads.recorded import recorded
    from simulator.workloads.registry import table_for
    from simulator.workloads.table import Setting

    path = Path(FACTS) / "logs" / "kth_sp2.swf.gz"
    with gzip.open(path, "rt") as file:
        rows = [
            [float(x) for x in line.split()] for line in file if line.strip() and line[0] != ";"
        ]
    waits = [row[2] for row in rows if row[3] > 0 and row[2] >= 0]
    jobs = table_for(path, None).make(Setting())
    log = recorded(jobs[0] if isinstance(jobs, tuple) else jobs)
    own = Side(log.submit_s, log.recorded_start_s, log.end_s, log.num_gpus)
    found = agreement_of(own, own, 100)
    assert found.recorded.count == len(waits) == 28_481
    assert found.recorded.mean_s == pytest.approx(sum(waits) / len(waits))
    assert round(found.recorded.mean_s / 3600, 2) == 4.27
    assert found.recorded.median_s == 300
    assert round(found.recorded.p95_s / 3600, 1) in (23.5, 23.6)
    assert round(found.recorded.at_once, 2) == 0.39
    assert round(found.recorded_room, 2) == 0.53
