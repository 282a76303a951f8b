"""Features against formulas of queueing theory, inside intervals of independent replications."""

import numpy as np
import pytest

from policies import make_policy
from simulator import Decision, Placement, View, simulate
from simulator.features.colocation import colocation_of
from simulator.statistics import student
from simulator.theory import erlang_a
from tests.core.jobs import fixed, nodes, run, sharing

COUNT, REPLICATIONS = 1500, 12


def times(seed: int, rate: float, mean_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Poisson arrivals, and exponential durations."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.exponential(1 / rate, COUNT)), rng.exponential(mean_s, COUNT)


def all_on_gpu_0(view: View) -> Decision:
    """Each job gets a small part of the one GPU at once."""
    shares = [Placement(job, 0, 0.02) for job in view.waiting]
    return Decision(shares, keep_running=True, gpus_of=dict.fromkeys(view.waiting, (0,)))


@pytest.mark.long
def test_processor_sharing_by_colocation():
    """n jobs that keep a GPU busy run at 1/n of their speed: the mean response is S / (1 - load)."""
    load, count = 0.5, 500
    means = []
    for seed in range(REPLICATIONS):
        submit_s, duration_s = (column[:count] for column in times(seed, load / 10, 10.0))
        work = sharing(submit_s, duration_s, 0.02, model=["m"] * count)
        linear = colocation_of(work, "linear", utilisation={"m": 1.0})
        run = simulate(work, nodes(), all_on_gpu_0, features=[linear])
        means.append(run.jct_s[200:].mean())
    found = student(means, 0.99)
    assert found.lower <= 10 / (1 - load) <= found.upper


def test_a_place_that_a_job_leaves_is_looked_at_at_once():
    """Four GPUs, of which three are held for 100 s. The head of the queue wants two; it leaves at 11 s, its patience of
    10 s over. Behind it one GPU is enough: the job starts then, not at the next end."""
    work = fixed([0, 1, 2], [100, 50, 50], [3, 2, 1], patience_s=[np.inf, 10.0, np.inf])
    found = run(work, nodes(4), "fifo-strict").first_start_s
    assert found.tolist() == pytest.approx([0.0, np.nan, 11.0], nan_ok=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("servers", "patience_s"), [pytest.param(1, 10.0, marks=pytest.mark.slow), (3, 5.0)]
)
def test_erlang_a_by_reneging(servers, patience_s):
    """M/M/c+M at a load of 1.2: the share of jobs that leave, and the mean wait, also of those that leave.

    The wait tells a tenth more patience from this one; the share, which hardly changes with it, does not.
    """
    shares, waits_s, rate = [], [], 1.2 * servers / 10
    for seed in range(REPLICATIONS):
        submit_s, duration_s = times(seed, rate, 10.0)
        patience = np.random.default_rng(1000 + seed).exponential(patience_s, COUNT)
        work = fixed(submit_s, duration_s, patience_s=patience)
        run = simulate(work, nodes(servers), make_policy("fifo-strict"))
        assert run.left is not None
        shares.append(run.left[300:].mean())
        wait_s = np.where(run.left, run.completion_s, run.first_start_s) - submit_s
        waits_s.append(wait_s[300:].mean())
    exact = erlang_a(rate, 10.0, servers, patience_s)
    assert student(shares, 0.99).contains(exact.abandons)
    assert student(waits_s, 0.99).contains(exact.mean_wait_s)
    for other in (0.9, 1.1):
        wrong = erlang_a(rate, 10.0, servers, other * patience_s)
        assert not student(waits_s, 0.99).contains(wrong.mean_wait_s)
