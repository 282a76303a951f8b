"""Contract of policies: decisions that are allowed, data that they cannot change, refusals before the run."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from simulator import (
    FIXED,
    Cluster,
    Decision,
    FixedDuration,
    InputError,
    NodeType,
    Placement,
    SpeedupCurve,
    TimeTable,
    View,
    Workload,
)
from simulator.features.admission import Admission
from simulator.model.workload import Dependency
from simulator.workloads.fits import check_fits
from tests.core.jobs import fixed, nodes, run

SERVER = NodeType("server", "GPU", 4)


def test_columns_are_copied_unless_nobody_can_write_them():
    """A caller's array stays the caller's; a workload made from another one shares its columns and empty texts."""
    submit_s = np.array([0.0, 1.0])
    jobs = Workload(["a", "b"], submit_s, FixedDuration(np.ones(2), np.ones(2, int)))
    submit_s[1] = 5.0
    assert jobs.submit_s.tolist() == [0.0, 1.0]
    assert not jobs.submit_s.flags.writeable
    of_it = replace(jobs, due_s=np.array([7.0, 8.0]))
    assert of_it.submit_s is jobs.submit_s
    assert of_it.requested_s is jobs.requested_s
    part = np.broadcast_to(0.0, 2)  # read-only, but another's memory
    assert replace(jobs, submit_s=part).submit_s is not part
    assert jobs.user is jobs.vc
    assert jobs.user == ("", "")


def test_features_change_no_column_of_the_jobs_that_were_given():
    """Admission takes due dates away from what policies see, and times of submission move behind the jobs that one follows."""
    due_s, weights = [5.0, 5.0, np.inf], [1.0, 1.0, 0.0]
    jobs = fixed(
        [0, 0, 0], [4, 4, 4], [4, 4, 4], due_s=np.array(due_s), weight_per_s=np.array(weights)
    )
    result = run(jobs, nodes(1, 4), "deadline-first", Admission(rule="downgrade"))
    assert result.parts["admission"].downgraded.any()
    for workload in (jobs, result.workload):
        assert (workload.due_s.tolist(), workload.weight_per_s.tolist()) == (due_s, weights)
    jobs = replace(jobs, after=[(), (Dependency(jobs.job_id[0], 1.0),), ()])
    result = run(jobs, nodes(1, 4), "fifo-strict")
    assert result.first_start_s[1] >= 5
    assert jobs.submit_s.tolist() == result.workload.submit_s.tolist() == [0, 0, 0]


def test_numbers_of_32_bits_lose_no_digits():
    """A share of 0.1 GPUs in 32 bits is 0.10000000149; a thousand of them still add up exactly."""
    count = 1000
    share = np.float32(0.1)
    times = SpeedupCurve(np.full(count, 10.0), np.zeros(count), [lambda k: k])
    jobs = Workload([str(j) for j in range(count)], np.zeros(count), times)

    def all_at_once(view: View) -> Decision:
        return Decision([Placement(int(j), 0, share, 0) for j in view.jobs])

    result = run(jobs, Cluster.rental_pool(), all_at_once)
    assert result.meters.gpu_seconds == pytest.approx(count * 10.0, rel=1e-12)
    assert result.schedule is not None
    assert {type(share.gpus) for share in result.schedule} == {float}


def test_indices_of_numpy_are_as_good_as_pythons():
    def decide(view: View) -> Decision:
        return Decision([Placement(view.jobs[0], view.nodes[0], np.int32(1))])

    result = run(fixed([0, 0], [5, 5]), nodes(4), decide)
    assert result.schedule is not None
    assert {type(x) for share in result.schedule for x in (share.job, share.node)} == {int}


def test_a_policy_cannot_change_the_nodes_of_its_controller():
    def tamper(view: View) -> Decision:
        view.nodes[0] = 7
        return Decision()

    with pytest.raises(ValueError, match="read-only"):
        run(fixed([0], [5]), nodes(4, 2), tamper)


def test_a_workload_of_another_catalogue_is_refused_before_the_run():
    jobs = Workload(["a"], [0.0], TimeTable(np.full((1, 2, 5), 100.0)))
    with pytest.raises(InputError, match="times for 2 node types of up to 4 GPUs, expected 1 and"):
        run(jobs, Cluster.of_vms([SERVER], 2), "greedy")


def test_a_job_larger_than_the_cluster_is_refused_before_the_run():
    asked = []

    def watch(view: View) -> Decision:
        asked.append(view.now_s)
        return Decision([Placement(0, 0, 1, FIXED)])

    with pytest.raises(InputError, match="job 'j1': num_gpus is 9, expected at most 8"):
        run(fixed([0, 50], [5, 5], [1, 9]), nodes(4, 2), watch)
    assert not asked


def test_a_million_jobs_on_a_thousand_nodes_are_checked_in_little_memory():
    """The check once held nodes x jobs numbers: 10 GB here; now a few columns of the jobs."""
    count = 200_000
    jobs = fixed(list(range(count)), [1.0] * count, [4] * count)
    types = (SERVER, NodeType("big", "GPU", 8, cpus=64.0))
    cluster = Cluster(types, 1000, tuple(n % 2 for n in range(1000)), num_controllers=5)
    tracemalloc.start()
    check_fits(jobs, cluster)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 8 * count


def test_fractions_may_miss_a_node_by_their_tolerance():
    """A rounding error that the check of a decision allows does not stop the simulation at a start."""
    times = FixedDuration(np.array([10.0, 10.0]), np.array([8, 8]), time_shared=True)
    jobs = Workload(["a", "b"], [0.0, 0.0], times)

    def decide(view: View) -> Decision:
        part = 4 * (1 + 5e-7) if view.num_active == 2 else 8.0
        return Decision([Placement(j, 0, part) for j in view.active], relaxed=True)

    assert run(jobs, nodes(8), decide).completion_s == pytest.approx([20.0, 20.0], rel=1e-5)
