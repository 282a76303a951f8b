"""Optimus: GPUs by marginal gain (Peng et al., EuroSys 2018, Section 4.1).

Each job gets one GPU, in order of submission. Then the next GPU goes to the job whose remaining time it shortens
most, until no job gains. Batch sizes stay the user's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

from policies.goodput.placing import Nodes, capacities, nodes_of, place_beside, placements
from simulator.errors import InputError
from simulator.model.contract import Decision, View
from simulator.model.goodput import Application, Goodput, packed


class Optimus:
    """Marginal gain of the remaining time."""

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; a job whose number of GPUs stays keeps its nodes."""
        model = goodput_of(view)
        capacity = capacities(view)
        per_node = max(capacity.values())
        jobs = dict(zip(view.jobs.tolist(), view.remaining.tolist(), strict=True))
        steps = {job: remaining_steps(model, job, left) for job, left in jobs.items()}

        def gain(job: int, gpus: int) -> float:
            app, batch = model.application(job), int(model.batch_size[job])
            if gpus + 1 > batch // app.smallest_local:
                return 0.0
            now_s, next_s = (predicted_s(app, batch, g, per_node) for g in (gpus, gpus + 1))
            gained = (now_s - next_s) * steps[job]
            return gained if gained > 0 else 0.0  # not a number: cannot be predicted

        gpus = by_marginal_gain(list(jobs), sum(capacity.values()), gain)
        running = {job: nodes_of(shares) for job, shares in view.running.items()}
        return Decision(placements(place_by_size(gpus, running, capacity)))


def goodput_of(view: View) -> Goodput:
    """The performance model, where it is one of goodput.

    Raises
    ------
    InputError
        It is another.
    """
    model = view.workload.performance
    if not isinstance(model, Goodput):
        raise InputError(
            f"jobs have a performance model {type(model).__name__}, expected Goodput: tables of "
            "throughput and gradient noise"
        )
    return model


def remaining_steps(model: Goodput, job: int, left: float) -> float:
    """Steps at the job's batch size from the end of this epoch to the end of the last; 1 in the last."""
    app = model.application(job)
    until = _steps_until(app, int(model.batch_size[job]))
    return until[-1] - until[model.epoch(job, left)] or 1.0


@lru_cache(maxsize=1024)
def _steps_until(app: Application, batch: int) -> list[float]:
    return cast(list[float], app.between(app.iterations, batch).tolist())


@lru_cache(maxsize=65536)
def predicted_s(app: Application, batch: int, gpus: int, per_node: int) -> float:
    """Seconds of a step on so many GPUs of as few nodes as possible."""
    chosen = app.split(batch, gpus, accumulate_alone=False)
    return app.step(packed(gpus, per_node), chosen.local).with_accumulation(chosen.accumulation)


def by_marginal_gain(
    jobs: list[int], free: int, gain: Callable[[int, int], float]
) -> dict[int, int]:
    """GPUs by job: one each, in order, then one after the other to the largest gain.

    Parameters
    ----------
    gain : of one GPU more, for a job and the GPUs that it has; of equal gains the first job's counts.
    """
    gpus = {job: 1 if k < free else 0 for k, job in enumerate(jobs)}
    free -= min(free, len(jobs))
    heap = [(-gain(job, 1), k, job) for k, job in enumerate(jobs) if gpus[job]]
    heapq.heapify(heap)
    while free and heap and heap[0][0] < 0:
        _, k, job = heap[0]
        gpus[job] += 1
        free -= 1
        heapq.heapreplace(heap, (-gain(job, gpus[job]), k, job))
    return gpus


def place_by_size(
    gpus: Mapping[int, int], running: Mapping[int, Nodes], capacity: Mapping[int, int]
) -> dict[int, Nodes]:
    """Jobs that keep their number of GPUs keep their nodes; the others are placed, the smallest first."""
    kept = {
        job: nodes
        for job, nodes in running.items()
        if job in gpus and sum(g for _, g in nodes) == gpus[job]
    }
    order = sorted(gpus, key=gpus.__getitem__)
    return place_beside({job: gpus[job] for job in order}, kept, capacity)


def optimus() -> Optimus:
    """GPUs by marginal gain of the remaining time; the user's batch sizes."""
    return Optimus()
