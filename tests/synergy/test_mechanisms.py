"""Invariants of every round, whatever the jobs: fairness, no idle GPUs, proportional shares."""

import numpy as np
import pytest

from policies.synergy import synergy
from policies.synergy.demand import Kind, ServerSize, Share
from policies.synergy.mechanisms import Tune
from policies.synergy.opt import Lot, allocate, lay_out
from policies.synergy.servers import Group, Servers, runnable
from simulator import Cluster, InputError, NodeType, Sensitivity, SensitivityMatrix, Workload
from simulator.features.network import network_of
from simulator.statistics import Streams
from simulator.workloads.networks import cluster, with_sensitivity
from simulator.workloads.synergy import deployment_trace, derived_trace
from tests.core.jobs import fixed
from tests.synergy.helpers import Watched, kinds_of, rate_of

SPLITS = [(20, 70, 10), (33, 33, 33), (50, 0, 50)]


@pytest.mark.long
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("mechanism", ["proportional", "tune", "opt"])
def test_nobody_is_slower_than_at_the_proportional_share(run, small, split, mechanism):
    workload, servers = small(1, split, jobs=25)
    rates = []

    def look(view, placed):
        rates.extend(rate_of(workload, job, shares) for job, shares in placed.items())

    run(workload, servers, Watched(synergy("srtf", mechanism), look))
    assert len(rates) > 100
    assert min(rates) >= 1 - 1e-6
    if mechanism != "proportional":
        assert max(rates) > 1.4


@pytest.mark.parametrize(
    ("ordering", "placement"), [("fifo", "packed"), ("las", "consolidated"), ("tetris", "spread")]
)
def test_tune_leaves_no_gpu_idle_while_a_job_fits(run, small, ordering, placement):
    workload, servers = small(2, jobs=40)

    def look(view, placed):
        free = servers.total_gpus - sum(p.gpus for shares in placed.values() for p in shares)
        waiting = [j for j in view.jobs.tolist() if j not in placed]
        assert all(workload.num_gpus[j] > free for j in waiting)

    run(workload, servers, Watched(synergy(ordering, "tune", placement=placement), look))


def test_split_shares_are_proportional(run, small):
    workload, servers = small(3, jobs=40)
    split = 0

    def look(view, placed):
        nonlocal split
        for shares in placed.values():
            split += len(shares) > 1
            assert len({round(p.cpus / p.gpus, 9) for p in shares}) == 1
            assert len({round(p.memory_gb / p.gpus, 9) for p in shares}) == 1

    run(workload, servers, Watched(synergy("srtf", "tune", placement="spread"), look))
    assert split > 0


@pytest.mark.parametrize("name", ["static", pytest.param("dynamic", marks=pytest.mark.slow)])
def test_tune_comes_within_ten_percent_of_opt(run, name):
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace(name), servers)
    ordering = "fifo" if name == "static" else "srtf"
    jct = {m: run(workload, servers, synergy(ordering, m)).jct_s.mean() for m in ("tune", "opt")}
    assert jct["opt"] <= jct["tune"] <= 1.1 * jct["opt"]


@pytest.mark.parametrize(
    ("split", "multi_gpu", "tune", "released"),
    [((20, 70, 10), m, 0.89, 0.91) for m in (False, True)]
    + [((33, 33, 33), False, 0.87, 0.86), ((33, 33, 33), True, 0.80, 0.83)]
    + [((50, 0, 50), m, 1.0, 1.0) for m in (False, True)],
)
def test_throughput_of_a_round_beside_opt_at_128_gpus(split, multi_gpu, tune, released):
    """Mean over queues in random order. The paper's 10 % is for 20-70-10, by code that does not sort.

    Sorted as Section 4.2 says tune lies just at 10 %; it is exact where no CPU is to spare.
    """
    servers = cluster(16)
    parts = []
    for seed in range(6):
        trace = derived_trace(480, Streams(seed), split=split, multi_gpu=multi_gpu)
        kinds = kinds_of(with_sensitivity(trace, servers), servers)
        group = Group(ServerSize.of(servers.node_types[0]), 0, 16, kinds.kinds)
        order = np.random.default_rng(seed).permutation(len(trace))
        jobs = runnable(order, kinds.gpus, servers.total_gpus)
        counts = np.bincount(kinds.kind_of[jobs], minlength=len(kinds.kinds))
        bound = allocate([group], counts, [group.all]).throughput
        reached = []
        for mechanism in (Tune(), Tune(released=True)):
            _, packed = mechanism.run(order, Servers([group], kinds))
            rates = {
                (k, o.share): o.rate for k, kind in enumerate(kinds.kinds) for o in kind.all_options
            }
            reached.append(sum(rates[slot.kind, slot.share] for slot in packed.slots))
        assert max(reached) <= bound * (1 + 1e-9)
        parts.append([r / bound for r in reached])
    mean = np.mean(parts, axis=0)
    assert mean[0] >= tune - 1e-9
    assert mean[1] >= released - 1e-9


def test_opt_cuts_at_most_three_jobs_a_server(run, small):
    workload, servers = small(5, (60, 30, 10), jobs=30)
    result = run(workload, servers, synergy("fifo", "opt"))
    cut = [info["fragmented_jobs"] for info in result.decisions.info.values()]
    assert max(cut) <= 12
    assert max(cut) > 0


def test_no_job_is_cut_where_whole_ones_can_be_laid_out():
    capacity = ServerSize(4, 12, 120)
    kind = Kind(2, capacity.fair, Share(3, 30), 1.0, ())
    group = Group(capacity, 0, 3, [kind])
    slots = lay_out([Lot(0, kind.best, 2, 6)], group)
    assert [len(s.parts) for s in slots] == [1] * 6


def test_what_the_second_lp_cuts_adds_up():
    # Three jobs of 8 CPUs on two servers of 12: one must be cut, and a cut job is whole in all.
    capacity = ServerSize(4, 12, 120)
    share = Share(8, 10)
    group = Group(capacity, 0, 2, [Kind(1, capacity.fair, share, 2.0, ())])
    slots = lay_out([Lot(0, share, 1, 3)], group)
    assert sorted(len(s.parts) for s in slots) == [1, 1, 2]
    used = np.zeros(2)
    for slot in slots:
        assert sum(g for _, g in slot.parts) == pytest.approx(1)
        for i, g in slot.parts:
            used[i] += g * share.cpus
    assert used == pytest.approx([12, 12])


def test_static_jobs_keep_their_whole_demand(run, small):
    workload, servers = small(6, jobs=40)
    held = {}

    def look(view, placed):
        for job, shares in placed.items():
            assert held.setdefault(job, sum(p.cpus for p in shares)) == sum(p.cpus for p in shares)

    result = run(workload, servers, Watched(synergy("tetris", "static"), look))
    assert result.preemptions.sum() == 0


def test_runnable_takes_every_job_whose_gpus_fit():
    gpus = np.array([4, 8, 2, 1, 1, 16])
    assert runnable(np.array([0, 1, 2, 3, 4, 5]), gpus, 8).tolist() == [0, 2, 3, 4]
    assert runnable(np.array([5, 1, 0]), gpus, 8).tolist() == [1]


def test_the_network_slows_split_jobs_alone(run):
    servers = cluster(2)
    trace = fixed([0, 0], [6000, 6000], [16, 8], model=["gnmt", "gnmt"])
    workload = with_sensitivity(trace, servers)
    network = network_of(workload, servers.num_nodes, same_rack=1.5)
    result = run(workload, servers, synergy("fifo", "tune"), features=[network])
    assert result.completion_s == pytest.approx([9000, 9000 + 6000])


@pytest.fixture
def mixed():
    """Thirty jobs of two models on servers of two types, rates of each on each."""
    types = (
        NodeType("fast", "V100", 8, cpus=24, memory_gb=500),
        NodeType("slow", "P100", 4, cpus=16, memory_gb=250),
    )
    servers = Cluster(types, 3, (0, 1, 1))
    grids = np.array([1.0, 3, 6]), np.array([20.0, 62.5])
    fast = SensitivityMatrix(*grids, np.array([[0.3, 0.3], [0.9, 1], [0.9, 2]]))
    slow = SensitivityMatrix(*grids, np.array([[0.2, 0.2], [0.4, 0.5], [0.4, 0.8]]))
    gpus = np.resize([1, 2, 4, 8], 30)
    performance = Sensitivity(
        np.linspace(1e3, 5e3, 30), gpus, np.tile([0, 1], (30, 1)), [fast, slow]
    )
    workload = Workload([str(i) for i in range(30)], np.zeros(30), performance)
    return workload, servers


@pytest.mark.long
@pytest.mark.parametrize(
    ("ordering", "mechanism"),
    [("srtf", "proportional"), ("las", "greedy"), ("drf", "tune"), ("srtf", "opt")],
)
def test_no_job_goes_over_two_types_of_servers(run, mixed, ordering, mechanism):
    """Appendix A.2.2, and no rate below the proportional share of the type."""
    workload, servers = mixed
    fair = {0: 1.0, 1: workload.performance.matrices[1](4, 62.5)}
    result = run(workload, servers, synergy(ordering, mechanism), record_schedule=True)
    given = {}
    for s in result.schedule:
        given.setdefault((s.job, s.start_s), []).append(s)
    types_of = [{s.node_type for s in shares} for shares in given.values()]
    assert max(map(len, types_of)) == 1
    assert set.union(*types_of) == {0, 1}
    for shares in given.values():
        gpus, cpus, memory_gb = np.sum([(s.gpus, s.cpus, s.memory_gb) for s in shares], axis=0)
        v = shares[0].node_type
        rate = workload.performance.matrices[v](cpus / gpus, memory_gb / gpus)
        assert rate >= min(fair.values() if mechanism == "opt" else [fair[v]]) - 1e-6


@pytest.mark.parametrize("mechanism", ["proportional", "tune"])
def test_who_comes_first_may_change_on_servers_of_two_types(run, mechanism):
    """B, behind A at first, has less left after four rounds and takes the fast server."""

    cpus, memory_gb = np.array([1.0, 3.0, 6.0]), np.array([20.0, 62.5])
    flat = [SensitivityMatrix(cpus, memory_gb, np.full((3, 2), r)) for r in (1.0, 0.9, 3.0, 2.0)]
    types = tuple(NodeType(name, name, 8, cpus=24, memory_gb=500) for name in ("fast", "slow"))
    gpus = np.array([8, 8])
    work = Sensitivity(np.array([10_000.0, 11_000.0]), gpus, np.array([[0, 1], [2, 3]]), flat)
    jobs = Workload(["A", "B"], np.zeros(2), work)
    for options in ({}, {"starvation_s": 1e300}):
        result = run(jobs, Cluster(types, 2, (0, 1)), synergy("srtf", mechanism, **options))
        # At 1200 s B has 8,600 s of work left and A 8,800.
        assert result.completion_s.tolist() == pytest.approx([10_300, 1200 + 8600 / 3])


def test_static_demands_are_for_equal_servers(run, mixed):
    with pytest.raises(InputError, match="several types"):
        run(*mixed, synergy("drf", "static"))


def test_a_demand_larger_than_a_server_is_cut_to_it():
    servers = cluster(1)
    trace = fixed([0], [100], [4], model=["alexnet"])
    kind = kinds_of(with_sensitivity(trace, servers), servers).kinds[0]
    assert kind.best == Share(6, 62.5)
    assert kind.best_rate == pytest.approx(1.75)


@pytest.mark.parametrize(("wrong", "right"), [("stf+tune", "srtf"), ("srtf+tuna", "tune")])
def test_unknown_names(wrong, right):
    with pytest.raises(InputError, match=f"did you mean '{right}'"):
        synergy(*wrong.split("+"))
