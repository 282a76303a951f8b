"""Who gets which CPUs and memory: the mechanisms of Sections 3.3 and 4.2.

A mechanism takes the queue in order of priority and answers with slots, one for each job that
runs in the round. `proportional`, `tune` and `opt` run the longest set of jobs whose GPUs fit;
`greedy` and `static` skip a job that does not get its whole demand.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np

from policies.synergy.demand import Capacity, Kind, Kinds, Share
from policies.synergy.packing import Packing, Slot
from simulator.catalog import IntArray

Signature = tuple[tuple[int, Share, float], ...]
PlacementRule = Literal["packed", "consolidated", "spread"]

PLACEMENT: PlacementRule = "packed"
"""How jobs of several GPUs are placed by default; see `Tune`."""

MEMORY = 4096
"""Packings that a mechanism remembers, by what was to be packed."""


class Packed(NamedTuple):
    """A packing that is done.

    Attributes
    ----------
    slots : one a job that runs.
    signatures : for each server, what is on it, the same for servers that hold the like.
    info : facts for the record.
    fractional : whether GPUs are given in fractions.
    """

    slots: Sequence[Slot]
    signatures: Sequence[Signature]
    info: Mapping[str, float | int | str | bool] = {}
    fractional: bool = False


def signatures_of(slots: Sequence[Slot], num_servers: int) -> list[Signature]:
    """What is on each server, in a form that does not depend on which server it is."""
    on_server: list[list[tuple[int, Share, float]]] = [[] for _ in range(num_servers)]
    for slot in slots:
        for i, gpus in slot.parts:
            on_server[i].append((slot.kind, slot.share, gpus))
    return [tuple(sorted(held)) for held in on_server]


@dataclass(frozen=True)
class Group:
    """Equal servers, numbered from ``first`` on.

    Attributes
    ----------
    kinds : the kinds of jobs, as they do on these servers.
    """

    capacity: Capacity
    first: int
    num_servers: int
    kinds: Sequence[Kind]

    @property
    def all(self) -> tuple[float, float, float]:
        """GPUs, CPUs and GB of all of them."""
        n, c = self.num_servers, self.capacity
        return n * c.gpus, n * c.cpus, n * c.memory_gb

    @cached_property
    def by_demand(self) -> IntArray:
        """Kinds with the largest GPU, then CPU, then memory demand first."""
        return np.array(
            sorted(
                range(len(self.kinds)),
                key=lambda k: tuple(-self.kinds[k].gpus * x for x in (1.0, *self.kinds[k].best)),
            ),
            dtype=np.int64,
        )


class Room:
    """The servers of one controller, for one mechanism: makes packings and remembers them.

    Parameters
    ----------
    groups : equal servers each.
    kinds : the jobs by kind.
    """

    def __init__(self, groups: Sequence[Group], kinds: Kinds) -> None:
        self.groups = groups
        self.kinds = kinds
        self.num_servers = sum(g.num_servers for g in groups)
        self.total_gpus = sum(g.num_servers * g.capacity.gpus for g in groups)
        self._known: OrderedDict[bytes, Packed] = OrderedDict()

    def by_group(
        self, order: IntArray, rate: Callable[[Kind], float]
    ) -> tuple[IntArray, Sequence[IntArray]]:
        """Runnable jobs, in all and by group: each goes where it is fastest among those with room.

        No job goes over servers of two types (Synergy, A.2.2).
        """
        if len(self.groups) == 1:
            jobs = runnable(order, self.kinds.gpus, self.total_gpus)
            return jobs, [jobs]
        groups = self.groups
        free = [g.num_servers * g.capacity.gpus for g in groups]
        fastest = [
            _descending([rate(g.kinds[k]) for g in groups]) for k in range(len(groups[0].kinds))
        ]
        taken: list[int] = []
        of_group: list[list[int]] = [[] for _ in groups]
        demand, kind_of = self.kinds.gpus[order].tolist(), self.kinds.kind_of[order].tolist()
        for job, gpus, kind in zip(order.tolist(), demand, kind_of, strict=True):
            v = next((v for v in fastest[kind] if free[v] >= gpus), None)
            if v is not None:
                free[v] -= gpus
                of_group[v].append(job)
                taken.append(job)
                if not any(free):
                    break
        return np.array(taken, dtype=np.int64), [np.array(js, dtype=np.int64) for js in of_group]

    def packings(self) -> list[Packing]:
        """The servers of each group, all empty."""
        return [Packing(g.capacity, g.num_servers, g.kinds) for g in self.groups]

    def packed(self, packings: Sequence[Packing]) -> Packed:
        """The packings of all groups as one, servers numbered through."""
        slots = list(packings[0].slots)
        for group, packing in zip(self.groups[1:], packings[1:], strict=True):
            slots.extend(
                Slot(s.kind, s.share, tuple((i + group.first, g) for i, g in s.parts))
                for s in packing.slots
            )
        return Packed(slots, signatures_of(slots, self.num_servers))

    def remembered(self, what: Sequence[IntArray], make: Callable[[], Packed]) -> Packed:
        """The packing of some kinds of jobs, by group: that of an earlier round, or a new one."""
        key = b"|".join(kinds.tobytes() for kinds in what)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make()
            if len(self._known) > MEMORY:
                self._known.popitem(last=False)
        return known


class Mechanism(Protocol):
    """What a mechanism answers: jobs that run, and slots for as many of each kind.

    Jobs of one kind are alike, so which of them takes which slot is settled afterwards.
    """

    @property
    def name(self) -> str:
        """As in ``"srtf+tune"``."""
        ...

    @property
    def heterogeneous(self) -> bool:
        """Whether it knows servers of several types."""
        ...

    @property
    def depends_on_set_alone(self) -> bool:
        """Whether the same jobs in another order come out the same on equal servers."""
        ...

    def run(self, order: IntArray, room: Room) -> tuple[IntArray, Packed]:
        """Jobs that run in this round, highest priority first, and where."""
        ...


def runnable(order: IntArray, gpus: IntArray, free_gpus: int) -> IntArray:
    """The jobs whose GPU demands can be met, walking the queue: a job that does not fit is passed.

    Parameters
    ----------
    order : jobs, highest priority first.
    gpus : ``(J,)`` GPUs of each job of the workload.
    free_gpus : GPUs in all.
    """
    demand = gpus[order]
    taken: list[IntArray] = []
    begin = 0
    while free_gpus > 0 and begin < len(order):
        fits = np.flatnonzero(demand[begin:] <= free_gpus) + begin
        if not len(fits):
            break
        total = np.cumsum(demand[fits])
        count = int(np.searchsorted(total, free_gpus, side="right"))
        taken.append(order[fits[:count]])
        free_gpus -= int(total[count - 1])
        begin = int(fits[count - 1]) + 1
    return np.concatenate(taken) if taken else order[:0]


@dataclass
class Proportional:
    """GPU-proportional: CPUs and memory in proportion to the GPUs."""

    placement: PlacementRule = PLACEMENT
    released: bool = False
    name: str = "proportional"
    heterogeneous = True

    @property
    def depends_on_set_alone(self) -> bool:
        """See `Mechanism`."""
        return not self.released

    def run(self, order: IntArray, room: Room) -> tuple[IntArray, Packed]:
        """See `Mechanism`."""
        jobs, of_group = room.by_group(order, lambda kind: kind.fair_rate)
        kind_of = room.kinds.kind_of
        sequences = [
            kind_of[js] if self.released else _by_demand(group, kind_of[js])
            for group, js in zip(room.groups, of_group, strict=True)
        ]

        def pack() -> Packed:
            packings = room.packings()
            for packing, sequence in zip(packings, sequences, strict=True):
                for kind, count in _runs(sequence):
                    _place_all(packing, kind, count, (packing.kinds[kind].fair,), self._attempts())
            return room.packed(packings)

        return jobs, room.remembered(sequences, pack)

    def _attempts(self) -> tuple[Attempt, ...]:
        return (_first,) if self.released else ATTEMPTS[self.placement]


@dataclass
class Tune:
    """Synergy-Tune (Section 4.2).

    Jobs go by GPU, CPU and memory demand, largest first, onto the fullest server that holds their
    demand, or the fewest servers. Where none does, a job falls back to its proportional share, and
    then others are put back to theirs until it fits.

    Parameters
    ----------
    placement : ``"packed"`` splits a job over several servers before it gives up its demand;
        ``"consolidated"`` never splits a job that one server has the GPUs for; ``"spread"`` puts
        each GPU where most are free.
    released : as in the released simulator: in order of priority (LAS: by GPUs), first free GPUs in
        order of the servers, and peers put back in order of their CPUs, helpful or not.
    sort_by_gpus : by GPU demand alone, then by priority. Not the paper's: CPU-hungry jobs then do
        not meet on the first servers.
    regrant : at the end, jobs at their proportional share get their demand where it still fits. Not
        the paper's.
    """

    placement: PlacementRule = PLACEMENT
    released: bool = False
    sort_by_gpus: bool = False
    regrant: bool = False
    name: str = "tune"
    heterogeneous = True

    @property
    def depends_on_set_alone(self) -> bool:
        """See `Mechanism`."""
        return not (self.released or self.sort_by_gpus)

    def run(self, order: IntArray, room: Room) -> tuple[IntArray, Packed]:
        """See `Mechanism`."""
        jobs, of_group = room.by_group(order, lambda kind: kind.best_rate)
        sequences = [
            self._sequence(group, room.kinds, js)
            for group, js in zip(room.groups, of_group, strict=True)
        ]

        def pack() -> Packed:
            packings = room.packings()
            for packing, sequence in zip(packings, sequences, strict=True):
                for kind, count in _runs(sequence):
                    spec = packing.kinds[kind]
                    shares = (spec.best, spec.fair) if spec.exceeds_fair else (spec.best,)
                    self.place(packing, kind, shares, count)
                if self.regrant:
                    _regrant(packing)
            return room.packed(packings)

        return jobs, room.remembered(sequences, pack)

    def _sequence(self, group: Group, kinds: Kinds, jobs: IntArray) -> IntArray:
        """Kinds of the jobs in the order in which they are placed."""
        if not self.released and not self.sort_by_gpus:
            return _by_demand(group, kinds.kind_of[jobs])
        if self.sort_by_gpus:
            jobs = jobs[np.argsort(-kinds.gpus[jobs], kind="stable")]
        return kinds.kind_of[jobs]

    def place(self, packing: Packing, kind: int, shares: Sequence[Share], count: int = 1) -> None:
        """Place jobs of one kind with the first share that fits; the last is made to fit."""
        attempts = (_first,) if self.released else ATTEMPTS[self.placement]
        while count:
            count -= _place_all(packing, kind, count, shares, attempts)
            if count:
                self._make_room(packing, kind, shares[-1])
                count -= 1

    def _make_room(self, packing: Packing, kind: int, share: Share) -> None:
        """Place one job for which there are GPUs, but not the CPUs or memory beside them."""
        gpus = packing.kinds[kind].gpus
        parts = packing.gpu_parts(gpus, whole=True) if self.placement != "spread" else ()
        parts = parts or packing.gpu_parts(gpus, whole=False)
        assert parts, "runnable jobs have their GPUs"
        put_back = _put_back_released if self.released else _put_back
        for i, part in parts:
            put_back(packing, i, part, share)
        packing.add(Slot(kind, share, parts))


@dataclass
class Greedy:
    """Synergy-Greedy (Section 3.3): first fit of the whole demand, else the job is passed over."""

    placement: PlacementRule = PLACEMENT
    released: bool = False
    name: str = "greedy"
    heterogeneous = True

    @property
    def depends_on_set_alone(self) -> bool:
        """See `Mechanism`."""
        return False

    def run(self, order: IntArray, room: Room) -> tuple[IntArray, Packed]:
        """See `Mechanism`."""
        packings = room.packings()
        free = room.total_gpus
        failed: set[int] = set()
        jobs: list[int] = []
        for job, kind in zip(order.tolist(), room.kinds.kind_of[order].tolist(), strict=True):
            if kind in failed:
                continue
            fastest = _descending([p.kinds[kind].best_rate for p in packings])
            if any(self._place(packings[v], kind) for v in fastest):
                jobs.append(job)
                free -= packings[0].kinds[kind].gpus
                if not free:
                    break
            else:
                failed.add(kind)
                if len(failed) == len(room.kinds.kinds):
                    break
        return np.array(jobs, dtype=np.int64), room.packed(packings)

    def _place(self, packing: Packing, kind: int) -> bool:
        share = packing.kinds[kind].best
        place = Packing.place_spread if self.placement == "spread" else Packing.place_first
        if not self.released and _first_fit(packing, kind, share):
            return True
        return place(packing, kind, share)


# -- steps that mechanisms share -----------------------------------------------------------------

Attempt = Callable[[Packing, int, Share, int], int]
"""Tries to place up to so many jobs of a kind with a share; how many were placed."""


def _whole(packing: Packing, kind: int, share: Share, count: int) -> int:
    return packing.place_whole(kind, share, count)


def _split(packing: Packing, kind: int, share: Share, count: int) -> int:
    return int(packing.kinds[kind].gpus > 1 and packing.place_on_fewest(kind, share))


def _split_if_must(packing: Packing, kind: int, share: Share, count: int) -> int:
    gpus = packing.kinds[kind].gpus
    if packing.gpu_parts(gpus, whole=True):
        return 0
    return _split(packing, kind, share, count)


def _spread(packing: Packing, kind: int, share: Share, count: int) -> int:
    return int(packing.place_spread(kind, share))


def _first(packing: Packing, kind: int, share: Share, count: int) -> int:
    return int(packing.place_first(kind, share))


ATTEMPTS: dict[str, tuple[Attempt, ...]] = {
    "packed": (_whole, _split),
    "consolidated": (_whole, _split_if_must),
    "spread": (_spread,),
}


def _place_all(
    packing: Packing, kind: int, count: int, shares: Sequence[Share], attempts: Sequence[Attempt]
) -> int:
    """Place jobs of one kind with the first share that works; how many found a place."""
    placed = 0
    for share in shares:
        for attempt in attempts:
            while placed < count and (more := attempt(packing, kind, share, count - placed)):
                placed += more
    return placed


def _first_fit(packing: Packing, kind: int, share: Share) -> bool:
    """The first server that holds a job whole."""
    gpus = packing.kinds[kind].gpus
    for i, free in enumerate(packing.free_gpus):
        if free >= gpus and packing.shortage(i, gpus, share) == (0.0, 0.0):
            packing.add(Slot(kind, share, ((i, gpus),)))
            return True
    return False


def _put_back(packing: Packing, i: int, gpus: float, share: Share) -> None:
    """Put jobs on server ``i`` back to their proportional share so that just enough is released."""
    victims: list[tuple[Slot, Share]] = []
    while (short := packing.shortage(i, gpus, share)) != (0.0, 0.0):
        slot = _cheapest_victim(packing, i, short)
        victims.append((slot, slot.share))
        packing.change_share(slot, packing.kinds[slot.kind].fair)
    # A later victim may have released what an earlier one was needed for.
    for slot, before in victims[:-1]:
        after = slot.share
        packing.change_share(slot, before)
        overdrawn = any(packing.shortage(k, 0, share) != (0.0, 0.0) for k, _ in slot.parts)
        if overdrawn or packing.shortage(i, gpus, share) != (0.0, 0.0):
            packing.change_share(slot, after)


def _cheapest_victim(packing: Packing, i: int, short: tuple[float, float]) -> Slot:
    """Who covers the shortage and releases least beyond it; else who covers most of it."""
    best: Slot | None = None
    best_score = (2.0, 0.0)
    fair = packing.capacity.fair
    for slot in packing.on_server[i]:
        part = next(gpus for k, gpus in slot.parts if k == i)
        released = (
            part * (slot.share.cpus - fair.cpus),
            part * (slot.share.memory_gb - fair.memory_gb),
        )
        cover = sum(min(r, s) / s for r, s in zip(released, short, strict=True) if s > 0 and r > 0)
        if cover <= 0:
            continue
        covers_all = all(r >= s * (1 - 1e-9) for r, s in zip(released, short, strict=True) if s > 0)
        spill = released[0] / max(fair.cpus, 1e-9) + released[1] / max(fair.memory_gb, 1e-9)
        score = (0.0, spill) if covers_all else (1.0, -cover)
        if score < best_score:
            best, best_score = slot, score
    assert best is not None, "a server short of a resource has a job above its proportional share"
    return best


def _regrant(packing: Packing) -> None:
    """Give jobs their demand where it fits beside all others, those that gain most first."""
    kinds = packing.kinds
    for slot in sorted(packing.slots, key=lambda s: (-kinds[s.kind].best_rate, s.kind)):
        kind = kinds[slot.kind]
        if slot.share == kind.fair and kind.exceeds_fair:
            packing.change_share(slot, kind.best)
            if any(packing.shortage(i, 0, slot.share) != (0.0, 0.0) for i, _ in slot.parts):
                packing.change_share(slot, kind.fair)


def _put_back_released(packing: Packing, i: int, gpus: float, share: Share) -> None:
    """As released: jobs with the most CPUs and memory first, whether or not that helps."""
    peers = sorted(
        packing.on_server[i],
        key=lambda s: (len(s.parts), -s.share.cpus, -s.share.memory_gb),
    )
    for slot in peers:
        if packing.shortage(i, gpus, share) == (0.0, 0.0):
            return
        kind = packing.kinds[slot.kind]
        if kind.exceeds_fair and slot.share != kind.fair:
            packing.change_share(slot, kind.fair)


def _by_demand(group: Group, kinds: IntArray) -> IntArray:
    """Kinds of jobs, the largest GPU, then CPU, then memory demand first."""
    counts = np.bincount(kinds, minlength=len(group.kinds))
    return np.repeat(group.by_demand, counts[group.by_demand])


def _descending(values: Sequence[float]) -> list[int]:
    """Indices with the largest value first, of equal ones the first."""
    return sorted(range(len(values)), key=lambda i: -values[i])


def _runs(sequence: IntArray) -> list[tuple[int, int]]:
    """Neighbours that are equal, and how many."""
    if not len(sequence):
        return []
    ends = np.flatnonzero(np.diff(sequence)) + 1
    begins = np.concatenate(([0], ends))
    counts = np.diff(np.concatenate((begins, [len(sequence)])))
    return list(zip(sequence[begins].tolist(), counts.tolist(), strict=True))
