"""On servers with CPUs and memory the greedy family and its like hand out both."""

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, NodeType, simulate
from simulator.adaptation import Rules, adapt
from simulator.statistics import Streams
from simulator.workloads import networks
from tests.core.jobs import elastic, fixed

ONE_NODE = ("greedy", "randomised-greedy", "local-search", "path-relinking", "fifo", "edf",
            "fifo-shared", "edf-shared", "ps-shared", "milp")  # fmt: skip
OPTIONS = {name: {"iterations": 5} for name in ONE_NODE[1:4]}


@pytest.mark.parametrize("policy", ONE_NODE)
def test_jobs_get_cpus_and_memory_in_proportion_to_their_gpus(policy):
    server = Cluster.of_nodes(NodeType("server", "GPU", 4, 1.0, cpus=12, memory_gb=200), 2)
    late = {"due_s": [200.0, 300.0, 400.0], "weight_per_s": [1.0, 2.0, 3.0]}
    jobs = elastic([[[9, 100, 60, 50, 45]]] * 3, [0.0, 0.0, 10.0], **late)
    result = simulate(jobs, server, make_policy(policy, **OPTIONS.get(policy, {})))
    assert result.schedule
    for share in result.schedule:
        assert share.cpus == 3 * share.gpus
        assert share.memory_gb == 50 * share.gpus


@pytest.mark.parametrize("policy", ["greedy", "fifo-shared"])
def test_sensitive_jobs_run_at_the_proportional_rate(policy):
    """They had no CPUs at all, and took many times as long."""
    trace = fixed(
        [0.0] * 6,
        np.linspace(2000, 60_000, 6),
        [1] * 6,
        model=networks.models_of_split(6, (20, 70, 10)),
    )
    cluster = networks.cluster(1)
    jobs = adapt(
        trace,
        cluster,
        Rules(sensitivity="synergy", due="factor:5,5", weights="printed"),
        Streams(1),
    ).workload
    result = simulate(jobs, cluster, make_policy(policy))
    assert result.jct_s == pytest.approx(trace.performance.duration_s, rel=1e-9)
