"""Tenants: quotas never exceeded, shares against water-filling, reclaim, envy and promises by hand."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.compatibility import fits
from experiments.scenario.schema import read_scenario
from policies import make_policy
from simulator import InputError
from simulator.features.admission import SHARE, Admission, Promise, all_on_time, in_units
from simulator.features.colocation import with_drawn_models, with_parts
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.predictions import PredictedWorkload, Predictions, predicted
from simulator.features.reconfiguration import Delays
from simulator.features.tenants import envy_rate, tenants_of, water_filling, with_drawn_tenants
from simulator.features.tenants.fairness import finish_time_fairness, shares
from simulator.laws import Exponential
from simulator.statistics import Streams
from tests.command import refused
from tests.core.jobs import fixed, nodes, run
from tests.features.slow_admission import all_on_time_slowly

LIST = ("fifo-strict", "fifo-backfill", "srpt", "sjf", "random-order", "priority")
BETWEEN = ("fair-share", "drf", "capacity", "finish-time-fair", "themis")
quick = settings(max_examples=6, deadline=None, derandomize=True)


def jobs_of(names, duration_s, gpus, submit_s=None, due_s=None, **more):
    """Jobs of tenants, by their names; one duration or number of GPUs is that of all."""
    count = len(names)
    columns = {"due_s": due_s, "vc": list(names), **more}
    duration_s, gpus = np.broadcast_to(duration_s, count), np.broadcast_to(gpus, count)
    return fixed(np.zeros(count) if submit_s is None else submit_s, duration_s, gpus, **columns)


def cluster_of(count, gpus=4, **more):
    return nodes(gpus, count, **more)


def random_jobs(seed, count, most=4):
    rng = np.random.default_rng(seed)
    who = rng.choice(["a", "b", "c"], count).tolist()
    duration_s, gpus = rng.uniform(10, 500, count), rng.integers(1, most + 1, count)
    submit_s = np.cumsum(rng.exponential(40, count))
    return jobs_of(who, duration_s, gpus, submit_s, weight_per_s=rng.uniform(0, 1, count))


# -- shares in theory


@quick
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=6),
    st.integers(1, 40),
)
def test_water_filling_has_one_level(rows, total):
    demand, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    share = water_filling(demand, weight, total)
    assert share.sum() == pytest.approx(min(total, demand.sum()))
    assert (share <= demand + 1e-9).all()
    wanting = share < demand - 1e-9
    if wanting.any():
        level = share[wanting] / weight[wanting]
        assert level == pytest.approx(np.full(len(level), level[0]))
        assert (share / weight <= level[0] + 1e-9).all()


def test_envy_by_hand():
    # b has 6 GPUs for weight 2; a has 1 for weight 1 and could use 5: it would rather have 6/2 = 3.
    held, demand, weight = np.array([1.0, 6.0]), np.array([5.0, 6.0]), np.array([1.0, 2.0])
    assert envy_rate(held, demand, weight).tolist() == [2.0, 0.0]
    # Who wants no more envies nobody.
    assert envy_rate(held, np.array([1.0, 6.0]), weight).tolist() == [0.0, 0.0]


# -- policies against theory


def jobs_of_one_gpu(seed):
    rng = np.random.default_rng(seed)
    who, duration_s = rng.choice([*"abc"], 50, p=[0.6, 0.3, 0.1]).tolist(), rng.uniform(20, 300, 50)
    return jobs_of(who, duration_s, 1, np.cumsum(rng.exponential(8, 50)))


@quick
@given(st.integers(0, 10_000), st.tuples(*[st.integers(1, 4)] * 3))
def test_shares_follow_the_water_level_at_every_instant(seed, weights):
    jobs = jobs_of_one_gpu(seed)
    tenants = tenants_of(jobs, weight=dict(zip("abc", weights, strict=True)), known=tuple("abc"))
    policy = make_policy("fair-share", preemptive=True)
    found = shares(run(jobs, cluster_of(2), policy, tenants))
    # GPUs are given whole, each to the lowest level: whoever wants more is at least where the last one was given.
    weight = np.array(weights)
    wants = np.where(found.held < found.demand, found.held / weight, np.inf)
    assert ((found.held - 1) / weight <= wants.min(axis=1, keepdims=True) + 1e-9).all()
    np.testing.assert_allclose(found.held.sum(axis=1), np.minimum(8, found.demand.sum(axis=1)))


@quick
@given(st.integers(0, 10_000))
def test_guarantees_hold_at_every_instant(seed):
    jobs = jobs_of_one_gpu(seed)
    quota = {"a": 2.0, "b": 3.0, "c": 3.0}
    tenants = tenants_of(jobs, quota=quota, borrowing=True, known=tuple("abc"))
    found = shares(run(jobs, cluster_of(2), "capacity", tenants))
    assert (found.held >= np.minimum(found.demand, tenants.quota) - 1e-9).all()
    # Nothing is idle while somebody could borrow it.
    np.testing.assert_allclose(found.held.sum(axis=1), np.minimum(8, found.demand.sum(axis=1)))


@pytest.mark.parametrize("name", ["fair-share", "drf"])
def test_nobody_moves_for_nothing(name):
    """Two nodes of 2 GPUs, all of them a's. b has less and is chosen first; it gets GPUs of jobs that stop."""
    jobs = jobs_of("aaaabb", [10.0, 100.0, 100.0, 100.0, 50.0, 50.0], 1, [0, 0, 0, 0, 5, 5])
    policy = make_policy(name, preemptive=True)
    result = run(jobs, cluster_of(2, 2), policy, Delays.of(7.0))
    assert result.preemptions.tolist() == [0, 0, 1, 1, 0, 0]
    assert result.reconfigurations.sum() == 0


def test_drf_as_in_its_paper():
    """Ghodsi et al., Section 4.1: 9 CPUs, 18 GB; tasks <1 CPU, 4 GB> and <3 CPUs, 1 GB>: 3 and 2 run."""
    needs = {"num_cpus": np.repeat([1.0, 3.0], 8), "memory_gb": np.repeat([4.0, 1.0], 8)}
    jobs = jobs_of("a" * 8 + "b" * 8, 100.0, 1, **needs)
    tenants = tenants_of(jobs)
    one = cluster_of(1, 100, cpus=9.0, memory_gb=18.0)
    result = run(jobs, one, "drf", tenants)
    assert shares(result).held[0].tolist() == [3.0, 2.0]


def test_reclaim_by_hand():
    """a borrows the whole cluster; b's job comes at 10 s and takes back its 4 GPUs from the latest."""
    jobs = jobs_of(["a", "a", "b"], [100.0, 100.0, 50.0], 4, [0.0, 1.0, 10.0])
    tenants = tenants_of(jobs, quota={"a": 4, "b": 4}, borrowing=True)
    result = run(jobs, cluster_of(2), "capacity", tenants)
    assert result.first_start_s.tolist() == [0.0, 1.0, 10.0]
    # The second job of a did 9 s of work, and goes on when b is done.
    assert result.completion_s.tolist() == [100.0, 60.0 + 91.0, 60.0]
    assert result.preemptions.tolist() == [0, 1, 0]
    kept = run(jobs, cluster_of(2), make_policy("capacity", reclaim=False), tenants)
    assert kept.first_start_s.tolist() == [0.0, 1.0, 100.0]
    assert kept.preemptions.sum() == 0


def test_nobody_is_stopped_in_vain():
    """b's job does not fit even if all borrowers stop: they go on."""
    jobs = jobs_of(["a", "b", "b"], [100.0, 100.0, 50.0], [4, 4, 4], [0.0, 1.0, 10.0])
    tenants = tenants_of(jobs, quota={"a": 4, "b": 8}, borrowing=True)
    result = run(jobs, cluster_of(2), "capacity", tenants)
    assert result.preemptions.sum() == 0
    assert result.first_start_s.tolist() == [0.0, 1.0, 100.0]


def test_finish_times_by_hand():
    """Two tenants of equal weight, each with a part of 4 GPUs; a asks for 8, b for 4: b is worse off."""
    jobs = jobs_of(["a", "a", "b"], 100.0, 4)
    policy = make_policy("finish-time-fair", fairness=1.0, lease_s=1000.0)
    result = run(jobs, cluster_of(2), policy, tenants_of(jobs))
    assert result.first_start_s.tolist() == [0.0, 100.0, 0.0]
    # On its own part a's first job takes 200 s; the second 150 s, since a asks for 6 GPUs on average.
    assert finish_time_fairness(result) == pytest.approx([0.5, 200 / 150, 1.0])


def test_finish_times_on_a_part_of_the_cluster():
    """Two controllers with the same jobs, each on half of the nodes, decide as one does on one half."""
    half = jobs_of("aabbb", [300.0, 40.0, 70.0, 200.0, 90.0], [2, 3, 4, 1, 2])
    duration_s = np.repeat(half.performance.duration_s, 2)
    twice = jobs_of("aaaabbbbbb", duration_s, np.repeat(half.num_gpus, 2))
    policy = make_policy("finish-time-fair", lease_s=30.0)
    alone = run(half, cluster_of(1), policy)
    both = run(twice, nodes(4, 2, 2), policy)
    np.testing.assert_allclose(both.completion_s, np.repeat(alone.completion_s, 2))


def test_leases_end():
    """With one GPU and a lease of 10 s, the jobs of two tenants take turns."""
    jobs = jobs_of(["a", "b"], 100.0, 1)
    policy = make_policy("finish-time-fair", lease_s=10.0)
    result = run(jobs, cluster_of(1, 1), policy, tenants_of(jobs))
    assert result.preemptions.sum() > 5
    assert abs(result.completion_s[0] - result.completion_s[1]) <= 20


@pytest.mark.parametrize("name", BETWEEN)
def test_without_a_table_the_jobs_say_whose_they_are(name):
    jobs = random_jobs(3, 40)
    named = run(jobs, cluster_of(2), name)
    given_ = run(jobs, cluster_of(2), name, tenants_of(jobs))
    assert named.schedule_table().to_csv() == given_.schedule_table().to_csv()


# -- quotas


def over_quota(result):
    found = shares(result)
    return (found.held > result.parts["tenants"].tenants.quota + 1e-9).any()


def test_a_limit_holds_back():
    jobs = jobs_of(["a", "a", "b"], 100.0, 2)
    tenants = tenants_of(jobs, quota={"a": 2})
    result = run(jobs, cluster_of(2), "fifo-backfill", tenants)
    assert result.first_start_s.tolist() == [0.0, 100.0, 0.0]
    assert result.parts["tenants"].held_s.tolist() == [0.0, 100.0, 0.0]
    free = run(jobs, cluster_of(2), "fifo-backfill", tenants_of(jobs))
    assert free.first_start_s.tolist() == [0.0, 0.0, 0.0]


def test_patience_does_not_open_the_gate_twice():
    """The timer of a job that has long ended leaves the quota as it is."""
    jobs = jobs_of("aaaa", [10.0, 100.0, 100.0, 100.0], 1, patience_s=[50.0, 1e3, 1e3, 1e3])
    tenants = tenants_of(jobs, quota={"a": 1})
    result = run(jobs, cluster_of(2), "fifo-backfill", tenants)
    assert result.first_start_s.tolist() == [0.0, 10.0, 110.0, 210.0]
    assert not over_quota(result)


def test_patience_counts_before_the_queue():
    """One job leaves while the quota holds it, one in the queue by its own submission."""
    jobs = jobs_of("aaab", 100.0, [2, 2, 2, 4], [0, 10, 10, 50], patience_s=[9e3, 40, 120, 9e3])
    tenants = tenants_of(jobs, quota={"a": 2})
    result = run(jobs, cluster_of(1), "fifo-strict", tenants)
    np.testing.assert_array_equal(result.first_start_s, [0.0, np.nan, np.nan, 100.0])
    assert result.completion_s.tolist() == [100.0, 50.0, 130.0, 200.0]
    assert result.left.tolist() == [False, True, True, False]
    assert result.parts["tenants"].held_s.tolist() == [0.0, 40.0, 90.0, 0.0]


def test_outages_end_with_the_last_job_that_leaves_before_the_queue():
    """One job leaves while the quota holds it: nothing is left to happen, and the run ends."""
    jobs = jobs_of("aa", 100.0, 2, [0, 10], patience_s=[9e3, 40])
    cause = Outages.of_each_node(1, Exponential(50.0), Exponential(5.0))
    result = run(
        jobs,
        cluster_of(1),
        make_policy("fifo-strict"),
        tenants_of(jobs, quota={"a": 2}),
        Failures([cause], Checkpoints(interval_s=0.0)),
    )
    assert result.left.tolist() == [False, True]
    assert result.completion_s[1] == 50.0


@pytest.mark.parametrize("name", LIST)
def test_tenants_without_limits_change_nothing(name):
    jobs = random_jobs(5, 60)
    plain = run(jobs, cluster_of(2), name, seed=1)
    seen = run(jobs, cluster_of(2), name, tenants_of(jobs), seed=1)
    assert plain.schedule_table().to_csv() == seen.schedule_table().to_csv()
    assert plain.jobs_table().to_csv() == seen.jobs_table().to_csv()


# -- admission


@quick
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=5))
def test_on_one_gpu_the_test_is_exact(rows):
    """Earliest due date first is optimal there; brute force over all orders agrees."""
    promises = [Promise(float(due), j, 1, float(t)) for j, (t, due) in enumerate(rows)]

    def feasible(order):
        ends = np.cumsum([t for t, _ in order])
        return all(end <= due for end, (_, due) in zip(ends, order, strict=True))

    exact = any(feasible(order) for order in itertools.permutations(rows))
    assert all_on_time(promises, 1.0) == exact


def rows_of(due, gpus):
    """Due dates, GPUs and seconds that are left, of up to twelve jobs."""
    return st.lists(st.tuples(due, gpus, st.integers(0, 30)), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    rows_of(st.integers(-5, 200), st.integers(1, 4)),
    st.sampled_from([1.0, 3.0, 8.0]),
    st.sampled_from([1.0, 0.1]),
)
def test_the_quick_test_answers_as_the_plain_one(rows, total, unit):
    """Whole numbers and tenths, which no binary number is; late jobs and jobs that fit nowhere among them."""
    asked = enumerate(rows)
    promises = [Promise(due * unit, j, gpus, left * unit) for j, (due, gpus, left) in asked]
    assert all_on_time(promises, total) == all_on_time_slowly(promises, total)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    rows_of(st.integers(-5, 99), st.sampled_from([1 / 6, 1 / 3, 0.47, 0.5, 1.0])),
    st.sampled_from([1, 3]),
)
def test_the_quick_test_of_parts_answers_as_the_plain_one(rows, total):
    units = in_units(np.array([part for _, part, _ in rows] + [0.5]))
    asked = enumerate(rows)
    promises = [Promise(float(due), j, units[j], float(left)) for j, (due, _, left) in asked]
    assert all_on_time(promises, total * SHARE) == all_on_time_slowly(promises, total * SHARE)


def test_parts_of_gpus_are_promised_as_parts():
    """Two GPUs: four halves at once, six thirds, or three of 0.6 (GPUs count together); whole ones only two."""
    one = cluster_of(2, 1)
    for count, part in ((4, 0.5), (6, 1 / 3), (3, 0.6)):
        jobs = with_parts(jobs_of("a" * 7, 100.0, 1, due_s=np.full(7, 150.0)), part)
        result = run(jobs, one, "shared", Admission())
        assert result.parts["admission"].promised.sum() == count
        whole = run(jobs, one, "deadline-first", Admission())
        assert whole.parts["admission"].promised.sum() == 2


@quick
@given(st.integers(0, 10_000), st.sampled_from(["reject", "downgrade"]))
def test_promises_are_kept(seed, rule):
    jobs = random_jobs(seed, 40)
    rng = np.random.default_rng(seed)
    slack = rng.uniform(1, 4, len(jobs)) * jobs.performance.duration_s
    due_s = np.where(rng.random(len(jobs)) < 0.7, jobs.submit_s + slack, np.inf)
    jobs = replace(jobs, due_s=due_s)
    result = run(jobs, cluster_of(2), "deadline-first", Admission(rule=rule))
    gate, summary = result.parts["admission"], result.summary()
    assert summary["broken_promises"] == 0
    dated = np.isfinite(due_s)
    assert (gate.promised | gate.rejected | gate.downgraded == dated).all()
    if rule == "reject":
        assert summary.get("lost_jobs", 0) == summary["rejected_jobs"] == gate.rejected.sum()
    else:
        assert result.left is None
        assert np.isfinite(result.jct_s).all()


def test_admission_by_hand():
    """One GPU: the second job cannot be done by 150 s; the third, which comes later, can by 300 s."""
    jobs = jobs_of("aaa", 100.0, 1, [0.0, 0.0, 10.0], due_s=[100.0, 150.0, 300.0])
    one = cluster_of(1, 1)
    result = run(jobs, one, "deadline-first", Admission(rule="reject"))
    assert result.parts["admission"].rejected.tolist() == [False, True, False]
    assert result.completion_s[[0, 2]].tolist() == [100.0, 200.0]
    assert math.isnan(result.jct_s[1])
    result = run(jobs, one, "deadline-first", Admission(rule="downgrade"))
    assert result.completion_s.tolist() == [100.0, 300.0, 200.0]
    assert result.summary()["late_jobs"] == 1  # its due date counts in what is reported
    assert result.workload.due_s.tolist() == [100.0, 150.0, 300.0]


# -- mistakes


@pytest.mark.parametrize("name", ["ps", "priority", "edf-backfill"])
def test_downgraded_jobs_come_last(name):
    """The second job cannot be on time; it was the most urgent, and now waits for the third."""
    columns = {"due_s": [100.0, 150.0, 900.0], "weight_per_s": [1.0, 9.0, 2.0]}
    jobs = jobs_of("aaa", 100.0, 4, [0, 1, 2], **columns)
    result = run(jobs, cluster_of(1), name, Admission(rule="downgrade"))
    assert result.parts["admission"].downgraded.tolist() == [False, True, False]
    assert result.first_start_s.tolist() == [0.0, 200.0, 100.0]
    assert result.workload.weight_per_s.tolist() == [1.0, 9.0, 2.0]


def test_a_missed_promise_turns_nobody_else_away():
    """Job 2 is promised 15 s, but waits in strict order until 200 s; job 3 has time enough."""
    duration_s, due_s = [100.0, 100.0, 10.0, 10.0], [1e3, 900.0, 15.0, 5e3]
    jobs = jobs_of("aaaa", duration_s, [3, 4, 1, 1], [0, 1, 2, 50], due_s)
    result = run(jobs, cluster_of(1), "fifo-strict", Admission())
    assert result.parts["admission"].promised.all()
    assert result.summary()["broken_promises"] == 1
    late = Promise(-5.0, 0, 4, 100.0)
    assert all_on_time([late, Promise(150.0, 1, 4, 50.0)], 4)
    assert not all_on_time([late, Promise(149.0, 1, 4, 50.0)], 4)


def test_admission_knows_the_predicted_times():
    """The job would be on time; it is predicted not to be, and nobody knows better."""
    jobs = jobs_of("a", 100.0, 4, due_s=[150.0])
    shown = PredictedWorkload(predicted(jobs, Predictions(bias=1.0), Streams(0)))
    admission = Admission(rule="downgrade")
    result = run(jobs, cluster_of(1), "edf", admission, shown)
    assert result.parts["admission"].downgraded.tolist() == [True]
    result = run(jobs, cluster_of(1), "edf", admission)
    assert result.parts["admission"].promised.tolist() == [True]


def test_a_promise_is_not_broken_by_rounding():
    """Three times a tenth of a second, 0.1 + 0.1 + 0.1 = 0.30000000000000004, are 0.3 s."""
    jobs = jobs_of("aaa", 0.1, 4, due_s=[0.1, 0.2, 0.3])
    result = run(jobs, cluster_of(1), "deadline-first", Admission())
    assert result.completion_s[2] == 0.3
    assert result.summary()["broken_promises"] == 0


def test_mistakes_are_one_line():
    jobs = jobs_of(["a", "b"], 10.0, 4)
    with pytest.raises(InputError, match="weight of 'z', who has no job; expected one of a, b"):
        tenants_of(jobs, weight={"z": 1.0})
    with pytest.raises(InputError, match=r"weight of 'a' is 0\.0, expected a number above 0"):
        tenants_of(jobs, weight={"a": 0.0})
    small = tenants_of(jobs, quota={"a": 2})
    with pytest.raises(InputError, match="job 'j0' asks for 4 GPUs, the quota of 'a' is 2"):
        run(jobs, cluster_of(2), "fifo-backfill", small)
    with pytest.raises(InputError, match="fairness is 2"):
        make_policy("finish-time-fair", fairness=2.0)
    with pytest.raises(InputError, match='rule: got "never", expected one of reject'):
        Admission(rule="never")
    with pytest.raises(InputError, match="no job has a due date"):
        run(jobs, cluster_of(2), "fifo-backfill", Admission())


def test_the_order_of_chances_does_not_matter():
    """A sweep writes its keys in the order of the alphabet."""
    jobs, chances = jobs_of([""] * 50, 1.0, 1), ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0})
    one, other = (with_drawn_tenants(jobs, "vc", c, Streams(1)).vc for c in chances)
    assert one == other
    assert 10 < one.count("b") < 50
    one, other = (with_drawn_models(jobs, c, Streams(1)).model for c in chances)
    assert one == other


# -- scenario files


def tenants_file(tmp_path, tables):
    path = tmp_path / "s.toml"
    workload = 'workload = { kind = "poisson", num_jobs = 20, arrival_rate_per_h = 30 }'
    cluster = 'cluster = { kind = "nodes", num_nodes = 1 }'
    path.write_text(f'policy = "fair-share"\n{workload}\n{cluster}\n{tables}')
    return path


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ('[tenants]\nby = "group"', 'tenants.by: got "group", expected one of vc, user'),
        ("[tenants]\nweight = {a = 0}\ndraw = {a = 1}", "tenants.weight.a: got 0, expected"),
        ("[tenants]\ndraw = {a = 0}", "tenants.draw: draw is {'a': 0.0}, expected chances"),
        ("[tenants]\nborrowing = true", "tenants.by: no job names its vc, expected names, or"),
        ("[tenants]\ndraw = {a = 1}\nquota = {b = 4}", "tenants: quota of 'b', who has no job"),
        ('[admission]\nrule = "never"', 'admission.rule: got "never", expected'),
        ("[admission]", "admission: no job has a due date, expected one at least"),
    ],
)
def test_bad_tables_are_one_line(tmp_path, tables, told):
    assert told in refused("run", tenants_file(tmp_path, tables), "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_runs_on_a_scenario_knows_the_tenants_that_it_draws(tmp_path):
    drawn = tenants_file(tmp_path, "[tenants]\ndraw = {a = 1, b = 1}")
    (found,) = (fit for fit in fits(read_scenario(drawn)) if fit.policy == "capacity")
    assert (found.verdict, found.detail) == ("runs", "")
    none = tenants_file(tmp_path, "")
    (found,) = (fit for fit in fits(read_scenario(none)) if fit.policy == "capacity")
    assert "key tenants.draw" in found.detail
