"""What the orderings know of jobs, beside what the engine knows: with failures, and decisions that take time."""

import numpy as np
import pytest

from policies.synergy import synergy
from simulator.features.failures import Failures, Outages
from simulator.laws import Deterministic, Exponential
from tests.core.jobs import fixed, nodes, run


def instance(seed):
    rng = np.random.default_rng(seed)
    submit_s, duration_s = np.cumsum(rng.exponential(50, 12)), rng.exponential(300, 12) + 5
    return fixed(submit_s, duration_s, rng.integers(1, 5, 12))


@pytest.mark.long
@pytest.mark.parametrize("ordering", ["srtf", "las", "drf"])
def test_failures_change_what_is_known_of_the_jobs_that_failed_alone(ordering):
    """A node is away again and again, and jobs fail by themselves, so jobs wait with a part of their work done."""
    compared = 0
    for seed in range(10):
        policy = synergy(ordering, "proportional")

        def decide(view, policy=policy):
            nonlocal compared
            decision = policy.decide(view)
            book = policy._state.book
            assert book.remaining[view.jobs] == pytest.approx(view.remaining, abs=1e-12)
            assert book.attained_gpu_s[view.jobs] == pytest.approx(view.attained_gpu_s, abs=1e-9)
            compared += sum(view.has_started) - len(view.running)
            return decision

        away = Outages(Deterministic(130.0 + seed), Deterministic(60.0), [(0,)])
        failures = Failures([away], job_time_to_failure=Exponential(500.0), max_attempts=5)
        run(instance(seed), nodes(4, 2), decide, failures)
    assert compared > 100


@pytest.mark.parametrize("how", [{}, {"server_s": 40.0}, {"round_s": 100.0}])
def test_the_attained_dominant_share_is_that_of_the_schedule(how):
    """A decision that takes 40 s starts a job so much later."""
    for seed in range(5):
        policy, seen = synergy("drf", "proportional"), []

        def decide(view, policy=policy, seen=seen):
            decision = policy.decide(view)
            seen.append((view.now_s, view.jobs, policy._state.book.attained_dominant_s[view.jobs]))
            return decision

        result = run(instance(seed), nodes(4), decide, **how)
        for now_s, jobs, attained_s in seen:
            held = [(s.job, s.gpus / 4, s.start_s, min(s.end_s, now_s)) for s in result.schedule]
            expected = [
                sum(part * (end_s - start_s) for j, part, start_s, end_s in held if j == job and start_s < now_s)
                for job in jobs
            ]  # fmt: skip
            assert attained_s == pytest.approx(expected, abs=1e-6)
