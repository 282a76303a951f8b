"""Runs that the tests of Synergy share."""

from collections.abc import Callable
from typing import Any

import pytest

from simulator import Cluster, DecisionPoints, Result, Workload, simulate
from simulator.statistics import Streams
from simulator.workloads.networks import cluster, with_sensitivity
from simulator.workloads.synergy import derived_trace

ROUND_S = 300.0


@pytest.fixture
def run() -> Callable[..., Result]:
    """Simulate a policy in rounds."""

    def run(workload: Workload, servers: Cluster, policy: Any, **options: Any) -> Result:
        rounds = DecisionPoints(
            round_s=ROUND_S, finish_at_round=options.pop("finish_at_round", False)
        )
        return simulate(workload, servers, policy, decision_points=rounds, **options)

    return run


@pytest.fixture
def small() -> Callable[..., tuple[Workload, Cluster]]:
    """A derived trace that keeps four servers full, in hours rather than days."""

    def make(
        seed: int, split: tuple[float, ...] = (20, 70, 10), multi_gpu: bool = True, jobs: int = 120
    ) -> tuple[Workload, Cluster]:
        servers = cluster(4)
        trace = derived_trace(
            jobs, Streams(seed), split=split, jobs_per_hour=6, multi_gpu=multi_gpu
        )
        return with_sensitivity(trace, servers), servers

    return make
