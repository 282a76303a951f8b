"""The simulator against closed forms and against recursions, job by job."""

import numpy as np
import pytest

from simulator import Result
from simulator.laws import Exponential, Law, LogNormal
from simulator.statistics import Streams, student
from simulator.theory import mg1_mean_wait_s, mmc_mean_wait_s
from simulator.workloads.poisson import poisson_jobs
from tests.core.jobs import fixed, nodes
from tests.core.jobs import run as simulated

JOBS, WARM_UP, REPLICATIONS = 1200, 240, 10


def run(law: Law, load: float, servers: int, seed: int) -> Result:
    """Single-GPU jobs on a server with as many GPUs as the queue has servers."""
    rate_per_h = 3600 * load * servers / law.mean
    jobs = poisson_jobs(JOBS, Streams(seed), arrival_rate_per_h=rate_per_h, duration_s=law)
    return simulated(jobs, nodes(servers), record_schedule=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("law", "servers", "load", "theory_s"),
    [
        (LogNormal(10.0, 1.5), 1, 0.6, mg1_mean_wait_s(0.06, LogNormal(10.0, 1.5))),
        (Exponential(10.0), 8, 0.7, mmc_mean_wait_s(0.56, 10.0, 8)),
    ],
    ids=["Pollaczek-Khinchine", "Erlang C"],
)
def test_mean_waits_are_those_of_the_formula(law, servers, load, theory_s):
    waits = [run(law, load, servers, seed).wait_s[WARM_UP:].mean() for seed in range(REPLICATIONS)]
    estimate = student([float(wait) for wait in waits], level=0.99)
    assert estimate.lower <= theory_s <= estimate.upper
    assert estimate.upper - estimate.lower < theory_s  # else it could not exclude anything


@pytest.mark.parametrize("servers", [1, 2, 8])
def test_every_wait_is_that_of_the_recursion(servers):
    """Kiefer and Wolfowitz: a job starts where a server is free first; with one server that is Lindley's."""
    rng = np.random.default_rng(3)
    submit_s = np.cumsum(rng.exponential(10.0 / servers, 500))
    duration_s = rng.exponential(8.0, 500)
    free_s, start_s = [0.0] * servers, []
    for now_s, size_s in zip(submit_s, duration_s, strict=True):
        first = free_s.index(min(free_s))
        start_s.append(max(now_s, free_s[first]))
        free_s[first] = start_s[-1] + size_s
    result = simulated(fixed(submit_s, duration_s), nodes(servers))
    np.testing.assert_allclose(result.first_start_s, start_s, atol=1e-6)
