"""Orderings: FIFO, SRTF, LAS, FTF, DRF and Tetris; Gittins and history from `unknown`.

An ordering ranks the active jobs in every round from what is known of them; see `Book`. Ties go
by submission.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from policies.synergy.book import Book
from policies.synergy.unknown import gittins, history
from simulator import View
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.ranks import ranks
from simulator.model.tolerances import EQUAL, INSTANT_S

Key = Callable[[Book, View, IntArray], FloatArray]
"""``(n,)`` rank of active jobs: the smallest goes first."""


@dataclass(frozen=True)
class Ordering:
    """A way to rank jobs.

    Attributes
    ----------
    name : as in ``"srtf+tune"``.
    key : the rank of each active job; None: by submission.
    settles : how the ranking moves while no job comes or ends: ``"order"``, not at all; ``"set"``,
        jobs that run only get further ahead of those that wait, so the same ones run; ``"never"``.
    needs_dominant : whether the book keeps attained dominant shares.
    within : which ranks are the same, as for `simulator.model.ranks.ranks`.
    """

    name: str
    key: Key | None
    settles: Literal["order", "set", "never"] = "never"
    needs_dominant: bool = False
    within: float | None = None

    def order(self, book: Book, view: View, starvation_s: float = math.inf) -> IntArray:
        """Active jobs, highest priority first.

        Parameters
        ----------
        book : up to date.
        view : the decision point.
        starvation_s : jobs that have not run for so long go before all others, by submission.
        """
        jobs = view.jobs
        ranked = jobs
        if self.key is not None:
            ranked = jobs[np.argsort(ranks(self.key(book, view, jobs), self.within), kind="stable")]
        if starvation_s < math.inf:
            since = np.maximum(view.workload.submit_s[ranked], book.last_ran_s[ranked])
            starving = view.now_s - since >= starvation_s - INSTANT_S
            ranked = np.concatenate((np.sort(ranked[starving]), ranked[~starving]))
        return ranked


def _srtf(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Remaining time at the GPU-proportional share."""
    return book.remaining[jobs] * book.kinds.duration_s[jobs]


def _srtf_released(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Remaining time at full speed-up, but for jobs that were put back in the last round."""
    return _srtf(book, view, jobs) / book.rank_speed[jobs]


def _las(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Attained service, GPU-seconds (Tiresias)."""
    return book.attained_gpu_s[jobs]


def _rho(book: Book, view: View, remaining_s: FloatArray, jobs: IntArray) -> FloatArray:
    """Finish-time fairness: time to finish if it ran on from now, over its time alone (Themis)."""
    elapsed = view.now_s - view.workload.submit_s[jobs]
    rho: FloatArray = (elapsed + remaining_s) / book.kinds.duration_s[jobs]
    return rho


def _ftf(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """The most unfairly treated, of largest rho, first."""
    return -_rho(book, view, _srtf(book, view, jobs), jobs)


def _ftf_released(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """The wrong way round: the least unfairly treated first.

    Jobs that are there from the beginning have waited a second longer: the released simulator
    begins the first round of such a trace at second 1. It settles who of equals goes first.
    """
    remaining_s = _srtf_released(book, view, jobs)
    from_the_beginning = view.workload.submit_s[jobs] == 0
    return _rho(book, view, remaining_s + from_the_beginning, jobs)


def _drf(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Attained dominant share, seconds; who has had none by the share that it asks for."""
    return book.attained_dominant_s[jobs] + 1e-6 * _drf_static(book, view, jobs)


def _drf_static(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Dominant share of the demand."""
    return book.dominant_of_kind[book.kinds.kind_of[jobs]]


def _tetris(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Alignment with the servers, all free at the start of a round, against remaining work.

    Both are taken relative to their means, which is Tetris's own weight of the two.
    """
    alignment = book.demand_of_kind[book.kinds.kind_of[jobs]]
    work = alignment * _srtf(book, view, jobs)
    score: FloatArray = work / max(work.mean(), 1e-300) - alignment / alignment.mean()
    return score


def _tetris_released(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Remaining work alone."""
    return book.demand_of_kind[book.kinds.kind_of[jobs]] * _srtf_released(book, view, jobs)


ORDERINGS: dict[str, Ordering] = {
    o.name: o
    for o in (
        Ordering("fifo", None, "order"),
        Ordering("srtf", _srtf, "set", within=INSTANT_S),
        Ordering("las", _las),
        Ordering("ftf", _ftf),
        Ordering("drf", _drf, needs_dominant=True),
        Ordering("tetris", _tetris, within=EQUAL),
        Ordering("gittins", gittins),
        Ordering("history", history, within=INSTANT_S),
    )
}
"""By name: the paper's six, and two that know no job's duration."""

RELEASED: dict[str, Ordering] = ORDERINGS | {
    o.name: o
    for o in (
        Ordering("srtf", _srtf_released, within=INSTANT_S),
        Ordering("ftf", _ftf_released),
        Ordering("drf", _drf_static, "order"),
        Ordering("tetris", _tetris_released),
    )
}
"""By name, as in the released simulator: FTF the wrong way round, DRF by demand, no alignment.

SRTF, FTF and Tetris count the remaining time at `Book.rank_speed`.
"""
