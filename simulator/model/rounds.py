"""Work of jobs round by round: what performance models say of it, and what policies see.

A performance model with a method ``progress()`` counts the work of its jobs in rounds that end with their last
job (`simulator.features.rounds`); for example, steps that are whole (`simulator.workloads.training`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from simulator.model.cluster import FloatArray

Place = tuple[int, Hashable]
"""Node type of a job's GPUs, and which they are."""


class Stretch(NamedTuple):
    """Part of a job's work that is done in a round.

    Attributes
    ----------
    seconds, lost_s : from the round's begin to the job's stop, and those of them without progress.
    left : fraction of the work left then; 0: the job is over.
    """

    seconds: float
    lost_s: float
    left: float


class Progress(Protocol):
    """Work of all jobs in one run, round by round."""

    def left(self, job: int) -> float:
        """Fraction of the work that is left, above 0."""

    def interrupted(self, job: int, left: float) -> None:
        """Take back what a job has not done of its round."""

    def configuration(self, job: int) -> Any:
        """CPUs and memory of the job in the next round."""

    def time_s(self, job: int, node_type: int) -> float:
        """Seconds of the whole job, as it runs in the next round."""

    def speeds_beside(self, jobs: Sequence[int], node_type: int) -> FloatArray:
        """``(n, n)`` speed of each job beside each other on one GPU, relative to the job alone; 0: they do not fit."""

    def steps(self, job: int) -> float:
        """Steps of the whole job, as it runs in the next round."""

    def round(
        self,
        runs: Mapping[int, Place],
        round_s: float,
        slowdown: Callable[[int], float],
        beside: Mapping[int, int],
    ) -> dict[int, Stretch]:
        """Do the work of a round.

        Parameters
        ----------
        runs : where each job runs.
        slowdown : how many times longer a job takes, given its index.
        beside : the other job on a job's GPU, where there is one.
        """


@dataclass(slots=True)
class Round:
    """The round of now, or the last one, of one controller; policies see it as ``view.rounds``.

    Attributes
    ----------
    begin_s, number : when it began, and which it is (1, 2, ..).
    is_over : whether no round goes on.
    progress : how the jobs' work is counted, where the performance model says so.
    work : by job, its part of the round.
    """

    progress: Progress | None = None
    begin_s: float = 0.0
    number: int = 0
    is_over: bool = True
    work: dict[int, Stretch] = field(default_factory=dict)

    def received_s(self, job: int) -> float | None:
        """Seconds that a job worked in the round; None: that is not known."""
        if job not in self.work:
            return None
        seconds, lost_s, _ = self.work[job]
        # The sum is that of the released simulators, whose ties the last bit decides.
        return self.begin_s + seconds - self.begin_s - lost_s
