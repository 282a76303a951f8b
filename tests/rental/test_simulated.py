"""Rental in the simulator: formulas inside intervals, Theorem 1 path by path, rivals by hand."""

import math
from collections.abc import Callable

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
from simulator import Cluster, Decision, DecisionPoints, Placement, View, Workload, simulate
from simulator.errors import InputError
from simulator.laws import Deterministic
from simulator.model.cluster import FloatArray
from simulator.model.performance import FixedDuration, SpeedupCurve
from simulator.model.speedup import Power
from simulator.statistics import Streams, student
from simulator.theory import mg1_ps_response_s, mg1_srpt_response_s
from simulator.workloads.elastic import elastic_jobs

HOUR = 3600.0


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("size", list(SIZES))
def test_response_and_budget_are_the_formulas_whatever_the_laws(size: str, arrivals: str) -> None:
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
        found = student([float(r[name]) for r in runs], 0.995)  # type: ignore[arg-type]
        # Equal sizes leave no variance but rounding in a type's response time.
        assert found.contains(truth) or found.mean == pytest.approx(truth, rel=1e-9), name


@pytest.mark.parametrize("policy", RIVALS)
@pytest.mark.parametrize("budget", [1.5, 6.0])
def test_no_rival_lies_below_the_frontier_of_its_own_jobs(policy: str, budget: float) -> None:
    config = {"policy": policy, "budget_gpus": budget, "size": "bimodal", "arrivals": "mmpp"}
    run = run_pool(config | {"jobs": 150, "seed": 1}).scalars
    assert run["mean_response_time_h"] >= run["least_h"] * (1 - 1e-9)  # type: ignore[operator]
    if policy in ("equi", "srpt", "hesrpt"):
        assert run["paid_gpus"] == pytest.approx(budget)
    if policy == "autoscaler":  # but for the warm-up and what ends after the last arrival
        assert run["paid_gpus"] > 0.7 * run["work_gpus"]  # type: ignore[operator]


def test_the_optimal_widths_reach_the_frontier_where_the_path_is_as_planned() -> None:
    """Sizes all alike and both types as often: the sample path has the planned loads but for noise."""
    workload = figure_1_jobs(400, Streams(3), Deterministic(1.0), "deterministic")
    result = simulate(
        workload, Cluster.rental_pool(), make_policy("optimal", 4.0, Deterministic(1.0))
    )
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
def test_no_random_policy_lies_below_the_frontier(seed: int) -> None:
    workload = figure_1_jobs(150, Streams(seed), SIZES["exponential"], "poisson")
    result = simulate(workload, Cluster.rental_pool(), RandomWidths(), seed=seed)
    assert float(result.jct_s.mean()) / HOUR > least_response_time_h(result)


@pytest.mark.parametrize("make", [fixed_width, lambda widths: Autoscaler(widths, 180.0, 360.0)])
@pytest.mark.parametrize("width", [0.5, np.nan, np.inf])
def test_widths_below_one_gpu_are_refused(
    make: Callable[[FloatArray], object], width: float
) -> None:
    with pytest.raises(InputError, match="expected finite numbers of GPUs from 1 on"):
        make(np.array([2.0, width]))


def test_fixed_widths_by_hand() -> None:
    """Two jobs, two GPU-hours of work each, square-root speed-up on four GPUs: an hour each."""
    performance = SpeedupCurve(np.array([2 * HOUR] * 2), np.zeros(2, int), [Power(0.5)])
    workload = Workload(["a", "b"], np.array([0.0, 1800.0]), performance)
    result = simulate(workload, Cluster.rental_pool(3.0), fixed_width(np.array([4.0])))
    assert result.completion_s.tolist() == pytest.approx([3600, 5400])
    assert result.gpu_seconds.tolist() == pytest.approx([4 * HOUR] * 2)
    assert result.total_cost == pytest.approx(2 * 4 * 3.0)
    assert paid_gpus(result) == pytest.approx(4.0)


def batch(sizes_h: list[float], exponent: float) -> Workload:
    count = len(sizes_h)
    performance = SpeedupCurve(
        np.array(sizes_h) * HOUR, np.zeros(count, dtype=int), [Power(exponent)]
    )
    return Workload([str(i) for i in range(count)], np.zeros(count), performance)


def test_hesrpt_is_optimal_for_two_jobs() -> None:
    """No constant split of the GPUs until the first completion has the smaller sum of times."""
    sizes, gpus = [3.0, 1.0], 40.0
    result = simulate(batch(sizes, 0.5), Cluster.rental_pool(), HeSrpt(gpus, 0.5))

    def total(share: float) -> float:
        """The small job first, on this share."""
        first = sizes[1] / math.sqrt(share * gpus)
        left = sizes[0] - first * math.sqrt((1 - share) * gpus)
        return 2 * first + left / math.sqrt(gpus)

    best = optimize.minimize_scalar(total, bounds=(0.5, 0.999), method="bounded")
    assert result.jct_s.sum() / HOUR == pytest.approx(best.fun, rel=1e-6)
    for rival in (Equi(gpus), Srpt(gpus)):
        other = simulate(batch(sizes, 0.5), Cluster.rental_pool(), rival)
        assert other.jct_s.sum() > result.jct_s.sum()


def test_srpt_and_equi_by_hand() -> None:
    srpt = simulate(batch([4.0, 1.0], 0.5), Cluster.rental_pool(), Srpt(4.0))
    assert (srpt.completion_s / HOUR).tolist() == pytest.approx([2.5, 0.5])
    equi = simulate(batch([4.0, 1.0], 0.5), Cluster.rental_pool(), Equi(8.0))
    assert (equi.completion_s / HOUR).tolist() == pytest.approx([0.5 + 3 / math.sqrt(8), 0.5])


def test_on_one_gpu_equi_and_srpt_are_the_textbook_queues() -> None:
    """Below one GPU a job shares it in time: processor sharing and SRPT of an M/G/1."""
    law = SIZES["bimodal"]

    def mean_h(index: int, policy: Equi | Srpt) -> float:
        jobs = elastic_jobs(
            800,
            Streams(0).replication(index),
            names=["one"],
            arrival_rates_per_h=[0.6],
            sizes_h=[law],
            speedups=[Power(0.5)],
        )
        return float(simulate(jobs, Cluster.rental_pool(), policy).jct_s[150:].mean()) / HOUR

    for policy, truth in (
        (Equi(1.0), mg1_ps_response_s(0.6, law)),
        (Srpt(1.0), mg1_srpt_response_s(0.6, law)),
    ):
        assert student([mean_h(i, policy) for i in range(8)], 0.99).contains(truth)


def test_autoscaler_by_hand() -> None:
    """Order at 0, boot 100 s, run an hour, keep the GPUs for the job that follows at once."""
    performance = SpeedupCurve(np.array([2 * HOUR] * 2), np.zeros(2, int), [Power(0.5)])
    workload = Workload(["a", "b"], np.array([0.0, 1800.0]), performance)
    policy = Autoscaler(np.array([4.0]), boot_s=100.0, keep_s=600.0)
    result = simulate(
        workload, Cluster.rental_pool(), policy, decision_points=DecisionPoints(period_s=100.0)
    )
    assert result.first_start_s.tolist() == pytest.approx([100.0, 1900.0])
    assert result.completion_s.tolist() == pytest.approx([3700.0, 5500.0])
    assert paid_gpus(result) == pytest.approx(4.0)  # until the last arrival
    rented = result.decisions_table().groupby("time_s")["rented_gpus"].last()
    assert rented[0.0] == 4
    assert rented[1900.0] == 8
    assert rented[4200.0] == 8  # spare since 3700 s, kept for 600 s
    assert rented[4300.0] == 4


def test_an_empty_autoscaler_pays_for_nothing() -> None:
    """One hour of work at 0 and at 10 h: 4 GPUs for the boot and half an hour, then none."""
    performance = SpeedupCurve(np.array([HOUR] * 2), np.zeros(2, int), [Power(0.5)])
    workload = Workload(["a", "b"], np.array([0.0, 10 * HOUR]), performance)
    policy = Autoscaler(np.array([4.0]), boot_s=100.0, keep_s=600.0)
    result = simulate(
        workload, Cluster.rental_pool(), policy, decision_points=DecisionPoints(period_s=100.0)
    )
    assert result.first_start_s.tolist() == pytest.approx([100, 10 * HOUR + 100])
    # The warm-up, half an hour, is left out.
    assert paid_gpus(result) == pytest.approx(4 * 100 / (9.5 * HOUR))


def test_arrival_processes_have_the_same_rate_and_other_burstiness() -> None:
    variance = {}
    for name in ARRIVALS:
        counts = []
        for seed in range(5):
            jobs = elastic_jobs(
                8000,
                Streams(seed),
                names=["a", "b"],
                arrival_rates_per_h=[0.3, 0.9],
                sizes_h=[Deterministic(1.0)] * 2,
                speedups=[Power(0.5)] * 2,
                arrivals=name,
            )
            hours = jobs.submit_s / HOUR
            assert hours[-1] == pytest.approx(8000 / 1.2, rel=0.12 if name == "mmpp" else 0.05)
            assert jobs.model.count("b") == pytest.approx(6000, abs=160)
            counts.append(np.bincount((hours / 20).astype(int))[:-1])
        pooled = np.concatenate(counts)
        variance[name] = pooled.var() / pooled.mean()
    assert variance["deterministic"] < 0.1
    assert variance["poisson"] == pytest.approx(1, abs=0.15)
    assert variance["mmpp"] > 5


def test_same_seed_same_numbers() -> None:
    config = {"policy": "redrawn", "budget_gpus": 3.0, "size": "exponential", "arrivals": "mmpp"}
    first, second = (run_pool(config | {"jobs": 80, "seed": 5}).scalars for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Equi(0.0), "positive"),
        (lambda: Srpt(math.nan), "positive"),
        (lambda: HeSrpt(1.0, 1.0), "between 0 and 1"),
        (lambda: elastic(arrivals="weekly"), "poisson"),
        (lambda: elastic(rate=-1.0), "positive"),
        (lambda: elastic(jobs=0), "at least one"),
        (lambda: simulate(fixed(), Cluster.rental_pool(), Srpt(1.0)), "elastic jobs"),
        (lambda: JobType("x", 1.0, 0.0, Power(0.5)), "positive"),
    ],
)
def test_bad_input_is_one_clear_line(call, told: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=told) as caught:
        call()
    assert "expected" in str(caught.value)


def elastic(jobs: int = 5, rate: float = 1.0, arrivals: str = "poisson") -> Workload:
    return elastic_jobs(
        jobs,
        Streams(0),
        names=["a"],
        arrival_rates_per_h=[rate],
        sizes_h=[Deterministic(1.0)],
        speedups=[Power(0.5)],
        arrivals=arrivals,
    )


def fixed() -> Workload:
    return Workload(["a"], np.zeros(1), FixedDuration(np.ones(1), np.ones(1, dtype=np.int64)))
