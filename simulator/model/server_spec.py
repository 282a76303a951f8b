"""Specification of the optimization server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.arguments import checked
from simulator.errors import InputError

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
