"""Jobs into slots, given how many slots of each kind there are: a transportation problem.

Few kinds of slots, many jobs. The jobs begin where prices of slots send them, and slots that are too
full or empty are put right along best paths: a path moves one job from kind to kind, each job where
the next one leaves. From a start without improving cycles, best paths keep it so (successive shortest
paths), and where no path improves any more the assignment is optimal.
"""

from __future__ import annotations

import itertools

import numpy as np

from simulator.model.cluster import FloatArray, IntArray

TIE = 1e-9
"""Gains that differ by less, relative to the largest, are equal: what a path must bring."""


class Transport:
    """An assignment of jobs to kinds of slots that can be taken up again with other capacities.

    Attributes
    ----------
    gain : ``(n, R + 1)`` of each job in each kind; 0 in the last, which is none at all.
    kind : ``(n,)`` of each job; R for none.
    """

    def __init__(self, gain: FloatArray, price: FloatArray) -> None:
        """Each job goes where its gain less the slot's price ``(R,)`` is greatest."""
        self.gain = np.concatenate([gain, np.zeros((len(gain), 1))], axis=1)
        finite = self.gain[np.isfinite(self.gain)]
        self._least = TIE * float(np.abs(finite).max(initial=0.0))
        self._price = np.append(price, 0.0)
        self.kind = (self.gain - self._price).argmax(axis=1)
        self._weight = np.empty((0, 0))
        self._job = np.empty((0, 0), dtype=np.int64)

    @property
    def none(self) -> int:
        """The kind that is no slot."""
        return int(self.gain.shape[1]) - 1

    def value(self) -> float:
        """Sum of the gains."""
        return float(self.gain[np.arange(len(self.kind)), self.kind].sum())

    def fill(self, capacity: IntArray) -> None:
        """Make the assignment the best one for ``(R,)`` slots of each kind."""
        room = np.append(capacity, len(self.kind) + 1)
        if not self._weight.size:
            self._spread(room)
        kinds = len(room)
        self._weight = np.full((kinds, kinds), -np.inf)
        self._job = np.zeros((kinds, kinds), dtype=np.int64)
        for k in range(kinds):
            self._look(k)
        load = np.bincount(self.kind, minlength=kinds)
        for k in np.flatnonzero(load > room).tolist():
            start = np.full(kinds, -np.inf)
            start[k] = 0.0
            while load[k] > room[k]:
                if not self._move(start, load, room):
                    raise RuntimeError("foresight: a slot too many, and no job that can leave it")
        while True:
            free = load < room
            free[-1] = False
            if not free.any() or not self._move(np.zeros(kinds), load, room, self._least):
                return

    def margins(self, capacity: IntArray) -> tuple[FloatArray, FloatArray]:
        """``(R,)`` what one more slot of each kind would bring, and what one slot less would cost."""
        load = np.bincount(self.kind, minlength=len(capacity) + 1)[:-1]
        kinds = len(capacity) + 1
        more = self._paths(np.zeros(kinds))[0][:-1]
        ends = np.append(load < capacity, True)
        less = np.zeros(kinds - 1)
        for k in np.flatnonzero((load >= capacity) & (capacity > 0)).tolist():
            start = np.full(kinds, -np.inf)
            start[k] = 0.0
            worth = self._paths(start)[0]
            worth[k] = -np.inf
            less[k] = -float(worth[ends].max())
        return more, less

    def _spread(self, room: IntArray) -> None:
        """Jobs that are as well off in several kinds go where there is room: fewer paths to come."""
        load = np.bincount(self.kind, minlength=len(room))
        over = load > room
        if not over.any():
            return
        net = self.gain - self._price
        rows = np.arange(len(net))
        equal = net >= net[rows, self.kind][:, None] - self._least
        for job in np.flatnonzero(over[self.kind] & (equal.sum(axis=1) > 1)).tolist():
            k = self.kind[job]
            if load[k] <= room[k]:
                continue
            others = np.flatnonzero(equal[job] & (load < room))
            if len(others):
                self.kind[job] = others[0]
                load[k] -= 1
                load[others[0]] += 1

    def _look(self, k: int) -> None:
        """Best gain from moving a job from kind k to each other one, and the job."""
        members = np.flatnonzero(self.kind == k)
        if not len(members):
            self._weight[k] = -np.inf
            return
        change = self.gain[members] - self.gain[members, k][:, None]
        best = change.argmax(axis=0)
        self._weight[k] = change[best, np.arange(len(best))]
        self._job[k] = members[best]
        self._weight[k, k] = -np.inf

    def _paths(self, start: FloatArray) -> tuple[FloatArray, IntArray]:
        """Gain of the best path to each kind, and the kind before it on that path, -1 at its
        start."""
        kinds = len(start)
        worth, before = start.copy(), np.full(kinds, -1)
        for _ in range(kinds):
            through = worth[:, None] + self._weight
            origin = through.argmax(axis=0)
            best = through[origin, np.arange(kinds)]
            better = best > worth + self._least * 1e-3
            if not better.any():
                break
            worth[better], before[better] = best[better], origin[better]
        return worth, before

    def _move(
        self, start: FloatArray, load: IntArray, room: IntArray, least: float = -np.inf
    ) -> bool:
        """Move jobs along the best path to a kind with room; False where none brings so much.

        Parameters
        ----------
        start : ``(R + 1,)`` what it brings to begin at a kind.
        """
        worth, before = self._paths(start)
        open_to = np.where((load < room) & (before >= 0), worth, -np.inf)
        end = int(open_to.argmax())
        if not open_to[end] > least:
            return False
        path = [end]
        while before[path[-1]] >= 0:
            k = int(before[path[-1]])
            if k in path:  # jobs that differ by rounding alone can improve in a circle: let them
                self._pass([k, *path[path.index(k) :][::-1]])
                return self._move(start, load, room, least)
            path.append(k)
        path.reverse()
        self._pass(path)
        load[path[0]] -= 1
        load[end] += 1
        return True

    def _pass(self, path: list[int]) -> None:
        """Move one job from each kind of a path to the next."""
        moves = [(int(self._job[a, b]), b) for a, b in itertools.pairwise(path)]
        for job, b in moves:
            self.kind[job] = b
        for k in set(path):
            self._look(k)
