"""Backfilling with reservations, against an exact simulator of its own and the promises that it makes."""

from fractions import Fraction

import numpy as np
import pytest

from policies import make_policy
from policies.backfilling import Backfilling
from simulator import FIXED, Cluster, Decision, InputError, NodeType, Placement
from simulator.features.tenants import tenants_of
from simulator.model.tolerances import INSTANT_S
from simulator.workloads.plain_csv import CsvJobs
from tests.core.jobs import fixed, nodes, run
from tests.errors import input_error

POLICIES = ("easy-backfill", "conservative-backfill")


def drawn(rng: np.random.Generator, exact: bool) -> tuple[list[tuple[int, int, int, int]], int]:
    """Jobs (submission, duration, time asked for, GPUs) and a number of GPUs."""
    count, gpus = int(rng.integers(2, 14)), int(rng.integers(1, 9))
    submit = np.sort(rng.integers(0, 40, count)).tolist()
    jobs = []
    for at in submit:
        duration = int(rng.integers(1, 30))
        asked = duration if exact else duration + int(rng.integers(0, 20))
        jobs.append((at, duration, asked, int(rng.integers(1, gpus + 1))))
    return jobs, gpus


def earliest(now: Fraction, job, taken, gpus: int) -> Fraction:
    """The first time from which the GPUs of a job are free as long as it asks for them."""
    for at in sorted({now, *(end for _, end, _ in taken if end > now)}):
        inside = {at, *(begin for begin, _, _ in taken if at < begin < at + job[2])}
        if all(sum(g for b, e, g in taken if b <= t < e) + job[3] <= gpus for t in inside):
            return at
    raise AssertionError


def exact_starts(jobs, gpus: int, conservative: bool) -> list[Fraction]:
    """Starts of a machine of its own: free GPUs are counted at every time at which something may change."""
    start: dict[int, Fraction] = {}
    promised: dict[int, Fraction] = {}
    times = {Fraction(at) for at, *_ in jobs}
    done: set[Fraction] = set()
    while times - done:
        now = min(times - done)
        done.add(now)
        # who holds GPUs from when to when, as it is expected now
        held = [
            (start[j], start[j] + jobs[j][2], jobs[j][3])
            for j in start
            if start[j] + jobs[j][1] > now
        ]
        queue = [j for j, job in enumerate(jobs) if job[0] <= now and j not in start]

        if conservative:
            kept = {j: (at, at + jobs[j][2], jobs[j][3]) for j, at in promised.items()}
            for j in queue:
                others = [*held, *(slot for i, slot in kept.items() if i != j)]
                at = earliest(now, jobs[j], others, gpus)
                kept[j] = (at, at + jobs[j][2], jobs[j][3])
            starting = [j for j in queue if kept[j][0] == now]
            promised = {j: kept[j][0] for j in queue if j not in starting}
        else:
            starting, taken, reserved = [], list(held), False
            for j in queue:
                at = earliest(now, jobs[j], taken, gpus)
                if at == now:
                    starting.append(j)
                if at == now or not reserved:
                    reserved |= at > now
                    taken.append((at, at + jobs[j][2], jobs[j][3]))
        for j in starting:
            start[j] = now
            times.add(now + jobs[j][1])
    return [start[j] for j in range(len(jobs))]


def compare(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, gpus = drawn(rng, exact=bool(seed % 2))
    submit, duration, asked, wanted = zip(*jobs, strict=True)
    workload = fixed(submit, duration, wanted, requested_s=asked)
    for name in POLICIES:
        expected = exact_starts(jobs, gpus, name == "conservative-backfill")
        found = run(workload, nodes(1, gpus), name).first_start_s
        assert found == pytest.approx([float(s) for s in expected], abs=1e-4), (seed, name)


def test_starts_are_those_of_an_exact_simulator():
    for seed in range(250):
        compare(seed)


@pytest.mark.slow
def test_starts_are_those_of_an_exact_simulator_10000_times():
    for seed in range(250, 10_250):
        compare(seed)


class Promises:
    """A policy that is watched: what it promises to jobs, the first and the latest time."""

    def __init__(self, policy: Backfilling) -> None:
        self.policy = policy
        self.first: dict[int, float] = {}
        self.last: dict[int, float] = {}

    def decide(self, view):
        decision = self.policy.decide(view)
        for job, (at_s, _) in self.policy.promised.items():
            self.first.setdefault(job, at_s)
            assert at_s <= self.last.get(job, at_s) + 8 * INSTANT_S
            self.last[job] = at_s
        return decision


@pytest.mark.parametrize("order", ["fifo", "sjf", "priority"])
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("resolution", [0, 7])
def test_no_job_starts_later_than_promised(order, limited, resolution):
    """With the order of submission the head stays the head under EASY; conservative keeps its word in every order."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        jobs, gpus = drawn(rng, exact=bool(seed % 2))
        submit, duration, asked, wanted = (list(each) for each in zip(*jobs, strict=True))
        columns = {"requested_s": asked, "priority": rng.integers(0, 3, len(jobs))}
        cluster = nodes(1, gpus)
        if limited:
            few, many = (
                NodeType(f"n{g}", f"G{g}", g, cpus=2 * g, memory_gb=10 * g) for g in (2, 4)
            )
            cluster = Cluster((few, many), 4, node_type_of=(0, 1, 0, 1))
            wanted = [min(g, 6) for g in wanted]
            columns["num_cpus"] = [float(rng.choice([g, 2 * g])) for g in wanted]
        for name in POLICIES:
            if name == "easy-backfill" and order != "fifo":
                continue
            policy = make_policy(name, order=order, bf_resolution_s=float(resolution))
            watched = Promises(policy)
            result = run(fixed(submit, duration, wanted, **columns), cluster, watched)
            for job, at_s in watched.first.items():
                assert result.first_start_s[job] <= at_s + 1e-4, (seed, name)


def test_a_wide_job_waits_for_the_jobs_before_it_alone():
    """Jobs of one GPU come every 5 s and take 20 s; the first ends at 20 s, and none may start before the wide job."""
    submit = [0, 1, *range(5, 500, 5)]
    jobs = fixed(submit, [20, 10, *[20] * 99], [1, 4, *[1] * 99])
    for name in POLICIES:
        assert run(jobs, nodes(4), name).first_start_s[1] == 20
    assert run(jobs, nodes(4), "fifo-backfill").first_start_s[1] > 400


def test_orders_and_the_rules_of_slurm():
    """One GPU of two is held until 100 s, and the wide job needs both; j2 ends at 150 s, j3 at 53 s."""
    jobs = fixed([0, 1, 2, 3], [100, 10, 148, 50], [1, 2, 1, 1])

    def starts(name="easy-backfill", **options):
        return run(jobs, nodes(2), make_policy(name, **options)).first_start_s.tolist()

    assert starts() == [0, 100, 110, 3]
    assert starts(bf_window_s=50.0) == [0, 150, 2, 100]
    assert starts(bf_max_job_test=2) == [0, 100, 110, 110]
    assert starts(bf_resolution_s=60.0) == [0, 100, 110, 3]
    assert starts(bf_resolution_s=101.0) == [0, 100, 110, 110]
    with input_error("order is 'last', expected one of fifo, sjf, priority, multifactor"):
        make_policy("easy-backfill", order="last")
    with input_error("bf_window_s is -1"):
        make_policy("easy-backfill", bf_window_s=-1.0)


def test_multifactor_priorities_by_hand():
    """At 300 s, on one GPU: ann has used 300 GPU-s of 300, bob and cy nothing, at equal shares of a third."""
    seen = {}

    def policy(**options):
        made = make_policy("easy-backfill", order="multifactor", **options)

        def decide(view):
            seen[view.now_s] = made.priority(view, np.arange(len(view.workload))).tolist()
            return made.decide(view)

        return decide

    jobs = fixed([0, 100, 200, 250], [300, 10, 10, 10], [1, 1, 1, 1], requested_s=[300, 10, 10, 10],
                 user=["ann", "ann", "bob", "cy"], qos=["", "", "high", "low"], vc=["a"] * 4)  # fmt: skip
    owners = tenants_of(jobs, "user")
    run(jobs, nodes(1), policy(weight_age=100.0, max_age_s=400.0, weight_fairshare=80.0), owners)
    assert seen[300] == pytest.approx([75 + 10, 50 + 10, 25 + 80, 12.5 + 80])
    # Fair Tree: of three tenants, the two that used nothing share the first place, ann is third.
    run(jobs, nodes(1), policy(weight_age=0.0, weight_fairshare=90.0, fair_tree=True), owners)
    assert seen[300] == pytest.approx([30, 30, 90, 90])
    run(jobs, nodes(1), policy(weight_age=0.0, weight_qos=40.0, qos_priority="high=10 low=5"))
    assert seen[300] == [0, 0, 40, 20]
    run(jobs, nodes(1), policy(weight_age=0.0, weight_partition=40.0, partition_priority="a=5"))
    assert seen[300] == [40] * 4
    run(jobs, nodes(4), policy(weight_age=0.0, weight_size=40.0))
    assert seen[250] == [10] * 4
    run(jobs, nodes(4), policy(weight_age=0.0, weight_size=40.0, favor_small=True))
    assert seen[250] == [30] * 4
    # bob's job passes ann's, which has waited longer
    made = make_policy(
        "easy-backfill", order="multifactor", weight_age=100.0, weight_fairshare=80.0
    )
    assert run(jobs, nodes(1), made, owners).first_start_s.tolist() == [0, 320, 300, 310]
    with input_error("qos_priority has 'high'"):
        make_policy("easy-backfill", qos_priority="high")


def test_usage_halves():
    """At 300 s ann's GPU from 0 to 100 s counts 1/4 - 1/8 half-lives over ln 2, bob's from 100 s on 1 - 1/4: 1/7 and 6/7 of all."""
    seen = {}
    made = make_policy(
        "easy-backfill",
        order="multifactor",
        weight_age=0.0,
        weight_fairshare=1.0,
        half_life_s=100.0,
    )

    def decide(view):
        seen[view.now_s] = made.priority(view, np.arange(len(view.workload))).tolist()
        return made.decide(view)

    jobs = fixed([0, 0, 300], [100, 200, 1], user=["ann", "bob", "ann"])
    run(jobs, nodes(1), decide, tenants_of(jobs, "user"))
    assert seen[300] == pytest.approx([2 ** (-2 / 7), 2 ** (-12 / 7), 2 ** (-2 / 7)])


def test_jobs_are_killed_at_their_limit(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,submit_time_s,duration_s,num_gpus,requested_s\na,0,100,1,60\nb,0,10,1,\n"
    )
    jobs = CsvJobs(path=path, kill_at_limit=True).make(None)
    assert jobs.performance.duration_s.tolist() == [60, 10]
    assert jobs.outcome == ("killed", "")
    assert "1 of 2 jobs are killed at their limit" in jobs.notes[-1]
    path.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,100,1\n")
    with pytest.raises(InputError, match=r"workload.kill_at_limit: the jobs state no time"):
        CsvJobs(path=path, kill_at_limit=True).make(None)


def test_a_promise_that_passes_counts_from_now():
    """j0 runs until 20 s and not 10 s, the promise to j1. At 20 s j2, which is shorter, gets the time behind j1."""
    jobs = fixed([0, 1, 20], [20, 10, 5], requested_s=[10, 10, 5])
    made = make_policy("conservative-backfill", order="sjf")
    assert run(jobs, nodes(), made).first_start_s.tolist() == [0, 20, 30]


@pytest.mark.parametrize(
    ("name", "starts"),
    [("easy-backfill", [0, 30, 10, 20]), ("conservative-backfill", [0, 10, 20, 30])],
)
def test_the_highest_priority_first_then_the_highest_weight(name, starts):
    """Under conservative backfilling each job keeps what it was promised before the next one came."""
    jobs = fixed([0, 1, 2, 3], [10] * 4, priority=[0, 1, 3, 1], weight_per_s=[1, 1, 1, 2])
    made = make_policy(name, order="priority")
    assert run(jobs, nodes(), made).first_start_s.tolist() == starts


@pytest.mark.parametrize(
    ("gpus", "places"),
    [
        (1, {2: 1}),
        (2, {2: 2}),
        (3, {0: 3}),
        (5, {0: 1, 1: 4}),
        (7, {0: 3, 1: 4}),
        (9, {0: 3, 1: 4, 2: 2}),
    ],
)
def test_the_fullest_node_that_holds_a_job_else_the_emptiest(gpus, places):
    """Nodes of 3, 4 and 3 GPUs; a job holds one of the last."""
    types = tuple(NodeType(f"n{g}", "G", g, cpus=8.0) for g in (3, 4))
    cluster = Cluster(types, 3, node_type_of=(0, 1, 0))
    jobs = fixed([0, 1], [100, 10], [1, gpus], num_cpus=[1, gpus])
    made = make_policy("easy-backfill")

    def decide(view):
        return made.decide(view) if view.now_s else Decision([Placement(0, 2, 1, FIXED, 1.0, 0.0)])

    shares = run(jobs, cluster, decide).schedule
    assert {s.node: s.gpus for s in shares if s.job == 1} == places


def test_usage_counts_gpus_and_age_ends():
    """ann has used 2 of 3 GPUs. j2 has waited for 50 of 100 s, j3 for 200."""
    seen = {}
    made = make_policy("easy-backfill", order="multifactor", weight_fairshare=1.0, weight_age=0.0,
                       half_life_s=0.0)  # fmt: skip

    def decide(view):
        seen[view.now_s] = made.priority(view, np.arange(len(view.workload))).tolist()
        return made.decide(view)

    jobs = fixed([0, 0, 90], [100, 100, 10], [2, 1, 3], user=["ann", "bob", "bob"])
    run(jobs, nodes(3), decide, tenants_of(jobs, "user"))
    assert seen[90] == pytest.approx([2 ** (-4 / 3), 2 ** (-2 / 3), 2 ** (-2 / 3)])
    made = make_policy("easy-backfill", order="multifactor", weight_age=40.0, max_age_s=100.0)
    jobs = fixed([0, 0, 150], [200, 10, 10])
    run(jobs, nodes(), decide)
    assert seen[200] == [40, 40, 20]
