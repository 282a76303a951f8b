"""Shared GPUs together with failures, checkpoints, patience and an optimization server."""

import itertools
import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.fractional_gpus.packing_experiment import RULES
from simulator import Decision, Placement, ServerSpec
from simulator.features.colocation import colocation_of, published_rates
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.predictions import PredictedWorkload
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic, Exponential
from tests.core.jobs import nodes, run, sharing
from tests.core.test_all_parts import Recorded

ONE = nodes()
MODELS = published_rates()[0]


def jobs_of(duration_s, submit_s=None, part=0.5, **columns):
    submit_s = [0.0] * len(duration_s) if submit_s is None else submit_s
    return sharing(submit_s, duration_s, part, model=["a"] * len(duration_s), **columns)


def busy(jobs):
    """Two jobs on a GPU take twice as long each."""
    return colocation_of(jobs, "linear", utilisation={"a": 1.0})


def together(view):
    """Every waiting job on GPU 0, while there is room."""
    room = 2 - len(view.running)
    placements = [Placement(j, 0, 0.5) for j in list(view.waiting)[:room]]
    if not placements:
        return Decision(keep_running=True)
    gpus_of = {p.job: (0,) for p in placements}
    return Decision(placements, keep_running=True, gpus_of=gpus_of)


def outages(up_s, down_s, *checkpoints):
    cause = Outages(Deterministic(up_s), Deterministic(down_s), [(0,)])
    return Failures([cause], Checkpoints(*checkpoints))


def test_each_outage_costs_what_was_not_saved():
    """Up for 100 s, away for 50 s; saved after 30, 60 and 90 s. At half speed, 90 of 400 s each time."""
    jobs = jobs_of([200.0, 200.0])
    result = run(jobs, ONE, together, busy(jobs), outages(100.0, 50.0, 30.0))
    assert result.completion_s.tolist() == pytest.approx([640.0, 640.0])  # 4 x 90 s, and 40 s more
    assert result.parts["failures"].failures.tolist() == [4, 4]
    lost_gpu_s = result.parts["failures"].lost_gpu_s.tolist()
    assert lost_gpu_s == pytest.approx([20.0, 20.0])  # half a GPU each
    assert result.gpu_seconds.tolist() == pytest.approx([220.0, 220.0])


def test_an_attempt_lasts_longer_beside_a_neighbour():
    """Job 0 fails when half of its 100 s is done: 20 s alone, then 60 s at half speed. It queues again at once. Then
    both are at half speed: job 0 ends 100 s later, and job 1 has 20 s left, alone."""
    jobs = jobs_of([100.0, 100.0], [0.0, 20.0], fails_at=[(0.5,), ()])
    result = run(jobs, ONE, together, busy(jobs))
    own = [(s.start_s, s.end_s) for s in result.schedule if s.job == 0]
    assert own == [(0.0, 80.0), (80.0, 180.0)]
    assert result.completion_s.tolist() == [180.0, 200.0]
    assert result.parts["failures"].failures.tolist() == [1, 0]
    assert result.parts["failures"].lost_gpu_s.tolist() == [0.5 * 80, 0.0]


def test_a_neighbour_that_goes_ends_an_attempt_earlier():
    """Both at half speed; job 1 ends at 40 s. Job 0 has done 20 of 60 s by then: its attempt fails at 80 s."""
    jobs = jobs_of([100.0, 20.0], fails_at=[(0.6,), ()])
    result = run(jobs, ONE, together, busy(jobs))
    assert [s.end_s for s in result.schedule if s.job == 0] == [80.0, 120.0]


def test_an_outage_never_takes_a_job_into_an_earlier_attempt():
    """As in the first case; the node goes at 100 s for 10 s, and nothing is saved: job 0 has half of its work left.
    From 110 s on both are at half speed: job 0 ends at 210 s, and job 1, which began anew, 50 s later."""
    jobs = jobs_of([100.0, 100.0], [0.0, 20.0], fails_at=[(0.5,), ()])
    failures = Failures([Outages(Deterministic(100.0), Deterministic(10.0), [(0,)])])
    first = run(jobs, ONE, together, busy(jobs), failures)
    # The next outage comes at 210 s, when job 0 has just ended; job 1 loses what it did since 110 s.
    assert first.completion_s[0] == 210.0
    assert first.parts["failures"].failures.tolist() == [2, 2]
    saved = replace(failures, checkpoints=Checkpoints(0))
    result = run(jobs, ONE, together, busy(jobs), saved)
    # Job 0 has 40 s of its work left at 100 s, job 1 60 s: 80 s at half speed, then 20 s alone.
    assert result.completion_s.tolist() == [190.0, 210.0]


def test_attempts_with_checkpoints_beside_a_neighbour():
    """Works 20 s, saves 10 s. At half speed the attempt of 30 s of its time takes 60 s of work and two saves."""
    jobs = jobs_of([100.0, 1000.0], fails_at=[(0.3,), ()])
    saving = Failures([], Checkpoints(20.0, 10.0))
    result = run(jobs, ONE, together, busy(jobs), saving)
    assert next(s.end_s for s in result.schedule if s.job == 0) == pytest.approx(80.0)


OF_PARTS = ("shared", "complementary", "srtf+proportional@fractional")


@pytest.mark.parametrize(
    ("name", "interference"),
    [*itertools.product(OF_PARTS, ("none", "linear")), ("slices", "none")],
)
def test_attempts_at_random_on_parts(name, interference):
    """GPU time held is the work of the last attempts, what was lost, and what was no work; slower beside neighbours."""
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 4, 40)
    ends = [tuple(np.sort(rng.uniform(0.05, 0.95, n)).tolist()) for n in counts]
    submit_s = np.cumsum(rng.exponential(20, 40))
    jobs = jobs_of(rng.uniform(50, 500, 40), submit_s, fails_at=ends)
    cause = Outages.of_each_node(2, Exponential(2000.0), Exponential(100.0))
    failures = Failures([cause], Checkpoints(60.0, 2.0, 5.0), Exponential(1500.0))
    neighbours = colocation_of(jobs, interference, utilisation={"a": 0.8}, slices=name == "slices")
    machines, round_s = nodes(2, 2, cpus=8, memory_gb=100), 100.0 if "+" in name else None
    result = run(jobs, machines, name, neighbours, failures, seed=3, round_s=round_s)
    last = np.array([1 - each[-1] if each else 1.0 for each in ends])
    work = 0.5 * jobs.performance.duration_s * last
    damage = result.parts["failures"]
    spent = result.gpu_seconds - damage.lost_gpu_s - damage.overhead_gpu_s
    if interference == "none":
        np.testing.assert_allclose(spent, work, rtol=1e-6)
    else:
        assert (spent >= work * (1 - 1e-6)).all()
        assert spent.sum() > 1.05 * work.sum()
    assert (damage.failures >= counts).all()


def test_checkpoints_go_on_when_a_neighbour_comes():
    """Work for 40 s, save for 10 s. The second job comes at 50 s; the node is away from 130 to 200 s, then at 330 s.

    Job 0 has done 40 s at full speed by 50 s, and saved 40 s more at half speed by 100 s: 0.4 is left, 80 s
    of work and a checkpoint from 200 s on. Job 1 has saved 40 s at half speed: 0.8 is left. It does 80 s beside
    job 0 until 290 s; then it is alone, but what it has done since its checkpoint at 300 s is lost at 330 s.
    """
    jobs = jobs_of([100.0, 100.0], [0.0, 50.0])
    failures = outages(130.0, 70.0, 40.0, 10.0)
    result = run(jobs, ONE, together, busy(jobs), failures)
    np.testing.assert_allclose(result.completion_s, [290.0, 440.0])
    np.testing.assert_allclose(result.parts["failures"].lost_gpu_s, [0.5 * 30, 0.5 * (30 + 30)])


def test_without_failures_checkpoints_take_their_time():
    jobs, saving = jobs_of([100.0, 1000.0], [0.0, 50.0]), Failures([], Checkpoints(40.0, 10.0))
    result = run(jobs, ONE, together, busy(jobs), saving)
    assert result.completion_s[0] == pytest.approx(190.0)  # 40 s, then 120 s at half speed, 3 saves


@pytest.mark.parametrize("failing", [False, True])
def test_patience(failing):
    """Two hold the halves of the GPU for 200 s; the third has gone at 30 s, the fourth waits."""
    jobs = jobs_of([100.0] * 4, patience_s=[math.inf, math.inf, 30.0, 300.0])
    failures = Failures([Outages(Deterministic(1e6), Deterministic(1.0), [(0,)])])
    result = run(jobs, ONE, together, busy(jobs), failures if failing else None)
    assert result.left.tolist() == [False, False, True, False]
    assert result.completion_s.tolist() == [200.0, 200.0, 30.0, 300.0]


def test_failures_with_patience_on_whole_gpus():
    """The node goes at 10 s for 15 s: the second job leaves at 20 s; the first stays, it had started."""
    jobs = jobs_of([100.0, 50.0], part=1.0, patience_s=[5.0, 20.0])
    failures = Failures([Outages(Deterministic(10.0), Deterministic(15.0), [(0,)])], Checkpoints(0))
    result = run(jobs, ONE, "fifo-backfill", failures)
    assert result.left.tolist() == [False, True]
    assert result.completion_s[1] == 20.0
    assert result.completion_s[0] == pytest.approx(9 * 25 + 10)  # ten times 10 s of work


@pytest.mark.parametrize("name", ["shared", "complementary"])
def test_decisions_that_take_time(name):
    """10 s for each decision: both start at 10 s, at half speed."""
    jobs = jobs_of([100.0, 100.0])
    options = {"share": "always", "least_speed": 0.0} if name == "complementary" else {}
    result = run(jobs, ONE, make_policy(name, **options), busy(jobs), server_s=10)
    assert result.first_start_s.tolist() == [10.0, 10.0]
    assert result.completion_s.tolist() == [210.0, 210.0]


def test_a_job_moves_to_another_gpu():
    """Job 1 moves from GPU 0 to GPU 1 of the node at 10 s: from then on both are alone."""
    jobs = jobs_of([100.0, 100.0, 100.0], [0.0, 0.0, 10.0])

    def on(places):
        placements = [Placement(j, 0, 0.5) for j in places]
        return Decision(placements, gpus_of={j: (g,) for j, g in places.items()})

    answers = [on({0: 0, 1: 0}), on({0: 0, 1: 1}), on({2: 0})]
    result = run(jobs, nodes(2), lambda view: answers.pop(0), busy(jobs))
    assert result.completion_s.tolist() == [105.0, 105.0, 205.0]
    assert result.reconfigurations.tolist() == [0, 1, 0]


def work_done(share, pieces, is_last, restart_s, interval_s, cost_s):
    """Part of a job's time that it got through in one share, by its speeds over time."""
    begin, end = share.start_s + restart_s, share.end_s
    if not is_last:  # what is saved counts
        cycles = max(0, math.floor((end - begin) / (interval_s + cost_s) + 1e-9))
        end = begin + cycles * (interval_s + cost_s)
    done, k = 0.0, 0
    while begin + k * (interval_s + cost_s) < end:
        a = begin + k * (interval_s + cost_s)
        b = min(a + interval_s, end)
        done += sum(v * max(0.0, min(b, t1) - max(a, t0)) for t0, t1, v in pieces)
        k += 1
    return done


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["complementary", "slices", *(f"shared:{rule}" for rule in RULES)]),
    st.sampled_from(["none", "linear", "published"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_work_and_gpus_are_conserved(seed, name, kind, failing, leaving, served):
    rng = np.random.default_rng(seed)
    count = 30
    gpus = rng.choice([1, 1, 1, 2], count)
    part = np.where(gpus == 1, rng.choice([0.1, 0.25, 0.5, 1.0], count), 1.0)
    submit_s = np.cumsum(rng.exponential(30, count))
    duration_s, model = rng.uniform(20, 300, count), rng.choice(MODELS, count).tolist()
    patience_s = rng.uniform(100, 2000, count) if leaving else None
    jobs = sharing(submit_s, duration_s, part, gpus, model=model, patience_s=patience_s)
    base, _, rule = name.partition(":")
    options = {"utilisation": dict.fromkeys(MODELS, 0.6)} if kind == "linear" else {}
    if base == "slices":
        kind, options = "none", {"slices": True}
    neighbours = colocation_of(jobs, kind, gpu_memory_gb=16.0, **options)
    interval_s, cost_s, restart_s = 50.0, 3.0, 5.0
    cause = Outages.of_each_node(2, Exponential(1500.0), Exponential(100.0))
    saving = Checkpoints(interval_s, cost_s, restart_s)
    failures = Failures([cause], saving) if failing else None
    policy = Recorded(make_policy(base, **({"rule": rule} if rule else {})))
    server = ServerSpec(Exponential(4.0)) if served else None
    more = {"server": server, "round_s": 40.0 if not served and seed % 3 == 0 else None}
    result = run(jobs, nodes(2, 2), policy, neighbours, failures, seed=seed, **more)
    left = np.zeros(count, dtype=bool) if result.left is None else result.left
    gone_s = (submit_s + jobs.patience_s)[left] if leaving else []
    np.testing.assert_allclose(result.completion_s[left], gone_s)
    on, of_job = defaultdict(list), defaultdict(list)
    for share in result.schedule:
        of_job[share.job].append(share)
        for g in policy.gpus(share):
            on[share.node, g].append(share)
    speeds = defaultdict(lambda: defaultdict(list))
    for held in on.values():
        times = sorted({t for s in held for t in (s.start_s, s.end_s)})
        for a, b in itertools.pairwise(times):
            here = [s.job for s in held if s.start_s <= a and s.end_s >= b]
            assert sum(part[j] for j in here) <= 1 + 1e-6
            assert sum(neighbours.memory_gb[j] for j in here) <= 16.0 * (1 + 1e-9)
            for j in here:
                v = neighbours.speed(j, [o for o in here if o != j])
                speeds[j][a, b].append(v)
    if not failing:
        interval_s, cost_s, restart_s = 1e12, 0.0, 0.0
    for job in range(count):
        shares = sorted(of_job[job], key=lambda s: s.start_s)
        assert bool(shares) != left[job]
        pieces = [(a, b, min(v)) for (a, b), v in speeds[job].items()]
        done = 0.0
        for k, share in enumerate(shares):
            restart = restart_s if k else 0.0
            last = k == len(shares) - 1
            done += work_done(share, pieces, last, restart, interval_s, cost_s)
        if shares:
            assert done == pytest.approx(jobs.performance.duration_s[job], rel=1e-6)
    if failing:
        held = sum(s.gpus * (s.end_s - s.start_s) for s in result.schedule)
        damage = result.parts["failures"]
        assert damage.lost_gpu_s.sum() + damage.overhead_gpu_s.sum() < held


def test_predictions_learn_a_job_not_its_neighbours():
    """Predicted at twice its time, and at half speed beside a neighbour: what is learned is the factor of two."""
    jobs = jobs_of([100.0, 100.0, 100.0], [0.0, 0.0, 50.0])
    guess = jobs_of([200.0, 200.0, 200.0], [0.0, 0.0, 50.0])
    seen = {}

    def look(view):
        seen[view.now_s] = {j: view.remaining_of(j) for j in view.jobs.tolist()}
        return together(view)

    result = run(jobs, ONE, look, busy(jobs), PredictedWorkload(guess, True))
    assert result.completion_s[:2].tolist() == [200.0, 200.0]
    # A quarter is done at 50 s; the rest is 75 s of a job that is predicted to take 200 s.
    assert seen[50.0] == {0: 0.375, 1: 0.375, 2: 1.0}


def test_quotas_count_parts():
    """A quota of one GPU: two halves run at once under a policy of parts, one where each takes a whole GPU."""
    jobs, two = jobs_of([100.0, 100.0], vc=["a", "a"]), nodes(2)
    tenants = tenants_of(jobs, quota={"a": 1.0})
    halves = run(jobs, two, "shared", tenants)
    assert halves.completion_s.tolist() == [100.0, 100.0]
    assert halves.table("tenants")["peak_gpus"].tolist() == [1.0]
    assert halves.table("tenants")["envy_gpu_h"].tolist() == [0.0]
    wrapped = run(jobs, two, "fifo+proportional@fractional@self-timed", tenants)
    assert wrapped.completion_s.tolist() == [100.0, 100.0]
    whole = run(jobs, two, "fifo-backfill", tenants)
    assert whole.completion_s.tolist() == [100.0, 200.0]
    assert whole.table("tenants")["peak_gpus"].tolist() == [1.0]


@pytest.mark.parametrize("name", ["shared", "complementary", "slices"])
@pytest.mark.parametrize("gpus", [1, 2])
def test_several_servers_decide_at_once(name, gpus):
    """A job that a policy had meant for another node, by a later plan, is counted where it runs."""
    rng = np.random.default_rng(0)
    count = 80
    submit_s, duration_s = np.cumsum(rng.exponential(10.0, count)), rng.uniform(20, 100, count)
    parts, model = rng.choice([0.25, 0.5, 1.0], count), rng.choice(MODELS, count).tolist()
    jobs, sliced = sharing(submit_s, duration_s, parts, model=model), name == "slices"
    kind = "none" if sliced else "published"
    neighbours = colocation_of(jobs, kind, gpu_memory_gb=16.0, slices=sliced)
    cluster = nodes(gpus, 4 // gpus)
    server = ServerSpec(Exponential(15.0), servers=3)
    result = run(jobs, cluster, name, neighbours, server=server)
    assert np.isfinite(result.completion_s).all()
    for node in range(cluster.num_nodes):
        shares = [s for s in result.schedule if s.node == node]
        for at_s in {s.start_s for s in shares}:
            assert sum(s.gpus for s in shares if s.start_s <= at_s < s.end_s) <= gpus + 1e-6


def test_several_servers_and_whole_gpus():
    """Two plans of 10 s overlap. The second starts the second job beside the first, on a GPU of no name."""
    jobs = jobs_of([100.0, 100.0], [0.0, 1.0], part=1.0)
    result = run(jobs, nodes(2), "fifo-backfill", busy(jobs), server_s=10, servers=2)
    assert result.first_start_s.tolist() == [10.0, 11.0]
