"""Faults, checkpoints, maintenance and spot nodes with numbers worked out by hand."""

import math

import numpy as np
import pytest

from simulator import Cluster, Decision, NodeType, Placement, View
from simulator.features.admission import Admission
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.failures.outages import failure_rates
from simulator.features.maintenance import MaintenanceKeys
from simulator.features.spot import SpotKeys
from simulator.features.table import Scene
from simulator.laws import Deterministic
from simulator.statistics import Streams
from tests.core.jobs import Once, fixed, nodes, run


def test_rates_of_causes_add_up_but_for_those_with_notice():
    """Node 0 fails every 100 and every 50 s, node 1 every 50 s; what comes with notice is no surprise."""
    causes = [
        Outages(Deterministic(100.0), Deterministic(1.0), [(0,)]),
        Outages(Deterministic(50.0), Deterministic(1.0), [(0, 1)], name="rack"),
        Outages(Deterministic(10.0), Deterministic(1.0), [(0,), (1,)], notice_s=5.0),
    ]
    assert failure_rates(causes, 2) == pytest.approx([0.03, 0.02])


def test_a_job_over_two_nodes_fails_with_either():
    """Each node fails every 2e6 s, the job every 1e6 s: Young's interval is sqrt(2 x 2 s x 1e6 s) = 2000 s."""
    cause = Outages.of_each_node(2, Deterministic(2e6), Deterministic(1.0))
    failures = Failures([cause], Checkpoints(interval_s="young", cost_s=2.0))
    result = run(fixed([0], [5000], [2]), nodes(1, 2), "fifo-strict", failures)
    assert result.completion_s.tolist() == pytest.approx([5004.0])


def test_of_two_notices_the_earlier_outage_counts():
    """Notice of an outage at 450 s is given at 350 s, of another at 500 s at 400 s."""
    seen: dict[float, float] = {}

    def watching(view: View) -> Decision:
        seen[view.now_s] = float(view.faults.leaving_s[0])
        return Decision([Placement(job, 1, 1) for job in view.waiting], keep_running=True)

    causes = [
        Outages(Deterministic(at_s), Deterministic(10.0), [(0,)], 100.0, name=name, warns=True)
        for at_s, name in ((450.0, "failure"), (500.0, "rack"))
    ]
    run(fixed([0, 360, 410, 470], [1] * 4), nodes(1, 2), watching, Failures(causes))
    assert [seen[t] for t in (0.0, 360.0, 410.0, 470.0)] == [math.inf, 450.0, 450.0, 500.0]


def test_a_node_that_is_down_at_the_end_was_up_before():
    """Of two nodes one is down from 60 s on; the last job ends at 100 s: away for 40 of 200 s."""
    cause = Outages(Deterministic(60.0), Deterministic(1000.0), [(1,)])
    result = run(fixed([0], [100]), nodes(1, 2), "fifo-strict", Failures([cause]))
    assert result.summary()["availability"] == pytest.approx(0.8)


@pytest.mark.parametrize("failing", [False, True])
def test_nodes_are_leased_until_the_last_completion(failing):
    """At 0.01 a second each. j0 ends at 100 s, j1 is rejected at 500 s; both nodes fail at 200 s and at 450 s for 50 s."""
    jobs = fixed([0, 500], [100, 100], due_s=[math.inf, 510.0])
    causes = [Outages(Deterministic(200.0), Deterministic(50.0), [(0, 1)])] if failing else []
    parts = Failures(causes), Admission(rule="reject")
    result = run(jobs, nodes(1, 2, price_per_hour=36.0), "fifo-strict", *parts)
    summary, line = result.summary(), result.table("timeline")
    assert summary["rejected_jobs"] == 1
    assert summary["leasing_cost"] == pytest.approx(2 * 100 * 0.01)
    assert (line["cost_per_h"][:-1] * np.diff(line["time_s"])).sum() == pytest.approx(2.0 * 3600)
    assert (summary["availability"], summary["outages"]) == (1.0, 0)
    assert result.parts["failures"].down.tolist() == []


def test_nodes_are_leased_while_a_job_that_runs_is_to_come():
    """The same, and j2 runs from 600 to 650 s: each node was up 0 to 200, 250 to 450 and 500 to 650 s."""
    jobs = fixed([0, 500, 600], [100, 100, 50], due_s=[math.inf, 510.0, math.inf])
    cause = Outages(Deterministic(200.0), Deterministic(50.0), [(0, 1)])
    parts = Failures([cause]), Admission(rule="reject")
    result = run(jobs, nodes(1, 2, price_per_hour=36.0), "fifo-strict", *parts)
    summary = result.summary()
    assert summary["leasing_cost"] == pytest.approx(2 * 550 * 0.01)
    assert summary["availability"] == pytest.approx(1100 / 1300)
    assert summary["outages"] == 4


@pytest.mark.parametrize("interval", ["young", "daly", "best"])
def test_an_optimal_interval_at_no_cost_loses_nothing(interval):
    """The node is down from 50 to 60 s; all 50 s of work are saved."""
    cause = Outages(Once(50.0), Deterministic(10.0), [(0,)])
    result = run(
        fixed([0], [100]),
        nodes(),
        "fifo-strict",
        Failures([cause], Checkpoints(interval_s=interval)),
    )
    assert result.completion_s.tolist() == pytest.approx([110.0])


def test_only_the_start_after_a_failure_is_a_restart():
    """j0 fails at 10 s with its work saved, starts at 20 s and works from 25 s on. At 40 s it makes room for j1,
    75 s of its work are left; it goes on at 50 s without a restart, and ends at 125 s."""
    cause = Outages(Once(10.0), Deterministic(10.0), [(0,)])
    failures = Failures([cause], Checkpoints(interval_s=0.0, restart_s=5.0))
    result = run(fixed([0, 40], [100, 10]), nodes(), "srpt", failures)
    assert result.completion_s.tolist() == pytest.approx([125.0, 50.0])


def test_attempts_are_failures_of_the_job_itself():
    """The node fails at 10 s, which is no attempt of the job. Its first own failure, 60 s after its start at 20 s,
    is one of two: it goes on at 80 s with 30 s of work left."""
    cause = Outages(Once(10.0), Deterministic(10.0), [(0,)])
    both = Failures([cause], Checkpoints(interval_s=0.0), Deterministic(60.0), max_attempts=2)
    result = run(fixed([0], [100]), nodes(), "fifo-strict", both)
    assert result.jobs_table()["status"].tolist() == ["done"]
    assert result.completion_s.tolist() == pytest.approx([110.0])


def test_maintenance_rolls_over_groups_of_nodes():
    """Every 1000 s, 100 s for each of two groups: the first is away from 900 s, the second from 1000 s on."""
    cluster, jobs = nodes(1, 4), fixed([0, 1950], [1, 100])
    keys = MaintenanceKeys(every_s=1000.0, duration_s=100.0, nodes_at_a_time=2)
    result = run(jobs, cluster, "fifo-strict", keys.make(Scene(jobs, cluster, Streams(0), {})))
    away = result.table("outages")
    rows = list(zip(away["node"], away["start_s"], away["end_s"], strict=True))
    spans = [(900, 1000), (1000, 1100), (1900, 2000), (2000, 2050)]
    assert rows == [(2 * (k % 2) + n, *span) for k, span in enumerate(spans) for n in (0, 1)]
    # On node 2 until 2000 s, its work saved in time, then on node 0
    assert result.completion_s[1] == 2050.0


def test_spot_nodes_are_the_last_servers_and_the_first_vms():
    """Each by itself."""
    keys = SpotKeys(nodes=2, time_to_reclaim="exponential:100", down="exponential:10")
    vms = Cluster.of_vms([NodeType("n", "GPU", 1)], 4)
    for cluster, groups in ((nodes(1, 4), [(2,), (3,)]), (vms, [(0,), (1,)])):
        (cause,) = keys.make(Scene(fixed([0], [1]), cluster, Streams(0), {})).outages
        assert list(cause.groups) == groups


@pytest.mark.parametrize("cluster", [nodes(2), nodes(1, 2)], ids=["one node", "two nodes"])
def test_overhead_counts_all_gpus_of_a_job(cluster):
    """Two GPUs, a checkpoint of 5 s after each 30 s of work. Of the 50 s until the failure 45 s were work, and 30 s are
    saved. From 60 s on: 4 s of restart, and 70 s of work with two checkpoints."""
    cause = Outages(Once(50.0), Deterministic(10.0), [(0,)])
    failures = Failures([cause], Checkpoints(interval_s=30.0, cost_s=5.0, restart_s=4.0))
    result = run(fixed([0], [100], [2]), cluster, "fifo-strict", failures)
    damage = result.parts["failures"]
    assert result.completion_s.tolist() == pytest.approx([144.0])
    assert damage.lost_gpu_s.tolist() == pytest.approx([2 * 15.0])
    assert damage.overhead_gpu_s.tolist() == pytest.approx([2 * (5.0 + 14.0)])
    assert result.summary()["goodput"] == pytest.approx(200 / 268)
    assert result.summary()["effective_training_ratio"] == pytest.approx(100 / 144)
    assert result.summary()["overhead_gpu_h"] == pytest.approx(38 / 3600)


@pytest.mark.parametrize(("lasts_s", "up_s"), [(40.0, 60.0), (5.0, 40.0)])
def test_a_node_is_down_until_the_last_of_two_causes_has_ended(lasts_s, up_s):
    """One cause holds from 10 s to 40 s, the other begins at 20 s; the job of 100 s begins anew."""
    first = Outages(Once(10.0), Deterministic(30.0), [(0,)])
    second = Outages(Once(20.0), Deterministic(lasts_s), [(0,)], name="rack")
    result = run(fixed([0], [100]), nodes(), "fifo-strict", Failures([first, second]))
    damage = result.parts["failures"]
    assert result.completion_s.tolist() == [up_s + 100.0]
    assert damage.down.tolist() == [[0.0, 10.0, up_s]]
    assert (damage.down_s.tolist(), damage.outages.tolist()) == ([up_s - 10.0], [2])
    assert damage.failures.tolist() == [1]


@pytest.mark.parametrize(("cost_s", "end_s"), [(20.0, 180.0), (20.5, 260.0)])
def test_notice_may_be_just_enough_for_a_checkpoint(cost_s, end_s):
    """Notice at 80 s of an outage from 100 to 110 s. What is saved of the 150 s of work is that of 80 s, or nothing."""
    cause = Outages(Once(100.0), Deterministic(10.0), [(0,)], notice_s=20.0, name="spot")
    failures = Failures([cause], Checkpoints(cost_s=cost_s))
    result = run(fixed([0], [150]), nodes(), "fifo-strict", failures)
    assert result.completion_s.tolist() == [end_s]
    assert result.parts["failures"].lost_gpu_s.tolist() == [end_s - 160.0]


def test_outages_are_cut_at_the_end():
    """The last job ends at 100 s. Node 1 is down from 20 to 30 s, and from 90 to 120 s, node 2 from 60 s on; node 3 goes
    as the job ends. j1 is rejected at 500 s, so all that is seen."""
    causes = [
        Outages(Once(at_s), Deterministic(lasts_s), [(node,)], name=f"{node} at {at_s}")
        for at_s, lasts_s, node in ((20, 10, 1), (90, 30, 1), (60, 1e4, 2), (100, 5, 3))
    ]
    jobs = fixed([0, 500], [100, 100], due_s=[math.inf, 510.0])
    parts = Failures(causes), Admission(rule="reject")
    result = run(jobs, nodes(1, 4), "fifo-strict", *parts)
    damage = result.parts["failures"]
    assert sorted(damage.down.tolist()) == [[1, 20, 30], [1, 90, 100], [2, 60, 100]]
    assert damage.down_s.tolist() == [0.0, 20.0, 40.0, 0.0]
    assert damage.outages.tolist() == [0, 2, 1, 0]
    assert result.table("outages")["start_s"].tolist() == [20.0, 60.0, 90.0]


def test_what_a_failure_of_a_node_has_destroyed_is_not_lost_again_with_the_attempt():
    """Two GPUs. 20 s of work are lost with the node; then the attempt is the first half of the 100 s, which is lost."""
    cause = Outages(Once(20.0), Deterministic(10.0), [(0,)])
    jobs = fixed([0], [100], [2], fails_at=[(0.5,)])
    result = run(jobs, nodes(2), "fifo-strict", Failures([cause]))
    assert result.completion_s.tolist() == [130.0]
    assert result.parts["failures"].lost_gpu_s.tolist() == [2 * (20.0 + 50.0)]
