"""Jobs that run, kept from decision to decision: which started and stopped since, and when they are expected to end."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import cast

from policies.queues.job_array import FEW, JobArray
from policies.queues.unread import Unread
from simulator import Placement, View
from simulator.model.tolerances import INSTANT_S

OVERDUE_S = 4 * INSTANT_S
"""A job that should have ended is expected to end so much later than now."""

Shares = tuple[Placement, ...]


class RunningJobs:
    """The jobs that run at one controller; only nodes that changed are looked at (`View.node_changes`).

    Attributes
    ----------
    held : by job, where it runs.
    began, over : the same of the jobs that started, in this order, and that stopped, since the refresh before.
    number : by job, the later they started the higher.
    is_anew : whether all began, as changes are forgotten.
    """

    def __init__(self) -> None:
        self.held: dict[int, Shares] = {}
        self.began: dict[int, Shares] = {}
        self.over: dict[int, Shares] = {}
        self.number: dict[int, int] = {}
        self.is_anew = True
        self._on: dict[int, set[int]] = {}
        self._started = 0
        self._unread = Unread()

    def refresh(self, view: View) -> None:
        """Bring it up to what runs now."""
        nodes = self._unread.of(view.node_changes)
        self.is_anew = nodes is None or not self._look_at(view, nodes)
        if self.is_anew:
            for kept in (self.held, self.number, self._on):
                kept.clear()
            self.over, self.began = {}, {**view.running}
        for job, shares in self.began.items():
            self.held[job] = shares
            self.number[job] = self._started
            self._started += 1
            for share in shares:
                self._on.setdefault(share.node, set()).add(job)

    def _look_at(self, view: View, nodes: Iterable[int]) -> bool:
        """Look at nodes for who began and stopped; False where one of them is not the last to start, as it exchanged a node."""
        running, held, on = view.running, self.held, self._on
        self.over, began = {}, 0
        for job in dict.fromkeys(j for n in nodes for j in (*on.get(n, ()), *view.shares[n])):
            before, now = held.get(job), running.get(job)
            if before is now:  # each start has shares of its own
                continue
            if before is not None:
                self.over[job] = held.pop(job)
                del self.number[job]
                for share in before:
                    on[share.node].discard(job)
            began += now is not None
        last = [*islice(reversed(cast("dict[int, Shares]", running)), began)]
        self.began = {job: running[job] for job in reversed(last)}
        return all(held.get(job) is not shares for job, shares in self.began.items())


class RunningArray(JobArray):
    """The jobs that run at one controller as arrays, in the order in which they started."""

    def bring_up(self, view: View, running: RunningJobs) -> None:
        """Bring it up to what runs now, after a refresh of ``running``."""
        if running.is_anew:
            self.clear()
        self.leave_out([*running.over])
        self.append(view, [*running.began])


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
        new = []
        for job in running.began:
            self.began[job], stays = self._end_s(view, job)
            if stays:
                self._stays[job] = self.began[job]
                new.append((self.began[job], job))
            else:
                self._moves[job] = None
        if len(new) > FEW:
            self._in_order = sorted(self._in_order + new)
        else:
            for entry in new:
                insort(self._in_order, entry)

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
