"""When a controller asks its policy: the periods, the wake-ups, and the end of a run in which nothing moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.core.clock import Order
from simulator.errors import InfeasibleDecision, InputError
from simulator.model.contract import Placement

if TYPE_CHECKING:
    from simulator.core.world import World

IDLE_TICKS = 10_000
"""Periods, or wake-ups, without any progress after which a simulation is given up."""

MAX_TICKS = 10_000_000
"""Periodic decision points of a controller after which the period is held to be a mistake."""


class Occasions:
    """The decision points of a controller that arrivals and completions do not give.

    Parameters
    ----------
    world : the shared state.

    Attributes
    ----------
    active, running : as in `Controller`, which is one of these.
    """

    running: Mapping[int, tuple[Placement, ...]]

    def __init__(self, world: World) -> None:
        self.world = world
        self.active: dict[int, None] = {}
        self._clock = world.clock
        self._ticking = False
        self._changed = False
        self._ticks = 0
        self._wake_s = self._timer_s = math.inf
        self._idle_ticks = 0
        self._left_at_check = math.nan
        self._checked_s = math.nan

    def request(self, once: bool = False) -> None:
        """Ask for a decision; see `Controller`."""
        raise NotImplementedError

    def _arm_tick(self) -> None:
        period = self.world.points.period_s
        assert period is not None
        self._ticking = True
        now = self._clock.now_s
        tick = math.ceil(now / period) * period
        self._clock.call_at(tick if tick >= now else tick + period, Order.TICK, self._tick)

    def _tick(self) -> None:
        """A periodic decision point."""
        period = self.world.points.period_s
        assert period is not None
        if not self.active:
            self._ticking = False
            return
        self._guard_against_idling("periods")
        self._ticks += 1
        if self._ticks > MAX_TICKS:
            raise InputError(
                f"period is {period:g} s: more than {MAX_TICKS:,} periodic decisions by "
                f"{self._clock.now_s:.6g} s, expected a longer one"
            )
        self.request()
        next_tick = (round(self._clock.now_s / period) + 1) * period
        self._clock.call_at(next_tick, Order.TICK, self._tick)

    def _arm_wake_up(self, again_s: float) -> None:
        """Ask again after so long; the wake-up of the decision before is void since `_ask`.

        There is one pending timer for the earliest of them all, as on a node: one that finds
        nothing to do arms the next.
        """
        self._wake_s = self._clock.now_s + again_s
        if self._wake_s < self._timer_s:
            self._arm_timer()

    def _arm_timer(self) -> None:
        self._timer_s = self._wake_s
        self._clock.call_at(self._wake_s, Order.TICK, self._wake_up)

    def _wake_up(self) -> None:
        """The timer of the wake-ups: the one that counts may be later, or void."""
        now = self._clock.now_s
        if now < self._timer_s:
            return
        self._timer_s = math.inf
        if now < self._wake_s < math.inf:
            self._arm_timer()
        elif now >= self._wake_s and self.active:
            self._wake_s = math.inf
            self._guard_against_idling("wake-ups")
            self._ticks += 1
            if self._ticks > MAX_TICKS:
                raise InfeasibleDecision(
                    f"policy {self.world.policy_name} at {now:.6g} s: asked to be asked again more "
                    f"than {MAX_TICKS:,} times, expected a longer again_s"
                )
            self.request(once=True)

    def _guard_against_idling(self, what: str) -> None:
        """A policy that runs no job, or moves each before its reconfiguration ends, ticks for ever.

        Every so many ticks without an arrival the work that is left must have become less, or a
        job must have been left alone since (a reconfiguration may take longer than that).
        """
        if self.world.arriving or self._changed:
            self._idle_ticks, self._left_at_check = 0, math.nan
            return
        self._idle_ticks += 1
        if self._idle_ticks % IDLE_TICKS != 1:
            return
        world, now = self.world, self._clock.now_s
        left = math.fsum(world.log.remaining_at(job, now) for job in self.active)
        alone = any(world.log.held_since_s[job] <= self._checked_s for job in self.running)
        if left == self._left_at_check and not alone:
            raise InfeasibleDecision(
                f"policy {world.policy_name} at {now:.6g} s: none of {len(self.active)} jobs got "
                f"on with its work for {IDLE_TICKS} {what}"
            )
        self._left_at_check, self._checked_s = left, now
