"""When a controller decides, and the optimization server on which a decision takes time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.arguments import checked
from simulator.errors import InputError


@dataclass(frozen=True)
class DecisionPoints:
    """Times at which a controller decides.

    Attributes
    ----------
    on_arrival, on_completion : at each of these events.
    period_s : and at every multiple of this, while there are jobs; None: not periodically.
    since_last_s : and when a controller has not decided for so long, counted from its last decision
        whatever made it; None: not. A wake-up that a policy asks for takes its place.
    on_request : and when a policy asked for it (`simulator.model.contract.Decision.again_s`).
    least_gap_s : no decision comes sooner after the last one; those that are asked for wait until then.
    finish_at_tick : a job that ends between two ticks is over at the next (rounds as in the
        released Synergy simulator); needs ``period_s``.
    """

    on_arrival: bool = True
    on_completion: bool = True
    period_s: float | None = None
    finish_at_tick: bool = False
    on_request: bool = True
    since_last_s: float | None = None
    least_gap_s: float = 0.0

    @classmethod
    def rounds(cls, round_s: float, finish_at_tick: bool = False) -> DecisionPoints:
        """Only at the multiples of ``round_s``, whatever a policy asks for."""
        return cls(False, False, round_s, finish_at_tick, on_request=False)


ServiceLaw = Callable[[np.random.Generator], float]
"""Draws one service time, s."""


@checked("optimization server")
@dataclass(frozen=True)
class ServerSpec:
    """Specification of the optimization server.

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
