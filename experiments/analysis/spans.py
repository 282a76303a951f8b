"""Spans of time in words."""

from __future__ import annotations

from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S


def span(seconds: float) -> str:
    """A span in the unit in which it is 2 or more: "3.5 h", "95 s"."""
    for scale, unit in ((24 * HOUR_S, "days"), (HOUR_S, "h"), (60.0, "min")):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"
