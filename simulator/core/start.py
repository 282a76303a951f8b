"""The start and the end of a run: make the controllers, start all processes, let the clock run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from simpy.core import EmptySchedule

from simulator.core.arrivals import arrivals
from simulator.core.controller import Controller
from simulator.core.feature import Feature
from simulator.core.server import OptimizationServer
from simulator.core.simulation import Simulation
from simulator.model.contract import Decision, View
from simulator.model.decision_points import ServerSpec

Dispatch = Callable[[int], Controller]
"""Takes a job that arrives, returns the controller whose queue it joins."""

Rule = Callable[[Sequence[Controller], np.random.Generator], Dispatch]
"""Takes the controllers and random numbers of its own, returns what sends each job (`simulator.core.dispatchers`)."""

HOOKS = tuple(name for name, value in vars(Feature).items() if callable(value))


def begin(
    simulation: Simulation,
    features: Sequence[Feature],
    decide: Callable[[], Callable[[View], Decision]],
    dispatcher: Rule,
    server: ServerSpec | None = None,
) -> None:
    """Make the controllers, the server and the dispatcher, and start all processes.

    Parameters
    ----------
    decide : makes the policy of one controller.
    dispatcher : makes what sends each arriving job to a controller.
    """
    streams = simulation.streams
    simulation.hooks = {
        name: [
            getattr(feature, name)
            for feature in features
            if getattr(type(feature), name) is not getattr(Feature, name)
        ]
        for name in HOOKS
    }
    simulation.controllers = controllers = [
        Controller(simulation, k, decide(), streams.generator("policy", k))
        for k in range(simulation.cluster.num_controllers)
    ]
    if server is not None:
        rng = streams.generator("service")
        simulation.server = OptimizationServer(simulation.clock, server, rng)
    dispatch = dispatcher(controllers, streams.generator("dispatcher"))
    simulation.dispatch = lambda job: dispatch(job).submit(job)
    for feature in features:
        feature.attach(simulation)
    for controller in controllers:
        seen = {feature.name: feature.seen(controller) for feature in features}
        controller.seen = {
            name: simulation.so_far.of(value) for name, value in seen.items() if value is not None
        }
    simulation.clock.process(arrivals(simulation))


IDLE_EVENTS = 1_000_000
"""Events in which no job comes, goes or holds a GPU, after which a run is given up."""


def run_to_end(simulation: Simulation) -> None:
    """Let the clock run until all jobs are over; a process that still waits then is dropped.

    Raises
    ------
    InfeasibleDecision
        Jobs wait for ever: nothing is left to happen, or nothing but processes of features that loop.
    """
    before = (-1, -1, -1.0)
    while _goes_on(simulation, IDLE_EVENTS):
        held_gpu_s = math.fsum(simulation.jobs.attained_gpu_s)
        now = (simulation.unfinished, simulation.arriving, held_gpu_s)
        if now == before and not any(c.running for c in simulation.controllers):
            break
        before = now
    left = [j for j, t in enumerate(simulation.completion_s) if t != t]
    if left:
        workload = simulation.workload
        first, gpus = workload.job_id[left[0]], int(workload.num_gpus[left[0]])
        needs = f", which needs {gpus} GPUs" if gpus else ""
        running = sum(len(controller.running) for controller in simulation.controllers)
        still = f"; {running} of them run at speed 0, and nothing will change it" if running else ""
        raise simulation.infeasible(
            f"{len(left)} jobs wait for ever, the first is {first!r}{needs}{still}"
        )


def _goes_on(simulation: Simulation, events: int) -> bool:
    """Let so many events happen; whether jobs are left, and events."""
    step = simulation.clock.step
    try:
        for _ in range(events):
            if not simulation.unfinished:
                return False
            step()
    except EmptySchedule:
        return False
    return True
