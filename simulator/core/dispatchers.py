"""Dispatchers: rules for which controller's queue an arriving job joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simulator.core.controller import Controller
from simulator.core.simulation import Simulation
from simulator.core.start import Dispatch, Rule
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.ranks import ranks
from simulator.model.so_far import beyond
from simulator.model.tolerances import EQUAL, INSTANT_S

GROUP = "schedlab.dispatchers"
"""Entry points of dispatchers."""


def round_robin(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """One after the other (the hierarchical paper, Section III)."""
    count = len(controllers)
    turn = -1

    def dispatch(job: int) -> Controller:
        nonlocal turn
        turn = (turn + 1) % count
        return controllers[turn]

    return dispatch


def join_shortest_queue(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """Fewest active jobs; the first of equals."""
    return lambda job: min(controllers, key=_num_active)


def least_work_left(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """Least remaining work, in GPU-seconds at each job's most frugal configuration."""
    simulation = controllers[0].simulation
    work_gpu_s = simulation.rows.performance.work_gpu_s(simulation.cluster)

    def work_left_gpu_s(controller: Controller) -> float:
        left, now_s = simulation.jobs.remaining_at, simulation.clock.now
        return sum(left(job, now_s) * float(work_gpu_s[job]) for job in controller.active)

    return lambda job: controllers[int(ranks([*map(work_left_gpu_s, controllers)]).argmin())]


def power_of_two(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """The shorter of two queues drawn at random (Mitzenmacher 2001)."""

    def dispatch(job: int) -> Controller:
        if len(controllers) == 1:
            return controllers[0]
        pair = rng.choice(len(controllers), size=2, replace=False)
        return min((controllers[int(k)] for k in pair), key=_num_active)

    return dispatch


def random(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """Any, with equal probability."""
    return lambda job: controllers[int(rng.integers(len(controllers)))]


def size_interval(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """Small jobs to the first controller, .., large ones to the last, each the same work in all.

    Size-interval task assignment with equal load (SITA-E; Crovella, Harchol-Balter and Murta 1998).
    The limits are those of the whole workload's sizes: the law is known, not what comes next. So runs are informed.
    """
    simulation = controllers[0].simulation
    work_gpu_s = simulation.all_jobs.performance.work_gpu_s(simulation.cluster)
    order = np.argsort(ranks(work_gpu_s), kind="stable")
    part = np.cumsum(work_gpu_s[order]) / work_gpu_s.sum()
    interval = np.empty(len(order), dtype=np.int64)
    # A job belongs where the middle of its own work lies; that of the largest lies well below 1.
    middle = part - work_gpu_s[order] / work_gpu_s.sum() / 2
    interval[order] = (middle * len(controllers) + EQUAL).astype(np.int64)
    return lambda job: controllers[int(interval[job])]


def least_tardiness(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """The controller whose estimated cost of tardiness grows least; of equals the least work left.

    The estimate: a controller does its jobs by due date, one after the other on all its GPUs, and
    none faster than at its fastest. So an urgent job avoids those who have no time to lose. As long as no job
    had a weight, a second of tardiness costs the same for every job.
    """
    simulation = controllers[0].simulation
    jobs = simulation.rows
    work_gpu_s = jobs.performance.work_gpu_s(simulation.cluster)
    table = jobs.performance.table_s(np.arange(len(jobs), dtype=np.int64), simulation.cluster)
    fastest_s = table.reshape(len(jobs), -1).min(axis=1)
    so_far = simulation.shown
    gpus = simulation.cluster.total_gpus / len(controllers)

    def cost(queue: IntArray, left: FloatArray) -> float:
        """Estimated tardiness cost of these jobs, the work left of each given as a fraction."""
        by_due = np.argsort(ranks(jobs.due_s[queue], INSTANT_S), kind="stable")
        queue, left = queue[by_due], left[by_due]
        weight = so_far.weight_per_s[queue] if so_far.weight_per_s.any() else 1.0
        work_s = left * work_gpu_s[queue] / gpus
        end_s = simulation.clock.now + np.maximum(
            np.cumsum(work_s), np.cumsum(work_s) - work_s + left * fastest_s[queue]
        )
        return float((weight * np.maximum(0.0, end_s - jobs.due_s[queue])).sum())

    def dispatch(job: int) -> Controller:
        def look(controller: Controller) -> tuple[float, float, float]:
            queue = np.array([*controller.active, job], dtype=np.int64)
            left = np.ones(len(queue))
            left[:-1] = simulation.jobs.all_remaining_at(queue[:-1], simulation.clock.now)
            before, after = cost(queue[:-1], left[:-1]), cost(queue, left)
            return after, after - before, float((left * work_gpu_s[queue]).sum())

        after, growth, work = np.array([look(controller) for controller in controllers]).T
        # The growth is a difference of costs, and so are its roundings.
        return controllers[int(np.lexsort((ranks(work), ranks(growth, EQUAL * after.max())))[0])]

    return dispatch


class _Shown:
    """A controller, or its simulation, as a rule of one's own sees it: of the jobs, those that have come.

    Parameters
    ----------
    instead : attributes with other values.
    """

    def __init__(self, whole: Any, **instead: Any) -> None:
        self.__dict__.update(instead)
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, "all_jobs" if name == "rows" else name)


def _of_ones_own(rule: Rule) -> Rule:
    """A rule of one's own sees the jobs so far, and may answer with anything."""

    def begin(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
        whole = controllers[0].simulation
        states = controllers[0].states
        simulation = _Shown(whole, workload=whole.shown, jobs=states, controllers=())
        seen: Any = [_Shown(c, simulation=simulation, jobs=states) for c in controllers]
        dispatch = _kept_to_them(rule, whole, seen, rng)

        def send(job: int) -> Controller:
            chosen = _kept_to_them(dispatch, whole, job)
            for controller, answer in zip(controllers, seen, strict=True):
                if chosen is answer:
                    return controller
            raise InputError(
                f"dispatcher: answered with {type(chosen).__name__} for job {job}, expected one of "
                "the controllers"
            )

        return send

    return begin


def _kept_to_them(rule: Callable[..., Any], simulation: Simulation, *values: Any) -> Any:
    """The answer of code of a user; `InputError` where it reads the row of a job to come."""
    try:
        return rule(*values)
    except IndexError as error:
        if (told := beyond(error, simulation.so_far.count)) is None:
            raise
        raise InputError(f"dispatcher: at {simulation.clock.now:.6g} s: {told}") from error


def _num_active(controller: Controller) -> int:
    return len(controller.active)


DISPATCHERS: dict[str, Rule] = {
    "round-robin": round_robin,
    "join-shortest-queue": join_shortest_queue,
    "least-work-left": least_work_left,
    "power-of-two": power_of_two,
    "random": random,
    "size-interval": size_interval,
    "least-tardiness": least_tardiness,
}


def make_dispatcher(name: str | Rule) -> Rule:
    """The rule of that name, or one of one's own; `InputError` where there is none."""
    if not isinstance(name, str):
        return _of_ones_own(name)
    if name not in DISPATCHERS:
        raise InputError(f"unknown dispatcher {name!r}, expected one of {', '.join(DISPATCHERS)}")
    return DISPATCHERS[name]
