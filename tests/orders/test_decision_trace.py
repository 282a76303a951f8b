"""Decisions that say what was considered: by hand, and the same schedule as without."""

import numpy as np
import pytest

from policies import make_policy, requirements_of
from policies.decision_trace import DecisionTrace
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    NodeType,
    Placement,
    TimeTable,
    Workload,
    simulate,
)
from simulator.features.fractional import SharedDuration


def jobs_of(duration_s, gpus, **columns):
    gpus, names = np.array(gpus), "abcdefghij"[: len(gpus)]
    submit_s = np.arange(len(gpus), dtype=float)
    return Workload(
        list(names), submit_s, FixedDuration(duration_s, gpus), num_gpus=gpus, **columns
    )


def noted(policy, jobs, cluster, **parts):
    table = simulate(
        jobs, cluster, make_policy(f"{policy}@decision-trace"), **parts
    ).decisions_table()
    columns = ["time_s", "waiting", "started", "by", "passed", "short"]
    table = table.reindex(columns=columns).astype(object).fillna("")
    return [tuple(row) for row in table.itertuples(index=False)]


def test_by_hand():
    """Four GPUs. a takes three until 100 s; b wants four, d wants two and is due before b; c wants one."""
    one = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    jobs = jobs_of([100.0, 50.0, 10.0, 30.0], [3, 4, 1, 2], due_s=[900.0, 800.0, 700.0, 600.0])
    assert noted("edf-backfill", jobs, one) == [
        (0.0, 1, 1, "due date", "", ""),
        (1.0, 1, 0, "due date", "b", "GPUs: 1 free; needs 4"),
        (2.0, 2, 1, "due date", "b", "GPUs: 0 free; needs 4"),
        (3.0, 2, 0, "due date", "d, b", "GPUs: 0 free; needs 2"),
        (12.0, 2, 0, "due date", "d, b", "GPUs: 1 free; needs 2"),
        (100.0, 2, 1, "due date", "b", "GPUs: 2 free; needs 4"),
        (130.0, 1, 1, "due date", "", ""),
    ]


def test_what_is_short():
    """Two nodes of 4 GPUs and 8 CPUs; shared's jobs stay on one node: 2 GPUs are free, not together, then CPUs lack."""
    two = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=8, memory_gb=100), 2)
    jobs = jobs_of([90.0, 50.0, 9.0], [3, 3, 2], num_cpus=[1.0, 1.0, 1.0])
    rows = noted("shared", jobs, two)
    assert rows[2][5] == "GPUs on one node: 2 free, at most 1 on one; needs 2"
    greedy_of_cpus = jobs_of([90.0, 9.0], [1, 1], num_cpus=[9.0, 9.0])
    wide = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=16), 1)
    assert noted("fifo-backfill", greedy_of_cpus, wide)[1][5] == (
        "CPUs: 7 free at most where the GPUs suffice; needs 9"
    )
    strict = jobs_of([90.0, 9.0, 9.0], [2, 4, 1])
    four = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    assert noted("fifo-strict", strict, four)[2][4:] == ("b, c", "GPUs: 2 free; needs 4")


SERVERS = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=12, memory_gb=100), 3)


def random_jobs(in_parts=False, seed=3):
    """Forty jobs of 1 to 4 GPUs with due dates and weights, of two tenants; with ``in_parts``, parts of one GPU."""
    rng = np.random.default_rng(seed)
    gpus = rng.integers(1, 5, 40)
    submit_s = np.cumsum(rng.exponential(100.0, 40))
    times = FixedDuration(rng.uniform(50, 900, 40), gpus)
    if in_parts:
        gpus = rng.choice([1, 1, 1, 2], 40)
        part = np.where(gpus == 1, rng.choice([0.25, 0.5, 0.7], 40), 1.0)
        times = SharedDuration(rng.uniform(500, 9000, 40), gpus, part=part)
    return Workload(
        [f"j{k}" for k in range(40)], submit_s, times,
        num_gpus=gpus, due_s=submit_s + 2000, weight_per_s=rng.uniform(0, 1, 40),
        vc=rng.choice(["x", "y"], 40).tolist(),
    )  # fmt: skip


def run_both(name, jobs, cluster=SERVERS, options=None, **parts):
    """A run without notes, and one with them: the same decisions at the same times."""
    points = DecisionPoints.rounds(60.0) if "+" in name else None
    plain, noted_run = (
        simulate(jobs, cluster, make_policy(n, **(options or {})), decision_points=points, seed=5, **parts)
        for n in (name, f"{name}@decision-trace")
    )  # fmt: skip
    assert list(plain.schedule) == list(noted_run.schedule)
    tables = [run.decisions_table() for run in (plain, noted_run)]
    assert tables[0]["time_s"].tolist() == tables[1]["time_s"].tolist()
    assert "passed" not in tables[0]
    assert tables[1]["waiting"].notna().any()
    assert requirements_of(f"{name}@decision-trace") == requirements_of(name)
    return noted_run


@pytest.mark.parametrize(
    "name", ["fifo-strict", "edf", "sjf", "srpt", "priority", "capacity", "srtf+tune", "shared"]
)
def test_the_schedule_is_the_same(name):
    run_both(name, random_jobs())


@pytest.mark.parametrize("name", ["finish-time-fair", "themis", "random-order"])
def test_the_schedule_is_the_same_with_wake_ups_and_chance(name):
    """The first two ask for wake-ups where a lease ends; the last two draw random numbers."""
    jobs = random_jobs()
    result = run_both(name, jobs, options={} if name == "random-order" else {"lease_s": 170.0})
    times = set(result.decisions_table()["time_s"])
    woken = times - set(jobs.submit_s.tolist()) - set(result.completion_s.tolist())
    assert bool(woken) == (name != "random-order")


@pytest.mark.parametrize("name", ["greedy", "randomised-greedy"])
def test_the_schedule_is_the_same_where_all_is_planned_anew(name):
    plain = random_jobs()
    wide = np.arange(5.0).clip(1) ** 0.8
    times_s = plain.performance.duration_s[:, None, None] / wide
    jobs = Workload(plain.job_id, plain.submit_s / 3, TimeTable(times_s), due_s=plain.due_s,
                    weight_per_s=plain.weight_per_s)  # fmt: skip
    options = {} if name == "greedy" else {"iterations": 5}
    run_both(name, jobs, Cluster.of_nodes(NodeType("n", "GPU", 4, 2.0), 3), options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("shared", {"rule": "fgd"}),
        ("shared", {"rule": "random"}),
        ("complementary", {"share": "always", "least_speed": 0.1}),
        ("srtf+proportional@fractional", {}),
    ],
)
def test_the_schedule_is_the_same_on_parts_of_gpus(name, options):
    """Jobs of 0.25 to 0.7 of a GPU, beside neighbours or none: where parts suffice in sum, nothing is said."""
    jobs = random_jobs(in_parts=True)
    result = run_both(name, jobs, options=options)
    assert any(share.gpus % 1 for share in result.schedule)
    short = result.decisions_table().get("short")
    for text in () if short is None else short.dropna():
        assert text.startswith("GPUs: ")


def test_a_node_that_does_not_exist_is_reported_by_the_engine():
    """In one line, as without notes."""

    class Wrong:
        name = "wrong"

        def decide(self, view):
            return Decision([Placement(next(iter(view.waiting)), 7, 1)])

    one = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    with pytest.raises(InfeasibleDecision, match="node 7, which does not exist"):
        simulate(jobs_of([9.0, 9.0], [1, 1]), one, DecisionTrace(Wrong(), "wrong"))


@pytest.mark.parametrize("noted", [False, True])
def test_waiting_has_keys_and_no_places(noted):
    """`view.waiting[0]` is the value of job 0, None; to place that is one line, with notes and without."""

    class Mistaken:
        name = "mistaken"

        def decide(self, view):
            assert next(iter(view.waiting)) == 0
            return Decision([Placement(view.waiting[0], 0, 1)])

    policy = DecisionTrace(Mistaken(), "mistaken") if noted else Mistaken()
    one = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    with pytest.raises(InfeasibleDecision, match="has a placement with job None, expected a whole"):
        simulate(jobs_of([9.0, 9.0], [1, 1]), one, policy)


def test_what_is_not_known_is_not_noted():
    """Elastic jobs, and parts of GPUs that suffice in sum: no word on what is short."""
    vms = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 1)
    jobs = Workload(["a", "b"], [0.0, 1.0], TimeTable(np.array([[[np.inf, 100.0, 60.0]]] * 2)))
    table = simulate(jobs, vms, make_policy("fifo@decision-trace")).decisions_table()
    assert "b" in set(table["passed"])
    assert "short" not in table
