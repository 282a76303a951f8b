"""Rounds that end with their last job, and the work in them, as the performance model counts it.

What a job does in a round depends on the rounds before it: steps are whole, and batch sizes change. So the rounds are gone
through one after another. Who runs in each is what the rows say; the model (`simulator.model.rounds.Progress`) says how far
each job comes, and so when the round ends, and when each job does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.bench.check.stretches import Stretches
from experiments.bench.check.verdict import Fault, short, slack_s
from simulator.model.cluster import FloatArray
from simulator.model.rounds import Progress
from simulator.model.workload import Workload


def round_faults(stretches: Stretches, workload: Workload, round_s: float) -> Iterator[Fault]:
    """The first fault of the rounds: what comes after it follows from it.

    Parameters
    ----------
    round_s : a round lasts at most so long.
    """
    progress = workload.performance.progress()
    if progress is not None:
        yield from _Rounds(stretches, workload, round_s, progress).faults()


@dataclass
class _Rounds:
    """The rounds of a schedule, one after another."""

    stretches: Stretches
    workload: Workload
    round_s: float
    progress: Progress

    def __post_init__(self) -> None:
        self._by_start = np.argsort(self.stretches.start_s, kind="stable").tolist()
        self._started = 0
        self._running: dict[int, int] = {}
        self._done: set[int] = set()
        # A job that stops for the last time is in one more round, in which it may end at once.
        self._is_last = np.append(np.diff(self.stretches.job) > 0, True).tolist()
        self._submitted_s: FloatArray = np.sort(self.workload.submit_s)

    def faults(self) -> Iterator[Fault]:
        """Go through the rounds until the rows are over, or something is wrong."""
        begin_s = float(self._submitted_s[0])
        while self._running or self._started < len(self._by_start):
            begin_s = self._begin(begin_s)
            fault = self._late_start(begin_s)
            if fault is None:
                fault, begin_s = self._round(begin_s)
            if fault is not None:
                yield fault
                return

    def _begin(self, time_s: float) -> float:
        """When the next round begins in which a job runs, from the end of the one before.

        Without a job, that is with the next submission; where jobs wait, rounds go on.
        """
        came = int(np.searchsorted(self._submitted_s, time_s + slack_s(time_s), side="right"))
        if came <= len(self._done) and came < len(self._submitted_s):
            time_s = float(self._submitted_s[came])
        if not self._running and self._started < len(self._by_start):
            wait_s = self._next_start_s() - time_s
            time_s += max(0, math.floor(wait_s / self.round_s + 0.5)) * self.round_s
        return time_s

    def _next_start_s(self) -> float:
        return float(self.stretches.start_s[self._by_start[self._started]])

    def _late_start(self, begin_s: float) -> Fault | None:
        """Let the jobs start that the rows start with this round; the fault of one that starts between two."""
        while self._started < len(self._by_start):
            start_s, index = self._next_start_s(), self._by_start[self._started]
            if start_s > begin_s + slack_s(begin_s):
                return None
            job = int(self.stretches.job[index])
            if start_s < begin_s - slack_s(begin_s):
                what = f"starts or changes at {start_s:.9g} s, but the next round begins at {begin_s:.9g} s"
                return self._fault(job, what)
            if job in self._done:
                return self._fault(job, f"holds GPUs from {start_s:.9g} s, after its work is done")
            self._running[job] = index
            self._started += 1
        return None

    def _round(self, begin_s: float) -> tuple[Fault | None, float]:
        """One round: the first fault of its jobs, and its end."""
        if not self._running:
            return None, begin_s + self.round_s
        kinds, ends = self.stretches.kinds, self.stretches.end_s
        runs = {job: (int(kinds[at].argmax()), at) for job, at in self._running.items()}
        work = self.progress.round(runs, self.round_s, lambda job: 1.0, {})
        end_s = begin_s + max(each.seconds for each in work.values())
        for job, (seconds, _, left) in work.items():
            due_s = begin_s + seconds if left == 0 else end_s
            stop_s = float(ends[self._running[job]])
            late_s, near_s = stop_s - due_s, float(slack_s(end_s))
            if left == 0 and abs(late_s) > near_s:
                return self._fault(
                    job, f"ends at {stop_s:.9g} s, but its work is done at {due_s:.9g} s"
                ), end_s
            if late_s < -near_s:
                what = f"stops at {stop_s:.9g} s, but the round lasts until {due_s:.9g} s"
                if stop_s <= begin_s + near_s:
                    what = f"stops at {stop_s:.9g} s, before its work is done"
                return self._fault(job, what), end_s
            if left == 0:
                self._done.add(job)
            if left == 0 or (late_s <= near_s and not self._is_last[self._running[job]]):
                del self._running[job]
        return None, end_s

    def _fault(self, job: int, what: str) -> Fault:
        return Fault(f"job {short(self.workload.job_id[job])}", what)
