"""Least shares: a job alone, linear speed-ups against the area, brute force, and the plan as a certificate."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import Cluster, InputError, NodeType, TimeTable, Workload
from simulator.features.admission import Admission
from simulator.features.admission.elastic import Ask, least_shares
from tests.core.jobs import nodes, run

quick = settings(max_examples=60, deadline=None, derandomize=True)
rows_of = st.lists(
    st.tuples(st.integers(1, 30), st.integers(2, 40), st.sampled_from([1.0, 0.7, 0.4, 0.0])),
    min_size=1,
    max_size=5,
)


def asks_of(rows, total):
    """Due date, seconds on one GPU, and the exponent of the speed-up."""
    return [
        Ask(float(due), j, [math.inf, *(t / g**power for g in range(1, total + 1))])
        for j, (due, t, power) in enumerate(rows)
    ]


def check_plan(asks, plans, total):
    """Nobody uses more than there is, everybody does all its work, and is on time."""
    times = sorted({t for plan in plans.values() for p in plan for t in (p.begin_s, p.end_s)})
    for a, b in itertools.pairwise(times):
        middle = (a + b) / 2
        used = sum(p.gpus for plan in plans.values() for p in plan if p.begin_s < middle < p.end_s)
        assert used <= total
    for ask in asks:
        plan = plans[ask.job]
        done = sum((p.end_s - p.begin_s) / ask.left_s[p.gpus] for p in plan)
        assert done == pytest.approx(1.0)
        assert plan[-1].end_s <= ask.due_in_s * (1 + 1e-9)


@quick
@given(rows_of, st.integers(1, 4))
def test_the_plan_is_a_schedule_in_which_all_are_on_time(rows, total):
    asks = asks_of(rows, total)
    plans = least_shares(asks, total)
    if plans is not None:
        check_plan(asks, plans, total)


@quick
@given(st.integers(1, 60), st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_a_job_alone_gets_the_fewest_gpus_that_do(due, times):
    """Also where more GPUs take longer."""
    plans = least_shares([Ask(float(due), 0, [math.inf, *map(float, times)])], len(times))
    enough = [g for g, t in enumerate(times, start=1) if t <= due]
    assert (plans is None) == (not enough)
    if plans is not None:
        ((piece,),) = plans.values()
        assert (piece.gpus, piece.end_s) == (enough[0], times[enough[0] - 1])


@quick
@given(rows_of, st.integers(1, 4))
def test_with_linear_speed_ups_the_answer_is_exact(rows, total):
    """All are on time if and only if, by each due date, the work due by then fits in all GPUs."""
    rows = sorted((due, t, 1.0) for due, t, _ in rows)
    area = np.cumsum([t for _, t, _ in rows])
    fits = all(work <= total * due for work, (due, _, _) in zip(area, rows, strict=True))
    assert (least_shares(asks_of(rows, total), total) is not None) == fits


def on_time_by_slots(asks, total, slots):
    """Brute force: any GPUs for each job in each of some slots of 1 s."""
    one = [w for w in itertools.product(range(total + 1), repeat=len(asks)) if sum(w) <= total]
    for widths in itertools.product(one, repeat=slots):
        work = [
            sum(1 / ask.left_s[w[k]] for w in widths[: int(ask.due_in_s)] if w[k])
            for k, ask in enumerate(asks)
        ]
        if min(work) >= 1 - 1e-9:
            return True
    return False


def test_against_brute_force():
    """Two jobs, three GPUs, three slots of 1 s: where any schedule by slots exists, the filling finds one."""
    missed = agreed = 0
    for d1, d2, t1, t2, power in itertools.product((1, 2), (2, 3), (2, 4), (2, 3, 5), (1.0, 0.6)):
        asks = asks_of([(d1, t1, power), (d2, t2, power)], 3)
        found = least_shares(asks, 3) is not None
        if on_time_by_slots(asks, 3, 3):
            agreed += found
            missed += not found
    assert agreed > 10
    assert missed == 0


def test_a_job_that_is_late_comes_first_and_is_no_promise():
    late, other = Ask(-5.0, 0, [math.inf, 10.0, 5.0]), [math.inf, 4.0, 2.0]
    plans = least_shares([late, Ask(7.0, 1, other)], 2)
    assert [tuple(p) for p in plans[0]] == [(0.0, 5.0, 2)]
    assert [tuple(p) for p in plans[1]] == [(5.0, 7.0, 2)]
    assert least_shares([late, Ask(6.9, 1, other)], 2) is None


def test_a_job_that_is_done_takes_nothing():
    """As a job that waits for the end of its round."""
    done, other = Ask(1.0, 0, [math.inf, 0.0, 0.0]), Ask(2.0, 1, [math.inf, 4.0, 2.0])
    plans = least_shares([done, other], 2)
    assert plans[0][-1].end_s == 0.0
    assert [tuple(p) for p in plans[1]] == [(0.0, 2.0, 2)]


def test_a_done_job_at_the_gate():
    """Rounds of 50 s: the first job does its last work at 30 s and ends at 50 s; the second comes at 40 s."""
    jobs = elastic([30.0, 20.0], [0.0, 40.0], [60.0, 200.0])
    result = run(jobs, nodes(2), "fifo", Admission(), round_s=50.0)
    assert result.parts["admission"].promised.tolist() == [True, True]


def elastic(times, submit_s, due_s):
    table = np.full((len(submit_s), 1, len(times) + 1), np.inf)
    table[:, 0, 1:] = times
    names = [f"j{k}" for k in range(len(submit_s))]
    return Workload(names, np.array(submit_s), TimeTable(table), due_s=np.array(due_s))


def of_two_types():
    """An elastic job, and two nodes of two types."""
    types = (NodeType("n", "G", 2), NodeType("m", "G", 1))
    times = TimeTable(np.full((1, 2, 3), 10.0))
    return Workload(["a"], [0.0], times, due_s=[50.0]), Cluster(types, 2, (0, 1))


def test_elastic_jobs_at_the_gate_by_hand():
    """Two GPUs; jobs take 100 s on one and 60 s on two. The third finds no share; the fourth is due late."""
    jobs = elastic([100.0, 60.0], [0.0] * 4, [100.0, 100.0, 110.0, 500.0])
    for rule, column in (("reject", "rejected"), ("downgrade", "downgraded")):
        result = run(jobs, nodes(2), "greedy", Admission(rule=rule))
        assert getattr(result.parts["admission"], column).tolist() == [False, False, True, False]
        assert result.parts["admission"].promised.tolist() == [True, True, False, True]
    with pytest.raises(InputError, match="admission: expected equal nodes"):
        run(*of_two_types(), "greedy", Admission())
