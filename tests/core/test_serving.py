"""Jobs of fixed demand in an order: schedules by hand, and nodes as a search through all of them finds them."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.queues.free_gpus import FreeGpus
from policies.queues.serving import serve
from policies.queues.waiting import Order
from simulator import Decision, InputError, View
from simulator.model.tolerances import INSTANT_S
from tests.core.jobs import elastic, fixed, nodes, run

EXTENDING = Path(__file__).parents[2] / "docs" / "extending.md"


def multilevel_feedback(**options):
    """The policy of docs/extending.md."""
    blocks = re.findall(r"^```python\n(.*?)^```", EXTENDING.read_text("utf-8"), re.S | re.M)
    (code,) = [block for block in blocks if "class MultilevelFeedback" in block]
    names: dict = {}
    exec(code, names)
    return names["MultilevelFeedback"](**options)


def test_three_queues_by_the_time_that_a_job_has_had_its_gpus():
    """j0 joins the second queue at 10 s, makes room at 15 s, joins the third at 65 s, when it has had 50 s. j1 joins the
    second at 25 s, behind j0."""
    jobs = fixed([0, 15, 40], [100, 30, 5])
    result = run(jobs, nodes(1), multilevel_feedback(first_s=10, second_s=50))
    assert result.completion_s.tolist() == pytest.approx([135, 85, 45])
    jobs = fixed([0, 15, 40], [100, 30, 5], [2, 2, 2])
    result = run(jobs, nodes(2), multilevel_feedback(first_s=10, second_s=50))
    assert result.completion_s.tolist() == pytest.approx([135, 85, 45])


class EasyBackfill:
    """First come first served; a job may pass the first that does not fit where it does not delay that one."""

    def __init__(self) -> None:
        self.order = Order()

    def decide(self, view: View) -> Decision:
        needs: tuple[float, float] | None = None
        """When the first job that does not fit starts, and the GPUs that it leaves."""
        duration_s = view.workload.performance.fixed_s

        def end_s(job: int) -> float:
            return view.now_s + view.remaining_of(job) * duration_s[job]

        def place(free, job):
            nonlocal needs
            shares, gpus = free.place(job), view.workload.num_gpus[job]
            if needs is None and not shares:
                left = free.total_gpus
                ends = [(end_s(j), view.workload.num_gpus[j]) for j in (*view.running, *started)]
                for at_s, held in sorted(ends):
                    left += held
                    if left >= gpus:
                        needs = at_s, left - gpus
                        break
                return None
            if needs is not None and shares and end_s(job) > needs[0] + INSTANT_S:
                if gpus > needs[1]:
                    return None
                needs = needs[0], needs[1] - gpus
            if shares:
                started.append(job)
            return shares

        started: list[int] = []
        return serve(view, self.order, place=place)


def test_a_place_that_reserves_backfills_without_a_delay_of_the_first_job():
    """j0 holds two of four GPUs until 100 s. j1 needs three, so one is left then. j2 would end at 150 s on two, j3 of
    the same demand ends in time, and j4 has the one that is left."""
    jobs = fixed([0, 1, 2, 3, 4], [100, 10, 148, 50, 500], [2, 3, 2, 2, 1])
    result = run(jobs, nodes(4), EasyBackfill())
    assert result.first_start_s.tolist() == [0, 100, 110, 3, 53]


def test_an_order_that_is_given_and_one_that_is_kept_decide_the_same():
    jobs = fixed([0, 0, 1, 2, 2], [9, 8, 7, 6, 5], [2, 3, 1, 4, 2])

    def shortest(view: View, job: int) -> float:
        return view.workload.performance.fixed_s.item(job)

    for options in ({}, {"preemptive": True}, {"backfill": False}):
        order = Order(shortest)

        def given(view: View, options=options) -> Decision:
            jobs = view.jobs.tolist() if options.get("preemptive") else view.waiting
            return serve(view, sorted(jobs, key=lambda job: shortest(view, job)), **options)

        def kept(view: View, order=order, options=options) -> Decision:
            return serve(view, order, **options)

        runs = [run(jobs, nodes(4), policy) for policy in (given, kept)]
        assert list(runs[0].schedule or ()) == list(runs[1].schedule or ())


def test_jobs_that_choose_their_gpus_cannot_be_served():
    with pytest.raises(InputError, match="this policy needs jobs of fixed demand"):
        run(elastic([[[float("inf"), 10, 6]]]), nodes(2), lambda view: serve(view, view.waiting))


@given(
    free=st.dictionaries(st.integers(0, 6), st.sampled_from([0, 0.5, 1, 2, 3, 4]), min_size=1),
    last_first=st.booleans(),
    steps=st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=8),
    most=st.none() | st.lists(st.integers(0, 5), min_size=7, max_size=7),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_nodes_are_those_that_a_search_through_all_finds(free, last_first, steps, most):
    free = dict(sorted(free.items()))
    index, limit = FreeGpus(free, last_first), most.__getitem__ if most else None
    for gpus, gives_back in steps:
        room = {n: int(min(g, limit(n) if limit else g)) for n, g in free.items()}
        holding = [n for n in free if room[n] >= gpus]
        expected: list[tuple[int, int]] = []
        if holding:
            expected = [(min(holding, key=lambda n: (free[n], n)), gpus)]
        elif sum(room.values()) >= gpus:
            left = gpus
            for node in sorted(free, key=lambda n: (-room[n], -n if last_first else n)):
                if left:
                    expected.append((node, min(left, room[node])))
                    left -= expected[-1][1]
        found = index.place(gpus, limit)
        assert list(found) == expected
        if not gives_back:
            index.take(found)
            for node, part in found:
                free[node] -= part
        assert all(index[n] == g for n, g in free.items())


def test_who_holds_gpus_keeps_them_where_they_are_free_and_the_others_are_placed_in_order():
    """Two nodes of four GPUs. b and c hold three of node 0 each, so c moves, behind d; e does not fit, f does."""
    free = FreeGpus({0: 4, 1: 4})
    wanted = {"d": 1, "c": 3, "b": 3, "e": 2, "f": 1}
    found = free.settle(wanted.items(), {"b": ((0, 3),), "c": ((0, 3),)})
    assert [*found.items()] == [
        ("b", ((0, 3),)),
        ("d", ((0, 1),)),
        ("c", ((1, 3),)),
        ("f", ((1, 1),)),
    ]
    assert [free[0], free[1]] == [0, 0]


def test_a_caller_places_as_it_likes_and_who_gets_nothing_has_no_nodes():
    free = FreeGpus({0: 4, 1: 2})
    found = free.settle([("a", 2), ("b", 2)], {}, lambda who, gpus: ((0, gpus),) * (who == "a"))
    assert found == {"a": ((0, 2),)}
    assert (free[0], free[1]) == (2, 2)


def test_equal_parts_lie_on_the_fullest_nodes_and_nowhere_where_they_are_too_few():
    free = FreeGpus({0: 4, 1: 2, 2: 3, 3: 1})
    assert [free.place(gpus, None, nodes) for gpus, nodes in ((4, 2), (6, 3), (8, 4), (6, 2))] == [
        ((1, 2), (2, 2)), ((0, 2), (1, 2), (2, 2)), (), ((0, 3), (2, 3)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("free", "most", "gpus", "first", "last"),
    [
        # Of all, a job may have two GPUs, or less than three: node 1 stands between nodes 0 and 2.
        ({0: 4, 1: 2, 2: 4}, lambda node: 2, 6, [(0, 2), (1, 2), (2, 2)], [(2, 2), (1, 2), (0, 2)]),
        ({0: 2.5, 1: 2, 2: 2.5}, None, 6, [(0, 2), (1, 2), (2, 2)], [(2, 2), (1, 2), (0, 2)]),
        ({0: 4, 1: 2, 2: 4}, lambda node: 2.9, 5, [(0, 2), (1, 2), (2, 1)], [(2, 2), (1, 2), (0, 1)]),
    ],
)  # fmt: skip
def test_nodes_with_as_much_for_a_job_stand_in_order(free, most, gpus, first, last):
    assert [*FreeGpus(free).place(gpus, most)] == first
    assert [*FreeGpus(free, last_first=True).place(gpus, most)] == last
