"""The time of a decision is without that of making the kernels that it calls."""

import time

import numpy as np
from numba import njit

from simulator import Decision, Placement, View
from simulator.compiling import compiling_s
from tests.core.jobs import fixed, nodes, run


def test_what_numba_compiles_inside_a_decision_is_no_time_of_the_decision():
    @njit  # without a cache: each run of the test compiles it
    def first(jobs):
        total = 0.0
        for job in jobs:
            total += np.sqrt(job) + np.sin(job)
        return jobs[0] + 0 * int(total)

    def decide(view: View) -> Decision:
        return Decision([Placement(int(first(view.jobs)), 0, 1)])

    before_s, begin = compiling_s(), time.process_time()
    result = run(fixed([0], [1]), nodes(), decide, measure_decisions=True)
    spent_s, made_s = time.process_time() - begin, compiling_s() - before_s
    assert len(first.signatures) == 1
    assert made_s > 0  # it was compiled, and that was counted
    assert 0 <= result.decisions.cpu_s[0] <= spent_s - made_s
