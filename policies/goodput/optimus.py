"""Optimus: GPUs by marginal gain (Peng et al., EuroSys 2018, Section 4.1).

Each job gets one GPU, in order of submission. Then the next GPU goes to the job whose remaining time it shortens
most, until no job gains. Batch sizes stay the user's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from policies.goodput.emptiest_nodes import capacities, divided
from policies.goodput.times import ELASTIC, whole_times_s
from policies.registry.registration import register
from simulator.model.cluster import FloatArray
from simulator.model.contract import Decision, View
from simulator.model.goodput import Application, Goodput, packed
from simulator.model.ranks import Levels

Gain = Callable[[int, int], float]
"""Seconds that a job with so many GPUs gains from one more."""


@register("optimus", requires=ELASTIC, paper="Peng et al., EuroSys 2018")
class Optimus:
    """The next GPU goes to the job whose remaining time it shortens most (Optimus)."""

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; a job whose number of GPUs stays keeps its nodes."""
        capacity = capacities(view)
        if not capacity:  # all nodes are down
            return Decision()
        total, per_node = sum(capacity.values()), max(capacity.values())
        model = view.workload.performance
        if isinstance(model, Goodput):
            gain = _gain_of_goodput(model, view, per_node)
        else:
            gain = _gain_of_times(view, whole_times_s(view, total, per_node))
        gpus = by_marginal_gain(view.jobs.tolist(), total, gain)
        return divided(view, gpus, capacity)


def _gain_of_goodput(model: Goodput, view: View, per_node: int) -> Gain:
    """Seconds that one GPU more saves a job: steps that are left times those of a step."""
    left = dict(zip(view.jobs.tolist(), view.remaining.tolist(), strict=True))
    steps = {job: remaining_steps(model, job, part) for job, part in left.items()}

    def gain(job: int, gpus: int) -> float:
        app, batch = model.application(job), int(model.batch_size[job])
        if gpus + 1 > batch // app.smallest_local:
            return 0.0
        now_s, next_s = (predicted_s(app, batch, g, per_node) for g in (gpus, gpus + 1))
        gained = (now_s - next_s) * steps[job]
        return gained if gained > 0 else 0.0  # not a number: cannot be predicted

    return gain


def _gain_of_times(view: View, times_s: FloatArray) -> Gain:
    """Seconds that one GPU more saves a job of known times."""
    left_s = dict(zip(view.jobs.tolist(), times_s * view.remaining[:, None], strict=True))

    def gain(job: int, gpus: int) -> float:
        mine = left_s[job]
        return float(mine[gpus] - mine[gpus + 1]) if gpus + 1 < len(mine) else 0.0

    return gain


def remaining_steps(model: Goodput, job: int, left: float) -> float:
    """Steps at the job's batch size from the end of this epoch to the end of the last; 1 in the last."""
    app = model.application(job)
    until = _steps_until(app, int(model.batch_size[job]))
    return until[-1] - until[app.epoch(left)] or 1.0


@lru_cache(maxsize=1024)
def _steps_until(app: Application, batch: int) -> list[float]:
    return cast(list[float], app.between(app.iterations, batch).tolist())


@lru_cache(maxsize=65536)
def predicted_s(app: Application, batch: int, gpus: int, per_node: int) -> float:
    """Seconds of a step on so many GPUs of as few nodes as possible."""
    chosen = app.split(batch, gpus, accumulate_alone=False)
    return app.step(packed(gpus, per_node), chosen.local).with_accumulation(chosen.accumulation)


def by_marginal_gain(jobs: list[int], free: int, gain: Gain) -> dict[int, int]:
    """GPUs by job: one each, in order, then one after the other to the largest gain.

    Parameters
    ----------
    gain : of one GPU more, for a job and the GPUs that it has; of equal gains the first job's counts.
    """
    gpus = {job: 1 if k < free else 0 for k, job in enumerate(jobs)}
    free -= min(free, len(jobs))
    level = Levels(None).of
    heap = [(level(-gain(job, 1)), k, job) for k, job in enumerate(jobs) if gpus[job]]
    heapq.heapify(heap)
    while free and heap and heap[0][0] < 0:
        _, k, job = heap[0]
        gpus[job] += 1
        free -= 1
        heapq.heapreplace(heap, (level(-gain(job, gpus[job])), k, job))
    return gpus
