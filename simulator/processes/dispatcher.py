"""Which controller's queue an arriving job joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simulator.errors import InputError
from simulator.processes.controller import Controller

Dispatch = Callable[[int], Controller]
"""Takes a job, answers with its controller."""


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
    world = controllers[0].world
    work_gpu_s = world.shown.performance.work_gpu_s(world.cluster)
    return lambda job: min(controllers, key=lambda c: c.work_left_gpu_s(work_gpu_s))


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
    The limits are those of the whole workload's sizes: the law is known, not what comes next.
    """
    world = controllers[0].world
    work_gpu_s = world.shown.performance.work_gpu_s(world.cluster)[: len(world.shown)]
    order = np.argsort(work_gpu_s, kind="stable")
    part = np.cumsum(work_gpu_s[order]) / work_gpu_s.sum()
    interval = np.empty(len(order), dtype=np.int64)
    # A job belongs where the middle of its own work lies.
    middle = part - work_gpu_s[order] / work_gpu_s.sum() / 2
    interval[order] = np.minimum((middle * len(controllers)).astype(np.int64), len(controllers) - 1)
    return lambda job: controllers[int(interval[job])]


def least_tardiness(controllers: Sequence[Controller], rng: np.random.Generator) -> Dispatch:
    """Least estimated tardiness of the job; of equals the least work left.

    The estimate: the work left at a controller, done by all its GPUs, then the job at its fastest.
    """
    world = controllers[0].world
    work_gpu_s = world.shown.performance.work_gpu_s(world.cluster)
    jobs = np.arange(len(world.shown), dtype=np.int64)
    table = world.shown.performance.table_s(jobs, world.cluster)
    fastest_s = table.reshape(len(jobs), -1).min(axis=1)
    gpus = world.cluster.total_gpus / len(controllers)

    def dispatch(job: int) -> Controller:
        slack_s = float(world.shown.due_s[job] - world.clock.now_s - fastest_s[job])

        def rank(controller: Controller) -> tuple[float, float]:
            wait_s = controller.work_left_gpu_s(work_gpu_s) / gpus
            return max(0.0, wait_s - slack_s), wait_s

        return min(controllers, key=rank)

    return dispatch


def _checked(dispatch: Dispatch, controllers: Sequence[Controller]) -> Dispatch:
    """A rule of one's own may answer with anything."""
    known = set(map(id, controllers))

    def send(job: int) -> Controller:
        chosen = dispatch(job)
        if id(chosen) not in known:
            raise InputError(
                f"dispatcher: answered with {type(chosen).__name__} for job {job}, expected one of "
                "the controllers"
            )
        return chosen

    return send


def _num_active(controller: Controller) -> int:
    return len(controller.active)


Rule = Callable[[Sequence[Controller], np.random.Generator], Dispatch]
"""Takes the controllers and random numbers of its own, answers with what sends each job."""

DISPATCHERS: dict[str, Rule] = {
    "round-robin": round_robin,
    "join-shortest-queue": join_shortest_queue,
    "least-work-left": least_work_left,
    "power-of-two": power_of_two,
    "random": random,
    "size-interval": size_interval,
    "least-tardiness": least_tardiness,
}


def make_dispatcher(
    name: str | Rule, controllers: Sequence[Controller], rng: np.random.Generator
) -> Dispatch:
    """The dispatcher of that name, or a rule of one's own; `InputError` where there is none."""
    if not isinstance(name, str):
        return _checked(name(controllers, rng), controllers)
    if name not in DISPATCHERS:
        raise InputError(f"unknown dispatcher {name!r}, expected one of {', '.join(DISPATCHERS)}")
    return DISPATCHERS[name](controllers, rng)
