"""Periods and wake-ups of a controller, and an end for runs in which these bring nothing."""

from __future__ import annotations

import math

from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.execution import ControllerLike
from simulator.errors import InputError

IDLE_TICKS = 10_000
"""Periods, or wake-ups, without any progress after which a simulation is given up."""

MAX_TICKS = 3_000_000
"""Periods, or wake-ups, of a controller after which the period is held to be a mistake."""


def periods(controller: ControllerLike, guard: Guard, period_s: float) -> ProcessGenerator:
    """SimPy process: ask at every multiple of the period while the controller has jobs."""
    clock = controller.clock
    first_s = math.ceil(clock.now / period_s) * period_s
    tick_s = first_s if first_s >= clock.now else first_s + period_s
    while True:
        yield clock.at(tick_s, EventOrder.TICK)
        if not controller.active:
            controller.is_ticking = False
            return
        guard.count("periods")
        if guard.num_ticks > MAX_TICKS:
            raise InputError(
                f"period is {period_s:g} s: more than {MAX_TICKS:,} periodic decisions by "
                f"{clock.now:.6g} s, expected a longer one"
            )
        controller.ask()
        tick_s = (round(clock.now / period_s) + 1) * period_s


def wake_up(
    controller: ControllerLike, guard: Guard, number: int, after_s: float
) -> ProcessGenerator:
    """SimPy process: ask again after so long, unless a newer plan than this one was made."""
    clock = controller.clock
    yield clock.at(clock.now + after_s, EventOrder.TICK)
    if number != controller.planned or not controller.active:
        return
    guard.count("wake-ups")
    if guard.num_ticks > MAX_TICKS:
        raise controller.simulation.infeasible(
            f"asked to be asked again more than {MAX_TICKS:,} times, expected a longer again_s"
        )
    controller.ask(once=True)


class Guard:
    """An end for runs in which a policy runs no job, or moves each before its delay is over.

    Every so many ticks without an arrival the work that is left must have become less, or a job must
    have been left alone since (a delay may take longer than that).
    """

    def __init__(self, controller: ControllerLike) -> None:
        self.num_ticks = 0
        self._controller = controller
        self._num_idle = 0
        self._left = self._checked_s = math.nan

    def count(self, what: str) -> None:
        """One more tick; `InfeasibleDecision` where too many brought nothing."""
        controller, simulation = self._controller, self._controller.simulation
        self.num_ticks += 1
        if simulation.arriving or controller.changed or controller.down:
            self._num_idle, self._left = 0, math.nan
            return
        self._num_idle += 1
        if self._num_idle % IDLE_TICKS != 1:
            return
        jobs, now_s = simulation.jobs, controller.clock.now
        left = math.fsum(jobs.remaining_at(job, now_s) for job in controller.active)
        alone = any(jobs.held_since_s[job] <= self._checked_s for job in controller.running)
        if left == self._left and not alone:
            raise simulation.infeasible(
                f"none of {len(controller.active)} jobs made progress for {IDLE_TICKS} {what}"
            )
        self._left, self._checked_s = left, now_s
