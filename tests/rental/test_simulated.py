"""Rental in the simulator: formulas inside intervals, Theorem 1 path by path, rivals by hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from experiments.papers.rental.runs import (
    ARRIVALS,
    FIGURE_1,
    RIVALS,
    SIZES,
    figure_1_jobs,
    least_response_time_h,
    make_policy,
    paid_gpus,
    run_pool,
)
from policies.rental import Autoscaler, Equi, HeSrpt, JobType, Srpt, fixed_width, optimal_widths
from simulator import Cluster, Decision, DecisionPoints, Placement, Result, View, Workload, simulate
from simulator.errors import InputError
from simulator.laws import Deterministic, Law
from simulator.model.performance import SpeedupCurve
from simulator.model.speedup import Power
from simulator.statistics import Streams, student
from simulator.theory import mg1_ps_response_s, mg1_srpt_response_s
from simulator.workloads.elastic import elastic_jobs
from tests.core.jobs import fixed

HOUR, ONE_H = 3600.0, Deterministic(1.0)


@pytest.mark.long
@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("size", list(SIZES))
def test_response_and_budget_are_the_formulas_whatever_the_laws(size, arrivals):
    config = {"policy": "optimal", "budget_gpus": 5.0, "size": size, "arrivals": arrivals}
    runs = [run_pool(config | {"jobs": 300, "seed": seed}).scalars for seed in range(8)]
    plan = optimal_widths(FIGURE_1, 5.0)
    for name, truth in (
        ("mean_response_time_h", plan.mean_response_time_h),
        ("mean_response_time_amdahl_h", plan.response_time_h[0]),
        ("mean_response_time_root_h", plan.response_time_h[1]),
        ("paid_gpus", 5.0),
        ("work_gpus", 5.0),
    ):
        found = student([float(r[name]) for r in runs], 0.995)
        # Equal sizes leave no variance but rounding in a type's response time.
        assert found.contains(truth) or found.mean == pytest.approx(truth, rel=1e-9), name


@pytest.mark.long
@pytest.mark.parametrize("policy", RIVALS)
@pytest.mark.parametrize("budget", [1.5, 6.0])
def test_no_rival_lies_below_the_frontier_of_its_own_jobs(policy, budget):
    config = {"policy": policy, "budget_gpus": budget, "size": "bimodal", "arrivals": "mmpp"}
    run = run_pool(config | {"jobs": 150, "seed": 1}).scalars
    assert run["mean_response_time_h"] >= run["least_h"] * (1 - 1e-9)
    if policy in ("equi", "srpt", "hesrpt"):
        assert run["paid_gpus"] == pytest.approx(budget)
    if policy == "autoscaler":  # but for the warm-up and what ends after the last arrival
        assert run["paid_gpus"] > 0.7 * run["work_gpus"]


def test_the_optimal_widths_reach_the_frontier_where_the_path_is_as_planned():
    """Sizes all alike and both types as often: the sample path has the planned loads but for noise."""
    workload = figure_1_jobs(400, Streams(3), Deterministic(1.0), "deterministic")
    result = on_a_pool(workload, make_policy("optimal", 4.0, Deterministic(1.0)))
    ratio = float(result.jct_s.mean()) / HOUR / least_response_time_h(result)
    assert 1 - 1e-9 <= ratio < 1.001


class RandomWidths:
    """Anything goes: widths drawn anew at each event, some jobs left waiting now and then."""

    def decide(self, view: View) -> Decision:
        width = 0.3 + view.rng.exponential(5, view.num_active)
        runs = (view.rng.random(view.num_active) < 0.8) | (view.num_active < 3)
        placed = zip(view.jobs[runs].tolist(), width[runs].tolist(), strict=True)
        return Decision([Placement(job, 0, k) for job, k in placed])


@pytest.mark.parametrize("seed", range(6))
def test_no_random_policy_lies_below_the_frontier(seed):
    workload = figure_1_jobs(150, Streams(seed), SIZES["exponential"], "poisson")
    result = on_a_pool(workload, RandomWidths(), seed=seed)
    assert float(result.jct_s.mean()) / HOUR > least_response_time_h(result)


@pytest.mark.parametrize("make", [fixed_width, lambda widths: Autoscaler(widths, 180.0, 360.0)])
@pytest.mark.parametrize("width", [0.5, np.nan, np.inf])
def test_widths_below_one_gpu_are_refused(make, width):
    with pytest.raises(InputError, match="expected finite numbers of GPUs from 1 on"):
        make(np.array([2.0, width]))


def test_fixed_widths_by_hand():
    """Two jobs, two GPU-hours of work each, square-root speed-up on four GPUs: an hour each."""
    workload = batch([2, 2], 0.5, [0, 1800])
    result = simulate(workload, Cluster.rental_pool(3.0), fixed_width(np.array([4.0])))
    assert result.completion_s.tolist() == pytest.approx([3600, 5400])
    assert result.gpu_seconds.tolist() == pytest.approx([4 * HOUR] * 2)
    assert result.total_cost == pytest.approx(2 * 4 * 3.0)
    assert paid_gpus(result) == pytest.approx(4.0)


def batch(sizes_h: list[float], exponent: float, submit_s: list[float] | None = None) -> Workload:
    count = len(sizes_h)
    curves = SpeedupCurve(np.array(sizes_h) * HOUR, np.zeros(count, dtype=int), [Power(exponent)])
    return Workload([str(i) for i in range(count)], submit_s or [0.0] * count, curves)


def on_a_pool(jobs: Workload, policy: Any, **options: Any) -> Result:
    return simulate(jobs, Cluster.rental_pool(), policy, **options)


def test_hesrpt_is_optimal_for_two_jobs():
    """No constant split of the GPUs until the first completion has the smaller sum of times."""
    sizes, gpus = [3.0, 1.0], 40.0
    result = on_a_pool(batch(sizes, 0.5), HeSrpt(gpus, 0.5))

    def total(share: float) -> float:
        """The small job first, on this share."""
        first = sizes[1] / math.sqrt(share * gpus)
        left = sizes[0] - first * math.sqrt((1 - share) * gpus)
        return 2 * first + left / math.sqrt(gpus)

    best = optimize.minimize_scalar(total, bounds=(0.5, 0.999), method="bounded")
    assert result.jct_s.sum() / HOUR == pytest.approx(best.fun, rel=1e-6)
    for rival in (Equi(gpus), Srpt(gpus)):
        assert on_a_pool(batch(sizes, 0.5), rival).jct_s.sum() > result.jct_s.sum()


def test_srpt_and_equi_by_hand():
    for policy, ends_h in ((Srpt(4.0), [2.5, 0.5]), (Equi(8.0), [0.5 + 3 / math.sqrt(8), 0.5])):
        result = on_a_pool(batch([4.0, 1.0], 0.5), policy)
        assert (result.completion_s / HOUR).tolist() == pytest.approx(ends_h)


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "mean_s"), [(Equi(1.0), mg1_ps_response_s), (Srpt(1.0), mg1_srpt_response_s)]
)
def test_on_one_gpu_equi_and_srpt_are_the_textbook_queues(policy, mean_s):
    """Below one GPU a job shares it in time: processor sharing and SRPT of an M/G/1."""
    law, means = SIZES["bimodal"], []
    for i in range(6):
        jobs = elastic(600, [0.6], law=law, streams=Streams(0).replication(i))
        means.append(float(on_a_pool(jobs, policy).jct_s[150:].mean()) / HOUR)
    assert student(means, 0.99).contains(mean_s(0.6, law))


AUTOSCALER = Autoscaler(np.array([4.0]), boot_s=100.0, keep_s=600.0)
EVERY_100_S = DecisionPoints(period_s=100.0)


def test_autoscaler_by_hand():
    """Order at 0, boot 100 s, run an hour, keep the GPUs for the job that follows at once."""
    result = on_a_pool(batch([2, 2], 0.5, [0, 1800]), AUTOSCALER, decision_points=EVERY_100_S)
    assert result.first_start_s.tolist() == pytest.approx([100.0, 1900.0])
    assert result.completion_s.tolist() == pytest.approx([3700.0, 5500.0])
    assert paid_gpus(result) == pytest.approx(4.0)  # until the last arrival
    rented = result.decisions_table().groupby("time_s")["rented_gpus"].last()
    # Spare since 3700 s, kept for 600 s.
    assert rented[[0.0, 1900.0, 4200.0, 4300.0]].tolist() == [4, 8, 8, 4]


def test_an_empty_autoscaler_pays_for_nothing():
    """One hour of work at 0 and at 10 h: 4 GPUs for the boot and half an hour, then none."""
    jobs = batch([1, 1], 0.5, [0, 10 * HOUR])
    result = on_a_pool(jobs, AUTOSCALER, decision_points=EVERY_100_S)
    assert result.first_start_s.tolist() == pytest.approx([100, 10 * HOUR + 100])
    # The warm-up, half an hour, is left out.
    assert paid_gpus(result) == pytest.approx(4 * 100 / (9.5 * HOUR))


def test_arrival_processes_have_the_same_rate_and_other_burstiness():
    variance = {}
    for name in ARRIVALS:
        counts = []
        for seed in range(5):
            jobs = elastic(8000, [0.3, 0.9], name, streams=Streams(seed))
            hours = jobs.submit_s / HOUR
            assert hours[-1] == pytest.approx(8000 / 1.2, rel=0.12 if name == "mmpp" else 0.05)
            assert jobs.model.count("b") == pytest.approx(6000, abs=160)
            counts.append(np.bincount((hours / 20).astype(int))[:-1])
        pooled = np.concatenate(counts)
        variance[name] = pooled.var() / pooled.mean()
    assert variance["deterministic"] < 0.1
    assert variance["poisson"] == pytest.approx(1, abs=0.15)
    assert variance["mmpp"] > 5


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Equi(0.0), "positive"),
        (lambda: Srpt(math.nan), "positive"),
        (lambda: HeSrpt(1.0, 1.0), "between 0 and 1"),
        (lambda: elastic(arrivals="weekly"), "poisson"),
        (lambda: elastic(rates=[-1.0]), "positive"),
        (lambda: elastic(jobs=0), "num_jobs is 0"),
        (lambda: on_a_pool(fixed([0], [1]), Srpt(1.0)), "elastic jobs"),
        (lambda: JobType("x", 1.0, 0.0, Power(0.5)), "positive"),
    ],
)
def test_bad_input_is_one_clear_line(call, told):
    with pytest.raises(InputError, match=told) as caught:
        call()
    assert "expected" in str(caught.value)


def elastic(
    jobs: int = 5, rates: Sequence[float] = (1.0,), arrivals: str = "poisson",
    law: Law = ONE_H, streams: Streams | None = None,
) -> Workload:  # fmt: skip
    return elastic_jobs(
        jobs, streams or Streams(0), names=list("ab"[: len(rates)]),
        arrival_rates_per_h=list(rates), sizes_h=[law] * len(rates),
        speedups=[Power(0.5)] * len(rates), arrivals=arrivals,
    )  # fmt: skip


def test_hesrpt_by_hand_with_another_power():
    """The larger of two jobs gets (1/2)^4 of 16 GPUs, where p is 3/4; the smaller one 15."""
    result = on_a_pool(batch([3.0, 1.0], 0.75), HeSrpt(16.0, 0.75))
    assert result.completion_s[1] == pytest.approx(HOUR / 15**0.75)


def test_an_order_of_the_autoscaler_is_not_taken_back():
    """The first job ends at 3700 s, while 8 GPUs for two others boot until 3750 s. One of these starts on its GPUs at once,
    the other at 3750 s; then 4 of the 12 GPUs are spare, and are kept."""
    jobs = batch([2, 2, 2], 0.5, [0, 3650, 3650])
    result = on_a_pool(jobs, AUTOSCALER, decision_points=EVERY_100_S)
    assert result.first_start_s.tolist() == pytest.approx([100, 3700, 3800])
    rented = result.decisions_table().groupby("time_s")["rented_gpus"].last()
    assert rented[[100.0, 3650.0, 3700.0, 3800.0]].tolist() == [4, 12, 12, 12]
