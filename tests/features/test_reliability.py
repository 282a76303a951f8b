"""Closed forms of failing machines: against integration, each other, and the simulator."""

import math

import numpy as np
import pytest
from scipy import optimize

from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic, Exponential, Weibull
from simulator.statistics import student
from simulator.theory.reliability import (
    availability,
    best_interval_s,
    completion_s,
    daly_interval_s,
    young_interval_s,
)
from tests.core.jobs import fixed, nodes, run
from tests.features.closed_forms import daly_completion_s, mm1_breakdowns_response_s


def one_by_one(workload, failures, seed):
    return run(workload, nodes(), "fifo-strict", failures, seed=seed, record_schedule=False)


def test_the_best_interval_minimises_dalys_time_and_his_estimate_is_near():
    for cost, m in ((60.0, 3600.0), (300.0, 20_000.0), (10.0, 100.0)):
        least = optimize.minimize_scalar(
            lambda i, c=cost, m=m: daly_completion_s(1e6, i, c, 0.0, m), bounds=(cost / 10, 2 * m)
        ).x
        assert best_interval_s(cost, m) == pytest.approx(least, rel=1e-3)
        assert daly_interval_s(cost, m) == pytest.approx(least, rel=0.01)
        assert abs(daly_interval_s(cost, m) - least) < abs(young_interval_s(cost, m) - least)
    assert daly_interval_s(100.0, 50.0) == 50.0


def test_exact_time_is_dalys_less_one_checkpoint():
    w, i, c, r, m = 10_000.0, 1000.0, 60.0, 120.0, 3000.0
    last = m * math.exp(r / m) * (math.expm1((i + c) / m) - math.expm1(i / m))
    assert completion_s(w, i, c, r, m) == pytest.approx(daly_completion_s(w, i, c, r, m) - last)
    assert completion_s(500.0, math.inf, c, 0.0, m) == pytest.approx(m * math.expm1(500 / m))


@pytest.mark.long
@pytest.mark.parametrize(
    ("interval", "cost", "restart", "repair"),
    [(1000.0, 60.0, 120.0, 600.0), (None, 0.0, 0.0, 0.0001), (500.0, 0.0, 0.0, 100.0)],
)
def test_simulated_completion_with_checkpoints(interval, cost, restart, repair):
    work, m = 5000.0, 3000.0
    outages = Outages.of_each_node(1, Exponential(m), Deterministic(repair))
    failures, times = (
        Failures([outages], Checkpoints(interval_s=interval, cost_s=cost, restart_s=restart)),
        [],
    )
    for seed in range(150):
        result = one_by_one(fixed([0], [work]), failures, seed)
        times.append(result.completion_s[0])
        lost = result.parts["failures"].lost_gpu_s[0] + result.parts["failures"].overhead_gpu_s[0]
        assert result.gpu_seconds[0] == pytest.approx(work + lost)
    exact = completion_s(work, interval or math.inf, cost, restart, m, repair)
    assert student(np.array(times), 0.999).contains(exact)


def test_availability_and_the_queue_with_breakdowns():
    """Avi-Itzhak and Naor: M/M/1, exponential breakdowns and repairs, work is kept."""
    service, up, down, rate, count = 100.0, 1000.0, 200.0, 1 / 200, 900
    outages = Outages.of_each_node(1, Exponential(up), Exponential(down))
    failures = Failures([outages], Checkpoints(interval_s=0.0))
    mean, part = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        duration_s, gap_s = rng.exponential(service, count), rng.exponential(1 / rate, count)
        result = one_by_one(fixed(np.cumsum(gap_s), duration_s), failures, seed)
        mean.append(result.jct_s[count // 10 :].mean())
        part.append(result.summary()["availability"])
        assert result.parts["failures"].lost_gpu_s.sum() == pytest.approx(0, abs=1e-6)
    theory_s = mm1_breakdowns_response_s(rate, service, up, down)
    assert student(np.array(mean), 0.999).contains(theory_s)
    assert student(np.array(part), 0.999).contains(availability(up, down))


@pytest.mark.parametrize("shape", [0.7, 1.0, 3.0])
def test_weibull(shape):
    law = Weibull(40.0, shape)
    draws = law.sample(np.random.default_rng(1), 100_000)
    assert law.mean == pytest.approx(40.0)
    assert draws.mean() == pytest.approx(40.0, rel=0.02)
    assert (draws <= 30).mean() == pytest.approx(law.cdf(30.0), abs=0.005)
    below_50 = draws[draws <= 50].sum() / len(draws)
    assert below_50 == pytest.approx(law.partial_moment(1, 50.0), rel=0.02)
    assert law.laplace(0.02).real == pytest.approx(np.exp(-0.02 * draws).mean(), abs=0.005)
    assert law.cv2 == pytest.approx(draws.var() / 1600, rel=0.1)


def test_dalys_interval_by_hand():
    """A mean time of 2: with a cost of 3, sqrt(12) (1 + sqrt(3/4) / 3 + 1/12) - 3; from a cost of 4 on the mean time."""
    assert daly_interval_s(3.0, 2.0) == pytest.approx(1.752777, abs=1e-6)
    assert daly_interval_s(4.0, 2.0) == daly_interval_s(9.0, 2.0) == 2.0
