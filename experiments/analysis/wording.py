"""Metrics of ``summary.json`` in words, with a unit that suits their size."""

from __future__ import annotations

from typing import NamedTuple

RANKS = {
    "mean": "mean", "p50": "median", "p95": "95th percentile of the", "p99": "99th percentile of the",
}  # fmt: skip
WORDS = {
    "jct": "completion time", "wait": "wait until the first start", "gpu utilisation": "utilisation of the GPUs",
    "late jobs": "number of late jobs", "preemptions": "number of preemptions",
}  # fmt: skip


class Wording(NamedTuple):
    """A metric in words; its values, divided by ``scale``, are in ``unit``."""

    words: str
    unit: str
    scale: float

    def text(self, value: float) -> str:
        """A value with its unit."""
        return f"{self.number(value)}{f' {self.unit}' if self.unit else ''}"

    def number(self, value: float) -> str:
        """A value in the unit."""
        scaled = value / self.scale
        return f"{scaled:,.0f}" if abs(scaled) >= 1000 else f"{scaled:.4g}"

    def axis(self) -> str:
        """Words and unit, for an axis."""
        return f"{self.words} ({self.unit})" if self.unit else self.words


def wording(metric: str, most: float, currency: str) -> Wording:
    """Words for a metric.

    Parameters
    ----------
    most : the largest of its values, which decides on the unit.
    """
    name, unit, scale = metric, "", 1.0
    if metric.endswith("_s"):
        name = metric.removesuffix("_s")
        steps = ((3600.0, 3600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))
        scale, unit = next((by, unit) for least, by, unit in steps if abs(most) >= least)
    elif metric.endswith(("_utilisation", "_ratio", "_share")):
        scale, unit = 0.01, "%"
    elif metric.endswith("_cost"):
        unit = currency
    rank, _, rest = name.partition("_")
    rank, rest = (RANKS[rank], rest) if rank in RANKS else ("", name)
    rest = rest.replace("_", " ")
    return Wording(f"{rank} {WORDS.get(rest, rest)}".strip(), unit, scale)
