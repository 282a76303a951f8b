"""What is kept of jobs that run and wait, from decision to decision, with views that are made by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from policies.queues.backfilling import Reservation
from policies.queues.conservative_backfilling import ConservativeBackfill
from policies.queues.running import OVERDUE_S, ExpectedEnds, RunningArray, RunningJobs
from simulator import Placement
from simulator.model.contract import Changes


class Made:
    """A controller of three nodes that counts which of them changed."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.running: dict[int, tuple[Placement, ...]] = {}
        self.shares: list[dict[int, Placement]] = [{}, {}, {}]
        self.node_changes = Changes(3)

    def start(self, job: int, *nodes: int) -> tuple[Placement, ...]:
        shares = tuple(Placement(job, node, 1) for node in nodes)
        self.running[job] = shares
        for share in shares:
            self.shares[share.node][job] = share
            self.node_changes.items.append(share.node)
        return shares

    def stop(self, job: int) -> None:
        for share in self.running.pop(job):
            del self.shares[share.node][job]
            self.node_changes.items.append(share.node)


def state(kept: RunningJobs) -> tuple:
    return [*kept.held], [*kept.began], [*kept.over], kept.number, kept.is_anew


def test_who_began_and_who_stopped():
    view, kept = Made(), RunningJobs()
    view.start(7, 0)
    kept.refresh(view)  # all is new at first
    assert state(kept) == ([7], [7], [], {7: 0}, True)
    kept.refresh(view)
    assert state(kept) == ([7], [], [], {7: 0}, False)
    both = view.start(3, 1, 0)
    view.start(5, 2)
    kept.refresh(view)
    assert state(kept) == ([7, 3, 5], [3, 5], [], {7: 0, 3: 1, 5: 2}, False)
    assert kept.held[3] == both
    view.stop(3)
    view.start(9, 1)
    kept.refresh(view)
    assert state(kept) == ([7, 5, 9], [9], [3], {7: 0, 5: 2, 9: 3}, False)
    assert kept.over[3] == both
    # It stops and starts again between two looks, behind one that began in between.
    view.stop(7)
    view.start(4, 0)
    again = view.start(7, 0)
    kept.refresh(view)
    assert state(kept) == ([5, 9, 4, 7], [4, 7], [7], {5: 2, 9: 3, 4: 4, 7: 5}, False)
    assert kept.held[7] is again


def test_a_job_that_exchanges_a_node_and_changes_that_are_forgotten_lead_to_a_look_at_all():
    view, kept = Made(), RunningJobs()
    view.start(1, 0)
    view.start(2, 1)
    kept.refresh(view)
    view.shares[0].clear()
    moved = (Placement(1, 2, 1),)
    view.running[1] = moved  # it stays the first to have started
    view.shares[2][1] = moved[0]
    view.node_changes.items += [0, 2]
    kept.refresh(view)
    assert state(kept) == ([1, 2], [1, 2], [], {1: 2, 2: 3}, True)
    for _ in range(7):
        view.start(5, 2)
        view.stop(5)
        view.node_changes.trim()
    view.stop(1)
    kept.refresh(view)
    assert state(kept) == ([2], [2], [], {2: 4}, True)


def test_jobs_that_run_as_an_array():
    view, kept = Made(), RunningJobs()
    array = RunningArray(lambda view, job: (10.0 * job,))
    for steps, jobs in (
        ([(1, 0), (2, 1)], [1, 2]), ([], [1, 2]), ([-1, (3, 2)], [2, 3]), ([(4, 0), -2], [3, 4]),
    ):  # fmt: skip
        for step in steps:
            view.start(*step) if isinstance(step, tuple) else view.stop(-step)
        kept.refresh(view)
        array.bring_up(view, kept)
        assert array.jobs.tolist() == jobs
        assert array.columns.tolist() == [[10.0 * job for job in jobs]]
    view.node_changes = Changes(3)  # another log: all is read again
    kept.refresh(view)
    array.bring_up(view, kept)
    assert array.jobs.tolist() == [3, 4]


@pytest.mark.parametrize("count", [1, 8, 9, 20])
def test_expected_ends_of_few_and_of_many_jobs_that_start_at_once(count):
    """Each ends the earlier the higher its number is; a job that would have ended already ends a little later than now."""
    view = Made()
    ends = ExpectedEnds(lambda view, job: (100.0 - job, True))
    for job in range(count):
        view.start(job, job % 3)
    view.start(99, 0)
    ends.refresh(view)
    last = [(100.0 - job, job) for job in range(count)][::-1]
    view.now_s = 50.0

    def told() -> list[tuple[float, int]]:
        return [(end_s, held[0].job) for end_s, held in ends.in_order(view)]

    assert told() == [(50.0 + OVERDUE_S, 99), *last]
    assert ends.first_s == 1.0
    assert ends.began == {99: 1.0, **{job: 100.0 - job for job in range(count)}}
    view.stop(99)
    view.stop(count - 1)
    ends.refresh(view)
    assert told() == last[1:]
    assert (ends.began, ends.over) == ({}, {99: 1.0, count - 1: 101.0 - count})
    assert ends.first_s == (last[1][0] if count > 1 else math.inf)


def test_ends_that_move_are_asked_for_again():
    """Job 1 stays at 30 s. Job 2 ends 20 s after each look, job 3 at 5 s in all looks that are made."""
    view = Made()
    ends = ExpectedEnds(
        lambda view, job: {1: (30.0, True), 2: (view.now_s + 20, False), 3: (5.0, False)}[job]
    )
    for job in (1, 2, 3):
        view.start(job, 0)
    ends.refresh(view)
    assert ends.first_s == -math.inf
    for now_s, expected in (
        (0.0, [(5.0, 3), (20.0, 2), (30.0, 1)]), (15.0, [(15.0 + OVERDUE_S, 3), (30.0, 1), (35.0, 2)]),
    ):  # fmt: skip
        view.now_s = now_s
        assert [(end_s, held[0].job) for end_s, held in ends.in_order(view)] == expected
    view.stop(2)
    view.stop(3)
    ends.refresh(view)
    assert ends.over == {2: math.inf, 3: math.inf}
    assert ends.first_s == 30.0
    assert [end_s for end_s, _ in ends.in_order(view)] == [30.0]


@pytest.mark.parametrize(
    ("anew", "before", "now", "promised"),
    [
        (True, [4, 5, 6], [6, 7, 4], [60.0, math.nan, 40.0]), (True, [], [6, 7], [math.nan, math.nan]),
        (False, [4, 5], [4, 5], [40.0, 50.0]),
    ],
)  # fmt: skip
def test_promises_stay_where_the_queue_is_read_again(anew, before, now, promised):
    """Job n was promised 10 n s."""

    def columns(jobs, starts):
        return np.array([[1.0] * len(jobs), [2.0] * len(jobs), [0.0] * len(jobs), starts])

    def refresh(view):
        if anew:
            queue.jobs, queue.columns = np.array(now), columns(now, [math.nan] * len(now))
        return queue.jobs

    start_s = [10.0 * job for job in before]
    queue = SimpleNamespace(
        jobs=np.array(before, dtype=int),
        columns=columns(before, start_s),
        refresh=refresh,
        is_anew=anew,
    )
    policy = ConservativeBackfill()
    policy._queue = queue
    assert policy._refreshed(None).tolist() == now
    assert policy._queue.columns[-1].tolist() == pytest.approx(promised, nan_ok=True)


HALF = (Placement(9, 0, 2, cpus=4, memory_gb=8), Placement(9, 1, 1, cpus=2, memory_gb=4))


@pytest.mark.parametrize(
    ("ended", "free", "gpus", "end_s", "lets"),
    [
        # The job of the reservation needs 3 GPUs at 100 s. Who is over by then may have all that is free now.
        ([], 5.0, [5, 2, 3, 5, 6], [100.0, 200.0, 200.0, 101.0, 99.0], [True, True, False, False, False]),
        # One GPU on node 0 is given back until then, and two on node 2, which it does not use.
        ([(Placement(3, 0, 1), Placement(3, 2, 2))], 5.0, [3, 4], [200.0, 200.0], [True, False]),
        # More than it needs of node 0 comes back; node 1 needs its own all the same.
        ([(Placement(3, 0, 4),)], 5.0, [4, 5], [200.0, 200.0], [True, False]),
    ],
)  # fmt: skip
def test_who_may_start_before_a_reservation(ended, free, gpus, end_s, lets):
    found = Reservation(100.0, HALF, ended).lets(free, np.array(gpus), np.array(end_s))
    assert found.tolist() == lets


class Free:
    """Notes what is taken while a job is placed."""

    def __init__(self) -> None:
        self.taken, self.seen = [], None

    def add(self, shares, sign=1):
        for share in shares:
            self.taken.append(share) if sign == 1 else self.taken.remove(share)

    def place(self, job):
        self.seen = [(s.node, s.gpus, s.cpus, s.memory_gb) for s in self.taken]
        return (Placement(job, 0, 1, cpus=1, memory_gb=3),)


def test_a_job_that_outlasts_a_reservation_is_placed_beside_its_needs():
    """And one that does not is given back by then, so that the needs are less afterwards; none is below 0."""
    ended = [(Placement(3, 1, 1, cpus=3, memory_gb=1),)]
    reservation, free = Reservation(100.0, HALF, ended), Free()
    shares = reservation.place(free, 5, np.array([200.0]))
    assert free.seen == [(0, 2, 4, 8), (1, 0, 0, 3)]
    assert shares == free.place(5)
    assert free.taken == []
    reservation.place(free, 6, np.array([100.0]))
    assert free.seen == []
    reservation.place(free, 7, np.array([200.0]))
    assert free.seen == [(0, 1, 3, 5), (1, 0, 0, 3)]
