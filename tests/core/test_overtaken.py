"""Timers that were overtaken are forgotten, and nothing else is."""

from __future__ import annotations

import pytest

from policies import make_policy
from simulator import simulate
from simulator.core import partition
from simulator.core.clock import Clock
from tests.greedy.test_moves import CLUSTERS, jobs_of


def test_the_same_run_with_fewer_calls_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """A greedy that moves jobs all the time leaves timers; here they are looked for at each chance."""
    cluster = CLUSTERS["nodes"]
    jobs = jobs_of(1, 900, 3)
    dropped = [0]
    drop = Clock.drop

    def counted(clock: Clock, is_void) -> None:
        before = clock.num_pending
        drop(clock, is_void)
        dropped[0] += before - clock.num_pending

    monkeypatch.setattr(Clock, "drop", counted)
    runs = []
    for most in (10**9, 0):
        monkeypatch.setattr(partition, "MOST_PENDING", most)
        result = simulate(jobs, cluster, make_policy("greedy"))
        runs.append((list(result.schedule or ()), list(result.decisions.time_s), result.meters))
    assert dropped[0] > 10
    assert runs[0] == runs[1]
