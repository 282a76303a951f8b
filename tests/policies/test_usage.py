"""Usage of tenants that decays: by hand, and against the integral over the whole schedule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from policies import make_policy
from policies.queues.usage import Usage
from simulator.features.tenants import tenants_of
from tests.core.jobs import fixed, nodes, run

DAY_S = 86_400.0


@pytest.fixture
def looks(monkeypatch):
    """Times (s) and usage of all looks of a run."""
    found = []
    until_now = Usage.until_now

    def noted(self, view):
        used = until_now(self, view)
        found.append((view.now_s, used.tolist()))
        return used

    monkeypatch.setattr(Usage, "until_now", noted)
    return found


def fair(policy="easy-backfill", half_life_s=7 * DAY_S, **options):
    return make_policy(
        policy, order="multifactor", weight_fairshare=1.0, half_life_s=half_life_s, **options
    )


def test_a_long_job_on_a_full_cluster(looks):
    """Nobody looks for 30 days. Then the job counts 7 (1 - 2^(-30/7)) / ln 2 = 9.58 GPU-days; after 7 days more half of it."""
    jobs = fixed([0, 1, 37 * DAY_S], [30 * DAY_S, 1, 1], user=["ann", "bob", "bob"])
    run(jobs, nodes(), fair(), tenants_of(jobs, "user"))
    used = dict(looks)
    assert used[30 * DAY_S][0] / DAY_S == pytest.approx(9.5811, abs=1e-4)
    assert used[37 * DAY_S][0] / DAY_S == pytest.approx(9.5811 / 2, abs=1e-4)


def integral(rows, owner, tenants, now_s, half_life_s):
    """``(T,)`` the same of the rows of a schedule, in GPU-seconds."""
    used = [0.0] * tenants
    for row in rows:
        if row.start_s < now_s:
            young_s, old_s = max(0.0, now_s - row.end_s), now_s - row.start_s
            part = 0.5 ** (young_s / half_life_s) - 0.5 ** (old_s / half_life_s)
            used[owner[row.job]] += row.gpus * part * half_life_s / math.log(2)
    return used


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "options", "how"),
    [
        ("easy-backfill", {}, {}),
        ("conservative-backfill", {}, {"server_s": 40.0}),
        ("easy-backfill", {}, {"round_s": 5000.0}),
        ("easy-backfill@qos-preemption", {"qos-preemption.over": "high=normal,low normal=low"}, {}),
    ],
)
def test_the_integral_over_the_schedule(looks, policy, options, how):
    """25 instances each: half-lives from 5 s to 10 days, jobs of a second to 30 days, idle times between them."""
    compared = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        half_life_s = math.exp(rng.uniform(math.log(5), math.log(10 * DAY_S)))
        scale_s = math.exp(rng.uniform(math.log(10), math.log(DAY_S)))
        submit_s = np.cumsum(rng.exponential(scale_s, 15))
        duration_s = np.clip(rng.exponential(2 * scale_s, 15), 1, 30 * DAY_S)
        jobs = fixed(submit_s, duration_s, rng.integers(1, 5, 15), user=rng.choice(["a", "b", "c"], 15).tolist(),
                     qos=rng.choice(["low", "normal", "high"], 15).tolist())  # fmt: skip
        owners = tenants_of(jobs, "user")
        looks.clear()
        result = run(jobs, nodes(4), fair(policy, half_life_s, **options), owners, **how)
        for now_s, used in looks:
            expected = integral(result.schedule, owners.of, len(owners), now_s, half_life_s)
            assert used == pytest.approx(expected, rel=1e-6, abs=1e-6), (seed, now_s)
        compared += len(looks)
    assert compared > 200
