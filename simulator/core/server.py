"""The optimization server: controllers' requests queue for it, and a decision takes time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.arguments import checked
from simulator.core.clock import Clock, Order
from simulator.core.controller import Controller
from simulator.core.plans import Plan
from simulator.errors import InputError

ServiceLaw = Callable[[np.random.Generator], float]
"""Draws one service time, s."""


@checked("optimization server")
@dataclass(frozen=True)
class ServerSpec:
    """How decisions are computed.

    Attributes
    ----------
    service : ``"measured"`` takes the CPU time of each decision itself; otherwise a law.
    servers : how many requests are served at once; the others wait, first come first served.
    coalesce : a controller that already waits for a server does not ask again. Off, every event
        is a request of its own, as in the paper's M/G/1 model.
    """

    service: Literal["measured"] | ServiceLaw
    servers: int = 1
    coalesce: bool = False

    def __post_init__(self) -> None:
        if self.service != "measured" and not callable(self.service):
            raise InputError(
                f"optimization server: service is {self.service!r}, expected 'measured' or a law"
            )
        if self.servers < 1:
            raise InputError(f"optimization server: {self.servers} servers, expected at least 1")


class OptimizationServer:
    """``servers`` equal servers with one queue.

    A request is decided on the state at the start of its service, and applied at the end of it to
    what still exists then (`Controller.carry_out` says how, where several servers decide at once).
    """

    def __init__(self, clock: Clock, spec: ServerSpec, rng: np.random.Generator) -> None:
        self.wait_s: list[float] = []
        self.response_s: list[float] = []
        self._clock = clock
        self._spec = spec
        self._rng = rng
        self._queue: deque[tuple[Controller, float]] = deque()
        self._busy = 0

    def request(self, controller: Controller, once: bool = False) -> None:
        """Queue a request of this controller; ``once``: unless it waits here already."""
        if (once or self._spec.coalesce) and any(c is controller for c, _ in self._queue):
            return
        self._queue.append((controller, self._clock.now_s))
        self._clock.call_last(self._serve)

    def _serve(self) -> None:
        """Start what the free servers can take."""
        while self._queue and self._busy < self._spec.servers:
            controller, asked_s = self._queue.popleft()
            self._busy += 1
            now = self._clock.now_s
            plan = controller.plan()
            measured = self._spec.service == "measured"
            service_s = plan.cpu_s if measured else self._spec.service(self._rng)  # type: ignore[operator]
            if not 0 <= service_s < math.inf:
                raise InputError(f"optimization server: service takes {service_s} s, expected >= 0")
            self.wait_s.append(now - asked_s)
            self.response_s.append(now - asked_s + service_s)

            def done(controller: Controller = controller, plan: Plan = plan) -> None:
                self._busy -= 1
                controller.carry_out(plan)
                self._serve()

            self._clock.call_at(now + service_s, Order.SERVICE_END, done)
