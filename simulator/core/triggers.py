"""Decision triggers: when a controller decides, beside arrivals and completions."""

from __future__ import annotations

from dataclasses import dataclass


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
