"""Shared GPUs together with failures, checkpoints, patience and an optimization server."""

import math
from dataclasses import replace

import numpy as np
import pytest

from policies import make_policy
from simulator import Decision, Placement
from simulator.features.colocation import colocation_of, published_rates
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.predictions import PredictedWorkload
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic
from tests.core.jobs import nodes, run, sharing

ONE = nodes()
MODELS = published_rates()[0]


def jobs_of(duration_s, submit_s=None, part=0.5, **columns):
    submit_s = [0.0] * len(duration_s) if submit_s is None else submit_s
    return sharing(submit_s, duration_s, part, model=["a"] * len(duration_s), **columns)


def busy(jobs):
    """Two jobs on a GPU take twice as long each."""
    return colocation_of(jobs, "linear", utilisation={"a": 1.0})


def together(view):
    """Every waiting job on GPU 0, while there is room."""
    room = 2 - len(view.running)
    placements = [Placement(j, 0, 0.5) for j in list(view.waiting)[:room]]
    if not placements:
        return Decision(keep_running=True)
    gpus_of = {p.job: (0,) for p in placements}
    return Decision(placements, keep_running=True, gpus_of=gpus_of)


def outages(up_s, down_s, interval_s, cost_s=0.0):
    cause = Outages(Deterministic(up_s), Deterministic(down_s), [(0,)])
    return Failures([cause], Checkpoints(interval_s=interval_s, cost_s=cost_s))


def test_each_outage_costs_what_was_not_saved():
    """Up for 100 s, away for 50 s; saved after 30, 60 and 90 s. At half speed, 90 of 400 s each time."""
    jobs = jobs_of([200.0, 200.0])
    result = run(jobs, ONE, together, busy(jobs), outages(100.0, 50.0, 30.0))
    assert result.completion_s.tolist() == pytest.approx([640.0, 640.0])  # 4 x 90 s, and 40 s more
    assert result.parts["failures"].failures.tolist() == [4, 4]
    lost_gpu_s = result.parts["failures"].lost_gpu_s.tolist()
    assert lost_gpu_s == pytest.approx([20.0, 20.0])  # half a GPU each
    assert result.gpu_seconds.tolist() == pytest.approx([220.0, 220.0])


def test_an_attempt_lasts_longer_beside_a_neighbour():
    """Job 0 fails when half of its 100 s is done: 20 s alone, then 60 s at half speed. It queues again at once. Then
    both are at half speed: job 0 ends 100 s later, and job 1 has 20 s left, alone."""
    jobs = jobs_of([100.0, 100.0], [0.0, 20.0], fails_at=[(0.5,), ()])
    result = run(jobs, ONE, together, busy(jobs))
    own = [(s.start_s, s.end_s) for s in result.schedule if s.job == 0]
    assert own == [(0.0, 80.0), (80.0, 180.0)]
    assert result.completion_s.tolist() == [180.0, 200.0]
    assert result.parts["failures"].failures.tolist() == [1, 0]
    assert result.parts["failures"].lost_gpu_s.tolist() == [0.5 * 80, 0.0]


def test_a_neighbour_that_goes_ends_an_attempt_earlier():
    """Both at half speed; job 1 ends at 40 s. Job 0 has done 20 of 60 s by then: its attempt fails at 80 s."""
    jobs = jobs_of([100.0, 20.0], fails_at=[(0.6,), ()])
    result = run(jobs, ONE, together, busy(jobs))
    assert [s.end_s for s in result.schedule if s.job == 0] == [80.0, 120.0]


def test_an_outage_never_takes_a_job_into_an_earlier_attempt():
    """As in the first case; the node goes at 100 s for 10 s, and nothing is saved: job 0 has half of its work left.
    From 110 s on both are at half speed: job 0 ends at 210 s, and job 1, which began anew, 50 s later."""
    jobs = jobs_of([100.0, 100.0], [0.0, 20.0], fails_at=[(0.5,), ()])
    failures = Failures([Outages(Deterministic(100.0), Deterministic(10.0), [(0,)])])
    first = run(jobs, ONE, together, busy(jobs), failures)
    # The next outage comes at 210 s, when job 0 has just ended; job 1 loses what it did since 110 s.
    assert first.completion_s[0] == 210.0
    assert first.parts["failures"].failures.tolist() == [2, 2]
    saved = replace(failures, checkpoints=Checkpoints(interval_s=0))
    result = run(jobs, ONE, together, busy(jobs), saved)
    # Job 0 has 40 s of its work left at 100 s, job 1 60 s: 80 s at half speed, then 20 s alone.
    assert result.completion_s.tolist() == [190.0, 210.0]


def test_attempts_with_checkpoints_beside_a_neighbour():
    """Works 20 s, saves 10 s. At half speed the attempt of 30 s of its time takes 60 s of work and two saves."""
    jobs = jobs_of([100.0, 1000.0], fails_at=[(0.3,), ()])
    saving = Failures([], Checkpoints(interval_s=20.0, cost_s=10.0))
    result = run(jobs, ONE, together, busy(jobs), saving)
    assert next(s.end_s for s in result.schedule if s.job == 0) == pytest.approx(80.0)


def test_checkpoints_go_on_when_a_neighbour_comes():
    """Work for 40 s, save for 10 s. The second job comes at 50 s; the node is away from 130 to 200 s, then at 330 s.

    Job 0 has done 40 s at full speed by 50 s, and saved 40 s more at half speed by 100 s: 0.4 is left, 80 s
    of work and a checkpoint from 200 s on. Job 1 has saved 40 s at half speed: 0.8 is left. It does 80 s beside
    job 0 until 290 s; then it is alone, but what it has done since its checkpoint at 300 s is lost at 330 s.
    """
    jobs = jobs_of([100.0, 100.0], [0.0, 50.0])
    failures = outages(130.0, 70.0, 40.0, 10.0)
    result = run(jobs, ONE, together, busy(jobs), failures)
    np.testing.assert_allclose(result.completion_s, [290.0, 440.0])
    np.testing.assert_allclose(result.parts["failures"].lost_gpu_s, [0.5 * 30, 0.5 * (30 + 30)])


def test_without_failures_checkpoints_take_their_time():
    jobs, saving = (
        jobs_of([100.0, 1000.0], [0.0, 50.0]),
        Failures([], Checkpoints(interval_s=40.0, cost_s=10.0)),
    )
    result = run(jobs, ONE, together, busy(jobs), saving)
    assert result.completion_s[0] == pytest.approx(190.0)  # 40 s, then 120 s at half speed, 3 saves


@pytest.mark.parametrize("failing", [False, True])
def test_patience(failing):
    """Two hold the halves of the GPU for 200 s; the third has gone at 30 s, the fourth waits."""
    jobs = jobs_of([100.0] * 4, patience_s=[math.inf, math.inf, 30.0, 300.0])
    failures = Failures([Outages(Deterministic(1e6), Deterministic(1.0), [(0,)])])
    result = run(jobs, ONE, together, busy(jobs), failures if failing else None)
    assert result.left.tolist() == [False, False, True, False]
    assert result.completion_s.tolist() == [200.0, 200.0, 30.0, 300.0]


def test_failures_with_patience_on_whole_gpus():
    """The node goes at 10 s for 15 s: the second job leaves at 20 s; the first stays, it had started."""
    jobs = jobs_of([100.0, 50.0], part=1.0, patience_s=[5.0, 20.0])
    failures = Failures(
        [Outages(Deterministic(10.0), Deterministic(15.0), [(0,)])], Checkpoints(interval_s=0)
    )
    result = run(jobs, ONE, "fifo-backfill", failures)
    assert result.left.tolist() == [False, True]
    assert result.completion_s[1] == 20.0
    assert result.completion_s[0] == pytest.approx(9 * 25 + 10)  # ten times 10 s of work


@pytest.mark.parametrize("name", ["shared", "complementary"])
def test_decisions_that_take_time(name):
    """10 s for each decision: both start at 10 s, at half speed."""
    jobs = jobs_of([100.0, 100.0])
    options = {"share": "always", "least_speed": 0.0} if name == "complementary" else {}
    result = run(jobs, ONE, make_policy(name, **options), busy(jobs), server_s=10)
    assert result.first_start_s.tolist() == [10.0, 10.0]
    assert result.completion_s.tolist() == [210.0, 210.0]


def test_a_job_moves_to_another_gpu():
    """Job 1 moves from GPU 0 to GPU 1 of the node at 10 s: from then on both are alone."""
    jobs = jobs_of([100.0, 100.0, 100.0], [0.0, 0.0, 10.0])

    def on(places):
        placements = [Placement(j, 0, 0.5) for j in places]
        return Decision(placements, gpus_of={j: (g,) for j, g in places.items()})

    answers = [on({0: 0, 1: 0}), on({0: 0, 1: 1}), on({2: 0})]
    result = run(jobs, nodes(2), lambda view: answers.pop(0), busy(jobs))
    assert result.completion_s.tolist() == [105.0, 105.0, 205.0]
    assert result.reconfigurations.tolist() == [0, 1, 0]


def test_predictions_learn_a_job_not_its_neighbours():
    """Predicted at twice its time, and at half speed beside a neighbour: what is learned is the factor of two."""
    jobs = jobs_of([100.0, 100.0, 100.0], [0.0, 0.0, 50.0])
    guess = jobs_of([200.0, 200.0, 200.0], [0.0, 0.0, 50.0])
    seen = {}

    def look(view):
        seen[view.now_s] = {j: view.remaining_of(j) for j in view.jobs.tolist()}
        return together(view)

    result = run(jobs, ONE, look, busy(jobs), PredictedWorkload(guess, True))
    assert result.completion_s[:2].tolist() == [200.0, 200.0]
    # A quarter is done at 50 s; the rest is 75 s of a job that is predicted to take 200 s.
    assert seen[50.0] == {0: 0.375, 1: 0.375, 2: 1.0}


def test_quotas_count_parts():
    """A quota of one GPU: two halves run at once under a policy of parts, one where each takes a whole GPU."""
    jobs, two = jobs_of([100.0, 100.0], vc=["a", "a"]), nodes(2)
    tenants = tenants_of(jobs, quota={"a": 1.0})
    halves = run(jobs, two, "shared", tenants)
    assert halves.completion_s.tolist() == [100.0, 100.0]
    assert halves.table("tenants")["peak_gpus"].tolist() == [1.0]
    assert halves.table("tenants")["envy_gpu_h"].tolist() == [0.0]
    wrapped = run(jobs, two, "fifo+proportional@fractional@self-timed", tenants)
    assert wrapped.completion_s.tolist() == [100.0, 100.0]
    whole = run(jobs, two, "fifo-backfill", tenants)
    assert whole.completion_s.tolist() == [100.0, 200.0]
    assert whole.table("tenants")["peak_gpus"].tolist() == [1.0]


def test_several_servers_and_whole_gpus():
    """Two plans of 10 s overlap. The second starts the second job beside the first, on a GPU of no name."""
    jobs = jobs_of([100.0, 100.0], [0.0, 1.0], part=1.0)
    result = run(jobs, nodes(2), "fifo-backfill", busy(jobs), server_s=10, servers=2)
    assert result.first_start_s.tolist() == [10.0, 11.0]


def test_a_slice_that_was_cut_meanwhile_is_not_cut_again():
    """Two servers take 10 s each. Job 0 gets slices 4 to 7 at 10 s; by then job 1 was promised one of these for 15 s."""
    work = jobs_of([100.0, 100.0], [0.0, 5.0], [3 / 7, 1 / 7])
    parts = (3 / 7, 1 / 7)

    def newest(view):
        job = max(view.waiting, default=None)
        if job is None:
            return Decision(keep_running=True)
        return Decision([Placement(job, 0, parts[job])], keep_running=True, gpus_of={job: (0,)})

    slices = colocation_of(work, slices=True)
    result = run(work, ONE, newest, slices, server_s=10.0, servers=2)
    print(result.first_start_s)
    assert result.first_start_s.tolist() == [10.0, 120.0]
