"""Events that coincide on paper, and differ in floating-point numbers, are one instant in a fixed order."""

import math

import pytest

from simulator.core.clock import Clock, EventOrder, without_noise
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic
from simulator.model.tolerances import INSTANT_S
from tests.core.jobs import Once, fixed, nodes, run

LATE = math.nextafter(0.3, 1.0)
assert LATE == 0.1 + 0.2  # and not 0.3


def happened(*events: tuple[float, int]) -> list[tuple[float, int]]:
    clock, seen = Clock(), []
    for at_s, order in events:
        event = clock.at(at_s, order)
        event.callbacks.append(lambda _, order=order: seen.append((clock.now, order)))
    clock.run()
    return seen


def test_an_instant_has_one_time_the_latest_and_its_order():
    assert happened(
        (0.3, EventOrder.DECISION),
        (LATE, EventOrder.COMPLETION),
        (0.3, EventOrder.ARRIVAL),
        (0.4, EventOrder.OUTAGE),
    ) == [
        (LATE, EventOrder.COMPLETION),
        (LATE, EventOrder.ARRIVAL),
        (LATE, EventOrder.DECISION),
        (0.4, EventOrder.OUTAGE),
    ]


@pytest.mark.parametrize(("gap", "together"), [(0.5, True), (2.0, False)])
def test_how_long_an_instant_is(gap, together):
    later = 7.0 + gap * INSTANT_S
    found = happened((7.0, EventOrder.DECISION), (later, EventOrder.COMPLETION))
    assert [order for _, order in found] == sorted((o for _, o in found), reverse=not together)
    assert found[-1][0] == later


def test_two_gpus_become_free_at_once_for_the_head_of_the_queue():
    """0.1 + 0.2 and 0.3: the job of two GPUs is first, a job of one GPU does not slip in."""
    work = fixed([0, 0, 0.1, 0.15, 0.2], [0.1, 0.3, 0.2, 1.0, 1000.0], [1, 1, 1, 2, 1])
    result = run(work, nodes(2), "fifo-backfill")
    assert result.first_start_s == pytest.approx([0, 0, 0.1, 0.3, 1.3])


def test_jobs_that_arrive_at_one_instant_meet_one_decision():
    """The last time that both were submitted is when they come: nobody starts before."""
    result = run(fixed([0.3, LATE], [5, 1]), nodes(), "sjf")
    assert result.completion_s == pytest.approx([6.3, 1.3])
    assert (result.first_start_s >= result.workload.submit_s).all()


def test_a_job_that_ends_when_its_node_fails_has_ended():
    outage = Failures([Outages(Once(0.3), Deterministic(5.0), [(0,)])], Checkpoints())
    result = run(fixed([0, 0.1], [0.1, 0.2]), nodes(), "fifo-strict", outage)
    assert result.completion_s == pytest.approx([0.1, 0.3])


def test_times_of_jobs_that_saved_often_are_whole():
    """Without noise the time is 3,900 s, although 38 saves were added up to it."""
    saving = Failures((), Checkpoints(interval_s=100.0, cost_s=0.1))
    result = run(fixed([0], [3896.2]), nodes(), "fifo-strict", saving)
    assert result.completion_s.tolist() == [3900.0]
    assert without_noise(3899.9999999999986) == 3900.0
    assert without_noise(100 / 3) == 100 / 3


def test_sums_of_thirds_keep_their_digits():
    """Three jobs of 100/3 s one after the other end when one of 100 s ends: a job of both GPUs is next."""
    third = 100 / 3
    work = fixed([0, 0, 0, 0, 1, 2], [100, third, third, third, 7, 1000], [1, 1, 1, 1, 2, 1])
    result = run(work, nodes(2), "fifo-backfill")
    assert result.first_start_s == pytest.approx([0, 0, third, 2 * third, 100, 107])
