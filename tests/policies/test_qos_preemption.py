"""Preemption by QOS: who stops, who goes on, by hand; and that nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import Result, simulate
from tests.core.jobs import fixed, nodes
from tests.errors import input_error

OVER = "high=normal,low normal=low"


def run(submit_s, duration_s, gpus, qos, inner="easy-backfill", size=4) -> Result:
    work = fixed(submit_s, duration_s, gpus, qos=qos)
    policy = make_policy(f"{inner}@qos-preemption", **{"qos-preemption.over": OVER})
    return simulate(work, nodes(size), policy)


def test_the_last_started_gives_way():
    """Two jobs of low hold two GPUs each. high comes at 10 s for two, for 30 s: the second stops, and goes on after it."""
    result = run([0, 1, 10], [100, 100, 30], [2, 2, 2], ["low", "low", "high"])
    assert result.completion_s.tolist() == [100, 131, 40]
    assert result.preemptions.tolist() == [0, 1, 0]


def test_who_fits_beside_goes_on():
    """high needs three GPUs: one of the last started is not enough, three of the first are; so the last goes on."""
    result = run([0, 1, 10], [100, 100, 30], [3, 1, 3], ["low", "low", "high"])
    assert result.preemptions.tolist() == [1, 0, 0]
    assert result.completion_s.tolist() == [130, 101, 40]


def test_only_a_higher_qos_stops_others():
    """normal stops low, and nobody else; low waits for both."""
    result = run([0, 5, 6], [100, 50, 10], [4, 4, 4], ["normal", "normal", "low"])
    assert result.preemptions.sum() == 0
    assert result.completion_s.tolist() == [100, 150, 160]
    result = run([0, 5, 6], [100, 50, 10], [4, 4, 4], ["low", "normal", "high"])
    assert result.completion_s.tolist() == [160, 65, 16]


def test_a_job_that_never_has_room_stops_nobody():
    """high needs four GPUs, of which another of high holds two until 100 s: to stop low before would not do."""
    result = run([0, 1, 10], [100, 100, 30], [2, 2, 4], ["high", "low", "high"])
    assert result.first_start_s.tolist() == [0, 1, 100]
    assert result.completion_s.tolist() == [100, 131, 130]


def test_without_a_qos_the_policy_decides_alone():
    work = fixed([0, 5], [100, 50], [4, 4])
    policy = make_policy("fifo-backfill@qos-preemption", **{"qos-preemption.over": OVER})
    assert simulate(work, nodes(4), policy).completion_s.tolist() == [100, 150]


@pytest.mark.parametrize("inner", ["fifo-strict", "easy-backfill", "conservative-backfill", "sjf"])
def test_every_job_ends_once_with_its_work_done(inner):
    """Random jobs of three QOS: GPU-seconds are those of the jobs, and nobody of high is ever stopped."""
    rng = np.random.default_rng(7)
    count = 60
    submit_s = np.cumsum(rng.integers(1, 30, count)).astype(float)
    duration_s, gpus = rng.integers(5, 200, count).astype(float), rng.integers(1, 5, count)
    qos = rng.choice(["low", "normal", "high"], count).tolist()
    result = run(submit_s, duration_s, gpus, qos, inner, size=6)
    assert np.isfinite(result.completion_s).all()
    assert result.gpu_seconds.tolist() == pytest.approx((duration_s * gpus).tolist())
    assert result.preemptions.sum() > 0
    assert result.preemptions[np.array(qos) == "high"].sum() == 0


@pytest.mark.parametrize("over", ["high", "high=", "=low", "high=normal,,low"])
def test_mistakes_are_one_line(over):
    with input_error("expected QOS=QOS,QOS as in high=normal,low"):
        make_policy("fifo@qos-preemption", **{"qos-preemption.over": over})
