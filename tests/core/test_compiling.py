"""The time of a decision is without that of making the kernels that it calls."""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from simulator import (
    Cluster,
    Decision,
    FixedDuration,
    NodeType,
    Placement,
    View,
    Workload,
    simulate,
)
from simulator.compiling import compiling_s


def test_what_numba_compiles_inside_a_decision_is_no_time_of_the_decision() -> None:
    @njit  # without a cache: each run of the test compiles it
    def first(jobs):  # type: ignore[no-untyped-def]
        total = 0.0
        for job in jobs:
            total += np.sqrt(job) + np.sin(job)
        return jobs[0] + 0 * int(total)

    def decide(view: View) -> Decision:
        return Decision([Placement(int(first(view.jobs)), 0, 1)])

    jobs = Workload(["a"], np.zeros(1), FixedDuration(np.ones(1), np.ones(1)), num_gpus=np.ones(1))
    machine = Cluster.of_nodes(NodeType("one", "GPU", 1), 1)
    before_s, begin = compiling_s(), time.process_time()
    result = simulate(jobs, machine, decide, measure_decisions=True)
    spent_s, made_s = time.process_time() - begin, compiling_s() - before_s
    assert len(first.signatures) == 1
    assert made_s > 0  # it was compiled, and that was counted
    assert 0 <= result.decisions.cpu_s[0] <= spent_s - made_s
