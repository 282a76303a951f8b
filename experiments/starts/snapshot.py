"""The state of a cluster at a submission, from what was known then: nothing that comes later is looked at."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from experiments.starts.history import History, Request
from simulator.model.cluster import FloatArray
from simulator.model.recorded import clock
from simulator.model.tolerances import SUMS

LAST = 20
"""Starts that are looked back on."""

INPUTS = (
    "hour", "weekday", "gpus", "asked_s", "partition", "user",
    "in_use", "free", "running", "waiting", "waiting_gpus", "waiting_gpu_s", "waiting_not_longer", "waiting_as_wide",
    "left_gpu_s", "enough_free_after_s", "oldest_wait_s",
    "own_running", "own_running_gpus", "own_waiting", "own_waiting_gpus",
    "partition_waiting", "last_wait_s", "last_waits_s", "last_own_wait_s", "last_partition_wait_s", "since_start_s",
)  # fmt: skip
"""Columns of a snapshot: what is asked for; what is in use; the queue; what runs; the user's own jobs; the last waits."""


@dataclass
class ClusterState:
    """A cluster as a log tells of it, moved on from event to event in order of time.

    Events of one instant do not see each other: at a submission, only what was before it is known.
    """

    history: History
    most_in_use: float = 0.0
    in_use: float = 0.0
    running: dict[int, None] = field(default_factory=dict)
    waiting: dict[int, None] = field(default_factory=dict)
    last: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=LAST))
    last_of_user: dict[int, float] = field(default_factory=dict)
    last_of_partition: dict[int, float] = field(default_factory=dict)

    def submit(self, job: int) -> None:
        """A job comes."""
        self.waiting[job] = None

    def start(self, job: int) -> None:
        """A job starts."""
        self.waiting.pop(job, None)
        self.running[job] = None
        h = self.history
        self.in_use += h.gpus.item(job)
        self.most_in_use = max(self.most_in_use, self.in_use)
        wait_s = h.start_s.item(job) - h.submit_s.item(job)
        self.last.append((h.start_s.item(job), wait_s))
        self.last_of_user[h.user.item(job)] = wait_s
        self.last_of_partition[h.partition.item(job)] = wait_s

    def end(self, job: int) -> None:
        """A job ends, or leaves without having run."""
        if job in self.running:
            del self.running[job]
            self.in_use -= self.history.gpus.item(job)
            if not self.running:  # parts of GPUs leave a rest
                self.in_use = 0.0
        else:
            self.waiting.pop(job, None)

    def seen(self, at_s: float, request: Request, partition: int, user: int) -> list[float]:
        """`INPUTS` of a request at a time; -1 for a partition or user that has not come yet."""
        h = self.history
        running = np.fromiter(self.running, np.int64, len(self.running))
        waiting = np.fromiter(self.waiting, np.int64, len(self.waiting))
        hour, weekday = clock(h.origin_s, np.array([at_s]))
        free = self.most_in_use - self.in_use
        until_s = (h.start_s[running] + h.asked_s[running] - at_s).clip(0)
        left_s = np.nan_to_num(until_s)
        asked_s, gpus = np.nan_to_num(h.asked_s[waiting]), h.gpus[waiting]
        own_runs, own_waits = h.user[running] == user, h.user[waiting] == user
        waits = [wait_s for _, wait_s in self.last]
        return [
            hour.item(), weekday.item(), request.gpus, np.nan_to_num(request.asked_s, nan=-1.0), partition, user,
            self.in_use, free, len(running), len(waiting), gpus.sum(), (gpus * asked_s).sum(),
            np.count_nonzero(asked_s <= request.asked_s), np.count_nonzero(gpus >= request.gpus),
            (h.gpus[running] * left_s).sum(), _enough_free_s(request.gpus, free, h.gpus[running], until_s),
            at_s - h.submit_s[waiting].min() if len(waiting) else 0.0,
            np.count_nonzero(own_runs), h.gpus[running][own_runs].sum(),
            np.count_nonzero(own_waits), gpus[own_waits].sum(),
            np.count_nonzero(h.partition[waiting] == partition),
            waits[-1] if waits else -1.0, float(np.mean(waits)) if waits else -1.0,
            self.last_of_user.get(user, -1.0), self.last_of_partition.get(partition, -1.0),
            at_s - self.last[-1][0] if self.last else -1.0,
        ]  # fmt: skip


def _enough_free_s(needed: float, free: float, gpus: FloatArray, left_s: FloatArray) -> float:
    """Seconds until so many GPUs are free if all jobs run for as long as they asked for, and none starts; -1: not known."""
    if free >= needed - SUMS:
        return 0.0
    left_s = np.nan_to_num(left_s, nan=np.inf)
    order = np.argsort(left_s, kind="stable")
    enough = np.flatnonzero(free + gpus[order].cumsum() >= needed - SUMS)
    after_s = float(left_s[order][enough[0]]) if len(enough) else math.inf
    return after_s if after_s < math.inf else -1.0


def snapshots(history: History, first: int = 0) -> FloatArray:
    """``(J, len(INPUTS))`` the state that each job of a log met when it was submitted; 0 for those before ``first``."""
    h, state = history, ClusterState(history)
    found = np.zeros((len(h), len(INPUTS)))
    events = _events(h)
    at = 0
    for job, at_s in enumerate(h.submit_s.tolist()):
        while at < len(events) and events[at][0] < at_s:
            _apply(state, events[at])
            at += 1
        if job < first:
            continue
        request = Request(h.gpus.item(job), h.asked_s.item(job))
        found[job] = state.seen(at_s, request, h.partition.item(job), h.user.item(job))
    return found


def state_at(history: History, at_s: float) -> ClusterState:
    """The state of a log at a time."""
    state = ClusterState(history)
    for event in _events(history):
        if event[0] >= at_s:
            break
        _apply(state, event)
    return state


SUBMIT, START, END = 1, 2, 0
"""Kinds of events; of one instant, ends come first."""


def _events(h: History) -> list[tuple[float, int, int]]:
    """Times, kinds and jobs of all events, in order of time."""
    found = []
    for job, (submit_s, start_s, end_s) in enumerate(
        zip(h.submit_s.tolist(), h.start_s.tolist(), h.end_s.tolist(), strict=True)
    ):
        found.append((submit_s, SUBMIT, job))
        if start_s == start_s:
            found.append((start_s, START, job))
        if end_s == end_s:  # a job may end at the instant at which it starts
            found.append((end_s, END if end_s > start_s else END + 3, job))
    return sorted(found)


def _apply(state: ClusterState, event: tuple[float, int, int]) -> None:
    _, kind, job = event
    if kind == SUBMIT:
        state.submit(job)
    elif kind == START:
        state.start(job)
    else:
        state.end(job)
