"""Coverage of printed intervals: a fast version of benchmarks/coverage.py."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import coverage
from benchmarks.coverage import COMPARED, QUEUES, TRACES, one_run
from benchmarks.queues import RESPONSES
from policies import make_policy
from simulator import simulate
from simulator.laws import HyperExponential
from simulator.model.contract import LEAST_AGAIN_S
from simulator.statistics import mean_of_skewed, student
from simulator.workloads.reshaping import time_shared
from tests.core.jobs import fixed, nodes


@pytest.mark.long
@pytest.mark.parametrize(
    ("order", "policy", "servers"),
    [
        ("first come", "fifo-strict", 1),
        ("first come", "fifo-strict", 4),
        ("processor sharing", "processor-sharing", 1),
        ("srpt", "srpt", 1),
        ("shortest job", "sjf", 1),
        ("shortest job, preemptive", "sjf, preemptive", 1),
        ("foreground-background", "las", 1),
    ],
)
def test_the_fast_queues_are_the_simulator_job_by_job(order, policy, servers):
    rng = np.random.default_rng(1)
    count = 600
    submit_s = np.cumsum(rng.exponential(3600 / (0.8 * servers), count))
    duration_s = HyperExponential.with_cv2(3600.0, 4.0).sample(rng, count)
    jobs = time_shared(fixed(submit_s, duration_s))
    name, _, option = policy.partition(", ")
    chosen = make_policy(name, **({option: True} if option else {}))
    found = simulate(jobs, nodes(servers), chosen, record_schedule=False)
    fast = RESPONSES[order](submit_s, duration_s, servers)
    assert fast == pytest.approx(found.jct_s, rel=1e-9, abs=LEAST_AGAIN_S)


@pytest.mark.long
@pytest.mark.parametrize("queue", QUEUES, ids=[queue.name for queue in QUEUES])
def test_the_interval_of_the_shortest_run_that_has_one(queue):
    cell = one_run(queue, 0.5, 0, 300)
    assert cell.shown == 300
    assert cell.coverage >= 0.92
    assert min(cell.below, cell.above) > 0


@pytest.mark.long
def test_the_case_that_was_covered_in_72_per_cent_of_the_runs():
    """M/M/4 at load 0.8: 5,000 jobs are too few for an interval, and 30,147 suffice."""
    queue = QUEUES[1]
    assert one_run(queue, 0.8, 5000, 40).shown == 0
    cell = one_run(queue, 0.8, 0, 200)
    assert cell.shown == 200
    assert cell.coverage >= 0.92
    assert min(cell.below, cell.above) > 0


KEYS = (*(f"compared {pair.text}" for pair in COMPARED[:2]), "ratio 20", "quantile 100 0.9")


@pytest.mark.long
@pytest.mark.parametrize("key", [*KEYS, "pooled 10 0.5"])
def test_the_other_intervals(monkeypatch, key):
    monkeypatch.setattr(coverage, "SETS", 300)
    cell = coverage.OTHERS[key]()
    assert cell.shown == 300
    assert cell.coverage >= 0.92
    assert min(cell.below, cell.above) > 0


@pytest.mark.long
def test_traces_in_blocks():
    cell = coverage.traces_drawn(replace(TRACES[0], jobs=1000), sets=200)
    assert cell.coverage >= 0.92


def lognormal(cv: float):
    """Samples of mean 1 and this standard deviation."""
    spread = np.log1p(cv * cv)
    return lambda rng, shape: rng.lognormal(-spread / 2, np.sqrt(spread), shape)


@pytest.mark.parametrize(
    ("draw", "runs", "students", "corrected"),
    [
        (lambda rng, shape: 1 + rng.normal(size=shape), 5, 95, 95),
        (lambda rng, shape: rng.exponential(size=shape), 10, 90, 94),
        (lognormal(1.0), 5, 86, 91),
        (lognormal(2.0), 20, 82, 91),
        (lognormal(2.0), 3, 77, 77),  # of three runs it is Student's
    ],
)
def test_the_rule_for_means_of_runs(draw, runs, students, corrected):
    """A part of the table of docs/statistics.md, from 2,000 samples: their error is 1 % at most."""
    samples = draw(np.random.default_rng(3), (2000, runs))
    for rule, expected in ((student, students), (mean_of_skewed, corrected)):
        covered = np.mean([rule(sample).contains(1.0) for sample in samples])
        assert 100 * covered == pytest.approx(expected, abs=2.5), rule
