"""Several optimization servers: plans that were made side by side and come into force one by one."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import Cluster, Decision, NodeType, Placement, Result, ServerSpec, View, Workload
from simulator.laws import Deterministic, Exponential
from simulator.model import feasibility
from tests.core.jobs import elastic, fixed, nodes, run
from tests.core.test_invariants import check

CATALOG = [NodeType("a", "A", 1, 0.5), NodeType("b", "B", 4, 1.8)]

common = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def runs_once_to_its_end(result: Result) -> None:
    """No running job is ever moved, resized or sent back to wait; and the general invariants."""
    check(result)
    assert result.preemptions.sum() == result.reconfigurations.sum() == 0
    stretches = {(s.job, s.start_s, s.end_s) for s in result.schedule or ()}
    assert sorted(job for job, _, _ in stretches) == list(range(len(result.workload)))
    for job, start_s, end_s in stretches:
        assert (start_s, end_s) == (result.first_start_s[job], result.completion_s[job])
    for node in range(result.cluster.num_nodes):
        mine = [s for s in result.schedule or () if s.node == node]
        for one in mine:
            beside = [s for s in mine if s.start_s <= one.start_s < s.end_s]
            cpus = result.cluster.node_types[one.node_type].cpus
            assert sum(s.cpus for s in beside) <= cpus * (1 + 1e-9)


def of_fixed_demand(seed: int, count: int) -> Workload:
    rng = np.random.default_rng(seed)
    demand, submit_s = 2 ** rng.integers(0, 4, count), np.cumsum(rng.exponential(200, count))
    cpus = np.where(rng.random(count) < 0.5, np.nan, demand * rng.uniform(0, 4, count))
    late = {
        "due_s": submit_s + rng.uniform(0, 9000, count),
        "weight_per_s": rng.uniform(0, 1, count),
    }
    return fixed(submit_s, rng.uniform(50, 3000, count), demand, num_cpus=cpus, **late)


def of_elastic_jobs(seed: int, count: int) -> Workload:
    rng = np.random.default_rng(seed)
    submit_s = np.cumsum(rng.exponential(200, count))
    return elastic(
        rng.uniform(100, 3000, (count, 2, 5)),
        submit_s,
        due_s=submit_s + rng.uniform(0, 5000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


SEED, COUNT, SERVERS = st.integers(0, 10_000), st.integers(2, 20), st.integers(1, 4)
ON_NODES = ("fifo", "fifo-strict", "fifo-backfill", "edf", "edf-backfill", "ps")


@pytest.mark.parametrize("name", ON_NODES)
@given(
    SEED,
    st.integers(2, 40),
    SERVERS,
    st.sampled_from([1.0, 100.0, 900.0]),
    st.booleans(),
    st.sampled_from([None, 300.0]),
)
@common
def test_jobs_of_fixed_demand_are_never_touched(
    name, seed, count, servers, service_s, coalesce, period_s
):
    server = ServerSpec(service=Exponential(service_s), servers=servers, coalesce=coalesce)
    options = {"seed": seed, "server": server, "period_s": period_s}
    machines = nodes(4, 4, cpus=12, memory_gb=200)
    runs_once_to_its_end(run(of_fixed_demand(seed, count), machines, name, **options))


SHARED = Cluster((NodeType("v100", "V100", 4), NodeType("t4", "T4", 2)), 3, (0, 1, 1))
VMS = [Cluster.of_vms(CATALOG, 2 * controllers, controllers) for controllers in (1, 2)]


@pytest.mark.parametrize("name", ["fifo-shared", "edf-shared", "ps-shared", "fifo", "edf", "ps"])
@given(SEED, COUNT, SERVERS, st.sampled_from(VMS))
@common
def test_elastic_jobs_are_never_touched(name, seed, count, servers, vms):
    """On shared nodes, and on VMs of one controller or two."""
    cluster = SHARED if name.endswith("-shared") else vms
    server = ServerSpec(service=Exponential(200.0), servers=servers)
    runs_once_to_its_end(run(of_elastic_jobs(seed, count), cluster, name, seed=seed, server=server))


def test_a_start_that_no_longer_fits_is_left_to_the_next_decision():
    """Both see the node empty: the first plan starts a, the second wants b, due earlier, there."""
    jobs = fixed([0, 5], [100, 100], [4, 4], due_s=[1000, 500])
    result = run(jobs, nodes(4), "edf", server_s=10, servers=2)
    assert result.first_start_s.tolist() == [10, 120]  # asked at a's end, 110 s
    assert result.completion_s.tolist() == [110, 220]
    assert result.preemptions.sum() == 0


def test_of_several_starts_those_are_made_that_fit():
    """The second plan names b and c; b's GPUs went to a, c's did not."""

    def policy(view: View) -> Decision:
        wanted = [j for j in ([0] if view.now_s == 0 else [1, 2]) if j in view.waiting]
        starts = [Placement(j, 0, int(view.workload.num_gpus[j])) for j in wanted]
        return Decision(starts, keep_running=True)

    result = run(fixed([0, 5, 5], [100] * 3, [3, 2, 1]), nodes(4), policy, server_s=10, servers=3)
    assert result.first_start_s.tolist() == [10, 120, 15]


@pytest.mark.parametrize(
    ("share", "fits"),
    [
        (Placement(1, 0, 2, 0, 4, 32), True),
        (Placement(1, 0, 3, 0, 4, 32), False),
        (Placement(1, 0, 2, 0, 5, 32), False),
        (Placement(1, 0, 2, 0, 4, 33), False),
        (Placement(1, 0, 1, 1, 0, 0), False),  # another type than the VM is open as
        (Placement(0, 0, 4, 1, 8, 64), True),  # job 0 leaves what it has
        (Placement(1, 1, 4, 1, 8, 64), True),
    ],
)
def test_room_beside_what_runs(share, fits):
    types = [NodeType(name, "A", 4, 1.0, cpus=8, memory_gb=64) for name in ("a", "b")]
    runs = [{0: Placement(0, 0, 2, 0, 4, 32)}, {}]
    assert feasibility.has_room(share.job, [share], runs, Cluster.of_vms(types, 2)) == fits


def test_a_change_of_a_job_that_another_plan_has_changed_is_dropped():
    """One plan moves a to node 1; the other, to node 2, was made while a still ran on node 0."""
    planned = {0.0: Placement(0, 0, 4), 20.0: Placement(0, 1, 4), 21.0: Placement(0, 2, 4)}

    def policy(view: View) -> Decision:
        if view.now_s in planned:
            return Decision([planned[view.now_s]], keep_running=True)
        free = [n for n in view.nodes.tolist() if view.free_gpus[n] == 4]
        starts = [Placement(j, n, 4) for j, n in zip(view.waiting, free, strict=False)]
        return Decision(starts, keep_running=True)

    jobs = fixed([0, 20, 21], [100] * 3, [4, 4, 4])
    result = run(jobs, nodes(4, 3), policy, server_s=10, servers=3)
    assert result.reconfigurations.tolist() == [1, 0, 0]
    places = [(r.node, r.start_s, r.end_s) for r in result.schedule or () if r.job == 0]
    assert places == [(0, 10, 30), (1, 30, 110)]


def test_a_full_decision_says_all_that_runs():
    """A job that an older plan has started since, and the newer one leaves out, waits again."""

    def policy(view: View) -> Decision:
        return Decision([Placement(max(view.jobs.tolist()), 0, 4)])

    result = run(fixed([0, 5], [100, 100], [4, 4]), nodes(4), policy, server_s=10, servers=2)
    assert result.first_start_s.tolist() == [10, 15]
    assert result.preemptions.tolist() == [1, 0]


def test_the_summary_of_a_server_by_hand():
    """Each decision takes 5 s; jobs of 100 s come at 0 and 1 s, to a GPU each.

    Requests at 0 (served until 5), 1 (until 10, after a wait of 4) and 105 s, the first completion; the second is at
    110 s. The formula of M/D/1 at 3 requests in 110 s.
    """
    workload = fixed([0, 1], [100, 100])
    found = run(workload, nodes(2), server=ServerSpec(service=Deterministic(5.0))).summary()
    rate = 3 / 110
    assert found["server_requests"] == 3
    assert found["server_utilisation"] == pytest.approx(15 / 110)
    assert found["mean_server_wait_s"] == pytest.approx(4 / 3)
    assert found["mean_server_response_s"] == pytest.approx(19 / 3)
    assert found["server_formula_response_s"] == pytest.approx(5 + rate * 25 / 2 / (1 - 5 * rate))
    assert "server_requests" not in run(workload, nodes(2)).summary()
