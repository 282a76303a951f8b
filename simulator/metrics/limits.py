"""Resources that waiting jobs lacked, and the GPUs that fragmentation kept free, from the schedule of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.core.record import RunRecord
from simulator.metrics.timeline import stretches
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.places import may_use, short_of, types_of
from simulator.model.tolerances import SUMS
from simulator.model.workload import Workload

BESIDE = {"cpus": "CPUs", "memory_gb": "memory"}
REASONS = ("GPUs", "fragmentation", *BESIDE.values(), "quota", "order")
"""Too few GPUs free; enough, but not on one node; no CPUs or memory beside them; a quota; nothing: other jobs go first.

Of jobs that ask for types of GPU or partitions, too few of theirs are a reason "too few .. free" each.
"""

MOST_CELLS = 20_000_000
"""Instants x nodes x kinds of jobs that are looked at; of more instants, some are, evenly spread."""

CHUNK_CELLS = 2_000_000

UNLIMITED = 1e12
"""CPUs or GB of a node without a limit."""

Yes = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Limits:
    """Seconds that jobs waited, by what they lacked.

    Attributes
    ----------
    waited_s : by each of `REASONS`, and by the GPUs of a type or partition, summed over the jobs.
    fragmented_gpu_s : GPU-seconds that were free while jobs waited of which none fitted, though one at least asked
        for no more GPUs than were free.
    """

    waited_s: dict[str, float]
    fragmented_gpu_s: float

    def shares(self) -> dict[str, float]:
        """Parts of the wait, the largest first; empty where no job waited."""
        total = sum(self.waited_s.values())
        parts = {why: waited / total for why, waited in self.waited_s.items() if waited > 0}
        return dict(sorted(parts.items(), key=lambda each: -each[1]))


def limits(record: RunRecord) -> Limits | None:
    """Reasons of the waits of jobs of fixed demand on nodes of fixed types.

    None where it does not follow from the record: the schedule is not in memory, policies choose the GPUs or their parts,
    or there are several controllers.
    """
    shares, cluster = record.shares(), record.cluster
    if (
        shares is None
        or cluster.is_pool
        or cluster.node_type_of is None
        or cluster.num_controllers > 1
        or not record.workload.num_gpus.all()
        or (shares["gpus"] % 1).any()
    ):
        return None
    return _Passage(record, shares).found()


class _Passage:
    """The waiting jobs by kind, and what is free on each node, from instant to instant."""

    def __init__(self, record: RunRecord, shares: dict[str, Any]) -> None:
        jobs, self.cluster = record.workload, record.cluster
        self.places, place = _places(jobs, self.cluster)
        demand = np.column_stack([jobs.num_gpus, jobs.num_cpus, jobs.memory_gb, place])
        # For numpy each NaN is another value.
        kinds, kind = np.unique(np.nan_to_num(demand, nan=-1.0), axis=0, return_inverse=True)
        self.kinds, kind = np.where(kinds < 0, np.nan, kinds), kind.ravel()
        held_s = getattr(record.parts.get("tenants"), "held_s", None)
        self.held_s = np.zeros(len(jobs)) if held_s is None else held_s
        job, begun_s, over_s = stretches(shares["job"], shares["start_s"], shares["end_s"])
        of_stretch = kind[job]
        ready_s = jobs.submit_s + self.held_s
        down = [part.down for part in record.parts.values() if len(part.down)]
        away = np.concatenate([np.empty((0, 3)), *down])
        at_s = np.concatenate([ready_s, begun_s, over_s, record.completion_s])
        counts = [len(ready_s), len(begun_s), len(over_s), len(record.completion_s)]
        self.times = np.unique(np.concatenate([at_s, away[:, 1], away[:, 2]]))
        change = np.repeat([1, -1, 1, -1], counts)
        at, of = (
            np.searchsorted(self.times, at_s),
            np.concatenate([kind, of_stretch, of_stretch, kind]),
        )
        order = np.lexsort((at, of))
        self.change_at, self.change = at[order], change[order]
        self.first_of = np.searchsorted(of[order], np.arange(len(self.kinds) + 1))
        self.waiting = np.bincount(at, change, len(self.times)).cumsum()
        types, names = self.cluster.type_of, ("gpus", *self.cluster.limited_resources)
        self.capacity = {n: np.array([min(getattr(t, n), UNLIMITED) for t in types]) for n in names}
        widest = self.capacity["gpus"].max()
        together = jobs.num_gpus[shares["job"]] <= widest
        # Shares of one job on several nodes follow each other in the log.
        after = np.column_stack([shares["job"], shares["start_s"]])
        several = np.append(False, (after[1:] == after[:-1]).all(axis=1))
        self.spreads = bool((several & together).any())
        begin, end = (np.searchsorted(self.times, shares[n]) for n in ("start_s", "end_s"))
        gone, back = (np.searchsorted(self.times, away[:, k]) for k in (1, 2))
        out = away[:, 0].astype(np.int64)
        self.at = np.concatenate([begin, end, gone, back])
        self.node = np.concatenate([shares["node"], shares["node"], out, out])
        self.amounts = {
            n: np.concatenate(
                [shares[n], -shares[n], self.capacity[n][out], -self.capacity[n][out]]
            )
            for n in names
        }
        order = np.argsort(self.at, kind="stable")
        self.at, self.node = self.at[order], self.node[order]
        self.amounts = {n: amount[order] for n, amount in self.amounts.items()}

    def found(self) -> Limits:
        """The sums over all instants."""
        waited = dict.fromkeys(REASONS, 0.0)
        step_s = np.diff(self.times, append=self.times[-1])
        some = np.flatnonzero((self.waiting > 0.5) & (step_s > 0))
        every = max(1, len(some) * len(self.capacity["gpus"]) * len(self.kinds) // MOST_CELLS)
        chosen = some[::every]
        if not len(chosen):
            return Limits(waited | {"quota": float(self.held_s.sum())}, 0.0)
        # Each instant that is looked at stands for those up to the next one.
        stands = np.add.reduceat(step_s[some], np.arange(0, len(some), every))
        fragmented = 0.0
        for rows, free in self._free(chosen):
            length_s = stands[rows]
            any_fits, any_fragmented = (np.zeros(len(length_s), dtype=np.bool_) for _ in range(2))
            for k, demand in enumerate(self.kinds):
                count = self._waiting(k, chosen[rows])
                if not count.any():
                    continue
                for why, which in self._why(demand, free):
                    waited[why] = waited.get(why, 0.0) + float((count * length_s)[which].sum())
                    any_fits |= which & (count > 0) & (why == "order")
                    any_fragmented |= which & (count > 0) & (why == "fragmentation")
            lost = any_fragmented & ~any_fits
            fragmented += float((free["gpus"].sum(axis=1) * length_s)[lost].sum())
        total = float((self.waiting[some] * step_s[some]).sum())
        scale = total / max(sum(waited.values()), 1e-300)
        waited = {why: scale * waited_s for why, waited_s in waited.items()}
        return Limits(waited | {"quota": float(self.held_s.sum())}, fragmented)

    def _waiting(self, kind: int, instants: IntArray) -> IntArray:
        """``(n,)`` waiting jobs of a kind from some instants on."""
        own = slice(*self.first_of[kind : kind + 2])
        there = np.append(0, self.change[own].cumsum())
        found: IntArray = there[np.searchsorted(self.change_at[own], instants, side="right")]
        return found

    def _free(self, chosen: IntArray) -> Iterator[tuple[slice, dict[str, FloatArray]]]:
        """``(n, N)`` what is free on each node at some of the instants, chunk by chunk."""
        count = len(self.capacity["gpus"])
        height = max(1, CHUNK_CELLS // count)
        used = {name: np.zeros(count) for name in self.amounts}
        event = 0
        for begin in range(0, len(chosen), height):
            rows = slice(begin, min(begin + height, len(chosen)))
            until = int(np.searchsorted(self.at, chosen[rows][-1], side="right"))
            part = slice(event, until)
            row = np.searchsorted(chosen[rows], self.at[part])
            free = {}
            for name, amount in self.amounts.items():
                change = np.zeros((rows.stop - rows.start, count))
                np.add.at(change, (row, self.node[part]), amount[part])
                now = used[name] + change.cumsum(axis=0)
                used[name] = now[-1]
                free[name] = np.maximum(0.0, self.capacity[name] - now)
            event = until
            yield rows, free

    def _why(self, demand: FloatArray, free: dict[str, FloatArray]) -> Iterator[tuple[str, Yes]]:
        """``(n,)`` for each reason, when it keeps a kind of jobs waiting; each instant has one."""
        gpus, stated = demand[0], dict(zip(BESIDE, demand[1:3], strict=True))
        short, own = self.places[int(demand[3])]
        capacity = {name: amount[own] for name, amount in self.capacity.items()}
        free = {name: amount[:, own] for name, amount in free.items()}
        whole = capacity["gpus"]
        over = self.spreads or gpus > whole.max(initial=0)
        rest = np.ones(len(free["gpus"]), dtype=np.bool_)

        def room(names: tuple[str, ...]) -> Yes:
            """When there is room for the GPUs, and for some resources beside them."""
            part = free["gpus"]
            for name in names:
                per_gpu = stated[name] / gpus
                if np.isnan(per_gpu):
                    per_gpu = capacity[name] / whole
                with np.errstate(divide="ignore", invalid="ignore"):
                    beside = np.where(per_gpu > 0, free[name] / per_gpu, np.inf)
                part = np.minimum(part, beside)
            if over:
                return np.asarray(np.floor(part + SUMS).sum(axis=1) >= gpus - SUMS)
            return np.asarray(part.max(axis=1, initial=0) >= gpus - SUMS * max(1.0, gpus))

        limited = self.cluster.limited_resources
        tests = [
            (short, free["gpus"].sum(axis=1) >= gpus - SUMS),
            ("fragmentation", room(())),
            *((BESIDE[name], room(limited[: k + 1])) for k, name in enumerate(limited)),
        ]
        for why, enough in tests:
            yield why, rest & ~enough
            rest &= enough
        yield "order", rest


def _places(jobs: Workload, cluster: Cluster) -> tuple[list[tuple[str, Any]], IntArray]:
    """Places that jobs ask for, each with the reason of too few GPUs there and its nodes; and the place of each job."""
    types = cluster.type_of
    keys = [
        (text, vc if "@" in text else "") for text, vc in zip(jobs.gpu_types, jobs.vc, strict=True)
    ]
    index = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    places: list[tuple[str, Any]] = []
    for text, vc in index:
        wanted = types_of(text)
        own = np.array([may_use(node_type, wanted) for node_type in types])
        reason = f"too few {short_of(text, vc)} free" if text else REASONS[0]
        places.append((reason, slice(None) if own.all() else own))
    return places, np.array([index[key] for key in keys], dtype=np.int64)
