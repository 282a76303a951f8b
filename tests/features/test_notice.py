"""Notice that policies get, and checkpoints that cost more for larger jobs, by hand."""

import numpy as np
import pytest

from policies import make_policy
from simulator import InputError
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic
from tests.core.jobs import fixed, nodes, run

TWO = nodes(2, 2)


def spot(notice_s, warns, checkpoints=None):
    """Node 1 goes at 100 s for 1000 s."""
    laws = Deterministic(100.0), Deterministic(1000.0)
    cause = Outages(*laws, [(1,)], notice_s, name="spot", warns=warns)
    return Failures([cause], checkpoints or Checkpoints())


def test_a_job_moves_in_time():
    """Job 1 is on node 1; notice comes at 80 s, when node 0 has been free since 50 s."""
    jobs = fixed([0, 0], [50, 200], [2, 2])
    told = run(jobs, TWO, "fifo-with-notice", spot(20.0, True))
    assert told.completion_s.tolist() == [50.0, 200.0]
    assert told.reconfigurations.tolist() == [0, 1]
    assert told.parts["failures"].failures.sum() == 0
    # Without a word the job falls off at 100 s; with notice it has saved its work.
    silent = run(jobs, TWO, "fifo-with-notice", spot(20.0, False))
    assert silent.completion_s.tolist() == [50.0, 200.0]
    assert silent.parts["failures"].failures.tolist() == [0, 1]


def test_nothing_starts_on_a_node_that_goes():
    """A job that comes at 90 s waits for node 0, which is free at 95 s, instead of losing its work at 100 s."""
    jobs = fixed([0, 90], [95, 50], [2, 2])
    heeding = run(jobs, TWO, "fifo-with-notice", spot(20.0, True))
    assert heeding.completion_s.tolist() == [95.0, 145.0]
    costly = spot(20.0, True, Checkpoints(interval_s=1000.0, cost_s=30.0))
    deaf = run(jobs, TWO, "fifo-backfill", costly)
    assert deaf.completion_s.tolist() == [95.0, 150.0]
    assert deaf.parts["failures"].lost_gpu_s.tolist() == [0.0, 20.0]


def test_what_a_policy_sees():
    seen = []
    base = make_policy("fifo-backfill")

    def look(view):
        seen.append((view.now_s, view.faults.leaving_s.tolist()))
        return base.decide(view)

    run(fixed([0], [150], [2]), TWO, look, spot(20.0, True))
    assert seen[0] == (0.0, [np.inf, np.inf])
    assert (80.0, [np.inf, 100.0]) in seen
    assert (100.0, [np.inf, np.inf]) in seen
    seen.clear()
    run(fixed([0], [150], [2]), TWO, look, spot(20.0, False))
    assert all(leaving == [np.inf, np.inf] for _, leaving in seen)


def test_notice_of_one_cause_outlives_an_outage_of_another():
    """Notice at 80 s of an outage at 100 s; node 1 is away from 90 s to 95 s for another reason."""
    seen = {}

    def look(view):
        seen[view.now_s] = view.faults.leaving_s.tolist()
        return make_policy("fifo-backfill").decide(view)

    causes = [
        Outages(Deterministic(100.0), Deterministic(1e3), [(1,)], 20.0, name="a", warns=True),
        Outages(Deterministic(90.0), Deterministic(5.0), [(1,)], name="b"),
    ]
    run(fixed([0], [99], [2]), TWO, look, Failures(causes, Checkpoints()))
    assert seen[80.0] == seen[90.0] == seen[95.0] == [np.inf, 100.0]


def test_larger_jobs_save_longer():
    """100 s of work, a checkpoint after each 30 s: three of them, of 1 s and 2 s a GPU."""
    saving = Failures([], Checkpoints(interval_s=30.0, cost_s=1.0, cost_per_gpu_s=2.0))
    result = run(fixed([0, 0], [100, 100], [1, 2]), TWO, "fifo-backfill", saving)
    assert result.completion_s.tolist() == [100.0 + 3 * 3.0, 100.0 + 3 * 5.0]
    with pytest.raises(InputError, match="cost_per_gpu_s: got -1"):
        Checkpoints(interval_s=30.0, cost_per_gpu_s=-1.0)
