"""Allocations that optimise, against independent programs, closed forms and another solver."""

import math
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from policies.shares import Active, gandiva_fair, hierarchical_fairness, linear
from policies.shares.allox import allox
from policies.shares.interior import centre_of_types
from policies.shares.linear import Program
from policies.shares.one_type import centre, level
from policies.shares.optimal import (
    finish_time_fairness,
    max_min,
    max_min_fairness,
    max_throughput,
    min_cost,
    min_makespan,
    normalised,
)
from policies.shares.problem import Pairs
from policies.shares.shockwave import Window, due_rounds, plan_rounds
from policies.solving.model import SolverOptions
from simulator.errors import InputError
from simulator.workloads.gavel import read_rates
from simulator.workloads.gavel_like import JOB_TYPES
from simulator.workloads.training import job_type

PRICES = np.array([3.0, 1.0, 0.5])
ALL = {
    "max-min-fairness": max_min_fairness,
    "agnostic": partial(max_min_fairness, aware=False),
    "min-makespan": min_makespan,
    "max-throughput": max_throughput,
    "finish-time-fairness": finish_time_fairness,
    "min-cost": partial(min_cost, usd_per_h=PRICES),
}


def some_jobs(seed, n=8, types=3):
    rng = np.random.default_rng(seed)
    speed = np.sort(rng.uniform(0.2, 1.0, (n, types)))[:, ::-1]
    rate = speed * rng.uniform(1, 50, (n, 1))
    gpus = rng.choice([1, 1, 2, 4], n)
    return Active(
        rate,
        gpus,
        np.array([4, 4, 4])[:types],
        rng.uniform(1e3, 1e5, n),
        rng.choice([1.0, 2.0], n),
        rng.uniform(0, 1e4, n),
    )


def fits(active, shares):
    assert (shares >= 0).all()
    assert (shares.sum(axis=1) <= 1 + 1e-5).all()
    assert (active.gpus @ shares <= active.capacity + 1e-4).all()


def optimum(active, value):
    """Most of the least value, by SciPy: an independent formulation with its own matrices."""
    n, k = value.shape
    rows, most = [], []
    for j in range(n):
        x = np.zeros((n, k))
        x[j] = -value[j]
        rows.append([*x.ravel(), 1.0])
        most.append(0.0)
        x = np.zeros((n, k))
        x[j] = 1
        rows.append([*x.ravel(), 0.0])
        most.append(1.0)
    for t in range(k):
        x = np.zeros((n, k))
        x[:, t] = active.gpus
        rows.append([*x.ravel(), 0.0])
        most.append(active.capacity[t])
    cost = np.zeros(n * k + 1)
    cost[-1] = -1
    found = linprog(cost, np.array(rows), most, bounds=[*[(0, None)] * (n * k), (None, None)])
    return -found.fun


@pytest.mark.parametrize("seed", range(4))
def test_the_least_value_is_the_optimum(seed):
    active = some_jobs(seed)
    for value in (
        active.rate / active.left[:, None],
        active.rate * active.gpus[:, None] / active.rate.mean(axis=1, keepdims=True),
    ):
        shares = max_min(active, value)
        fits(active, shares)
        best = optimum(active, value)
        assert Program(active).least(value) == pytest.approx(best, rel=1e-6)
        assert (value * shares).sum(axis=1).min() == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(3))
def test_the_solver_does_not_matter(name, seed, gurobi_licence):
    active = some_jobs(seed)
    highs, gurobi = ALL[name](active, solver="highs"), ALL[name](active, solver="gurobi")
    fits(active, highs)
    assert highs == pytest.approx(gurobi, abs=3e-6)


def test_a_solver_that_stops_is_asked_once_more(monkeypatch):
    """With conditions that lose a little; where it stops each time, it is told."""
    active, answer, asked = some_jobs(0), linear.solve, []

    def solve(model, *options):
        asked.append(model)
        found = answer(model, *options)
        return replace(found, status="error", x=None) if len(asked) % 2 else found

    expected = max_throughput(active)
    monkeypatch.setattr(linear, "solve", solve)
    assert max_throughput(active) == pytest.approx(expected, abs=1e-5)
    stopped = replace(answer(asked[0], "highs", SolverOptions()), status="error", x=None)
    monkeypatch.setattr(linear, "solve", lambda *_: stopped)
    with pytest.raises(RuntimeError, match="the linear program ended with: error"):
        max_throughput(active)


def test_one_type_has_a_closed_form():
    active = some_jobs(3, n=12, types=1)
    value = active.rate / active.left[:, None]
    assert max_min(active, value) == pytest.approx(Program(active).max_min(value), abs=2e-6)


def test_levels_by_hand():
    # 4 GPUs. Job 0 runs all the time at a value of 1; the others reach 3 GPUs / (2/2 + 2/4) = 2.
    shares = level(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 2.0]), 4.0)
    assert shares.tolist() == [1.0, 1.0, 0.5]
    assert level(np.ones(4), np.ones(4), 2.0).tolist() == [0.5] * 4


def test_max_min_goes_on_after_the_first_level():
    # One job runs on the second type alone, whose single GPU it fills; the others share the first.
    active = Active(
        np.array([[0.0, 1.0], [4.0, 0.0], [4.0, 0.0]]),
        np.array([1, 1, 1]),
        np.array([1, 1]),
        np.ones(3),
        np.ones(3),
        np.zeros(3),
    )
    assert max_min(active, active.rate).tolist() == [[0, 1], [0.5, 0], [0.5, 0]]


def test_weights_and_speeds_count_in_fairness():
    active = Active(
        np.array([[1.0], [1.0]]), np.array([1, 1]), np.array([1]), np.ones(2), np.array([3.0, 1.0]),
        np.zeros(2),
    )  # fmt: skip
    assert max_min_fairness(active)[:, 0] == pytest.approx([0.75, 0.25])
    # Job 1 is as fast on either type, so job 0 gets all of the type that is fast for it.
    active = Active(
        np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([1, 1]), np.array([1, 1]), np.ones(2),
        np.ones(2), np.zeros(2),
    )  # fmt: skip
    assert max_min_fairness(active).tolist() == [[1, 0], [0, 1]]
    assert max_min_fairness(active, aware=False).sum(axis=1) == pytest.approx([1, 1])


def pairs_of(active, seed):
    """All pairs of jobs of one GPU, with speeds that are drawn."""
    single = [j for j, g in enumerate(active.gpus) if g == 1]
    members = np.array([(a, b) for a in single for b in single if a < b])
    speed = np.random.default_rng(seed).uniform(0.0, 1.0, (len(members), 2, active.rate.shape[1]))
    return Pairs(members, np.where(speed < 0.1, 0.0, speed))


def optimum_of_pairs(active, pairs):
    """Most of the least normalised throughput, by SciPy: a column for each job or pair and type, one row at a time."""
    n, k = active.rate.shape
    columns = [((j,), t) for j in range(n) for t in range(k)]
    columns += [(tuple(pair), t) for pair in pairs.members.tolist() for t in range(k)]
    equal = active.rate @ active.capacity / active.capacity.sum()
    named = zip(pairs.members.tolist(), pairs.speed, strict=True)
    speed = {(a, b, t): row[:, t] for (a, b), row in named for t in range(k)}
    rows, most = [], []
    for j in range(n):
        of = [
            active.rate[j, t] * (1 if len(jobs) == 1 else speed[*jobs, t][jobs.index(j)])
            if j in jobs
            else 0.0
            for jobs, t in columns
        ]
        rows.append([*(-np.array(of) * active.gpus[j] / equal[j] / active.weight[j]), 1.0])
        rows.append([*(float(j in jobs) for jobs, _ in columns), 0.0])
        most += [0.0, 1.0]
    for t in range(k):
        rows.append([*(active.gpus[jobs[0]] * (t == on) for jobs, on in columns), 0.0])
        most.append(active.capacity[t])
    bounds = [*[(0, None)] * len(columns), (None, None)]
    return -linprog([*[0.0] * len(columns), -1.0], np.array(rows), most, bounds=bounds).fun


def test_two_jobs_share_a_gpu_as_far_as_both_gain():
    active = Active(
        np.ones((2, 1)), np.array([1, 1]), np.array([1]), np.ones(2), np.ones(2), np.zeros(2)
    )

    def shares(first, second):
        pairs = Pairs(np.array([[0, 1]]), np.array([[[first], [second]]]))
        return max_min_fairness(active, pairs=pairs)[:, 0].tolist()

    assert shares(0.75, 0.75) == [0, 0, 1]
    # 0.9 p = 0.3 p + (1 - p): both have 9/16.
    assert shares(0.9, 0.3) == pytest.approx([0, 0.375, 0.625], abs=2e-6)
    assert shares(0.4, 0.4) == [0.5, 0.5, 0]
    assert len(Pairs(np.array([[0, 1]]), np.array([[[0.5], [0.5]]])).useful()) == 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("types", [1, 3])
def test_the_least_throughput_with_pairs_is_the_optimum_whatever_the_solver(
    seed, types, gurobi_licence
):
    active = some_jobs(seed, n=10 * types, types=types)
    pairs = pairs_of(active, seed)
    shares = max_min_fairness(active, pairs=pairs.useful())
    value = normalised(active) / active.weight[:, None]
    best = optimum_of_pairs(active, pairs)
    assert best > optimum(active, value) * 1.01
    n = len(active)
    reached = (value * shares[:n]).sum(axis=1)
    time = shares[:n].sum(axis=1)
    kept = pairs.useful()
    for pair, speed, row in zip(kept.members, kept.speed, shares[n:], strict=True):
        reached[pair] += (value[pair] * speed * row).sum(axis=1)
        time[pair] += row.sum()
    assert reached.min() == pytest.approx(best, rel=1e-5)
    program = Program(active, pairs=kept)
    assert program.least(value) == pytest.approx(best, rel=1e-6)
    assert time.max() <= 1 + 1e-5
    used = active.gpus @ shares[:n] + shares[n:].sum(axis=0)
    assert (used <= active.capacity + 1e-4).all()
    assert max_min_fairness(active, pairs=kept, solver="gurobi") == pytest.approx(shares, abs=3e-6)


def test_jobs_of_least_work_left_get_less_time_for_the_makespan():
    active = Active(
        np.ones((2, 1)), np.array([1, 1]), np.array([1]), np.array([300.0, 100.0]), np.ones(2),
        np.zeros(2),
    )  # fmt: skip
    assert min_makespan(active)[:, 0] == pytest.approx([0.75, 0.25])


def test_finish_time_ratios_are_equal():
    active = some_jobs(5, n=10, types=1)
    shares = finish_time_fairness(active)
    part = np.minimum(1, 4 / 10 / active.gpus)
    ratio = (active.age_s + active.left / active.throughput(shares)) / (
        active.age_s + active.left / (active.rate[:, 0] * part)
    )
    waiting = shares[:, 0] < 1 - 1e-9
    assert np.ptp(ratio[waiting]) < 1e-6
    assert ratio[~waiting].max(initial=0) <= ratio[waiting][0] + 1e-6


def test_min_cost_takes_the_cheapest_work_and_keeps_due_dates():
    active = Active(
        np.array([[4.0, 3.0], [4.0, 1.0]]), np.array([1, 1]), np.array([1, 1]),
        np.array([4000.0, 4000.0]), np.ones(2), np.zeros(2),
    )  # fmt: skip
    shares = min_cost(active, np.array([3.0, 1.0]))
    assert shares[0].tolist() == [0, 1]  # 0.75 of its speed for a third of the money
    assert shares[1].sum() == 0  # 1/3 a dollar on either type would lower the ratio
    due = min_cost(active, np.array([3.0, 1.0]), np.array([np.inf, 2000.0]))
    assert active.throughput(due)[1] >= 2.0 * (1 - 1e-5)


def best_sum(active, gain, cost=None, rows=()):
    """Most of sum(gain * X), or of sum(gain * X) / sum(cost * X) by Charnes and Cooper; SciPy's own matrices.

    With a cost the unknowns are X * t and t, and the cost of X * t is 1.
    """
    n, k = gain.shape
    inequalities = []
    for j in range(n):
        x = np.zeros((n, k))
        x[j] = 1
        inequalities.append([*x.ravel(), -1.0])
    for t in range(k):
        x = np.zeros((n, k))
        x[:, t] = active.gpus
        inequalities.append([*x.ravel(), -active.capacity[t]])
    for x, least in rows:
        inequalities.append([*(-x).ravel(), least])
    last = [[0.0] * (n * k) + [1.0]] if cost is None else [[*cost.ravel(), 0.0]]
    found = linprog(
        -np.append(gain.ravel(), 0.0),
        np.array(inequalities),
        np.zeros(len(inequalities)),
        last,
        [1.0],
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("types", [1, 3])
def test_max_throughput_is_the_optimum(seed, types):
    active = some_jobs(seed, types=types)
    gain = active.rate / active.rate.max(axis=1, keepdims=True)
    shares = max_throughput(active)
    fits(active, shares)
    assert (gain * shares).sum() == pytest.approx(best_sum(active, gain), rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_min_cost_is_the_optimum_on_any_jobs(seed):
    active = some_jobs(seed, n=12)
    gain = active.rate / active.rate.max(axis=1, keepdims=True) * active.gpus[:, None]
    cost = np.outer(active.gpus, PRICES)
    shares = min_cost(active, PRICES)
    fits(active, shares)
    ratio = (gain * shares).sum() / (cost * shares).sum()
    assert ratio == pytest.approx(best_sum(active, gain, cost), rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_min_cost_meets_due_dates_on_any_jobs(seed):
    active = some_jobs(seed, n=12)
    fastest_s = active.left / active.rate.max(axis=1)
    due_in_s = np.where(np.arange(12) % 3 == 0, 8 * fastest_s, np.inf)
    shares = min_cost(active, PRICES, due_in_s)
    fits(active, shares)
    met = active.throughput(shares) >= active.left / due_in_s * (1 - 1e-4)
    assert np.isinf(due_in_s).sum() == 8
    assert met[0]


def test_allox_runs_short_jobs_first_and_never_stops_one():
    active = Active(
        np.ones((3, 1)), np.array([1, 1, 1]), np.array([1]), np.array([30.0, 10.0, 20.0]), np.ones(3),
        np.zeros(3),
    )  # fmt: skip
    assert allox(active, np.array([-1, -1, -1]))[:, 0].tolist() == [0, 1, 0]
    assert allox(active, np.array([0, -1, -1]))[:, 0].tolist() == [1, 0, 0]


def test_allox_matches_jobs_with_types():
    # 1 s and 5.3 s on two types are less in all than 1 s and 1 + 5 s one after the other.
    active = Active(
        np.array([[10.0, 1.0], [2.0, 1.9]]), np.array([1, 1]), np.array([1, 1]), np.full(2, 10.0),
        np.ones(2), np.zeros(2),
    )  # fmt: skip
    assert allox(active, np.array([-1, -1])).tolist() == [[1, 0], [0, 1]]


def test_shockwave_plans_a_window():
    # One GPU and 4 rounds of 10 s. The logarithm of two jobs alike is best with two rounds each.
    ones = np.ones(2)
    active = Active(np.ones((2, 1)), np.array([1, 1]), np.array([1]), 50 * ones, ones, 0 * ones)
    window = Window(rounds=4, round_s=10.0, regularizer=0.0, gap=0.0)
    assert plan_rounds(active, 0 * ones, ones, window, "highs").tolist() == [2, 2]
    # The longest remaining time alone: the job of most work gets all rounds.
    active.left[:] = 20.0, 100.0
    only = Window(rounds=4, round_s=10.0, regularizer=1e6)
    assert plan_rounds(active, 0 * ones, ones, only, "highs").tolist() == [0, 4]


def test_prices_count_against_the_longest_remaining_time():
    """Two jobs of 20 and 100 s whose fairness is 10: prices of 10 each outweigh it, prices of 1 do not."""
    ones = np.ones(2)
    gpu = np.array([1])
    active = Active(np.ones((2, 1)), gpu.repeat(2), gpu, np.array([20.0, 100.0]), ones, 0 * ones)
    for relative, planned in ((True, [1, 3]), (False, [2, 2])):
        window = Window(4, 10.0, regularizer=0.02, exponent=1.0, relative=relative, gap=0.0)
        assert plan_rounds(active, 0 * ones, 10 * ones, window, "highs").tolist() == planned


def test_jobs_that_would_end_too_late_must_have_rounds():
    # A window of 4 rounds of 10 s on one GPU. With two parts of the cluster, a job of 50 s may take 100 s.
    ones = np.ones(2)
    window = Window(rounds=4, round_s=10.0)
    gpu = np.array([1])
    active = Active(
        np.full((2, 1), 1 / 50),
        gpu.repeat(2),
        gpu,
        np.array([1.0, 0.6]),
        ones,
        np.array([25.0, 41.0]),
    )
    # Job 0 has 100 - 25 - 40 = 35 s after the window for 50 s of work; job 1 19 s for 30 s.
    assert due_rounds(active, 1.0, 2, window).tolist() == [2, 2]
    assert due_rounds(active, 2.0, 2, window).tolist() == [0, 0]
    active.age_s[:] = 45.0
    assert due_rounds(active, 1.0, 2, window).tolist() == [4, 0], "which is all that fits"
    plan = plan_rounds(active, 1 - active.left, ones, window, "highs", np.array([0, 3]))
    assert plan.tolist() == [1, 3]


def test_rounds_that_are_due_are_counted_in_gpus():
    """Both jobs need the whole window of 4 rounds on 2 GPUs: of 8 GPU-rounds the first has 4, the second, of two GPUs, 2 rounds."""
    ones = np.ones(2)
    active = Active(
        ones[:, None] / 100, np.array([1, 2]), np.array([2]), ones, ones, np.array([99.0, 99.0])
    )
    assert due_rounds(active, 1.0, 1, Window(rounds=4, round_s=10.0)).tolist() == [4, 2]


def test_all_jobs_run_where_there_is_room():
    active = some_jobs(2, n=2, types=1)
    for policy in (
        max_min_fairness,
        min_makespan,
        max_throughput,
        finish_time_fairness,
        gandiva_fair,
    ):
        assert policy(active)[:, 0] == pytest.approx(np.ones(2)) or active.gpus.sum() > 4


def test_prices_are_positive():
    with pytest.raises(InputError, match="prices are"):
        min_cost(some_jobs(0), np.array([1.0, 0.0, 1.0]))


def entities(within, gpus=3, together=False):
    """Three jobs of entity 0 and one of entity 1, alike, on 3 GPUs; weights 1 and 2."""
    ones = np.ones(4)
    active = Active(
        np.ones((4, 1)), np.ones(4, dtype=int), np.array([gpus]), ones, ones, np.zeros(4)
    )
    weight = np.array([1.0, 2.0])
    return hierarchical_fairness(active, np.array([0, 0, 0, 1]), weight, within, together)[:, 0]


def test_entities_share_by_weight_and_pass_on_what_they_cannot_use():
    # Entity 1 could have 2 of 3 GPUs, but its job runs on one; so entity 0 has the other two.
    assert entities("fairness") == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1], abs=1e-5)
    assert entities("fifo") == pytest.approx([1, 1, 0, 1], abs=1e-5)
    # On one GPU each gets by its weight.
    assert entities("fairness", gpus=1) == pytest.approx([1 / 9, 1 / 9, 1 / 9, 2 / 3], abs=1e-5)
    assert entities("fifo", gpus=1) == pytest.approx([1 / 3, 0, 0, 2 / 3], abs=1e-5)


def test_jobs_that_rise_at_a_time_may_stop_together():
    # The job of entity 1 has all its time when job 0 has half; then jobs 1 and 2 rise, one after the other.
    assert entities("fifo", together=True) == pytest.approx([0.5, 1, 0.5, 1], abs=1e-5)
    assert entities("fairness", gpus=1, together=True) == pytest.approx(
        [1 / 9, 1 / 9, 1 / 9, 2 / 3], abs=1e-5
    )


def printed_throughputs():
    """Lines of Gavel's notebook on hierarchies: its cell, whether types count, throughputs of the jobs."""
    folder = Path(os.environ.get("SCHEDLAB_FACTS") or "/nowhere") / "peers" / "gavel"
    if not folder.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with the published results of other schedulers")
    text = (folder / "notebook_hierarchical_outputs.txt").read_text()
    lines, cell = {}, 0
    for mark, kind, values in re.findall(r"## cell (\d+)|Perf(-agnostic)?: \[([^\]]*)\]", text):
        cell = int(mark or cell)
        if values:
            numbers = [float(value) for value in values.split()]
            lines[cell, not kind, len(numbers)] = numbers
    rates = read_rates(folder / "simulation_throughputs.json.gz", ("k80", "p100", "v100"))
    return lines, rates


@pytest.mark.parametrize(
    ("cell", "drawn", "within", "equal"),
    [
        (13, True, "fairness", {1, 17, 18}),
        (14, False, "fairness", {1, 17, 18}),
        (15, True, "fifo", {*range(1, 8), *range(10, 19)}),
        (16, False, "fifo", set(range(1, 19))),
    ],
)
def test_the_printed_throughputs_of_hierarchies(cell, drawn, within, equal):
    """Numbers of jobs at which all throughputs are equal to three digits; elsewhere GPUs are left over, for a solver to give away."""
    lines, rates = printed_throughputs()
    found = set()
    for count in range(1, 19):
        rng = Random(0)
        if drawn:
            rate = [sorted(rng.random() for _ in range(3)) for _ in range(count)]
        else:
            kinds = [job_type(*rng.choice(JOB_TYPES)) for _ in range(count)]
            rate = [[rates[gpu][kind, 1] for gpu in rates] for kind in kinds]
        ones = np.ones(count)
        weight = ones if within == "fifo" else 1.0 + np.arange(count) % 2
        active = Active(
            np.array(rate), ones.astype(int), np.array([3, 3, 3]), ones, weight, 0 * ones
        )
        entity = np.arange(count) // 6
        of_entity = np.arange(1.0, entity[-1] + 2)
        shares = hierarchical_fairness(active, entity, of_entity, within, within == "fifo")
        values = (normalised(active) * shares).sum(axis=1)
        if np.abs(values - lines[cell, True, count]).max() < 6e-4:
            found.add(count)
    assert found == equal


def test_the_printed_throughputs_of_equal_gpus():
    """The last line of Gavel's notebook on hierarchies: weights 1, 2, 3 of entities, 1 and 2 of jobs in turn; 9 GPUs."""
    ones, weight = np.ones(18), np.tile([1.0, 2.0], 9)
    active = Active(np.ones((18, 1)), np.ones(18, dtype=int), np.array([9]), ones, weight, 0 * ones)
    found = hierarchical_fairness(active, np.repeat([0, 1, 2], 6), np.array([1.0, 2.0, 3.0]))
    printed = [0.167, 0.333] * 3 + [0.333, 0.667] * 3 + [0.5, 1.0] * 3
    assert found[:, 0] == pytest.approx(printed, abs=6e-4)


def test_one_entity_of_all_jobs_is_max_min_fairness():
    active = some_jobs(4)
    active.weight[:] = 1.0
    one = hierarchical_fairness(active, np.zeros(8, dtype=int), np.ones(1))
    assert one == pytest.approx(max_min_fairness(active), abs=3e-6)


def test_unknown_rules_within_entities():
    with pytest.raises(InputError, match="within is 'luck'"):
        entities("luck")


def test_the_analytic_centre_on_several_types():
    """On one type it is the closed form; types that are alike have equal parts; the least value is that of the program."""
    active = some_jobs(5)
    gpus, capacity = active.gpus.astype(float), active.capacity.astype(float)
    value = normalised(active)
    one = centre_of_types(value[:, :1], gpus, capacity[:1])[:, 0]
    assert one == pytest.approx(centre(value[:, 0], gpus, capacity[0]), abs=1e-6)
    shares = max_min_fairness(active, solution="centre")
    best = Program(active).least(value / active.weight[:, None])
    assert (value / active.weight[:, None] * shares).sum(axis=1).min() == pytest.approx(
        best, rel=1e-5
    )
    assert (gpus @ shares <= capacity + 1e-4).all()
    alike = centre_of_types(np.ones((4, 3)), np.ones(4), np.ones(3))
    assert alike == pytest.approx(np.full((4, 3), 0.25), abs=1e-6)
    # Two jobs and a GPU each of two types; job 0 runs on the first alone, and job 1 is as fast on both.
    apart = centre_of_types(np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2), np.ones(2))
    assert apart == pytest.approx(np.array([[1.0, 0.0], [0.0, 1.0]]), abs=1e-6)


def test_the_analytic_centre_of_optimal_shares_by_hand():
    """The second job needs half of its time; of the half GPU that is left it gets what maximises the logarithms."""
    shares = centre(np.array([1.0, 2.0]), np.ones(2), 2.0)
    assert shares == pytest.approx([1.0, (3.5 + math.sqrt(4.25)) / 8], abs=1e-6)
    full = centre(np.array([1.0, 2.0]), np.ones(2), 1.0)
    assert full == pytest.approx(level(np.array([1.0, 2.0]), np.ones(2), 1.0)), "nothing is left"
