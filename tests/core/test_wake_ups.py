"""`Decision.again_s`: one wake-up a controller, void once a newer decision is made."""

import numpy as np
import pytest

from simulator import Decision, InfeasibleDecision, Placement, Result, ServerSpec, View
from simulator.core.wake_ups import IDLE_TICKS
from simulator.model.contract import NO_CHANGE
from tests.core.jobs import fixed, nodes, run


def first_come(view: View) -> list[Placement]:
    """The first job on the only GPU of each of the controller's nodes."""
    pairs = zip(view.jobs, view.nodes, strict=False)
    return [Placement(int(job), int(node), 1) for job, node in pairs]


def times(result: Result, controller: int = 0) -> list[float]:
    log = result.decisions
    return [t for t, k in zip(log.time_s, log.controller, strict=True) if k == controller]


@pytest.mark.parametrize(
    ("submit_s", "duration_s", "again_s", "options", "decided_s"),
    [
        # Wake-ups at 4 and 8; the arrival at 9 voids that of 12; the completion at 10 begins anew
        ([0, 9], [10, 10], 4.0, {}, [0, 4, 8, 9, 10, 14, 18]),
        ([0, 9], [10, 10], {}, {}, [0, 9, 10]),
        # The wake-up of the decision at 0 (due at 5) is void after that of 2, which asks none
        ([0, 2], [10, 10], {0: 5.0}, {}, [0, 2, 10]),
        # A later one replaces an earlier one, and an earlier one a later: it comes at 5 alone
        ([0, 1, 2], [9, 9, 9], {0: 50.0, 1: 100.0, 2: 3.0}, {}, [0, 1, 2, 5, 9, 18]),
        ([0], [10], 4.0, {"period_s": 5}, [0, 4, 5, 9]),
        ([0], [10], 1.0, {"round_s": 6}, [0, 6]),  # not asked in between
        ([0], [20], 4.0, {"server_s": 2}, [0, 6, 12, 18]),  # counted from when it comes into force
        ([0], [10], np.float64(6), {}, [0, 6]),
    ],
    ids=["newer", "nobody asks", "last counts", "replaced", "periods", "rounds", "server", "numpy"],
)
def test_it_is_asked_again_until_a_newer_decision_is_made(
    submit_s, duration_s, again_s, options, decided_s
):
    def wanted(now_s: float) -> float | None:
        return again_s.get(now_s) if isinstance(again_s, dict) else again_s

    def policy(view: View) -> Decision:
        return Decision(first_come(view), again_s=wanted(view.now_s))

    result = run(fixed(submit_s, duration_s), nodes(), policy, **options)
    assert times(result) == decided_s
    table = result.decisions_table()
    if "round_s" in options or again_s == {}:
        assert "again_s" not in table
    else:
        assert table["again_s"].fillna(0).tolist() == [wanted(t) or 0 for t in decided_s]


def test_no_change_can_ask_as_well():
    """A policy that leaves everything as it is may want to look again."""

    def policy(view: View) -> Decision:
        if view.running:
            return Decision(keep_running=True, again_s=3.0) if view.now_s < 6 else NO_CHANGE
        return Decision(first_come(view), keep_running=True, again_s=3.0)

    assert times(run(fixed([0], [10]), nodes(), policy)) == [0, 3, 6]


def test_at_one_instant_there_is_one_decision():
    """Two arrivals, a completion and a wake-up of the same instant lead to one decision after all."""
    seen: list[tuple[float, list[int]]] = []

    def policy(view: View) -> Decision:
        seen.append((view.now_s, view.jobs.tolist()))
        return Decision(first_come(view), again_s=10.0)

    run(fixed([0, 10, 10], [10, 5, 5]), nodes(), policy)
    assert seen == [(0.0, [0]), (10.0, [1, 2]), (15.0, [2])]


def test_each_controller_has_its_own():
    """Jobs go to the controllers in turn; the second's decision does not void the first's."""

    def policy(view: View) -> Decision:
        return Decision(first_come(view), again_s=4.0)

    result = run(fixed([0, 1], [10, 10]), nodes(1, 2, 2), policy)
    assert [times(result, k) for k in (0, 1)] == [[0, 4, 8], [1, 5, 9]]


@pytest.mark.parametrize(
    ("submit_s", "service_s", "decided_s"),
    [
        # In force at 3, so asked again at 8; but job 2 asks at 5 and is served at 7: void.
        ([0, 4, 5], 3.0, [0, 7]),
        # In force at 6, so asked again at 11, while job 2's request of 2 waits until 12: one.
        ([0, 1, 2], 6.0, [0, 12]),
    ],
)
def test_a_wake_up_beside_a_request_is_no_second_one(submit_s, service_s, decided_s):
    """The one server is busy with the other controller, whose job is the second."""

    def policy(view: View) -> Decision:
        wants = view.controller == 0 and view.now_s == 0
        return Decision(first_come(view), again_s=5.0 if wants else None)

    result = run(fixed(submit_s, [30, 30, 30]), nodes(1, 2, 2), policy, server_s=service_s)
    assert [t for t in times(result) if t < 20] == decided_s


def test_a_plan_overtaken_by_a_newer_one_wakes_nobody():
    """Two servers: the decision made at 1 is in force before that of 0, whose wake-up is void."""
    services = iter([10.0, 2.0, *[0.0] * 50])

    def policy(view: View) -> Decision:
        return Decision(first_come(view), again_s=1.0 if view.now_s == 0 else None)

    server = ServerSpec(service=lambda rng: next(services), servers=2)
    assert times(run(fixed([0, 1], [30, 30]), nodes(), policy, server=server)) == [0, 1, 33]


def test_a_policy_that_only_wakes_up_is_stopped():
    """It runs no job and asks for ever."""
    told = f"none of 1 jobs made progress for {IDLE_TICKS} wake-ups"
    with pytest.raises(InfeasibleDecision, match=told):
        run(fixed([0], [10]), nodes(), lambda view: Decision(again_s=1.0))
