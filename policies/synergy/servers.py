"""Servers of one controller for a mechanism, and its result.

A `Servers` makes empty packings, splits the queue over the types of servers, and remembers packings
that were made before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from policies.synergy.demand import Kind, Kinds, ServerSize, Share
from policies.synergy.slots import Packing, Slot
from simulator.model.cluster import IntArray

Signature = tuple[tuple[int, Share, float], ...]

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
    in_order : whether the first job takes the first slot, and so on; else jobs of one kind may
        exchange their slots.
    """

    slots: Sequence[Slot]
    signatures: Sequence[Signature]
    info: Mapping[str, float | int | str | bool] = {}
    fractional: bool = False
    in_order: bool = False


def signatures_of(slots: Sequence[Slot], num_servers: int) -> list[Signature]:
    """Contents of each server, in a form that does not depend on the server."""
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

    capacity: ServerSize
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


class Servers:
    """The servers of one controller, for one mechanism: makes packings and remembers them.

    What is free is known to each `Packing` alone.

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
        """Runnable jobs, in all and by group: each goes where it is fastest among those with servers.

        No job goes over servers of two types (Synergy, A.2.2).
        """
        if len(self.groups) == 1:
            jobs = runnable(order, self.kinds.gpus, self.total_gpus)
            return jobs, [jobs]
        groups = self.groups
        free = [g.num_servers * g.capacity.gpus for g in groups]
        fastest = [
            descending([rate(g.kinds[k]) for g in groups]) for k in range(len(groups[0].kinds))
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

    def packed(self, packings: Sequence[Packing], in_order: bool = False) -> Packed:
        """The packings of all groups as one, servers numbered through; see `Packed`."""
        slots = list(packings[0].slots)
        for group, packing in zip(self.groups[1:], packings[1:], strict=True):
            slots.extend(
                Slot(s.kind, s.share, tuple((i + group.first, g) for i, g in s.parts))
                for s in packing.slots
            )
        signatures = signatures_of(slots, self.num_servers)
        return Packed(slots, signatures, in_order=in_order)

    def remembered(self, what: Sequence[IntArray], make: Callable[[], Packed]) -> Packed:
        """The packing of some kinds of jobs, by group: that of an earlier round, or a new one."""
        key = b"|".join(kinds.tobytes() for kinds in what)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make()
            if len(self._known) > MEMORY:
                self._known.popitem(last=False)
        return known


class Mechanism(ABC):
    """A rule that packs jobs on servers: jobs that run, and slots for as many of each kind.

    Jobs of one kind are alike, so which of them takes which slot is settled afterwards.

    Attributes
    ----------
    name : as in ``"srtf+tune"``.
    plans_anew : whether each decision is made without regard to what runs, by whole GPUs.
    heterogeneous : whether it knows servers of several types.
    depends_on_set_alone : whether the same jobs in another order come out the same on equal servers.
    """

    name: ClassVar[str]
    plans_anew: ClassVar[bool] = True
    heterogeneous: ClassVar[bool] = True
    depends_on_set_alone: bool = False

    @abstractmethod
    def run(self, order: IntArray, servers: Servers) -> tuple[IntArray, Packed]:
        """Jobs that run in this round, highest priority first, and where."""


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


def descending(values: Sequence[float]) -> list[int]:
    """Indices with the largest value first, of equal ones the first."""
    return sorted(range(len(values)), key=lambda i: -values[i])
