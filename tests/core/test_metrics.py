"""Metrics of a run: names of the summary and of the tables, and their numbers by hand."""

import math
import time

import numpy as np
import pytest
from numba import njit

from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InputError,
    NodeType,
    Placement,
    Result,
    View,
    Workload,
)
from simulator.core.compiling import compiling_s
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic
from simulator.metrics.job_metrics import beyond, finish_time_fairness
from simulator.metrics.operator_metrics import operator_summary
from simulator.metrics.timeline import stretches
from simulator.statistics import jain
from simulator.workloads.plain_csv import CsvJobs
from tests.core.jobs import fixed, nodes, run

TWO_GPUS = nodes(2)
COSTS = {"leasing_cost", "energy_cost", "tardiness_cost", "total_cost", "energy_kwh", "carbon_kg"}
TIMES = {"mean_wait_s", "mean_jct_s", "p99_jct_s", "makespan_s", "mean_decision_cpu_s"}
COUNTS = {"jobs", "decisions", "late_jobs", "preemptions", "reconfigurations"}
FACTS = {"policy", "seed", "version", "currency", "gpu_utilisation", "cpu_utilisation"}
SPENT = {"outages", "job_failures", "abandoned_jobs", "lost_gpu_h", "overhead_gpu_h"}


def test_names_of_the_summary_and_of_the_tables():
    result = run(fixed([0, 1], [5, 5]), TWO_GPUS)
    assert set(result.summary()) >= COSTS | TIMES | COUNTS | FACTS
    assert result.summary()["jobs"] == 2
    assert set(result.jobs_table()) >= {
        "job_id", "arrival_s", "first_start_s", "completion_s", "jct_s", "gpu_seconds", "preemptions",
        "tardiness_s",
    }  # fmt: skip
    assert list(result.decisions_table()) == ["time_s", "controller", "active"]
    assert list(result.timing_table()) == ["time_s", "controller", "cpu_s"]
    assert set(result.schedule_table()) == {
        "job_id", "node", "node_type", "gpus", "cpus", "memory_gb", "start_s", "end_s",
    }  # fmt: skip


def test_damage_by_hand():
    """One node goes at 40 s for 10 s. ``a`` (1 GPU, 25 s) saves four times, ``b`` (2 GPUs, 30 s, at
    30 s) once before that and three times after it; it loses 3 s of work and 2 s of restart."""
    outages = Outages.of_each_node(1, Deterministic(40), Deterministic(10))
    failures = Failures([outages], Checkpoints(interval_s=6.0, cost_s=1.0, restart_s=2.0))
    result = run(fixed([0, 30], [25, 30], [1, 2]), TWO_GPUS, "fifo-strict", failures)
    assert result.completion_s.tolist() == [29, 79]
    found = result.summary()
    assert set(found) >= SPENT | {"goodput", "effective_training_ratio", "availability"}
    assert (found["outages"], found["job_failures"], found["abandoned_jobs"]) == (1, 1, 0)
    assert found["lost_gpu_h"] == pytest.approx(2 * 3 / 3600)
    assert found["overhead_gpu_h"] == pytest.approx((4 + 2 * (1 + 2 + 3)) / 3600)
    # Of 107 GPU-seconds held 85 were work that counts.
    assert found["goodput"] == pytest.approx((25 + 60) / (29 + 2 * (10 + 29)))
    # ``a`` has run without a break for 29 s, ``b`` would have held its GPUs for 49 s.
    assert found["effective_training_ratio"] == pytest.approx((25 + 60) / (29 + 2 * 49))
    assert found["availability"] == pytest.approx(1 - 10 / 79)


def test_no_damage_where_nothing_can_fail_and_no_number_on_a_pool():
    plain = run(fixed([0], [5]), TWO_GPUS).summary()
    assert not set(plain) & (SPENT | {"goodput", "availability", "lost_jobs"})
    rent = Decision([Placement(0, 0, 1)])
    pool = run(fixed([0], [5]), Cluster.rental_pool(1.0), lambda view: rent).summary()
    assert pool["gpu_utilisation"] is None
    assert pool["cpu_utilisation"] is None


def test_facts_of_decisions_stand_in_their_row():
    """A fact that is named like a column of the table has ``_told`` after its name."""

    def policy(view: View) -> Decision:
        info = {"bound": 7.5, "active": "yes"} if view.now_s else {}
        placements = [Placement(int(j), 0, 1) for j in view.jobs]
        return Decision(placements, info=info, again_s=3.0 if view.now_s == 2 else None)

    points = DecisionPoints(on_completion=False)
    table = run(fixed([0, 2], [9, 9]), TWO_GPUS, policy, decision_points=points).decisions_table()
    assert table["time_s"].tolist()[:3] == [0, 2, 5]
    assert table["active"].tolist()[:3] == [1, 2, 2]
    assert table["bound"].tolist()[1:3] == [7.5, 7.5]
    assert math.isnan(table["bound"][0])
    assert table["active_told"].tolist()[1:3] == ["yes", "yes"]
    assert table["again_s"][1] == 3
    assert table["again_s"].isna().tolist()[:3] == [True, False, True]


def test_what_a_notebook_shows(monkeypatch):
    """The run to play, and below it the summary: six digits, and no name that is taken for HTML."""
    result = run(fixed([0, 0], [12345.678, 12345.678]), TWO_GPUS, policy_name="<mine>")
    monkeypatch.setattr(Result, "views", [lambda shown: f"<i>{shown.policy}</i>"])
    page = result._repr_html_()
    start = "<i><mine></i><details><summary>&lt;mine&gt;: summary</summary><table><tr><th"
    assert page.startswith(start)
    assert page.endswith("</td></tr></table></details>")
    for name, shown in (
        ("jobs", "2"), ("mean_jct_s", "12,345.7"), ("policy", "&lt;mine&gt;"), ("gpu_utilisation", "1"),
        ("cpu_utilisation", "None"),
    ):  # fmt: skip
        row = f"<tr><th style='text-align:left'>{name}</th><td>{shown}</td></tr>"
        assert page.count(row) == 1
    assert page.count("<tr>") == len(result.summary())
    assert page.count("</tr><tr>") == len(result.summary()) - 1


def test_jobs_that_left_count_as_lost_and_as_nothing_else():
    """Three jobs of 10 s. The second leaves at 6 s; the third runs from 10 to 20 s, 6 s late."""
    late = {"due_s": [12.0, 13.0, 14.0], "weight_per_s": [1.0, 100.0, 3.0]}
    jobs = fixed([0, 1, 2], [10] * 3, patience_s=[math.inf, 5.0, math.inf], **late)
    result = run(jobs, nodes())
    found = result.summary()
    assert (found["lost_jobs"], found["lost_share"]) == (1, pytest.approx(1 / 3))
    assert (found["mean_wait_s"], found["mean_jct_s"]) == (4, 14)
    assert (found["makespan_s"], found["late_jobs"], found["tardiness_cost"]) == (20, 1, 18)
    assert result.tardiness_s.tolist() == [0, 0, 6]
    assert result.jct_s.tolist() == [10, pytest.approx(math.nan, nan_ok=True), 18]
    assert result.jobs_table()["status"].tolist() == ["done", "left", "done"]
    rear = result.summary((1, 3))
    assert (rear["mean_wait_s"], rear["mean_jct_s"], rear["lost_share"]) == (8, 18, 0.5)
    assert rear["lost_jobs"] == 1
    assert result.summary((0, 1))["lost_share"] == 0
    with pytest.raises(InputError) as caught:
        result.summary((1, 2))
    assert str(caught.value) == "window 1:2: all its jobs left, expected one that started"


def test_a_run_that_takes_no_time_on_the_clock_has_no_rates():
    """So late, the clock does not resolve a microsecond."""
    failures = Failures([Outages.of_each_node(1, Deterministic(1e9), Deterministic(1))])
    found = run(fixed([9e11], [1e-6]), TWO_GPUS, "fifo-strict", failures).summary()
    assert found["makespan_s"] == 0
    rates = ("gpu_utilisation", "cpu_utilisation", "goodput", "availability", "jain_slowdown")
    assert [found[name] for name in rates] == [None] * 5


def test_cpu_seconds_of_decisions_where_they_are_asked_for():
    jobs = fixed([0, 1], [5, 5])
    asked = run(jobs, TWO_GPUS, measure_decisions=True)
    seconds = asked.timing_table()["cpu_s"]
    assert (seconds >= 0).all()
    assert asked.summary()["mean_decision_cpu_s"] == pytest.approx(seconds.mean())
    plain = run(jobs, TWO_GPUS)
    assert plain.timing_table()["cpu_s"].isna().all()
    assert plain.summary()["mean_decision_cpu_s"] is None


def test_tenants_are_in_the_summary_and_in_tables_of_their_own():
    """ann has one GPU for 5 s, bob for 15 s; nobody asked for tenants in the second run."""
    jobs = fixed([0, 0], [5, 15], user=["ann", "bob"])
    result = run(jobs, TWO_GPUS, "fifo-strict", tenants_of(jobs, "user"))
    plain = run(jobs, TWO_GPUS)
    assert set(result.summary()) > set(plain.summary())
    table = result.table("tenants").set_index("tenant")
    assert table["share"].tolist() == [0.25, 0.75]
    assert {"fair_gpu_h", "envy_gpu_h"} & set(table)
    assert not {"fair_gpu_h", "envy_gpu_h"} & set(plain.table("tenants"))
    assert plain.table("tenants")["jobs"].tolist() == [1, 1]
    assert len(result.table("shares")) > 0
    assert plain.table("shares").empty


# -- meters of nodes ---------------------------------------------------------------------------


HOUR = 3600.0


def test_cpus_of_jobs_that_end_apart():
    """On one node 5 CPUs for 100 s and 2 for 300 s; at 200 s a third job has 3 for 50 s."""
    shares = [Placement(j, 0, 1, cpus=cpus) for j, cpus in enumerate((5, 2, 3))]

    def policy(view: View) -> Decision:
        return Decision([shares[j] for j in view.jobs.tolist()])

    jobs = fixed([0, 0, 200], [100, 300, 50])
    result = run(jobs, nodes(4, cpus=10, memory_gb=64), policy)
    meters, summary = result.meters, result.summary()
    assert meters.cpu_seconds == 500 + 600 + 150
    assert meters.gpu_seconds == 100 + 300 + 50
    assert meters.open_cpu_seconds == 10 * 300
    assert meters.open_gpu_seconds == 4 * 300
    assert (summary["cpu_utilisation"], summary["gpu_utilisation"]) == (1250 / 3000, 450 / 1200)


def test_every_fixed_node_is_paid_from_the_first_submission_until_the_last_completion():
    """At 6 an hour each: one that is idle for the last half second, one that was never used."""
    result = run(fixed([50, 50], [10, 10.5]), nodes(1, 3, price_per_hour=6.0))
    assert result.meters.leasing_cost == pytest.approx(3 * 6 * 10.5 / HOUR)
    assert result.meters.open_gpu_seconds == pytest.approx(3 * 10.5)


def test_nodes_may_cost_a_part_of_the_price_of_their_type():
    """One at the price, one at a third of it, which is never used; both are open for 10 s."""
    node = NodeType("n", "GPU", 1, 6.0, power_w=(100.0, 100.0))
    cluster = Cluster((node,), 2, (0, 0), price_factor=(1.0, 1 / 3), energy_price_per_kwh=1.0)
    meters = run(fixed([0], [10]), cluster).meters
    assert meters.leasing_cost == pytest.approx((6 + 2) * 10 / HOUR)
    assert meters.energy_cost == pytest.approx(0.2 * 10 / HOUR)


def test_power_follows_the_gpus_in_use():
    """100 W idle, 300 W with one GPU, 400 W with two; PUE 1.5, 0.2 a kWh, 500 g of CO2 a kWh."""
    node = NodeType("n", "GPU", 2, 0.0, power_w=(100.0, 300.0, 400.0))
    cluster = Cluster((node,), 1, (0,), energy_price_per_kwh=0.2, pue=1.5, carbon_g_per_kwh=500.0)
    # One GPU for an hour, two for an hour, none for an hour, one for an hour.
    summary = run(fixed([0, HOUR, 3 * HOUR], [2 * HOUR, HOUR, HOUR]), cluster).summary()
    kwh = 1.5 * (0.3 + 0.4 + 0.1 + 0.3)
    costs = {
        "energy_kwh": kwh, "energy_cost": 0.2 * kwh, "carbon_kg": 0.5 * kwh, "leasing_cost": 0,
        "total_cost": 0.2 * kwh, "gpu_utilisation": 0.5,
    }  # fmt: skip
    assert {name: summary[name] for name in costs} == pytest.approx(costs)


# -- metrics of jobs ---------------------------------------------------------------------------


def jobs(count=40, seed=1, **columns):
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 12], count)
    return Workload(
        [f"j{j}" for j in range(count)],
        np.cumsum(rng.exponential(300, count)),
        FixedDuration(rng.uniform(100, 4000, count), gpus),
        **columns,
    )


SERVER = NodeType("server", "GPU", 8, 3.0, power_w=tuple(100.0 + 50 * g for g in range(9)))
CLUSTER = Cluster((SERVER,), 2, (0, 0), energy_price_per_kwh=0.2, pue=1.2)


def test_columns_of_jobs_by_hand():
    """Two jobs of 100 s on one GPU; the second waits, its wait is its slowdown."""
    columns = {"due_s": [150.0, np.inf], "user": ["ann", "bob"], "vc": ["x", "x"]}
    result = run(fixed([0, 0], [100, 100], **columns), nodes())
    table = result.jobs_table().set_index("job_id")
    found = table.loc["j1", ["gpus", "ideal_s", "slowdown", "total_wait_s"]].tolist()
    assert found == [1, 100, 2, 100]
    assert table["user"].tolist() == ["ann", "bob"]
    assert table["due_s"].tolist()[0] == 150.0
    summary = result.summary()
    assert summary["mean_slowdown"] == pytest.approx(1.5)
    assert summary["jain_slowdown"] == pytest.approx(1.5**2 / (2 * 1.25))
    # Both share with one other for 100 s; b then is alone for as long: 200 / (100 * 1.5).
    assert finish_time_fairness(result) == pytest.approx([100 / 200, 200 / 150])
    tenants = result.table("tenants")
    assert tenants["jobs"].tolist() == [2]
    assert tenants["mean_jct_s"].tolist() == [150.0]


def test_waits_of_preempted_jobs_and_jobs_over_nodes():
    work = jobs(30, 5)
    result = run(work, CLUSTER, "srtf+proportional")
    table = result.jobs_table()
    run_s = work.performance.duration_s
    np.testing.assert_allclose(table["total_wait_s"], result.jct_s - run_s, atol=1e-6)
    assert (table["slowdown"] >= 1 - 1e-9).all()


def test_scalars_do_not_depend_on_whether_the_schedule_is_kept():
    kept = run(jobs(30, 5), CLUSTER, "srtf+proportional")
    bare = run(jobs(30, 5), CLUSTER, "srtf+proportional", record_schedule=False)
    assert bare.table("timeline").empty
    assert bare.summary() == kept.summary()
    assert kept.summary()["mean_total_wait_s"] > kept.summary()["mean_wait_s"]


def test_a_stretch_goes_on_where_one_share_follows_another():
    """Job 0 has a share from 0 to 5 s and one from 5 to 9 s, and from 10 s two at once; job 1 runs meanwhile."""
    job = np.array([0, 1, 0, 0, 0])
    begin_s, end_s = np.array([0.0, 0.0, 5.0, 10.0, 10.0]), np.array([5.0, 20.0, 9.0, 11.0, 12.0])
    found = [column.tolist() for column in stretches(job, begin_s, end_s)]
    assert found == [[0, 0, 1], [0.0, 10.0, 0.0], [9.0, 12.0, 20.0]]


def test_the_timeline_has_the_price_of_each_node():
    """Nodes of 1, 2 and half of 2 $ an hour: 4 $, from the first submission to the end."""
    types = [NodeType("a", "A", 1, price_per_hour=1.0), NodeType("b", "B", 1, price_per_hour=2.0)]
    cluster = Cluster(types, 3, node_type_of=(0, 1, 1), price_factor=(1.0, 1.0, 0.5))
    result = run(fixed([0], [3600]), cluster)
    assert result.table("timeline")["cost_per_h"].tolist() == [4.0, 4.0]
    assert result.summary()["leasing_cost"] == pytest.approx(4.0)


def test_jain():
    assert jain(np.array([2.0, 2.0, 2.0])) == pytest.approx(1)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain(np.array([1.0, math.nan, 1.0])) == pytest.approx(1), "of those that have a number"


def test_tenants_of_a_plain_file(tmp_path):
    path = tmp_path / "jobs.csv"
    columns = "job_id,submit_time_s,duration_s,num_gpus,user,vc"
    path.write_text(f"{columns}\na,5,10,1,ann,x\nb,0,10,3,bob,y\n")
    work = CsvJobs(path=path).read()
    assert (work.user, work.vc) == (("bob", "ann"), ("y", "x"))
    result = run(work, CLUSTER)
    table = result.table("tenants").set_index("tenant")
    assert table.loc["y", "share"] == pytest.approx(0.75)
    assert work.head(1).vc == ("y",)


# -- times and versions ------------------------------------------------------------------------


def test_what_numba_compiles_inside_a_decision_is_no_time_of_the_decision():
    @njit  # without a cache: each run of the test compiles it
    def first(jobs):
        total = 0.0
        for job in jobs:
            total += np.sqrt(job) + np.sin(job)
        return jobs[0] + 0 * int(total)

    def decide(view: View) -> Decision:
        return Decision([Placement(int(first(view.jobs)), 0, 1)])

    before_s, begin = compiling_s(), time.process_time()
    result = run(fixed([0], [1]), nodes(), decide, measure_decisions=True)
    spent_s, made_s = time.process_time() - begin, compiling_s() - before_s
    assert len(first.signatures) == 1
    assert made_s > 0  # it was compiled, and that was counted
    assert 0 <= result.decisions.cpu_s[0] <= spent_s - made_s


def test_a_job_of_some_gpus_has_a_fair_part_of_all():
    """Three jobs on a node of 4 GPUs: a and b of 2 GPUs run at once, c of 4 after them. While a was there, so were three
    jobs: a share of 4/3 GPUs, on which it would take 3 * 2 / 4 times its 100 s. b stays 200 s, 3 jobs for 100 s and then 2:
    2.5 * 2 / 4 = 1.25 times its 200 s. c waits 200 s: (3 + 2 + 1) / 3 = 2 jobs on average, twice its 100 s. d, of one GPU,
    comes to the empty system and is slowed by nothing."""
    jobs = fixed([0, 0, 0, 1000], [100, 200, 100, 100], [2, 2, 4, 1])
    result = run(jobs, nodes(gpus=4))
    assert result.completion_s.tolist() == [100, 200, 300, 1100]
    assert finish_time_fairness(result) == pytest.approx([2 / 3, 4 / 5, 3 / 2, 1])


def test_slowdown_tails_and_fairness_of_jobs_in_a_row():
    """Five jobs of 100 s on one GPU, the k-th ends at 100 k s. During its stay (11 - k) / 2 jobs were there on average, so
    it took 2 k / (11 - k) of its time on its part. The 95 % quantile of 1 to 5 is 4.8, the 99 % quantile 4.96."""
    result = run(fixed([0] * 5, [100] * 5), nodes())
    found = result.summary()
    rho = [2 * k / (11 - k) for k in range(1, 6)]
    expected = {
        "mean_slowdown": 3.0,
        "p95_slowdown": 4.8,
        "p99_slowdown": 4.96,
        "p95_wait_s": 380.0,
        "p99_wait_s": 396.0,
        "jain_slowdown": 18769 / 26345,
        "mean_finish_time_fairness": sum(rho) / 5,
        "max_finish_time_fairness": 5 / 3,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_slowdown_of_short_jobs_is_bounded():
    """A second and 50 s behind each other: 51 / 50 for the second; the third, of 1 s, waits 51 s: 52 / 10. The first
    has (0 + 1) / 10, which counts as 1."""
    found = run(fixed([0] * 3, [1, 50, 1]), nodes()).summary()
    assert found["mean_bounded_slowdown"] == pytest.approx((1 + 51 / 50 + 52 / 10) / 3)
    assert found["mean_slowdown"] == pytest.approx((1 + 51 / 50 + 52) / 3)


def test_effective_training_ratio_counts_gpus():
    """Four GPUs. A job of one runs for 10 s; after 5 s one of four, 2 s long, takes them all: (10 + 4 x 2) / (12 + 4 x 2)."""
    result = run(fixed([0, 5], [10, 2], [1, 4]), nodes(4), "srpt")
    assert result.completion_s.tolist() == [12, 7]
    assert operator_summary(result)["effective_training_ratio"] == pytest.approx(18 / 20)


def test_jobs_that_wait_and_run_over_time():
    """Two GPUs. j0 of both runs until 10 s; j1 and j2 then, j2 until 15 s; j3 from 30 s on."""
    result = run(fixed([0, 2, 4, 30], [10, 10, 5, 5], [2, 1, 1, 1]), nodes(2))
    line = result.table("timeline")
    found = zip(line["time_s"], line["queue"], line["running"], line["gpus"], strict=True)
    assert list(found) == [
        (0, 0, 1, 2),
        (2, 1, 1, 2),
        (4, 2, 1, 2),
        (10, 0, 2, 2),
        (15, 0, 1, 1),
        (20, 0, 0, 0),
        (30, 0, 1, 1),
        (35, 0, 0, 0),
    ]


def test_how_many_jobs_a_quantile_rests_on():
    """The 0.99-quantile of 200 lies between the 198th and the 199th: two are beyond it. The 0.95-quantile of 21 is the 20th."""
    found = [beyond(q, n) for q, n in ((0.99, 200), (0.95, 200), (0.95, 20), (0.95, 21), (0.99, 1))]
    assert found == [2, 10, 1, 2, 1]
