"""The optimization server: controllers' requests queue for it, and a decision takes time."""

from __future__ import annotations

import math

import numpy as np
from simpy import Resource
from simpy.events import ProcessGenerator

from simulator.core.clock import Clock, EventOrder
from simulator.core.controller import Controller
from simulator.errors import InputError
from simulator.model.decision_points import ServerSpec


class OptimizationServer:
    """Equal servers with one queue (`simpy.Resource`); each request is a process.

    A request is decided on the state at the start of its service, and carried out at the end of it on
    what still exists then (`Controller.carry_out`).

    Attributes
    ----------
    spec : service and number of the servers.
    wait_s, response_s : of each request in order of service: time in the queue, and until the end, s.
    """

    def __init__(self, clock: Clock, spec: ServerSpec, rng: np.random.Generator) -> None:
        self.wait_s: list[float] = []
        self.response_s: list[float] = []
        self._clock = clock
        self.spec = spec
        self._rng = rng
        self._servers = Resource(clock, spec.servers)
        self._waiting: list[Controller] = []

    def request(self, controller: Controller, once: bool = False) -> None:
        """Queue a request of this controller; ``once``: unless it waits here already."""
        if (once or self.spec.coalesce) and any(c is controller for c in self._waiting):
            return
        self._waiting.append(controller)
        self._clock.process(self._serve(controller))

    def _serve(self, controller: Controller) -> ProcessGenerator:
        """SimPy process: wait for a server, decide, wait for the service time, carry out."""
        clock, asked_s = self._clock, self._clock.now
        with self._servers.request() as turn:
            if turn.triggered:  # a free server sees all that happens at this instant
                yield clock.at(asked_s, EventOrder.DECISION)
            yield turn
            self._waiting.remove(controller)
            start_s = clock.now
            plan = controller.plan()
            law = self.spec.law
            service_s = plan.cpu_s if law is None else law(self._rng)
            if not 0 <= service_s < math.inf:
                raise InputError(f"optimization server: service takes {service_s} s, expected >= 0")
            self.wait_s.append(start_s - asked_s)
            self.response_s.append(start_s - asked_s + service_s)
            yield clock.at(start_s + service_s, EventOrder.SERVICE_END)
            controller.carry_out(plan)
