"""One job's story."""

import numpy as np
import pytest

from experiments.analysis.explain import explain
from experiments.scenario.output import write_result
from policies import make_policy
from simulator import Cluster, FixedDuration, InputError, NodeType, Workload, simulate


def test_a_job_that_is_passed_over(tmp_path):
    """Two GPUs: a holds one for 100 s; b wants two and waits; c, which came later, is started."""
    gpus = np.array([1, 2, 1])
    jobs = Workload(["a", "b", "c"], [0.0, 1.0, 2.0], FixedDuration([100.0, 50.0, 60.0], gpus),
                    num_gpus=gpus)  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 1)
    write_result(simulate(jobs, cluster, make_policy("fifo-backfill")), tmp_path)
    assert explain(tmp_path, "b") == [
        "1 s: submitted.",
        "1 s: waits 99 s; 1 jobs start meanwhile, of which 1 came later: c.",
        "100 s: starts on 2 GPUs of node 0, for 50 s.",
        "150 s: ends, 149 s after its submission.",
        "Alone it would have taken 50 s: it was slowed down 2.98 times.",
    ]
    with pytest.raises(InputError, match="no job 'z', expected one such as 'a'"):
        explain(tmp_path, "z")
    with pytest.raises(InputError, match="no such file"):
        explain(tmp_path / "nowhere", "a")
