"""Synergy-Opt: the bound on throughput of Section 4.1 and Appendix A.

ILP 1 chooses a share for each job as if all servers (of one type) were one machine. LP 2 then lays
the jobs over the servers, few of them cut: at most three a server (Theorem A.2). Jobs of one
kind are alike, so both are stated in counts of jobs, exactly: the ILP has a few dozen columns
however many jobs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np

from policies.solving.model import Builder, SolverOptions
from policies.solving.solvers import SolverName, check_solver, solve
from policies.synergy.demand import ServerSize, Share
from policies.synergy.servers import Group, Mechanism, Packed, Servers, runnable, signatures_of
from policies.synergy.slots import Packing, Slot
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.ranks import ranked
from simulator.model.tolerances import PIECES


class Lot(NamedTuple):
    """Jobs of one kind with one share."""

    kind: int
    share: Share
    gpus: int
    number: int


class Allocation(NamedTuple):
    """Result of ILP 1.

    Attributes
    ----------
    lots : for each group of equal servers, the jobs on it.
    throughput : sum of the jobs' relative rates, which no mechanism can exceed in this round.
    """

    lots: Sequence[Sequence[Lot]]
    throughput: float


@dataclass
class Opt(Mechanism):
    """Synergy-Opt.

    Parameters
    ----------
    solver : of ILP 1 and LP 2; see `policies.solving.solvers.solve`.
    whole_gpus : round what LP 2 cuts to whole GPUs, so that a cluster could carry it out; a job
        that then finds no room for its share falls back to the proportional one. Otherwise GPUs
        are given in fractions, as in the paper, which no cluster can: a bound.
    """

    solver: str = "auto"
    whole_gpus: bool = False
    name: ClassVar[str] = "opt"
    plans_anew: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_solver(self.solver)
        self.depends_on_set_alone = True

    def run(self, order: IntArray, servers: Servers) -> tuple[IntArray, Packed]:
        """Jobs that run, and where."""
        jobs = runnable(order, servers.kinds.gpus, servers.total_gpus)
        if len(servers.groups) > 1:
            return self._run_heterogeneous(order, jobs, servers)
        counts = np.bincount(servers.kinds.kind_of[jobs], minlength=len(servers.kinds.kinds))

        def pack() -> Packed:
            allocation = allocate(
                servers.groups, counts, [g.all for g in servers.groups], self.solver
            )
            return self._lay_out(servers, allocation.lots, allocation.throughput)

        return jobs, servers.remembered([counts], pack)

    def _run_heterogeneous(
        self, order: IntArray, jobs: IntArray, servers: Servers
    ) -> tuple[IntArray, Packed]:
        """A.2: no job over two types of servers; what is left of each goes to those who wait."""
        left = [Free(*g.all) for g in servers.groups]
        lots: list[list[Lot]] = [[] for _ in servers.groups]
        throughput = 0.0
        running: list[IntArray] = []
        while len(jobs):
            counts = np.bincount(servers.kinds.kind_of[jobs], minlength=len(servers.kinds.kinds))
            allocation = allocate(servers.groups, counts, left, self.solver, all_jobs=False)
            for group, more in enumerate(allocation.lots):
                lots[group].extend(more)
                left[group] = left[group].minus(more)
            throughput += allocation.throughput
            got = np.zeros_like(counts)
            for lot in (lot for more in allocation.lots for lot in more):
                got[lot.kind] += lot.number
            chosen = _first_of_each_kind(servers.kinds.kind_of[jobs], got)
            running.append(jobs[chosen])
            if not got.any():
                break
            order = order[~np.isin(order, jobs)]
            jobs = runnable(order, servers.kinds.gpus, int(sum(free.gpus for free in left)))
        return np.concatenate(running), self._lay_out(servers, lots, throughput)

    def _lay_out(
        self, servers: Servers, lots_of: Sequence[Sequence[Lot]], throughput: float
    ) -> Packed:
        slots: list[Slot] = []
        fragmented = 0
        for group, rounds in zip(servers.groups, lots_of, strict=True):
            lots = _merged(rounds)
            if self.whole_gpus:
                placed = lay_out_whole(lots, group)
            else:
                placed = lay_out(lots, group, self.solver)
            cut = sum(
                len(s.parts) > 1 and group.kinds[s.kind].gpus <= group.capacity.gpus for s in placed
            )
            if not self.whole_gpus and cut > 3 * group.num_servers:
                raise AssertionError(f"{cut} jobs cut on {group.num_servers} servers, expected 3s")
            fragmented += cut
            slots.extend(
                Slot(s.kind, s.share, tuple((i + group.first, g) for i, g in s.parts))
                for s in placed
            )
        info = {"throughput_bound": throughput, "fragmented_jobs": fragmented}
        return Packed(slots, signatures_of(slots, servers.num_servers), info, not self.whole_gpus)


def _merged(lots: Sequence[Lot]) -> list[Lot]:
    """Lots of one kind and share as one."""
    total: dict[tuple[int, Share, int], int] = {}
    for kind, share, gpus, number in lots:
        total[kind, share, gpus] = total.get((kind, share, gpus), 0) + number
    return [Lot(*key, number) for key, number in total.items()]


class Free(NamedTuple):
    """GPUs, CPUs and GB that are left of a group of servers."""

    gpus: float
    cpus: float
    memory_gb: float

    def minus(self, lots: Sequence[Lot]) -> Free:
        """Without what these take."""
        return Free(
            self.gpus - sum(x.number * x.gpus for x in lots),
            self.cpus - sum(x.number * x.gpus * x.share.cpus for x in lots),
            self.memory_gb - sum(x.number * x.gpus * x.share.memory_gb for x in lots),
        )


def allocate(
    groups: Sequence[Group],
    counts: IntArray,
    free: Sequence[tuple[float, float, float]],
    solver: str = "auto",
    all_jobs: bool = True,
) -> Allocation:
    """ILP 1 (equations 1 to 5; with several groups of servers, A.2's 22 to 26).

    Maximise the sum of relative rates, subject to CPUs and memory, one share a job, none below its
    fair rate (options below it are left out).

    Parameters
    ----------
    groups : equal servers each.
    counts : ``(K,)`` jobs of each kind.
    free : GPUs, CPUs and GB of each group.
    all_jobs : every job must run; else as many GPUs as possible, then throughput.
    """
    builder = Builder()
    kinds = np.flatnonzero(counts).tolist()
    resource = [builder.add_rows(3, lower=-np.inf, upper=list(f)) for f in free]
    total = counts[kinds]
    one_each = builder.add_rows(len(kinds), lower=total if all_jobs else 0.0, upper=total)
    columns: list[tuple[int, int, IntArray]] = []
    for row, k in enumerate(kinds):
        for v, group in enumerate(groups):
            kind = group.kinds[k]
            if kind.gpus > group.num_servers * group.capacity.gpus or not kind.options:
                continue
            # A GPU in use is worth more than any share: first fill, then speed up.
            worth = 0.0 if all_jobs else 1e3 * kind.gpus
            column = builder.add_columns(
                len(kind.options),
                cost=[-o.rate - worth for o in kind.options],
                upper=float(counts[k]),
                integer=True,
            )
            builder.add(one_each[row], column)
            builder.add(resource[v][0], column, kind.gpus)
            builder.add(resource[v][1], column, [kind.gpus * o.share.cpus for o in kind.options])
            builder.add(
                resource[v][2], column, [kind.gpus * o.share.memory_gb for o in kind.options]
            )
            columns.append((k, v, column))
    solution = solve(
        builder.build(offset=0.0, constant=0.0), cast(SolverName, solver), SolverOptions(1e-6)
    )
    if solution.x is None:
        raise AssertionError(f"ILP 1 is {solution.status}; the proportional shares always fit")
    lots: list[list[Lot]] = [[] for _ in groups]
    throughput = 0.0
    for k, v, column in columns:
        kind = groups[v].kinds[k]
        for option, value in zip(kind.options, solution.x[column].tolist(), strict=True):
            count = round(value)
            if count:
                lots[v].append(Lot(k, option.share, kind.gpus, count))
                throughput += count * option.rate
    return Allocation(lots, throughput)


def lay_out(lots: Sequence[Lot], group: Group, solver: str = "auto") -> list[Slot]:
    """LP 2: jobs over the servers of a group, in fractions of GPUs, few jobs cut.

    The LP keeps as many jobs as it can where a packing of whole jobs has put them, at a vertex,
    and so cuts at most three jobs a server (Theorem A.2); none where that packing holds them all.
    """
    packing, waiting = pack_whole(lots, group)
    if not waiting:
        return packing.slots
    kept = np.zeros((len(lots), group.num_servers))
    index = {(lot.kind, lot.share): t for t, lot in enumerate(lots)}
    for slot in packing.slots:
        kept[index[slot.kind, slot.share], slot.parts[0][0]] += 1
    amount = _second_lp(lots, group, kept, solver)
    slots: list[Slot] = []
    for t, lot in enumerate(lots):
        slots.extend(_cut(lot, amount[t]))
    return slots


RULES: tuple[Callable[[Lot, ServerSize], float], ...] = (
    lambda lot, c: lot.gpus * max(
        1 / c.gpus, lot.share.cpus / max(c.cpus, 1e-9), lot.share.memory_gb / max(c.memory_gb, 1e-9)
    ),
    lambda lot, c: lot.gpus * lot.share.cpus,
    lambda lot, c: lot.gpus * lot.share.memory_gb,
)  # fmt: skip
"""Sizes of jobs, the largest of which are packed first: their largest part of a server, CPUs, memory."""


def pack_whole(lots: Sequence[Lot], group: Group) -> tuple[Packing, list[Lot]]:
    """Whole jobs on servers, the largest first and each where most is free; and who is left."""
    capacity = group.capacity
    best: tuple[Packing, list[Lot]] | None = None
    for rule in RULES:
        packing = Packing(capacity, group.num_servers, group.kinds)
        waiting: list[Lot] = []
        for t in ranked(range(len(lots)), [-rule(lot, capacity) for lot in lots]):
            lot = lots[t]
            left = lot.number
            while left and packing.place_on_emptiest(lot.kind, lot.share):
                left -= 1
            if left:
                waiting.append(lot._replace(number=left))
        left = sum(lot.number for lot in waiting)
        if best is None or left < sum(lot.number for lot in best[1]):
            best = (packing, waiting)
        if not left:
            break
    assert best is not None
    return best


def _second_lp(lots: Sequence[Lot], group: Group, kept: FloatArray, solver: str) -> FloatArray:
    """``(T, s)`` jobs of each lot on each server (equations 15 to 19), moving as few as it can."""
    builder = Builder()
    shape = kept.shape
    stay = builder.add_columns(shape, upper=kept)
    move = builder.add_columns(shape, cost=1.0)
    each = builder.add_rows(
        shape[0], lower=[x.number for x in lots], upper=[x.number for x in lots]
    )
    capacity = group.capacity
    limits = [capacity.gpus, capacity.cpus, capacity.memory_gb]
    server = builder.add_rows((shape[1], 3), lower=-np.inf, upper=limits)
    for column in (stay, move):
        builder.add(each[:, None], column)
        for r in range(3):
            need = np.array([[x.gpus * (1.0, *x.share)[r]] for x in lots])
            builder.add(server[:, r][None, :], column, need)
    solution = solve(builder.build(offset=0.0, constant=0.0), cast(SolverName, solver))
    if solution.x is None:
        raise AssertionError(f"LP 2 is {solution.status}; what ILP 1 allows always fits")
    return solution.x[stay] + solution.x[move]


def _cut(lot: Lot, amount: FloatArray) -> list[Slot]:
    """Jobs of one lot from how much of it each server has: whole ones, and the rest end to end."""
    whole = np.floor(amount + PIECES)
    slots = [
        Slot(lot.kind, lot.share, ((i, float(lot.gpus)),))
        for i, n in enumerate(whole.astype(int).tolist())
        for _ in range(n)
    ]
    rest = np.where(amount - whole > PIECES, amount - whole, 0.0)
    missing = lot.number - len(slots)
    if not missing:
        return slots
    rest *= missing / rest.sum()
    parts: list[tuple[int, float]] = []
    filled = 0.0
    for i in np.flatnonzero(rest).tolist():
        piece = float(rest[i])
        while piece > PIECES:
            take = min(piece, 1 - filled)
            parts.append((i, take * lot.gpus))
            filled += take
            piece -= take
            if filled > 1 - PIECES:
                slots.append(Slot(lot.kind, lot.share, tuple(parts)))
                parts, filled = [], 0.0
    if parts:
        slots.append(Slot(lot.kind, lot.share, tuple(parts)))
    assert len(slots) == lot.number, f"{len(slots)} jobs cut from {lot.number}"
    return slots


def lay_out_whole(lots: Sequence[Lot], group: Group) -> list[Slot]:
    """The jobs on whole GPUs; who finds no room for its share takes the proportional one."""
    from policies.synergy.mechanisms import Tune

    packing, waiting = pack_whole(lots, group)
    for lot in sorted(waiting, key=lambda lot: (-lot.gpus, lot.kind)):
        for _ in range(lot.number):
            Tune().place(packing, lot.kind, (lot.share, group.kinds[lot.kind].fair))
    return packing.slots


def _first_of_each_kind(kinds: IntArray, counts: IntArray) -> IntArray:
    """Positions of the first ``counts[k]`` jobs of each kind ``k``."""
    left = counts.tolist()
    chosen = []
    for position, k in enumerate(kinds.tolist()):
        if left[k] > 0:
            left[k] -= 1
            chosen.append(position)
    return np.array(chosen, dtype=np.int64)
