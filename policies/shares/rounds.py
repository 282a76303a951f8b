"""Rounds by shares: an allocation X of time, jobs x GPU types, carried out round by round.

The mechanism of Gavel (Narayanan et al., OSDI 2020, Section 5): in each round the jobs that have received
least of their share go first. What the paper leaves open is an option with a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, get_args

import numpy as np

from simulator.errors import InputError
from simulator.model.ranks import ranks
from simulator.model.tolerances import INSTANT_S

TieBreak = Literal["released", "submission"]
"""Order of equal priorities: by deficit, then by share, the largest first; or by submission alone.

"released" compares to the last bit, as the released program does: published rounds depend on it. "submission"
takes priorities that differ by rounding for equal.
"""

ROUNDED = 1e-5
"""What the shares of a job may have above 1, since each is rounded."""
TYPE_SEED = 5
"""Of the random orders of types: that of the published runs with seed 0."""


@dataclass(frozen=True)
class RoundRules:
    """Rules of the rounds.

    Attributes
    ----------
    round_s : length of a round.
    reset_s : shares are computed anew at most this often; time received counts from then.
    credit : rounds that count as received by every job after a reset.
    unserved_first : a job that has not run since the reset has priority ``1e9 X``. Otherwise its
        credit counts as what it has received.
    tie_break : see `TieBreak`.
    fill_idle : jobs whose share is 0 run on GPUs that would stay idle, those of most deficit first.
    type_by_type : such jobs fill the GPUs of a type before jobs with a share of the next types are served.
    shuffle_types : types are served in random order, drawn for each round; not in that of the cluster.

    Raises
    ------
    InputError
        A rule out of range.
    """

    round_s: float = 120.0
    reset_s: float = 1000.0
    credit: float = 0.5
    unserved_first: bool = False
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
    shares : ``(K,)`` shares of each job and of pairs, as of the last reset.
    """

    def __init__(self, capacity: Sequence[int], rules: RoundRules | None = None) -> None:
        self.capacity = tuple(capacity)
        self._largest = max(capacity)
        self.rules = rules or RoundRules()
        self.gpus_of: dict[int, int] = {}
        self.shares: dict[Unit, tuple[float, ...]] = {}
        self._received: dict[Unit, list[float]] = {}
        self._deficit: dict[Unit, list[float]] = {}
        self._runs_on: dict[int, tuple[bool, ...]] = {}
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
        self._received[job] = [self._credit_s] * len(self.capacity)
        self._deficit[job] = [0.0] * len(self.capacity)
        self._stale = True

    def remove(self, job: int) -> None:
        """A job has ended, and so have its pairs."""
        del self.gpus_of[job], self._runs_on[job]
        for unit in [unit for unit in self._received if job in jobs_of(unit)]:
            self.forget(unit)

    def forget(self, unit: Unit) -> None:
        """A job or a pair has no share any more, so others may have it from the next reset on."""
        for table in (self.shares, self._received, self._deficit):
            table.pop(unit, None)
        self._stale = True

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
        elapsed_s, credit_s = now_s - self._reset_s, self._credit_s
        for unit, old in self.shares.items():
            deficit, received = self._deficit[unit], self._received[unit]
            for k, share in enumerate(old):
                deficit[k] += share * elapsed_s - (received[k] - credit_s)
        self.shares = {unit: tuple(map(float, row)) for unit, row in shares.items()}
        for unit, row in self.shares.items():
            if not (min(row) >= 0 and sum(row) <= 1 + ROUNDED):
                raise InputError(
                    f"shares of job {unit} are {row}, expected numbers >= 0 with a sum of at most 1"
                )
        types = len(self.capacity)
        self._received = {unit: [credit_s] * types for unit in shares}
        self._deficit = {unit: self._deficit.get(unit) or [0.0] * types for unit in shares}
        self._reset_s, self._stale = now_s, False

    def received(self, unit: Unit, gpu_type: int, seconds: float) -> None:
        """A job or a pair has run."""
        self._received[unit][gpu_type] += seconds

    def choose(self) -> list[Chosen]:
        """Jobs of the next round, those of most GPUs first, by priority among equals.

        A job that does not fit is passed over; so is one whose share is 0, unless GPUs would stay idle (``fill_idle``).
        """
        chosen: list[Chosen] = []
        placed: set[int] = set()
        free = list(self.capacity)
        for k, order in self._passes():
            for unit in order(k) if free[k] else ():
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

    def _passes(self) -> list[tuple[int, Callable[[int], list[Unit]]]]:
        """Types in the order in which they are served, each with an order of jobs."""
        types = list(range(len(self.capacity)))
        if self.rules.shuffle_types:
            self._types.shuffle(types)
        orders = [self._by_priority, *([self._without_share] if self.rules.fill_idle else [])]
        if self.rules.type_by_type:
            return [(k, order) for k in types for order in orders]
        return [(k, order) for order in orders for k in types]

    def priorities(self, gpu_type: int) -> dict[Unit, float]:
        """Priority of each job and pair that has a share: that share over the part of the time received."""
        k, credit_s = gpu_type, self._credit_s
        total = sum(received[k] for received in self._received.values())
        found = {}
        for unit, shares in self.shares.items():
            received = self._received[unit][k]
            if received == 0 or (self.rules.unserved_first and received == credit_s):
                found[unit] = 1e9 * shares[k]
            else:
                found[unit] = shares[k] / (received / total)
        return found

    def _without_share(self, k: int) -> list[Unit]:
        """Jobs whose share of a type is 0, those of most deficit first."""
        jobs: list[Unit] = [
            job
            for job, runs_on in self._runs_on.items()
            if runs_on[k] and job in self.shares and not self.shares[job][k]
        ]
        deficit_s = [-self._deficit[job][k] for job in jobs]
        return [jobs[i] for i in np.argsort(ranks(deficit_s, INSTANT_S), kind="stable").tolist()]

    def _by_priority(self, k: int) -> list[Unit]:
        priority = self.priorities(k)
        units = [unit for unit, value in priority.items() if value > 0]
        if self.rules.tie_break == "submission":
            place = ranks([-priority[unit] for unit in units])
            return [units[i] for i in np.argsort(place, kind="stable").tolist()]
        deficit, shares = self._deficit, self.shares
        return sorted(
            units,
            key=lambda unit: (priority[unit], deficit[unit][k], shares[unit][k]),
            reverse=True,
        )
