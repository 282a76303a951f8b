"""Backfilling with reservations, against a plain program and the promises that it makes."""

from typing import Any

import numpy as np
import pytest

from policies import make_policy
from policies.queues.backfilling import Backfilling
from policies.queues.conservative_backfilling import ConservativeBackfill
from simulator import FIXED, Cluster, Decision, InputError, NodeType, Placement
from simulator.features.failures import Failures, Outages
from simulator.features.reconfiguration import Delays
from simulator.features.tenants import tenants_of
from simulator.laws import Exponential
from simulator.model.tolerances import INSTANT_S
from simulator.workloads.plain_csv import CsvJobs
from tests.core.jobs import fixed, nodes, run
from tests.core.plain_backfilling import Job, Node, Plain
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


def instance(rng: np.random.Generator) -> tuple[list[Job], list[Node]]:
    """Jobs at whole times, many at the same, that ask for their durations, for longer, or for less.

    Half of the instances are one machine; the others have nodes of two types and sizes, racks, and CPUs. Each job fits there.
    """
    is_one = bool(rng.random() < 0.5)
    nodes = [Node(int(rng.integers(1, 9)))]
    if not is_one:
        sizes = rng.integers(0, 2, 2 * int(rng.integers(1, 4))).tolist()
        nodes = [Node((2, 4)[s], (6, 16)[s], n // 2, "ab"[s]) for n, s in enumerate(sizes)]
    estimates = rng.choice(["exact", "over", "any"])
    jobs = []
    for at in np.sort(rng.integers(0, 40, int(rng.integers(2, 16)))).tolist():
        duration = int(rng.integers(1, 30))
        asked = {"exact": duration, "over": duration + int(rng.integers(0, 20)), "any": int(rng.integers(1, 40))}  # fmt: skip
        job = Job(at, duration, asked[estimates], 1, int(rng.integers(0, 3)))
        if is_one:
            gpus = int(rng.integers(1, nodes[0].gpus + 1))
        else:
            types = str(rng.choice(["", "a", "b", "a|b"], p=[0.6, 0.1, 0.1, 0.2]))
            one_rack, wanted = bool(rng.random() < 0.3), int(rng.random() < 0.2)
            job = job._replace(types=types, one_rack=one_rack, nodes=wanted, cpus=int(rng.integers(0, 5)))  # fmt: skip
            gpus = int(rng.integers(1, 6))
        job = job._replace(gpus=gpus)
        empty = [(node.gpus, node.cpus) for node in nodes]
        if any(Plain([job], nodes, False).places(job, empty)):
            jobs.append(job)
    return jobs, nodes


def compare(seed: int) -> None:
    """Starts and places are those of `Plain`, to the bit."""
    rng = np.random.default_rng(seed)
    jobs, nodes = instance(rng)
    if not jobs:
        return
    own = {"order": str(rng.choice(["fifo", "sjf", "priority"]))}
    if rng.random() < 0.3:
        own["window"] = int(rng.integers(1, 40))
    if rng.random() < 0.3:
        own["limit"] = int(rng.integers(1, 5))
    options = {{"window": "bf_window_s", "limit": "bf_max_job_test"}.get(k, k): v for k, v in own.items()}  # fmt: skip
    submit, duration, asked, gpus, priority, cpus, wanted, one_rack, types = zip(*jobs, strict=True)
    columns = {"requested_s": asked, "priority": priority}
    cluster = Cluster.of_nodes(NodeType("n", "G", nodes[0].gpus), 1)
    if len(nodes) > 1:
        columns |= {"num_cpus": [c * g for c, g in zip(cpus, gpus, strict=True)], "num_nodes": wanted,
                    "one_rack": one_rack, "gpu_types": types}  # fmt: skip
        kinds = (NodeType("s", "a", 2, cpus=6), NodeType("m", "b", 4, cpus=16))
        cluster = Cluster(kinds, len(nodes), [int(n.gpus == 4) for n in nodes], nodes_per_rack=2)
    workload = fixed(submit, duration, gpus, **columns)
    for name in POLICIES:
        expected = Plain(jobs, nodes, name == "conservative-backfill", **own).run()
        result = run(workload, cluster, make_policy(name, **options))
        for j, (start, parts) in enumerate(expected):
            found = tuple(sorted((s.node, s.gpus) for s in result.schedule if s.job == j))
            assert (result.first_start_s[j], found) == (start, parts), (seed, name, own, j)


def test_starts_and_places_are_those_of_a_plain_program():
    for seed in range(50):
        compare(seed)


@pytest.mark.slow
def test_starts_and_places_are_those_of_a_plain_program_5000_times():
    for seed in range(50, 5_050):
        compare(seed)


class EachTime(ConservativeBackfill):
    """It makes a pass at each decision."""

    def _goes_as_expected(self, view):
        return False


def troubles(rng: np.random.Generator, nodes: int) -> tuple[list[Any], dict[str, Any]]:
    """Features and options under which jobs start and end otherwise than planned."""
    features: list[Any] = []
    if rng.random() < 0.3:
        outages = Outages.of_each_node(nodes, Exponential(60.0), Exponential(10.0))
        features.append(Failures([outages]))
    if rng.random() < 0.3:
        features.append(Delays.of(float(rng.integers(1, 9))))
    options = [{}, {}, {"period_s": 7.0}, {"server_s": 2.0, "servers": 2}]
    return features, options[rng.integers(4)]


@pytest.mark.long
@pytest.mark.parametrize("order", ["fifo", "sjf", "multifactor"])
def test_what_is_kept_is_what_a_pass_would_find(order):
    """Jobs also leave the queue or run at other times than they should: nodes fail, patience ends, decisions come late."""
    as_expected = [0]
    goes = ConservativeBackfill._goes_as_expected

    class Counted(ConservativeBackfill):
        def _goes_as_expected(self, view):
            found = goes(self, view)
            as_expected[0] += found
            return found

    for seed in range(40):
        rng = np.random.default_rng((1, seed))
        count = 40
        submit, duration = np.cumsum(rng.integers(0, 8, count)), rng.integers(1, 30, count)
        gpus, columns = rng.integers(1, 5, count), {}
        if rng.random() < 0.5:
            asked = duration + rng.integers(-3, 20, count) * (rng.random(count) < 0.5)
            columns["requested_s"] = np.where(rng.random(count) < 0.7, np.maximum(asked, 1), np.nan)
        if rng.random() < 0.3:
            columns["patience_s"] = rng.integers(1, 90, count)
        window = {"bf_window_s": 60.0} if rng.random() < 0.3 else {}
        features, options = troubles(rng, 3)
        results = [
            run(fixed(submit, duration, gpus, **columns), nodes(2, 3), made(order=order, **window),
                *features, seed=seed, **options)
            for made in (Counted, EachTime)
        ]  # fmt: skip
        assert [*results[0].schedule] == [*results[1].schedule], seed
    assert as_expected[0] > 800


def test_promises_are_kept_when_another_job_leaves():
    """j1 is promised 10 s. j2 gives up at 5 s; j3 comes after it, is shorter, and would be first otherwise."""
    jobs = fixed([0, 1, 2, 6], [10, 10, 10, 5], patience_s=[np.inf, np.inf, 3, np.inf])
    made = make_policy("conservative-backfill", order="sjf")
    starts = run(jobs, nodes(), made).first_start_s.tolist()
    assert starts[:2] + starts[3:] == [0, 10, 20]


@pytest.mark.parametrize("cpus", [np.inf, 10.0])
def test_who_is_over_in_time_takes_nothing_from_a_reservation(cpus):
    """j0 holds 6 of 10 GPUs until 100 s, when j1 needs 8. j2 is over by then, and j3 may have the 2 that are left."""
    jobs = fixed([0, 1, 2, 2, 2], [100, 10, 50, 200, 1], [6, 8, 2, 2, 1])
    found = run(jobs, nodes(10, cpus=cpus), "easy-backfill").first_start_s
    assert found.tolist() == [0, 100, 2, 2, 52]


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


@pytest.mark.long
@pytest.mark.parametrize("order", ["fifo", "sjf", "priority"])
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("resolution", [0, 7])
def test_no_job_starts_later_than_promised(order, limited, resolution):
    """With the order of submission the head stays the head under EASY; conservative keeps its word in every order."""
    for seed in range(25):
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


@pytest.mark.parametrize(
    ("order", "count", "places"),
    [("fifo", 3, [0, 1, 2]), ("sjf", 1, [1]), ("sjf", 2, [1, 0]), ("sjf", 4, [1, 0, 2, 4])],
)
def test_the_first_of_several_in_an_order(order, count, places):
    """Jobs 5 and 9 ask for the same time but for rounding, so job 5 comes first; the job at place 3 is passed over."""
    policy, jobs = make_policy("easy-backfill", order=order), np.array([5, 3, 9, 1, 4])
    asked_s = np.array([2.0 + INSTANT_S / 2, 1.0, 2.0, 0.5, 7.0])
    some = np.array([True, True, True, False, True])
    keys = [asked_s] if order == "sjf" else []
    assert policy._first(jobs, keys, some, count) == places


@pytest.mark.parametrize(
    ("order", "jobs"),
    [
        ("fifo", [1, 2, 3]),
        ("sjf", [3, 1, 2]),
        ("priority", [2, 1, 3]),
        ("multifactor", [3, 1, 2]),
    ],
)
def test_the_waiting_jobs_in_the_order_in_which_they_are_looked_at(order, jobs):
    options = {"weight_qos": 9.0, "qos_priority": "high=2 low=1"} if order == "multifactor" else {}
    policy, found = make_policy("easy-backfill", order=order, **options), []

    def decide(view):
        if view.now_s == 1:
            found.append([*policy.ordered(view)])
        return policy.decide(view)

    more = {"requested_s": [9, 5, 6, 4], "priority": [0, 1, 2, 1], "qos": ["", "low", "", "high"]}
    run(fixed([0, 1, 1, 1], [9, 5, 6, 4], **more), nodes(), decide)
    assert [*found[0]] == jobs


def test_a_reservation_lies_on_a_type_of_node_that_the_job_asks_for():
    """Node 1 alone is of type b. j0 has it until 100 s, so j1 starts then, though node 0 is empty, which j2 takes."""
    types = (NodeType("a", "A", 4), NodeType("b", "B", 2))
    jobs = fixed([0, 1, 2], [100, 10, 10], [2, 2, 2], gpu_types=["b", "b", ""])
    policy = make_policy("conservative-backfill")
    promised = {}

    def decide(view):
        decision = policy.decide(view)
        promised.setdefault(view.now_s, dict(policy.promised))
        return decision

    found = run(jobs, Cluster(types, 2, node_type_of=(0, 1)), decide)
    assert promised[1] == {1: (100, (Placement(1, 1, 2),))}
    assert found.first_start_s.tolist() == [0, 100, 2]


def test_a_reservation_is_kept_where_its_cpus_fit_but_for_rounding():
    """0.1 and 0.2 are more than 0.3 of a CPU in floating point. j2 is promised 50 s, beside j0, and keeps that though j3 is shorter."""
    jobs = fixed([0, 0, 1, 2], [100, 50, 9, 5], [1, 3, 3, 3], num_cpus=[0.1, 0.2, 0.2, 0.2])
    policy = make_policy("conservative-backfill", order="sjf")
    watched = Promises(policy)

    def decide(view):
        if view.now_s == 0:
            return Decision([Placement(0, 0, 1, cpus=0.1), Placement(1, 0, 3, cpus=0.2)])
        return watched.decide(view)

    found = run(jobs, nodes(4, cpus=0.3), decide)
    assert watched.first[2] == 50
    assert found.first_start_s.tolist() == [0, 0, 50, 59]
