"""Decisions that say what was considered: by hand, and the same schedule as without."""

from dataclasses import replace

import numpy as np
import pytest

from policies import make_policy, requirements_of
from policies.wrappers.decision_trace import DecisionTrace
from simulator import (
    Cluster,
    Decision,
    InfeasibleDecision,
    NodeType,
    Placement,
    TimeTable,
    Workload,
)
from tests.core.jobs import fixed, nodes, run, sharing


def jobs_of(duration_s, gpus, **columns):
    """Jobs a, b, .., a second apart."""
    jobs = fixed(np.arange(len(gpus), dtype=float), duration_s, gpus, **columns)
    return replace(jobs, job_id=list("abcdefghij"[: len(gpus)]))


def noted(policy, jobs, cluster, **parts):
    table = run(jobs, cluster, f"{policy}@decision-trace", **parts).decisions_table()
    columns = ["time_s", "waiting", "started", "by", "still_waiting", "short"]
    table = table.reindex(columns=columns).astype(object).fillna("")
    return [tuple(row) for row in table.itertuples(index=False)]


def test_by_hand():
    """Four GPUs. a takes three until 100 s; b wants four, d wants two and is due before b; c wants one."""
    jobs = jobs_of([100.0, 50.0, 10.0, 30.0], [3, 4, 1, 2], due_s=[900.0, 800.0, 700.0, 600.0])
    assert noted("edf-backfill", jobs, nodes(4)) == [
        (0.0, 1, 1, "due date", "", ""),
        (1.0, 1, 0, "due date", "b", "GPUs: 1 free; needs 4"),
        (2.0, 2, 1, "due date", "b", "GPUs: 0 free; needs 4"),
        (3.0, 2, 0, "due date", "d, b", "GPUs: 0 free; needs 2"),
        (12.0, 2, 0, "due date", "d, b", "GPUs: 1 free; needs 2"),
        (100.0, 2, 1, "due date", "b", "GPUs: 2 free; needs 4"),
        (130.0, 1, 1, "due date", "", ""),
    ]


def test_the_order_is_known_behind_other_wrappers():
    """One GPU: the second and third wait, the third is due first."""
    jobs = jobs_of([9.0] * 3, [1] * 3, due_s=[900.0, 800.0, 700.0])
    rows = noted("edf-backfill@hysteresis", jobs, nodes(1))
    assert rows[2][3:5] == ("due date", "c, b")


def test_what_is_short():
    """Two nodes of 4 GPUs and 8 CPUs; shared's jobs stay on one node: 2 GPUs are free, not together, then CPUs lack."""
    jobs = jobs_of([90.0, 50.0, 9.0], [3, 3, 2], num_cpus=[1.0, 1.0, 1.0])
    rows = noted("shared", jobs, nodes(4, 2, cpus=8, memory_gb=100))
    assert rows[2][5] == "GPUs on one node: 2 free, at most 1 on one; needs 2"
    greedy_of_cpus = jobs_of([90.0, 9.0], [1, 1], num_cpus=[9.0, 9.0])
    short = noted("fifo-backfill", greedy_of_cpus, nodes(4, cpus=16))[1][5]
    assert short == "CPUs: 7 free at most where the GPUs suffice; needs 9"
    strict = jobs_of([90.0, 9.0, 9.0], [2, 4, 1])
    assert noted("fifo-strict", strict, nodes(4))[2][4:] == ("b, c", "GPUs: 2 free; needs 4")


SERVERS = nodes(4, 3, cpus=12, memory_gb=100)


def random_jobs(in_parts=False, seed=3):
    """Forty jobs of 1 to 4 GPUs with due dates and weights, of two tenants; with ``in_parts``, parts of one GPU."""
    rng = np.random.default_rng(seed)
    gpus = rng.integers(1, 5, 40)
    submit_s = np.cumsum(rng.exponential(100.0, 40))
    duration_s = rng.uniform(50, 900, 40)
    if in_parts:
        gpus, part = rng.choice([1, 1, 1, 2], 40), rng.choice([0.25, 0.5, 0.7], 40)
        duration_s = rng.uniform(500, 9000, 40)
    columns = {"due_s": submit_s + 2000, "weight_per_s": rng.uniform(0, 1, 40)}
    columns["vc"] = rng.choice(["x", "y"], 40).tolist()
    if in_parts:
        return sharing(submit_s, duration_s, part, gpus, **columns)
    return fixed(submit_s, duration_s, gpus, **columns)


def run_both(name, jobs, cluster=SERVERS, options=None, **parts):
    """A run without notes, and one with them: the same decisions at the same times."""
    more = {"seed": 5, "round_s": 60.0 if "+" in name else None, **parts}
    policies = (make_policy(n, **(options or {})) for n in (name, f"{name}@decision-trace"))
    plain, noted_run = (run(jobs, cluster, policy, **more) for policy in policies)
    assert list(plain.schedule) == list(noted_run.schedule)
    tables = [run.decisions_table() for run in (plain, noted_run)]
    assert tables[0]["time_s"].tolist() == tables[1]["time_s"].tolist()
    assert "still_waiting" not in tables[0]
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
    columns = {"due_s": plain.due_s, "weight_per_s": plain.weight_per_s}
    jobs = Workload(plain.job_id, plain.submit_s / 3, TimeTable(times_s), **columns)
    options = {} if name == "greedy" else {"iterations": 5}
    run_both(name, jobs, nodes(4, 3, price_per_hour=2.0), options)


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

    with pytest.raises(InfeasibleDecision, match="node 7, which does not exist"):
        run(jobs_of([9.0, 9.0], [1, 1]), nodes(4), DecisionTrace(Wrong(), "wrong"))


@pytest.mark.parametrize("noted", [False, True])
def test_waiting_has_keys_and_no_places(noted):
    """`view.waiting[0]` is the value of job 0, None; to place that is one line, with notes and without."""

    class Mistaken:
        name = "mistaken"

        def decide(self, view):
            assert next(iter(view.waiting)) == 0
            return Decision([Placement(view.waiting[0], 0, 1)])

    policy = DecisionTrace(Mistaken(), "mistaken") if noted else Mistaken()
    with pytest.raises(InfeasibleDecision, match="has a placement with job None, expected a whole"):
        run(jobs_of([9.0, 9.0], [1, 1]), nodes(4), policy)


def test_what_is_not_known_is_not_noted():
    """Elastic jobs, and parts of GPUs that suffice in sum: no word on what is short."""
    vms = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 1)
    jobs = Workload(["a", "b"], [0.0, 1.0], TimeTable(np.array([[[np.inf, 100.0, 60.0]]] * 2)))
    table = run(jobs, vms, "fifo@decision-trace").decisions_table()
    assert "b" in set(table["still_waiting"])
    assert "short" not in table
