"""Indexes of nodes and of the queue decide as a search through all of them would."""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappush
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.queues import waiting
from policies.queues.free_capacity import FreeCapacity
from policies.queues.running import RunningJobs
from policies.queues.waiting import WaitingArray
from policies.wrappers.learned import features
from simulator import NO_CHANGE, Cluster, Decision, NodeType, Placement, ServerSpec, View, Workload
from simulator.core import simulation as core
from simulator.features.tenants import tenants_of
from simulator.laws import Exponential
from simulator.model.contract import Changes
from simulator.model.ranks import ranks
from simulator.model.tolerances import EQUAL
from tests.core.jobs import fixed, nodes, run

common = settings(max_examples=12, deadline=None, derandomize=True)
KEYS = {
    "fifo-strict": None,
    "fifo-backfill": None,
    "edf": lambda w, j: (w.due_s[j], j),
    "edf-backfill": lambda w, j: (w.due_s[j], j),
    "ps": lambda w, j: (-w.weight_per_s[j], j),
    "linear-score": None,
}
SCORE = (-1.0, 0.25, -0.5, 1.0, -0.5, 0.5, 1.0)
OPTIONS = {
    "linear-score": {"weights": ",".join(map(str, SCORE))},
    "max-min-fairness": {"round_s": 2.0},
}


def naive(name: str):
    """The same rule, with the queue sorted and all nodes searched at each decision."""
    key, backfill = KEYS[name], name.endswith(("backfill", "score"))

    def decide(view: View) -> Decision:
        jobs = list(view.waiting)
        if key is not None:
            jobs.sort(key=lambda j: key(view.workload, j))
        if name == "linear-score" and jobs:
            place = ranks(-features(view, jobs) @ SCORE, EQUAL * np.abs(SCORE).sum())
            jobs = [jobs[k] for k in np.argsort(place, kind="stable")]
        capacity, placements = FreeCapacity(view), []
        for job in jobs:
            shares = capacity.take(job)
            placements += shares
            if not shares and not backfill:
                break
        return Decision(placements, keep_running=True) if placements else NO_CHANGE

    return decide


def jobs_of(seed: int, count: int) -> Workload:
    rng = np.random.default_rng(seed)
    gpus = rng.integers(1, 12, count)
    submit_s = np.floor(np.cumsum(rng.exponential(60, count)) / 50) * 50
    duration_s, due_s = rng.uniform(10, 900, count), submit_s + rng.integers(0, 20, count) * 100.0
    return fixed(
        submit_s, duration_s, gpus, due_s=due_s, weight_per_s=rng.integers(0, 3, count) / 100
    )


@pytest.mark.parametrize("name", list(KEYS))
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.sampled_from([1, 2]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([None, 170.0]),
    st.booleans(),
)
@common
def test_the_same_schedule_as_a_search_through_everything(
    name, seed, count, controllers, servers, period_s, forgets
):
    """Also where plans come into force late, and where changes are forgotten before they are read."""
    types = (NodeType("small", "GPU", 4), NodeType("big", "GPU", 8))
    cluster = Cluster(types, 6, (0, 1, 0, 0, 1, 1), controllers)
    server = ServerSpec(service=Exponential(40.0), servers=servers) if servers else None
    found = []
    since = Changes.since
    try:
        if forgets:
            Changes.since = lambda changes, mark: (None, since(changes, mark)[1])
        for policy in (make_policy(name, **OPTIONS.get(name, {})), naive(name)):
            jobs = jobs_of(seed, count)
            result = run(jobs, cluster, policy, seed=seed, server=server, period_s=period_s)
            log = result.decisions
            logged = [list(column) for column in (log.time_s, log.controller, log.active)]
            found.append([list(result.schedule or ()), result.summary() | {"policy": ""}, logged])
    finally:
        Changes.since = since
    assert found[0] == found[1]


@given(seed=st.integers(0, 10_000))
@common
def test_jobs_that_another_policy_preempts_queue_again(seed):
    """A policy that is asked only now and then keeps its indexes right all the same."""
    results = []
    for rule in (make_policy("fifo-backfill").decide, naive("fifo-backfill")):
        turn = [0]

        def decide(view: View, rule=rule, turn=turn) -> Decision:
            turn[0] += 1
            if turn[0] % 3:
                return rule(view)
            first = min(view.jobs.tolist())
            return Decision(view.running.get(first, ()))  # stop all others

        result = run(jobs_of(seed, 25), nodes(4, 3), decide, period_s=100)
        results.append(list(result.schedule or ()))
    assert results[0] == results[1]


@pytest.mark.parametrize("seed", range(5))
def test_jobs_that_are_kept_wait_and_run(seed):
    """Whoever starts, stops, starts again and leaves meanwhile: what is kept is looked at in each third decision."""
    rng = np.random.default_rng(seed)
    place = [(Placement(job, job % 4, 1),) for job in range(60)]
    kept = WaitingArray(lambda view, job: (job, 2 * job)), RunningJobs()
    held: dict[int, tuple[Placement, ...]] = {}
    seen = [0, 0]

    def decide(view: View) -> Decision:
        if rng.random() < 0.3:
            jobs, running = kept[0].refresh(view), kept[1]
            assert jobs.tolist() == [*view.waiting]
            assert kept[0].columns.tolist() == [jobs.tolist(), (2 * jobs).tolist()]
            assert kept[0].new == jobs.tolist()[len(jobs) - len(kept[0].new) :]
            running.refresh(view)
            for job, shares in running.over.items():
                assert held.pop(job) is shares
            held.update(running.began)
            assert held == running.held == view.running
            assert all(view.running[job] is shares for job, shares in held.items())
            seen[0] += 1
            seen[1] += len(running.began)
        taken, free = {}, [2] * 4
        for job in rng.permutation(view.jobs).tolist():
            if free[job % 4]:
                taken[job], free[job % 4] = place[job], free[job % 4] - 1
        kept[0].taken = [*taken]
        return Decision(taken)

    jobs = fixed(
        np.arange(0.0, 120, 2), rng.integers(5, 30, 60), patience_s=rng.integers(5, 90, 60)
    )
    run(jobs, nodes(2, 4), decide)
    assert min(seen) > 10


def test_a_large_cluster_is_not_looked_through_at_each_decision(monkeypatch):
    """Nodes are made when first used: 20 jobs on 100,000 nodes make 20 of them."""
    made = []
    original = core.Node

    def count(*arguments):
        made.append(1)
        return original(*arguments)

    monkeypatch.setattr(core, "Node", count)
    cluster = nodes(4, 100_000, power_w=(100.0,) * 5)
    result = run(fixed([0] * 20, [3600] * 20, [4] * 20), cluster, "fifo-backfill")
    assert len(made) == 20
    assert result.meters.energy_kwh == pytest.approx(100_000 * 0.1)
    assert result.meters.open_gpu_seconds == pytest.approx(400_000 * 3600.0)


@pytest.mark.parametrize("name", ["fifo-backfill", "edf-backfill"])
def test_a_long_queue_is_not_looked_through_at_each_decision(monkeypatch, name):
    """300 jobs wait from the start, for one node. Each is put in its place once, and a few are put back; sorting
    the queue anew at each of 300 decisions would be 45,000 places."""
    places = [0]

    def pushing(heap: list[Any], entry: Any) -> None:
        places[0] += 1
        heappush(heap, entry)

    def sorting(heap: list[Any]) -> None:
        places[0] += len(heap)
        heapify(heap)

    monkeypatch.setattr(waiting, "heappush", pushing)
    monkeypatch.setattr(waiting, "heapify", sorting)
    count = 300
    gpus, due_s = np.tile([2, 1, 3], count // 3), np.arange(count, 0.0, -1.0)
    run(fixed([0] * count, 1.0 + np.arange(count) % 7, gpus, due_s=due_s), nodes(4), name)
    assert count <= places[0] < 4 * count


def test_a_score_passes_over_jobs_that_ask_for_as_much_as_one_that_does_not_fit():
    """Of 8 CPUs j0 takes 5, so j1 and j2 do not fit; j3, which wants 3, does."""
    jobs = fixed([0.0] * 4, [10.0] * 4, num_cpus=[5.0, 5.0, 5.0, 3.0])
    found = run(jobs, nodes(4, cpus=8.0), "linear-score")
    assert found.first_start_s.tolist() == [0, 10, 20, 0]


class Counted(Mapping[int, None]):
    """Jobs, of which those are counted that are looked at one after the other."""

    def __init__(self, jobs: Mapping[int, None], looks: list[int]) -> None:
        self._jobs, self._looks = jobs, looks

    def __iter__(self):
        for job in self._jobs:
            self._looks[0] += 1
            yield job

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: object) -> bool:
        return job in self._jobs

    def __getitem__(self, job: int) -> None:
        return self._jobs[job]


class CountedSequence(Sequence[Any]):
    """Things of nodes, of which those are counted that are looked at."""

    def __init__(self, things: Sequence[Any], looks: list[int]) -> None:
        self._things, self._looks = things, looks

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, node: Any) -> Any:
        self._looks[0] += 1
        return self._things[node]


class CountedNodes(np.ndarray):
    """Nodes, which are counted where they are looked at one by one."""

    looks: list[int]

    def tolist(self) -> list[int]:
        self.looks[0] += len(self)
        return super().tolist()

    __iter__ = None


class CountedRunning(Counted):
    """Running jobs, of which those are counted that are looked at one after the other."""

    def __reversed__(self):
        for job in reversed(self._jobs):
            self._looks[0] += 1
            yield job


class Enough(Exception):
    """The run has lasted long enough."""


def looks_after_the_first(name: str, waiting: int, monkeypatch: Any) -> float:
    """Jobs looked at or placed in a decision after the first, in the mean: so many wait, and 40 more come as others end."""
    rng = np.random.default_rng(2)
    count, looks, decisions = waiting + 40, [0], [0]
    place = FreeCapacity.place
    policy = make_policy(name, **OPTIONS.get(name, {}))

    def counting_place(*arguments, **options):
        looks[0] += 1
        return place(*arguments, **options)

    def decide(view: View) -> Decision:
        if view.now_s > 41:
            raise Enough
        decision = policy.decide(
            view.showing(waiting=Counted(view.waiting, looks), active=Counted(view.active, looks))
        )
        looks[0], decisions[0] = looks[0] * (decisions[0] > 0), decisions[0] + 1
        return decision

    submit_s = np.concatenate([np.ones(waiting), np.arange(2.0, 42.0)])
    jobs = fixed(
        submit_s, rng.uniform(5, 20, count), rng.choice([1, 2, 4], count),
        due_s=submit_s + rng.uniform(10, 1000, count), weight_per_s=rng.uniform(1, 2, count),
        vc=rng.choice(["a", "b"], count).tolist(),
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(FreeCapacity, "place", counting_place)
        with pytest.raises(Enough):
            run(jobs, nodes(4, 3), decide)
    assert decisions[0] > 40
    return looks[0] / decisions[0]


@pytest.mark.parametrize(
    "name",
    [
        "capacity", "conservative-backfill", "consolidating", "deadline-first", "easy-backfill", "drf", "fair-share", "fifo-backfill", "fifo-with-notice", "linear-score",
        "max-min-fairness", "sjf", "srpt", "tiresias",
    ],
)  # fmt: skip
def test_a_decision_looks_at_as_many_jobs_however_many_wait(name, monkeypatch):
    few, many = (looks_after_the_first(name, waiting, monkeypatch) for waiting in (100, 1000))
    assert many < 1.5 * few + 1
    assert many < 5


def looks_at_nodes(name: str, count: int) -> float:
    """Nodes and running jobs looked at in a decision after the second, in the mean, where all nodes are in use."""
    rng = np.random.default_rng(3)
    first, looks, decisions = 2 * count + 40, [0], [0]
    counted: dict[int, CountedNodes] = {}
    base, *options = name.split(":")
    policy = make_policy(base, **dict(option.split("=") for option in options))

    def decide(view: View) -> Decision:
        if view.now_s > 40:
            raise Enough
        nodes = counted.setdefault(id(view.nodes), view.nodes.view(CountedNodes))
        nodes.looks = looks
        decision = policy.decide(
            view.showing(
                nodes=nodes,
                shares=CountedSequence(view.shares, looks),
                running=CountedRunning(view.running, looks),
            )
        )
        looks[0], decisions[0] = looks[0] * (decisions[0] > 1), decisions[0] + 1
        return decision

    submit_s = np.concatenate([np.zeros(first), np.arange(1.0, 41.0)])
    jobs = fixed(
        submit_s, rng.exponential(2.0 * count, first + 40), rng.choice([1, 1, 2, 4], first + 40),
        due_s=submit_s + 1000, weight_per_s=rng.uniform(1, 2, first + 40), priority=rng.integers(0, 5, first + 40) + 0.0,
        vc=rng.choice(["a", "b"], first + 40).tolist(),
    )  # fmt: skip
    quotas = tenants_of(jobs, quota={"a": 1.0 * count, "b": 3.0 * count}, borrowing=True)
    with pytest.raises(Enough):
        run(jobs, nodes(4, count), decide, quotas)
    assert decisions[0] > 40
    return looks[0] / decisions[0]


@pytest.mark.parametrize(
    "name",
    [
        "capacity", "conservative-backfill", "conservative-backfill:order=multifactor", "consolidating", "drf",
        "easy-backfill", "easy-backfill:order=multifactor", "easy-backfill:order=sjf", "edf-backfill", "fair-share",
        "fifo-backfill", "fifo-strict", "fifo-with-notice", "linear-score", "priority", "random-order", "sjf", "tiresias",
        "weight-priority",
    ],
)  # fmt: skip
def test_a_decision_looks_at_as_many_nodes_and_running_jobs_however_many_there_are(name):
    few, many = looks_at_nodes(name, 10), looks_at_nodes(name, 100)
    assert many < 1.5 * few + 4
    assert many < 40
