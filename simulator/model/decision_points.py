"""When a controller decides, and the optimization server on which a decision takes time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simulator.arguments import LATEST_S, MOST_NODES
from simulator.errors import InputError
from simulator.files.keys import Config, KeyedError, LawKey, NonNegative, at_key

Period = Annotated[float, Field(ge=1e-3, lt=LATEST_S)]
"""Time between decisions, s; the clock resolves it."""


class DecisionPoints(Config):
    """Times of decisions: at arrivals and completions, and periodically; or in rounds only."""

    period_s: Period | None = Field(default=None, examples=[3600])
    """time between further decisions, while there are jobs"""
    since_last_s: Period | None = Field(default=None, examples=[3600])
    """time from a controller's last decision, whatever its cause, to a further one; a wake-up that the policy asks for replaces it"""
    round_s: Period | None = Field(default=None, examples=[300])
    """time between decisions, with none at arrivals and completions or when a policy asks for one"""
    round_ends: Literal["grid", "last-finisher"] = "grid"
    """a round ends on the grid of round_s, or when its last job stops, if that is earlier"""
    finish_at_round: bool = False
    """a job that ends inside a round counts as done at its end (as in the released Synergy simulator)"""
    least_gap_s: NonNegative = Field(default=0.0, examples=[240])
    """least time between two decisions; earlier requests wait"""
    on_arrival: bool = True
    """whether to decide at arrivals; never with rounds"""
    on_completion: bool = True
    """whether to decide at completions; never with rounds"""

    @model_validator(mode="after")
    def _together(self) -> Self:
        in_rounds = self.round_s is not None
        for key in ("period_s", "since_last_s", "least_gap_s"):
            if in_rounds and getattr(self, key):
                raise InputError(f"both round_s and {key} given, expected one of them")
        if self.round_ends != "grid" and (not in_rounds or self.finish_at_round):
            raise KeyedError("round_ends", "expected round_s, and no finish_at_round")
        if self.finish_at_round and self.tick_s is None:
            raise KeyedError("finish_at_round", "given without round_s, expected both")
        if not (self.on_arrival or in_rounds or self.period_s):
            raise InputError("neither at arrivals nor periodically: jobs would wait for ever")
        return self

    @property
    def at_arrivals(self) -> bool:
        """Whether arrivals ask for a decision."""
        return self.on_arrival and self.round_s is None

    @property
    def at_completions(self) -> bool:
        """Whether completions ask for a decision."""
        return self.on_completion and self.round_s is None

    @property
    def tick_s(self) -> float | None:
        """Decisions are made at the multiples of it; None: not periodically."""
        return (
            self.round_s
            if self.round_s is not None and self.round_ends == "grid"
            else self.period_s
        )


class ServerSpec(Config):
    """The optimization server, which answers requests for decisions."""

    service: LawKey = Field(examples=["exponential:40"])
    """time of a decision: a law (s), or measured: the CPU time of each decision itself"""
    servers: Annotated[int, Field(ge=1, le=MOST_NODES)] = 1
    """servers that answer requests"""
    coalesce: bool = False
    """a controller that waits for the server does not ask a second time"""

    @model_validator(mode="after")
    def _is_law(self) -> Self:
        with at_key("service"):
            self.law  # noqa: B018
        return self

    @cached_property
    def law(self) -> Callable[[np.random.Generator], float] | None:
        """Draws a service time, s; None: it is measured."""
        from simulator.laws import parse_law

        if not isinstance(self.service, str):
            return self.service
        return None if self.service == "measured" else parse_law(self.service)
