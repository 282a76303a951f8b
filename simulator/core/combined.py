"""Several things that can happen to the same jobs: shared GPUs that fail, jobs that leave, or both.

Each part is a controller of its own; here are the few that need to know of each other. Checkpoints are made
after so many seconds of work, however fast a job was meanwhile. So a job that shares GPUs keeps when it was
how fast, back to its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from simulator.core.clock import Order
from simulator.core.controller import Controller
from simulator.core.failing import FailingPartition, SavedLog
from simulator.core.failures import FailingController, Trouble
from simulator.core.neighbours import SharedPartition, SharingController
from simulator.core.patience import ImpatientController
from simulator.features.faults import running_s, saved_s, worked_s


@dataclass
class VaryingLog(SavedLog):
    """Job state where jobs work and save in turn, and their rate varies meanwhile.

    ``remaining`` is the work left at ``since_s``, as everywhere, and ``since_s`` is when the rate
    last changed.

    Attributes
    ----------
    began_s : by running job: from when on it works and saves in turn, s.
    past : by running job: seconds of work since then, work left, and rate from there on, of each
        change of its rate; the first covers the last checkpoint.
    """

    began_s: dict[int, float] = field(default_factory=dict)
    past: dict[int, list[tuple[float, float, float]]] = field(default_factory=dict)

    def worked_at(self, job: int, now_s: float) -> float:
        """Seconds of work that a running job has done here."""
        elapsed = now_s - self.began_s[job]
        return worked_s(elapsed, self.interval_s[job], self.cost_s[job]) if elapsed > 0 else 0.0

    def remaining_at(self, job: int, now_s: float) -> float:
        """Fraction of the job's work that is left, saved or not."""
        left = self.remaining[job]
        if job not in self.began_s or now_s <= self.since_s[job]:
            return left
        done_s = self.worked_at(job, now_s) - self.worked_at(job, self.since_s[job])
        return max(0.0, left - self.rate[job] * done_s)

    def remaining_after(self, job: int, worked: float) -> float:
        """Fraction of the work that was left after so many seconds of work here."""
        past = self.past[job]
        at = next((entry for entry in reversed(past) if entry[0] <= worked), past[0])
        return max(0.0, at[1] - at[2] * (worked - at[0]))

    def begin(self, job: int) -> None:
        """A job has started; it works from ``since_s`` on."""
        self.began_s[job] = self.since_s[job]
        self.past[job] = [(0.0, self.remaining[job], self.rate[job])]

    def end(self, job: int) -> None:
        """A job has left its nodes."""
        del self.began_s[job], self.past[job]

    def change_rate(self, job: int, rate: float, now_s: float) -> float:
        """Let a running job go on at a rate; answers when it ends."""
        self.remaining[job] = left = self.remaining_at(job, now_s)
        self.since_s[job] = since_s = max(self.since_s[job], now_s)
        self.rate[job] = rate
        began_s, interval_s, cost_s = self.began_s[job], self.interval_s[job], self.cost_s[job]
        worked = self.worked_at(job, since_s)
        past = self.past[job]
        past.append((worked, left, rate))
        saved = saved_s(max(0.0, since_s - began_s), interval_s, cost_s)
        while len(past) > 1 and past[1][0] <= saved:
            del past[0]
        return began_s + running_s(worked + left / rate, interval_s, cost_s)

    def ends_s(self, job: int, left: float) -> float:
        """When a running job has so much of its work left, if its rate stays."""
        began_s, since_s = self.began_s[job], self.since_s[job]
        work_s = max(0.0, self.remaining[job] - left) / self.rate[job]
        worked = self.worked_at(job, since_s) + work_s
        return max(since_s, began_s + running_s(worked, self.interval_s[job], self.cost_s[job]))


class FailingSharedPartition(SharedPartition, FailingPartition):
    """Nodes that go away, and jobs that work and save in turn beside their neighbours."""

    rate_changed: Callable[[int], None]

    @property
    def _log(self) -> VaryingLog:
        log = self.trouble.log
        assert isinstance(log, VaryingLog)
        return log

    def _begin(self, job: int) -> None:
        self._log.begin(job)

    def _run_at(self, job: int, rate: float, now_s: float) -> float:
        end_s = self._log.change_rate(job, rate, now_s)
        if self.trouble.fails_at:
            self.rate_changed(job)
        return end_s

    def release(self, job: int, is_done: bool = False) -> None:
        """Take a job off its GPUs, its progress kept."""
        super().release(job, is_done)
        self._log.end(job)

    def _began_s(self, job: int) -> float:
        return self._log.began_s[job]

    def _done_s(self, job: int) -> float:
        """Seconds of work, at whatever rate, that a running job has done since it started here."""
        log, now = self._log, self._clock.now_s
        before = log.worked_at(job, log.since_s[job])
        done_s = log.worked_at(job, max(now, log.since_s[job])) - before
        return before + min(done_s, log.remaining[job] / log.rate[job])

    def _left_after(self, job: int, worked: float) -> float:
        return self._log.remaining_after(job, worked)


class FailingSharingController(SharingController, FailingController):
    """A controller whose jobs share GPUs that go away."""

    partition: FailingSharedPartition

    def _make_partition(self) -> FailingSharedPartition:
        return FailingSharedPartition(self.world, self.index, self.finish)

    def attach(self, trouble: Trouble) -> None:
        """Share what all controllers have in common; before the simulation starts."""
        super().attach(trouble)
        self._attempt_ends_s: dict[int, float] = {}
        self.partition.rate_changed = self._schedule_end_of_attempt

    def _schedule_end_of_attempt(self, job: int) -> None:
        """A job that has started, or has another rate from now on: its attempt fails at another time."""
        trouble, log, ends = self.trouble, self.trouble.log, self._attempt_ends_s
        left = trouble.left_at_failure(job)
        if left is None:
            return
        assert isinstance(log, VaryingLog)
        ends_s = max(self._clock.now_s, log.ends_s(job, left))
        if ends.get(job) == ends_s:
            return
        ends[job] = ends_s

        def fails() -> None:
            if ends.get(job) != ends_s:
                return
            del ends[job]
            if job in self.running:
                trouble.ending[job] = left
                self._fail(job)

        self._clock.call_at(ends_s, Order.OUTAGE, fails)


class ImpatientFailingController(ImpatientController, FailingController):
    """A controller whose nodes go away, and whose jobs leave where they have not started in time."""

    def _lost(self, job: int) -> None:
        self.trouble.unfinished -= 1


class ImpatientSharingController(ImpatientController, SharingController):
    """A controller whose jobs share GPUs, and leave where they have not started in time."""


class ImpatientFailingSharingController(ImpatientFailingController, FailingSharingController):
    """All of it."""


_KINDS: dict[tuple[bool, bool, bool], type[Controller]] = {
    (False, False, False): Controller,
    (True, False, False): FailingController,
    (False, True, False): SharingController,
    (True, True, False): FailingSharingController,
    (False, False, True): ImpatientController,
    (True, False, True): ImpatientFailingController,
    (False, True, True): ImpatientSharingController,
    (True, True, True): ImpatientFailingSharingController,
}


def kind_of_controller(fails: bool, shares_gpus: bool, is_impatient: bool) -> type[Controller]:
    """The controller that knows what can happen to these jobs, and no more."""
    return _KINDS[fails, shares_gpus, is_impatient]
