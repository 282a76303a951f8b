"""Necessary length of a simulation of a queue, against closed forms and against many runs."""

import math

import numpy as np
import pytest

from benchmarks.queues import poisson_queue
from simulator.errors import InputError
from simulator.laws import Deterministic, Exponential, HyperExponential
from simulator.theory import erlang_a, erlang_b, lost_share_run_length, response_run_length

ONE, VARIABLE = Exponential(1.0), HyperExponential.with_cv2(1.0, 4.0)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.8, 0.9, 0.99])
def test_mm1_in_closed_form(load):
    found = response_run_length(load / 60, Exponential(60.0))
    assert found.relative_variance == pytest.approx(((1 + load) / (1 - load)) ** 2)
    assert found.relaxation_jobs == pytest.approx(load / (1 - math.sqrt(load)) ** 2)


def test_without_a_queue_each_response_is_a_service():
    found = response_run_length(4.0, ONE, 60)
    assert found.relative_variance == pytest.approx(1.0)
    assert found.relaxation_jobs == pytest.approx(4.0)


@pytest.mark.long
@pytest.mark.parametrize(("servers", "load", "law"), [(4, 0.7, ONE), (1, 0.5, VARIABLE)])
def test_the_variance_is_that_of_the_means_of_many_runs(servers, load, law):
    jobs = 20_000
    means = [
        poisson_queue("first come", load, servers, law, jobs, np.random.default_rng(seed)).mean()
        for seed in range(500)
    ]
    found = np.var(means) / np.mean(means) ** 2 * jobs
    expected = response_run_length(load * servers, law, servers).relative_variance
    assert found == pytest.approx(expected, rel=0.15)


def lost(jobs: int, servers: int, rate: float, patience: float, rng: np.random.Generator) -> float:
    """Share of jobs that leave, M/M/c with patience, one run."""
    arrivals = np.cumsum(rng.exponential(1 / rate, jobs))
    services = rng.exponential(1.0, jobs)
    patient = rng.exponential(patience, jobs) if patience else np.zeros(jobs)
    free, left = [0.0] * servers, 0
    for now, service, wait in zip(arrivals, services, patient, strict=True):
        k = free.index(min(free))
        if free[k] > now + wait:
            left += 1
        else:
            free[k] = max(free[k], now) + service
    return left / jobs


@pytest.mark.parametrize("patience", [0.0, 0.5])
def test_the_variance_of_the_share_that_leaves(patience):
    rng = np.random.default_rng(3)
    shares = [lost(1000, 2, 1.8, patience, rng) for _ in range(400)]
    exact = erlang_a(1.8, 1.0, 2, patience).abandons if patience else erlang_b(1.8, 2)
    assert np.mean(shares) == pytest.approx(exact, rel=0.03)
    expected = lost_share_run_length(1.8, 1.0, 2, patience).relative_variance
    assert np.var(shares) / exact**2 * 1000 == pytest.approx(expected, rel=0.2)


def test_jobs_grow_with_precision_variability_and_load():
    planned = response_run_length(0.5, ONE)
    assert planned.jobs(0.01) == math.ceil(9 * (1.959964 / 0.01) ** 2)
    assert planned.jobs(0.5) == planned.jobs(0.3) == math.ceil(420 * planned.relaxation_jobs)
    assert planned.jobs(0.01, 0.99) > planned.jobs(0.01)
    jobs = [response_run_length(0.5, law).jobs() for law in (Deterministic(1.0), ONE, VARIABLE)]
    assert jobs == sorted(jobs)
    assert jobs[0] < jobs[1] < jobs[2]
    assert response_run_length(0.5, VARIABLE, first_come=False).jobs() < jobs[2]
    assert response_run_length(0.5, ONE, gaps_cv2=0.0).jobs() < jobs[1]


def test_mistakes_are_one_line():
    with pytest.raises(InputError, match="not stable"):
        response_run_length(2.0, ONE)
    with pytest.raises(InputError, match="relative_half_width"):
        response_run_length(0.5, ONE).jobs(0.0)
