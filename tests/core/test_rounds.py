"""Rounds that end with their last job, with times that are done on paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from experiments.scenario.schema import Scenario
from simulator import Decision, DecisionPoints, InputError, Placement, View, Workload
from simulator.core.feature import Feature
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic
from simulator.model.rounds import Place, Stretch
from tests.core.jobs import Once, fixed, nodes, run

ROUNDS = DecisionPoints(round_s=10.0, round_ends="last-finisher")


def first_two(view: View) -> Decision:
    return Decision([Placement(j, n, 1) for n, j in enumerate(view.jobs.tolist()[:2])])


def test_a_round_ends_with_its_last_job():
    """Jobs of 4 and 7 s; a job of 12 s that comes at 1 s waits for 7 s and takes two rounds, 7 to 17 and 17 to 19."""
    result = run(
        fixed([0, 0, 1, 30], [4, 7, 12, 1]), nodes(1, 2), first_two, decision_points=ROUNDS
    )
    assert result.completion_s.tolist() == [4, 7, 19, 31]
    assert list(result.decisions.time_s) == [0, 7, 17, 30]
    assert result.preemptions.sum() == result.reconfigurations.sum() == 0


def test_a_round_without_jobs_lasts_its_full_length():
    def from_15_s(view: View) -> Decision:
        return first_two(view) if view.now_s >= 15 else Decision()

    result = run(fixed([0], [5]), nodes(1, 2), from_15_s, decision_points=ROUNDS)
    assert list(result.decisions.time_s) == [0, 10, 20]
    assert result.completion_s.tolist() == [25]


@dataclass(eq=False)
class Steps:
    """Jobs make whole steps of 3 s; to resume takes 2 s."""

    duration_s: list[float]
    starts: list[tuple[int, str]] = field(default_factory=list)
    done_s: dict[int, float] = field(default_factory=dict)
    before: dict[int, object] = field(default_factory=dict)

    def left(self, job: int) -> float:
        return 1 - self.done_s.get(job, 0.0) / self.duration_s[job]

    def configuration(self, job: int) -> None:
        return None

    def round(
        self, runs: Mapping[int, Place], round_s: float, slowdown: object, beside: object
    ) -> dict[int, Stretch]:
        return {job: self.stretch(job, place, round_s) for job, place in runs.items()}

    def stretch(self, job: int, place: Place, round_s: float) -> Stretch:
        resumed = job in self.done_s and job not in self.before
        self.starts.append((job, "resumed" if resumed else ""))
        lost_s = 2.0 if resumed else 0.0
        todo_s = self.duration_s[job] - self.done_s.get(job, 0.0)
        work_s = min(3.0 * ((round_s - lost_s) // 3.0), todo_s)
        self.done_s[job] = self.done_s.get(job, 0.0) + work_s
        self.before = {job: place}
        return Stretch(lost_s + work_s, lost_s, self.left(job))


def steps(
    submit_s: list[float], duration_s: list[float], model: type[Steps] = Steps
) -> tuple[Workload, Steps]:
    progress, jobs = model(duration_s), fixed(submit_s, duration_s)
    object.__setattr__(jobs.performance, "progress", lambda: progress)
    return jobs, progress


def test_a_performance_model_says_what_a_job_does_in_a_round():
    """One GPU. Round 1: job 0, 0 to 9 s. Round 2: job 1, 9 to 18 s. Round 3: job 0, 2 s lost and 6 s of work,
    ends at 26 s. Round 4: job 1, 2 s lost and 3 s of work, ends at 31 s."""
    seen = []

    def in_turn(view: View) -> Decision:
        seen.append(dict(view.rounds.work))
        return Decision([Placement(next(iter(view.waiting), 0), 0, 1)])

    jobs, progress = steps([0, 1], [15, 12])
    result = run(jobs, nodes(), in_turn, decision_points=ROUNDS)
    assert result.completion_s == pytest.approx([26, 31], abs=1e-9)
    assert list(result.decisions.time_s) == pytest.approx([0, 9, 18, 26], abs=1e-9)
    assert progress.starts == [(0, ""), (1, ""), (0, "resumed"), (1, "resumed")]
    assert result.gpu_seconds == pytest.approx([9 + 8, 9 + 5], abs=1e-9)
    assert seen[1] == {0: Stretch(9, 0, 0.4)}
    assert result.preemptions.tolist() == [1, 1]
    assert result.reconfigurations.tolist() == [0, 0]


def test_a_job_that_stops_earlier_holds_its_gpu_until_the_round_ends():
    """Job 0 makes 9 s of 24 in the first round, job 1 all of its 10 s: the next round begins at 10 s."""

    class Exact(Steps):
        def stretch(self, job: int, place: Place, round_s: float) -> Stretch:
            if job == 0:
                return super().stretch(job, place, round_s)
            return Stretch(10.0, 0.0, 0.0)

    jobs, _ = steps([0, 0], [18, 10], Exact)
    result = run(jobs, nodes(1, 2), first_two, decision_points=ROUNDS)
    assert list(result.decisions.time_s) == [0, 10]
    assert result.completion_s == pytest.approx([19, 10], abs=1e-9)
    assert result.gpu_seconds == pytest.approx([19, 10], abs=1e-9)


def test_a_job_may_do_nothing_in_a_round_and_be_done_at_once_in_the_next():
    class Idle(Steps):
        def stretch(self, job: int, place: Place, round_s: float) -> Stretch:
            self.starts.append((job, ""))
            return Stretch(4.0, 4.0, 1.0) if len(self.starts) == 1 else Stretch(0.0, 0.0, 0.0)

    jobs, _ = steps([0], [24], Idle)
    result = run(jobs, nodes(1, 2), first_two, decision_points=ROUNDS)
    assert list(result.decisions.time_s) == [0, 4]
    assert result.completion_s == pytest.approx([4], abs=1e-8)


def test_a_model_that_counts_steps_does_not_go_with_a_feature_that_changes_rates():
    class Half(Feature):
        def rate(self, execution):
            return 0.5

    assert run(
        fixed([0], [4]), nodes(), first_two, Half(), decision_points=ROUNDS
    ).completion_s.tolist() == [8]
    with pytest.raises(InputError, match="expected no feature that changes rates"):
        run(steps([0], [15])[0], nodes(), first_two, Half(), decision_points=ROUNDS)


def test_a_scenario_file_may_ask_for_such_rounds():
    keys = {"policy": "fifo", "decisions": {"round_s": 10.0, "round_ends": "last-finisher"}}
    scenario = Scenario.model_validate(keys | {"workload": {"kind": "hierarchical"}})
    assert scenario.decisions == ROUNDS
    with pytest.raises(InputError, match="round_ends"):
        DecisionPoints(round_ends="last-finisher")


def test_a_job_that_a_fault_stops_within_a_round_tells_its_model_what_is_left():
    """9 of 15 s of work are to be done in the first round; the node fails at 6 s, with 0.6 of the work left, which is
    saved. The next round begins at 9 s, and does all of it."""
    told = []

    class Told(Steps):
        def interrupted(self, job: int, left: float) -> None:
            told.append((job, left))
            self.done_s[job] = (1 - left) * self.duration_s[job]

    jobs, _ = steps([0], [15], Told)
    failures = Failures(
        [Outages(Once(6.0), Deterministic(1.0), [(0,)])], Checkpoints(interval_s=0.0)
    )
    result = run(jobs, nodes(), first_two, failures, decision_points=ROUNDS)
    assert told == [(0, pytest.approx(0.6))]
    assert result.completion_s == pytest.approx([18], abs=1e-9)
