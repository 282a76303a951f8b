"""Features with numbers worked out by hand; small mistakes in them were not seen before."""

import numpy as np
import pytest

from simulator import (
    Decision,
    DecisionPoints,
    InfeasibleDecision,
    Performance,
    Placement,
    View,
    Workload,
)
from simulator.features.admission import Admission
from simulator.features.colocation import colocation_of
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.reconfiguration import Delays
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic
from tests.core.jobs import fixed, nodes, run, sharing


@pytest.mark.parametrize("policy", ["fair-share", "drf"])
def test_what_a_tenant_has_already_counts(policy):
    """Two GPUs. At 10 s tenant a still runs j0, b nothing: b's j3 comes before a's j2, which was first."""
    work = fixed([0, 0, 4, 5], [100, 10, 20, 20], vc=["a", "b", "a", "b"])
    result = run(work, nodes(2), policy, tenants_of(work))
    assert result.first_start_s.tolist() == [0.0, 0.0, 30.0, 10.0]


@pytest.mark.parametrize(("due_s", "status"), [(105.0, "rejected"), (110.0, "done")])
def test_admission_where_a_job_of_all_gpus_waits(due_s, status):
    """Two GPUs: j1 needs both, so it waits 100 s for j0 and ends at 110 s."""
    work = fixed([0, 0], [100, 10], [1, 2], due_s=[104.0, due_s], weight_per_s=[1.0, 1.0])
    result = run(work, nodes(2), "deadline-first", Admission(rule="reject"))
    assert result.jobs_table().get("status", ["done"] * 2)[1] == status
    if status == "done":
        assert result.completion_s.tolist() == [100.0, 110.0]


def test_a_node_is_back_when_both_causes_are_over():
    """Down from 500 to 530 s by one cause and from 510 to 560 s by another: away for 60 s in one piece."""
    causes = [
        Outages(Deterministic(500.0), Deterministic(30.0), [(0,)]),
        Outages(Deterministic(510.0), Deterministic(50.0), [(0,)], name="rack"),
    ]
    result = run(fixed([0, 490], [1, 100]), nodes(), "fifo-strict", Failures(causes))
    assert result.completion_s.tolist() == pytest.approx([1.0, 660.0])
    away = result.table("outages")
    assert (away["start_s"].tolist(), away["end_s"].tolist()) == ([500.0], [560.0])
    assert result.summary()["availability"] == pytest.approx(1 - 60 / 660)


@pytest.mark.parametrize("interval", ["young", "daly"])
def test_the_interval_follows_the_failures_of_jobs(interval):
    """Young: sqrt(2 x 2 s x 1e6 s) = 2000 s, Daly 1999 s: two checkpoints of 2 s in 5000 s of work."""
    failures = Failures((), Checkpoints(interval_s=interval, cost_s=2.0), Deterministic(1e6))
    result = run(fixed([0], [5000]), nodes(), "fifo-strict", failures)
    assert result.completion_s.tolist() == pytest.approx([5004.0])


def test_after_an_outage_who_decides_at_ends_decides_at_once():
    """No decisions at arrivals. The node is away from 600 to 630 s; the next period would begin at 1000 s."""
    failures = Failures([Outages(Deterministic(600.0), Deterministic(30.0), [(0,)])])
    points = DecisionPoints(on_arrival=False, period_s=500.0)
    work = fixed([0, 490], [1, 200])
    result = run(work, nodes(), "fifo-strict", failures, decision_points=points)
    assert result.completion_s.tolist() == pytest.approx([1.0, 830.0])


def newest_on_gpu_0(view: View) -> Decision:
    """The latest of the waiting jobs on half of GPU 0, where no other job runs."""
    if view.running or not view.waiting:
        return Decision([], keep_running=True)
    job = list(view.waiting)[-1]
    return Decision([Placement(job, 0, 0.5)], keep_running=True, gpus_of={job: (0,)})


@pytest.mark.parametrize(("gpu_memory_gb", "start_s"), [(16.0, 120.0), (18.0, 15.0)])
def test_a_late_decision_counts_the_jobs_own_memory(gpu_memory_gb, start_s):
    """9 GB each. Decisions take 10 s, two at a time: j1's is made while j0 has not begun."""
    work = sharing([0, 5], [100, 100], model=["resnet50", "resnet50"])
    neighbours = colocation_of(work, gpu_memory_gb=gpu_memory_gb, memory_gb={"resnet50": 9.0})
    result = run(work, nodes(), newest_on_gpu_0, neighbours, server_s=10, servers=2)
    assert result.first_start_s.tolist() == pytest.approx([10.0, start_s])


def test_memory_of_a_node_is_checked_for_parts_of_gpus():
    """Two halves of the GPU, 6 GB each, on a node of 10 GB, and on one of 12 GB."""

    def both(view: View) -> Decision:
        shares = [Placement(job, 0, 0.5, cpus=0.0, memory_gb=6.0) for job in view.waiting]
        return Decision(shares, keep_running=True, gpus_of=dict.fromkeys(view.waiting, (0,)))

    work = sharing([0, 0], [100, 100], memory_gb=[6.0, 6.0])
    with pytest.raises(InfeasibleDecision, match="12 GB of memory used of 10"):
        run(work, nodes(memory_gb=10), both)
    assert run(work, nodes(memory_gb=12), both).completion_s.tolist() == [100.0, 100.0]


def test_a_controller_has_its_part_of_a_quota():
    """Two controllers with a node of 4 GPUs each. a's quota of 4 is 2 there: j0 has borrowed, b takes it back."""
    work = fixed([0, 0, 5], [100, 10, 10], [4, 1, 2], vc=["a", "a", "b"])
    tenants = tenants_of(work, quota={"a": 4.0, "b": 4.0}, borrowing=True)
    result = run(work, nodes(4, 2, 2), "capacity", tenants)
    assert result.first_start_s[2] == 5.0
    assert result.preemptions.tolist() == [1, 0, 0]


def test_energy_of_gpus_that_no_decision_names():
    """An hour on one of two GPUs: 300 W, of which the idle node draws 100."""
    work, machines = fixed([0], [3600]), nodes(2, power_w=(100.0, 300.0, 500.0))
    result = run(work, machines, "fifo-strict", colocation_of(work, gpu_memory_gb=16.0))
    assert result.meters.energy_kwh == pytest.approx(0.3)


def test_who_waits_behind_a_job_that_leaves_starts_then():
    """Two GPUs, j0 on one of them. j1 needs two and leaves at 11 s, when its patience of 10 s is over."""
    work = fixed([0, 1, 2], [100, 10, 10], [1, 2, 1], patience_s=[np.inf, 10.0, np.inf])
    result = run(work, nodes(2))
    assert result.left is not None
    assert result.left.tolist() == [False, True, False]
    assert result.first_start_s[2] == pytest.approx(11.0)


def test_who_has_started_stays_when_patience_ends():
    """j0 starts at 0 s, and makes room for j1 from 10 to 40 s; its patience of 20 s is over meanwhile."""
    result = run(fixed([0, 10], [100, 30], patience_s=[20.0, 20.0]), nodes(), "srpt")
    assert result.completion_s.tolist() == [130.0, 40.0]
    assert result.left is not None
    assert not result.left.any()


class TwoSpeeds(Performance):
    """Small batches take 100 s for all the work, large ones 50 s; a job takes large ones for its second half."""

    def time_s(self, *configuration: float) -> float:
        return 100.0

    def rate(self, job: int, shares: object, configuration: object, left: float) -> float:
        return 0.02 if configuration == "large" else 0.01

    def next_change(self, job: int, left: float) -> float:
        return 0.5 if left > 0.5 else 0.0

    def configuration(self, job: int, shares: object, left: float) -> str:
        return "small" if left > 0.5 else "large"


@pytest.mark.parametrize(("of_policy", "end_s"), [(None, 75.0), ({0: "large"}, 50.0)])
def test_a_job_chooses_anew_unless_the_policy_chose(of_policy, end_s):
    """50 s for the first half and 25 s for the second; 50 s where the policy says large batches."""
    said = Decision([Placement(0, 0, 1)], configuration_of=of_policy)
    result = run(Workload(["a"], [0.0], TwoSpeeds()), nodes(), lambda view: said)
    assert result.completion_s.tolist() == pytest.approx([end_s])
    chosen = [(0, 0.0, "large")] if of_policy else [(0, 0.0, "small"), (0, 50.0, "large")]
    assert list(result.configurations) == chosen


def test_a_preemption_hides_no_arrival():
    """Decisions take 10 s. That of 20 s preempts j0 at 30 s; j2 came at 25 s, and the next decision is told of it."""
    changed = {}

    def policy(view: View) -> Decision:
        changed[view.now_s] = view.changed
        return Decision([Placement(int(view.jobs[-1]), 0, 1)])

    result = run(fixed([0, 20, 25], [100, 100, 100]), nodes(), policy, server_s=10)
    assert result.preemptions[0] >= 1
    assert changed[30.0]


def test_a_start_takes_longer_for_each_doubling_of_the_gpus():
    """10 s, and 4 s for each doubling beyond one GPU: 100 s of work on 1, 2 and 8 GPUs."""
    delays = Delays(first_s=10.0, doubling_s=4.0)
    result = run(fixed([0] * 3, [100] * 3, [1, 2, 8]), nodes(11), "fifo-strict", delays)
    assert result.completion_s.tolist() == [110.0, 114.0, 122.0]
