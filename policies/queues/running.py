"""Jobs that run, kept from decision to decision: which started and stopped since, and when they are expected to end."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice
from typing import cast

from policies.queues.job_array import JobArray
from simulator import Placement, View
from simulator.model.contract import Changes
from simulator.model.tolerances import INSTANT_S

OVERDUE_S = 4 * INSTANT_S
"""A job that should have ended is expected to end so much later than now."""

Shares = tuple[Placement, ...]


class RunningJobs:
    """The jobs that run at one controller; only nodes that changed are looked at (`View.node_changes`).

    Attributes
    ----------
    held : by job, where it runs.
    began, over : the same of the jobs that started, and that stopped, since the refresh before.
    is_anew : whether all began, as changes are forgotten.
    """

    def __init__(self) -> None:
        self.held: dict[int, Shares] = {}
        self.began: dict[int, Shares] = {}
        self.over: dict[int, Shares] = {}
        self.is_anew = True
        self._on: dict[int, set[int]] = {}
        self._changes: Changes | None = None
        self._mark = 0

    def refresh(self, view: View) -> None:
        """Bring it up to what runs now."""
        changes, held, on = view.node_changes, self.held, self._on
        nodes, self._mark = changes.since(self._mark if changes is self._changes else -1)
        self._changes, self.began, self.over, self.is_anew = changes, {}, {}, nodes is None
        if nodes is None:
            held.clear()
            on.clear()
            jobs = [*view.running]
        else:
            jobs = [j for n in nodes for j in (*on.get(n, ()), *view.shares[n])]
        for job in dict.fromkeys(jobs):
            before, now = held.get(job), view.running.get(job)
            if before is now:  # each start has shares of its own
                continue
            if before is not None:
                self.over[job] = held.pop(job)
                for share in before:
                    on[share.node].discard(job)
            if now is not None:
                self.began[job] = held[job] = now
                for share in now:
                    on.setdefault(share.node, set()).add(job)


class RunningArray(JobArray):
    """The jobs that run at one controller as arrays, in the order in which they started."""

    def bring_up(self, view: View, running: RunningJobs) -> None:
        """Bring it up to what runs now, after a refresh of ``running``."""
        if running.is_anew:
            self.clear()
        self.leave_out([*running.over])
        in_order = cast("dict[int, Shares]", view.running)
        new = [*islice(reversed(in_order), len(running.began))][::-1]
        if running.began.keys() != {*new}:  # one that runs on has exchanged a node
            self.clear()
            new = [*view.running]
        self.append(view, new)


class ExpectedEnds:
    """Expected ends of the jobs that run at one controller, in order of time.

    Parameters
    ----------
    end_s : of a running job in a view, s, and whether that stays the same as long as it runs; those that do not are
        asked for again each time.

    Attributes
    ----------
    began : ends of the jobs that started since the refresh before, s, by job.
    over : those of the jobs that stopped, as they had been expected.
    """

    def __init__(self, end_s: Callable[[View, int], tuple[float, bool]]) -> None:
        self.began: dict[int, float] = {}
        self.over: dict[int, float] = {}
        self._end_s = end_s
        self._running = RunningJobs()
        self._stays: dict[int, float] = {}
        self._in_order: list[tuple[float, int]] = []
        self._moves: dict[int, None] = {}

    def refresh(self, view: View) -> None:
        """Bring it up to what runs now."""
        running = self._running
        running.refresh(view)
        self.began, self.over = {}, {}
        if running.is_anew:
            self._stays, self._in_order, self._moves = {}, [], {}
        for job in running.over:
            self.over[job] = end_s = self._stays.pop(job, math.inf)
            if job in self._moves:
                del self._moves[job]
            else:
                del self._in_order[bisect_left(self._in_order, (end_s, job))]
        for job in running.began:
            self.began[job], stays = self._end_s(view, job)
            if stays:
                self._stays[job] = self.began[job]
                insort(self._in_order, (self.began[job], job))
            else:
                self._moves[job] = None

    @property
    def first_s(self) -> float:
        """The first of them where all stay the same, s; else minus infinity."""
        if self._moves:
            return -math.inf
        return self._in_order[0][0] if self._in_order else math.inf

    def in_order(self, view: View) -> Iterator[tuple[float, Shares]]:
        """When jobs end, s, the earliest first, and what they hold until then."""
        moves = sorted((self._end_s(view, job)[0], job) for job in self._moves)
        least_s, held = view.now_s + OVERDUE_S, self._running.held
        for end_s, job in merge(self._in_order, moves) if moves else self._in_order:
            yield max(end_s, least_s), held[job]
