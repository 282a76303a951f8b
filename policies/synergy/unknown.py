"""Orderings for jobs whose durations nobody knows: Gittins index, and history.

- ``gittins``: the law of the sizes of all jobs is known, those to come too, and no job's own size. So the
  policy is informed. The index of a job that has had ``a``
  GPU-seconds is the best rate at which it may be expected to finish,

      G(a) = max over b of  P(X <= b | X > a) / E[min(X, b) - a | X > a]

  for sizes X in GPU-seconds (Gittins 1979; Tiresias, NSDI 2019). The highest index goes first.
- ``history``: a job counts as long as the finished jobs of its user and model took on average, as the
  simulators of Alibaba's and Helios's traces do; those of its model where the user has none, else all
  finished jobs. The shortest goes first.
"""

from __future__ import annotations

import numpy as np

from policies.synergy.book import Book
from simulator import View
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import EQUAL

POINTS = 400
"""Quantiles of the sizes that stand for their law."""


def gittins_index(sizes: FloatArray, ages: FloatArray) -> FloatArray:
    """``(m,)`` index at each age, 1/s, of a law given by equally likely sizes.

    Parameters
    ----------
    sizes : ``(n,)`` positive.
    ages : ``(m,)``; beyond the largest size the index is that just before it.
    """
    x = np.sort(np.asarray(sizes, dtype=np.float64))
    found = np.empty(len(ages))
    for i, age in enumerate(np.minimum(ages, x[-1] * (1 - 1e-9)).tolist()):
        left = x[x > age] - age
        count = np.arange(1, len(left) + 1)
        # Work until the k-th of them: those up to it whole, the others to its size.
        work = np.cumsum(left) + (len(left) - count) * left
        found[i] = (count / work).max()
    return found


def gittins(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Minus the Gittins index at the attained GPU-seconds."""
    kinds, ages, index = book.memory.get("gittins", (None, None, None))
    if kinds is not book.kinds:
        everyone = len(view.all_jobs)  # the law is that of the jobs to come, too
        sizes = (book.kinds.duration_s * book.kinds.gpus)[:everyone]
        points = np.quantile(sizes, (np.arange(POINTS) + 0.5) / POINTS)
        ages = np.concatenate(([0.0], np.unique(points)))
        index = gittins_index(points, ages)
        book.memory["gittins"] = book.kinds, ages, index
    at = np.searchsorted(ages, book.attained_gpu_s[jobs] * (1 + EQUAL), side="right") - 1
    rank: FloatArray = -index[at]
    return rank


def history(book: Book, view: View, jobs: IntArray) -> FloatArray:
    """Mean duration of the finished jobs most like a job: of its user and model, its model, all; else 0."""
    memory = book.memory
    models, users = view.workload.model, view.workload.user
    finished: dict[tuple[str, str], list[float]] = memory.setdefault("finished", {("", ""): []})
    for job in memory.get("active", ()):
        took_s = view.attained_gpu_s_of(job) / float(book.kinds.gpus[job])
        if job not in view.active and took_s > 0:  # else it left without having run
            for alike in _alike(users[job], models[job]):
                finished.setdefault(alike, []).append(took_s)
    memory["active"] = list(view.active)
    mean = {alike: float(np.mean(times)) for alike, times in finished.items() if times}
    return np.array([
        next((mean[a] for a in _alike(users[job], models[job]) if a in mean), 0.0)
        for job in jobs.tolist()
    ])  # fmt: skip


def _alike(user: str, model: str) -> list[tuple[str, str]]:
    """The groups of jobs that a job belongs to, the closest first: user and model, model, all."""
    return list(dict.fromkeys([(user, model) if model else ("", ""), ("", model), ("", "")]))
