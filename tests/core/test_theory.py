"""The simulator against closed forms: the formula lies inside the replication interval."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate
from simulator.laws import Deterministic, Exponential, Law, LogNormal
from simulator.statistics import Streams, student
from simulator.theory import littles_law, mg1_mean_wait_s, mmc_mean_wait_s
from simulator.workloads.poisson import poisson_jobs

JOBS, WARM_UP, REPLICATIONS = 1500, 300, 10


def run(law: Law, load: float, servers: int, seed: int) -> Result:
    """Single-GPU jobs on a server with as many GPUs as the queue has servers."""
    workload = poisson_jobs(
        JOBS,
        Streams(seed),
        arrival_rate_per_h=3600 * load * servers / law.mean,
        duration_s=law,
    )
    cluster = Cluster.of_nodes(NodeType("server", "GPU", servers), 1)
    return simulate(workload, cluster, make_policy("fifo-strict"), record_schedule=False)


def mean_waits(law: Law, load: float, servers: int) -> list[float]:
    return [
        float(run(law, load, servers, seed).wait_s[WARM_UP:].mean()) for seed in range(REPLICATIONS)
    ]


@pytest.mark.parametrize(
    "law",
    [Exponential(10.0), Deterministic(10.0), LogNormal(10.0, 1.5)],
    ids=lambda law: type(law).__name__,
)
def test_mg1_waits_are_pollaczek_khinchine(law: Law) -> None:
    load = 0.6
    estimate = student(mean_waits(law, load, 1), level=0.99)
    assert estimate.lower <= mg1_mean_wait_s(load / law.mean, law) <= estimate.upper


@pytest.mark.parametrize("servers", [1, 2, 8])
def test_mmc_waits_are_erlang_c(servers: int) -> None:
    load = 0.7
    estimate = student(mean_waits(Exponential(10.0), load, servers), level=0.99)
    theory = mmc_mean_wait_s(load * servers / 10.0, 10.0, servers)
    assert estimate.lower <= theory <= estimate.upper
    assert estimate.upper - estimate.lower < theory  # an interval that could not exclude anything


def test_littles_law_holds_exactly_over_a_busy_period() -> None:
    """L from the number in system, integrated over time; lambda W from the jobs."""
    result = run(LogNormal(10.0, 2.0), 0.8, 1, 5)
    events = np.concatenate([result.workload.submit_s, result.completion_s])
    change = np.concatenate([np.ones(JOBS), -np.ones(JOBS)])
    order = np.argsort(events, kind="stable")
    in_system = np.cumsum(change[order])[:-1]
    horizon_s = float(events.max() - events.min())
    mean_number = float(in_system @ np.diff(events[order])) / horizon_s
    assert mean_number == pytest.approx(littles_law(JOBS / horizon_s, result.jct_s.mean()))


def test_lindley_recursion_job_by_job() -> None:
    """Every single waiting time of the simulated queue, not just their mean."""
    rng = np.random.default_rng(3)
    submit_s = np.cumsum(rng.exponential(10.0, 500))
    duration_s = rng.exponential(8.0, 500)
    workload = Workload(
        [str(j) for j in range(500)],
        submit_s,
        FixedDuration(duration_s, np.ones(500, dtype=np.int64)),
        num_gpus=np.ones(500),
    )
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 1), 1)
    result = simulate(workload, cluster, make_policy("fifo-strict"))
    wait = 0.0
    for j in range(500):
        if j:
            wait = max(0.0, wait + duration_s[j - 1] - (submit_s[j] - submit_s[j - 1]))
        assert result.wait_s[j] == pytest.approx(wait, abs=1e-6)
