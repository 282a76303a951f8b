"""Rounds by shares: an allocation X of time, jobs x GPU types, carried out round by round.

The mechanism of Gavel (Narayanan et al., OSDI 2020, Section 5): in each round the jobs that have received
least of their share go first. What the paper leaves open is an option with a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Literal, NamedTuple, get_args

import numpy as np

from policies.queues.free_gpus import FreeGpus, Nodes
from simulator import Placement, View
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.placement import in_proportion
from simulator.model.ranks import ranks
from simulator.model.tolerances import INSTANT_S

TieBreak = Literal["released", "submission"]
"""Order of equal priorities: by deficit, then by share, the largest first; or by submission alone.

"released" compares to the last bit, as the released program does: published rounds depend on it. "submission"
takes priorities that differ by rounding for equal.
"""

ROUNDED = 1e-5
"""What the shares of a job may have above 1, since each is rounded."""
FIRST = 2
"""Units that are sorted at a time, for each GPU."""
TYPE_SEED = 5
"""Of the random orders of types: that of the published runs with seed 0."""


@dataclass(eq=False)
class RoundRules:
    """Rules of the rounds.

    Attributes
    ----------
    round_s : length of a round, s.
    reset_s : least time between two allocations, s; time received counts from then.
    credit : rounds that count as received by every job after a reset.
    tie_break : equal priorities by deficit, then by share ("released"), or by "submission".
    fill_idle : jobs whose share is 0 run on GPUs that would stay idle, those of most deficit first.
    type_by_type : such jobs fill the GPUs of a type before the next types are served.
    shuffle_types : types are served in random order, drawn for each round.

    Raises
    ------
    InputError
        A rule out of range.
    """

    round_s: float = 120.0
    reset_s: float = 1000.0
    credit: float = 0.5
    tie_break: str = "released"
    fill_idle: bool = False
    type_by_type: bool = False
    shuffle_types: bool = False

    def __post_init__(self) -> None:
        for name, least in (("round_s", 1e-3), ("reset_s", 0.0), ("credit", 0.0)):
            value = getattr(self, name)
            if not least <= value < 1e12:
                raise InputError(f"rounds: {name} is {value}, expected a number >= {least:g}")
        if self.tie_break not in get_args(TieBreak):
            known = ", ".join(get_args(TieBreak))
            raise InputError(f"rounds: tie_break is {self.tie_break!r}, expected one of {known}")


Unit = int | tuple[int, int]
"""A job, or a pair of jobs that share a GPU."""


def jobs_of(unit: Unit) -> tuple[int, ...]:
    """The jobs of a unit."""
    return unit if isinstance(unit, tuple) else (unit,)


class Chosen(NamedTuple):
    """A job or a pair that runs in a round, on GPUs of one type."""

    unit: Unit
    gpu_type: int
    gpus: int


class ShareRounds:
    """Jobs that run in each round.

    Parameters
    ----------
    capacity : ``(K,)`` GPUs of each type, in the order in which types are served; may fall and rise
        again while nodes are down.
    rules : see `RoundRules`.

    Attributes
    ----------
    gpus_of : GPUs of each job that is here, in order of submission.
    pairs : pairs that have a share.
    """

    def __init__(self, capacity: Sequence[int], rules: RoundRules | None = None) -> None:
        self.capacity = tuple(capacity)
        self._largest = max(capacity)
        self.rules = rules or RoundRules()
        self.gpus_of: dict[int, int] = {}
        self.pairs: list[tuple[int, int]] = []
        self._runs_on: dict[int, tuple[bool, ...]] = {}
        self._units: list[Unit] = []
        self._row: dict[Unit, int] = {}
        self._came: list[int] = []
        # ``(U, K)``, rows as in `_units`; those of what is not here any more are 0.
        self._share, self._received, self._deficit = np.zeros((3, 0, len(capacity)))
        self._may_fill = np.zeros((0, len(capacity)), dtype=np.bool_)
        self._reset_s = 0.0
        self._stale = False
        self._types = Random(TYPE_SEED)

    @property
    def _credit_s(self) -> float:
        return self.rules.credit * self.rules.round_s

    def submit(self, job: int, gpus: int, runs_on: Sequence[bool] | None = None) -> None:
        """A job arrives; it runs from the next reset on.

        Parameters
        ----------
        runs_on : ``(K,)`` whether the job can run on a type at all; None: on all.

        Raises InputError where no type has so many GPUs.
        """
        if gpus > self._largest:
            raise InputError(
                f"job {job} needs {gpus} GPUs of one type, expected at most {self._largest}"
            )
        self.gpus_of[job] = gpus
        self._runs_on[job] = tuple(runs_on or [True] * len(self.capacity))
        self._came.append(job)
        self._stale = True

    def remove(self, job: int) -> None:
        """A job has ended, and so have its pairs."""
        del self.gpus_of[job], self._runs_on[job]
        self.forget(job)
        for pair in [pair for pair in self.pairs if job in pair]:
            self.forget(pair)

    def forget(self, unit: Unit) -> None:
        """A job or a pair has no share any more, so others may have it from the next reset on."""
        self._enter()
        row = self._row.pop(unit)
        for table in (self._share, self._received, self._deficit, self._may_fill):
            table[row] = 0
        if isinstance(unit, tuple):
            self.pairs.remove(unit)
        self._stale = True

    def share_of(self, unit: Unit) -> tuple[float, ...]:
        """``(K,)`` shares of a job or a pair, as of the last reset; 0 where it has none."""
        self._enter()
        return tuple(self._share[self._row[unit]].tolist())

    def _enter(self) -> None:
        """Rows for the jobs that came since the last reset: without a share, with the credit."""
        if not self._came:
            return
        none = np.zeros((len(self._came), len(self.capacity)))
        self._row |= {job: len(self._units) + i for i, job in enumerate(self._came)}
        self._units += self._came
        self._came = []
        self._share = np.concatenate([self._share, none])
        self._received = np.concatenate([self._received, none + self._credit_s])
        self._deficit = np.concatenate([self._deficit, none])
        self._may_fill = np.concatenate([self._may_fill, none > 0])

    def expire(self) -> None:
        """Shares are computed anew in the next round, as when jobs come or go."""
        self._stale = True

    def wants_shares(self, now_s: float) -> bool:
        """Whether jobs have come or gone since the last reset, and that is long enough ago.

        A reset at time 0 does not count.
        """
        if not self._stale:
            return False
        return self._reset_s == 0 or now_s - self._reset_s >= self.rules.reset_s - INSTANT_S

    def reset(self, now_s: float, shares: Mapping[Unit, Sequence[float]]) -> None:
        """Shares from now on: of all jobs that are here, in order of submission, then of pairs.

        What a job did not receive of its old share stays with it as its deficit; so with a pair as long as it has a share.

        Raises InputError where shares exceed the time of a job.
        """
        self._enter()
        table = np.array(list(shares.values())).reshape(len(shares), len(self.capacity))
        good = (table >= 0).all(axis=1) & (table.sum(axis=1) <= 1 + ROUNDED)
        if not good.all():
            unit = list(shares)[int(np.argmin(good))]
            raise InputError(
                f"shares of job {unit} are {tuple(map(float, shares[unit]))}, expected numbers >= 0 "
                "with a sum of at most 1"
            )
        elapsed_s = now_s - self._reset_s
        deficit = self._deficit + (self._share * elapsed_s - (self._received - self._credit_s))
        deficit = np.concatenate([deficit, np.zeros((1, len(self.capacity)))])  # of new pairs
        self._deficit = deficit[[self._row.get(unit, -1) for unit in shares]]
        self._share, self._received = table, np.full(table.shape, self._credit_s)
        self._units = list(shares)
        self._row = {unit: row for row, unit in enumerate(shares)}
        self.pairs = [unit for unit in shares if isinstance(unit, tuple)]
        nowhere = (False,) * len(self.capacity)
        runs_on = [nowhere if isinstance(u, tuple) else self._runs_on[u] for u in shares]
        self._may_fill = np.array(runs_on, dtype=np.bool_).reshape(table.shape) & (table == 0)
        self._reset_s, self._stale = now_s, False

    def received(self, unit: Unit, gpu_type: int, seconds: float) -> None:
        """A job or a pair has run."""
        self._enter()
        self._received[self._row[unit], gpu_type] += seconds

    def choose(self) -> list[Chosen]:
        """Jobs of the next round, those of most GPUs first, by priority among equals.

        A job that does not fit is passed over; so is one whose share is 0, unless GPUs would stay idle (``fill_idle``).
        """
        chosen: list[Chosen] = []
        placed: set[int] = set()
        free = list(self.capacity)
        self._enter()
        for k, order in self._passes():
            for row in order(k) if free[k] else ():
                unit = self._units[row]
                jobs = jobs_of(unit)
                gpus = self.gpus_of[jobs[0]]
                if gpus <= free[k] and placed.isdisjoint(jobs):
                    chosen.append(Chosen(unit, k, gpus))
                    placed.update(jobs)
                    free[k] -= gpus
                    if not free[k]:
                        break
        chosen.sort(key=lambda each: (each.gpu_type, -each.gpus))
        return chosen

    def _passes(self) -> list[tuple[int, Callable[[int], Iterable[int]]]]:
        """Types in the order in which they are served, each with an order of rows."""
        types = list(range(len(self.capacity)))
        if self.rules.shuffle_types:
            self._types.shuffle(types)
        orders = [self._by_priority, *([self._without_share] if self.rules.fill_idle else [])]
        if self.rules.type_by_type:
            return [(k, order) for k in types for order in orders]
        return [(k, order) for order in orders for k in types]

    def _priorities(self, k: int) -> FloatArray:
        """``(U,)`` share of a type over the part of the time received; 0 where there is no share."""
        share, received = self._share[:, k], self._received[:, k]
        total = np.cumsum(received)[
            -1:
        ]  # one after the other: the order of a sum decides its last bit
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(received == 0, 1e9 * share, share / (received / total))

    def _without_share(self, k: int) -> list[int]:
        """Jobs whose share of a type is 0, those of most deficit first."""
        rows = np.flatnonzero(self._may_fill[:, k])
        place = ranks(-self._deficit[rows, k], INSTANT_S)
        return list(rows[np.argsort(place, kind="stable")].tolist())

    def _by_priority(self, k: int) -> Iterator[int]:
        """Jobs and pairs of a share, those of most priority first; the others are sorted when they are asked for."""
        priority = self._priorities(k)
        rows = np.flatnonzero(priority > 0)
        if self.rules.tie_break == "submission":
            place = ranks(-priority[rows])
            yield from rows[np.argsort(place, kind="stable")].tolist()
            return
        while len(rows):
            first, rows, most = rows, rows[:0], FIRST * self.capacity[k]
            if len(first) > most:
                is_first = priority[first] >= np.partition(priority[first], -most)[-most]
                first, rows = first[is_first], first[~is_first]
            keys = (self._share[first, k], self._deficit[first, k], priority[first])
            yield from first[np.lexsort([-key for key in keys])].tolist()


def place(
    view: View, chosen: Iterable[Chosen], nodes_of: Mapping[int, Sequence[int]]
) -> list[Placement]:
    """Placements of the chosen jobs; one whose GPUs lie over too many nodes waits.

    Among jobs of as many GPUs, those that keep theirs come first (a lease is extended). The others take
    the fullest node that holds them, or else the emptiest ones. Nodes of one GPU are so taken by number.

    Parameters
    ----------
    chosen : as `ShareRounds.choose` orders them. The jobs of a pair have half a GPU each.
    nodes_of : nodes of each type of GPU, of which nothing is in use by others.
    """
    gpus_of = [spec.gpus for spec in view.cluster.node_types]
    free_of = {k: FreeGpus(dict.fromkeys(nodes, gpus_of[k])) for k, nodes in nodes_of.items()}
    placements: list[Placement] = []
    for (k, gpus), alike in groupby(chosen, key=lambda each: (each.gpu_type, each.gpus)):
        wanted = [(jobs_of(unit), gpus) for unit, *_ in alike]
        held: dict[tuple[int, ...], Nodes] = {}
        for jobs, _ in wanted:
            old = next((view.running[job] for job in jobs if job in view.running), None)
            if old is not None:  # before, it may have been half of a GPU
                held[jobs] = tuple((p.node, int(max(p.gpus, 1))) for p in old)
        for jobs, nodes in free_of[k].settle(wanted, held).items():
            for node, part in nodes:
                own = part if len(jobs) == 1 else part / len(jobs)  # of a pair, half
                spec = view.cluster.node_types[k]
                placements += [in_proportion(job, node, own, spec) for job in jobs]
    return placements
