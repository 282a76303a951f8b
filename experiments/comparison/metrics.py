"""Metrics: names of ``summary.json`` in words, with unit and direction."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from simulator.metrics.operator_metrics import SIZES, size_name

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario

HOUR_S = 3600.0


class Scale(NamedTuple):
    """A number to divide values by, and the unit to print then."""

    by: float
    unit: str

    def number(self, value: float) -> str:
        """A value in the unit."""
        return digits(value / self.by, math.nan)

    def interval(self, lower: float, upper: float) -> str:
        """Ends of an interval in the unit; empty where there is none."""
        return "" if math.isnan(lower) else f"{self.number(lower)} to {self.number(upper)}"

    def text(self, value: float) -> str:
        """A value with its unit."""
        return f"{self.number(value)}{f' {self.unit}' if self.unit else ''}"


@dataclass(frozen=True)
class Metric:
    """One number of ``summary.json``.

    Attributes
    ----------
    words : "mean completion time".
    unit : "s", "share", "money", "kWh", "kg", or "" for a count or a ratio.
    better : "less", "more", or "" where it is not to be judged.
    never_0 : it is above 0 whatever the schedule, so a ratio to it is safe.
    several : the words are a plural: they "are" a number.
    """

    name: str
    words: str
    unit: str = ""
    better: str = "less"
    never_0: bool = False
    several: bool = False

    def scaled(self, most: float, currency: str = "") -> Scale:
        """Scale for values up to ``most``.

        Example: times of hours are divided by 3,600 and printed in h.
        """
        if self.unit == "s":
            steps = ((48 * HOUR_S, 24 * HOUR_S, "d"), (HOUR_S, HOUR_S, "h"), (120.0, 60.0, "min"))
            small = (1.0, "s") if most >= 0.1 or not most else (1e-3, "ms")
            return Scale(*next(((by, unit) for at, by, unit in steps if most >= at), small))
        if self.unit == "share":
            return Scale(0.01, "%")
        return Scale(1.0, currency if self.unit == "money" else self.unit)

    def title(self, most: float, currency: str = "") -> str:
        """Words and unit, for an axis or the head of a column."""
        unit = self.scaled(most, currency).unit
        return f"{self.words} ({unit})" if unit else self.words


def _times() -> dict[str, str]:
    kinds = {
        "jct": "completion time",
        "wait": "wait until the first start",
        "total_wait": "total wait",
    }
    ranks = {"mean": "mean", "p50": "median", "p95": "p95", "p99": "p99"}
    return {
        f"{rank}_{kind}_s": f"{said} {words}"
        for kind, words in kinds.items()
        for rank, said in ranks.items()
        if rank != "p50" or kind == "jct"  # runs have no median of waits
    }


METRICS = {
    metric.name: metric
    for metric in (
        *(Metric(name, words, "s", never_0="jct" in name) for name, words in _times().items()),
        Metric("makespan_s", "makespan", "s", never_0=True),
        Metric("mean_slowdown", "mean slowdown", never_0=True),
        Metric("mean_bounded_slowdown", "mean bounded slowdown", never_0=True),
        Metric("p95_slowdown", "p95 slowdown", never_0=True),
        Metric("p99_slowdown", "p99 slowdown", never_0=True),
        Metric("jain_slowdown", "Jain's index of the slowdowns", better="more", never_0=True),
        Metric("mean_finish_time_fairness", "mean finish-time fairness", never_0=True),
        Metric("max_finish_time_fairness", "worst finish-time fairness", never_0=True),
        Metric("total_cost", "total cost", "money", never_0=True),
        Metric("leasing_cost", "cost of leasing", "money"),
        Metric("energy_cost", "cost of energy", "money"),
        Metric("tardiness_cost", "cost of tardiness", "money"),
        Metric("energy_kwh", "energy", "kWh"),
        Metric("carbon_kg", "carbon dioxide", "kg"),
        Metric("late_jobs", "jobs that end late", several=True),
        Metric("rejected_jobs", "jobs that admission control rejects", several=True),
        Metric("broken_promises", "promised due dates that are missed", several=True),
        Metric("goodput", "GPU time that is work and is not lost", "share", "more"),
        Metric("lost_gpu_h", "work that failures undo", "GPU h"),
        Metric("envy_gpu_h", "envy between tenants", "GPU h"),
        Metric("gpu_utilisation", "GPU time in use", "share", "more"),
        Metric("cpu_utilisation", "CPU time in use", "share", "more"),
        Metric("allocation_ratio", "GPUs that jobs hold", "share", "more", several=True),
        Metric("fragmentation_ratio", "GPUs that no waiting job can use", "share", several=True),
        Metric("effective_training_ratio", "effective training ratio", "share", "more"),
        Metric("preemptions", "preemptions", several=True),
        Metric("reconfigurations", "reconfigurations", several=True),
        Metric("mean_decision_cpu_s", "CPU time of a decision", "s", ""),
    )
}  # fmt: skip
"""By name; others of ``summary.json`` can be compared, too: their name is their words."""

OTHERS = frozenset({
    "jobs", "decisions", "rounds", "informed", "lost_jobs", "lost_share", "killed_jobs", "jobs_beyond_p95",
    "jobs_beyond_p99", "server_requests", "server_utilisation", "mean_server_wait_s", "mean_server_response_s",
    "server_formula_response_s", "tenants", "jain_tenants", "held_jobs", "downgraded_jobs", "promised_jobs",
    "server_failures", "systematic_failures", "host_selections", "preempted_spares", "manual_repairs",
    "good_repairs", "bad_repairs", "retired_servers", "outages", "job_failures", "abandoned_jobs", "overhead_gpu_h", "availability", "jobs_outside_hours",
    *(f"mean_total_wait_{size_name(above, most)}_s" for above, most in itertools.pairwise(SIZES)),
})  # fmt: skip
"""The other numbers that a run can have in ``summary.json``, but for those of packages and of notes of policies."""

DEFAULTS = (
    "mean_jct_s", "p95_jct_s", "p99_jct_s", "mean_total_wait_s", "p95_total_wait_s", "makespan_s",
    "mean_slowdown", "max_finish_time_fairness", "total_cost", "leasing_cost", "energy_cost",
    "tardiness_cost", "energy_kwh", "late_jobs", "gpu_utilisation", "allocation_ratio",
    "fragmentation_ratio", "effective_training_ratio", "lost_gpu_h", "preemptions",
)  # fmt: skip
"""Compared where none is named and the runs have it; what is 0, or 1, in all of them is left out."""

CPU = "mean_decision_cpu_s"
"""Measured on this machine: shown beside the others, never ranked."""


def metric_of(name: str) -> Metric:
    """The metric of a name; of an unknown one, a plain description."""
    if name in METRICS:
        return METRICS[name]
    unit = "s" if name.endswith("_s") else "money" if name.endswith("_cost") else ""
    return Metric(name, name.removesuffix("_s").replace("_", " "), unit)


def may_have(scenario: Scenario, name: str) -> bool:
    """Whether a run of a scenario may have a number of this name: notes of policies and features of packages may have any."""
    if name in METRICS or name in OTHERS or scenario.decision_facts:
        return True
    return not all(type(t).__module__.startswith("simulator.") for t in scenario.features.values())


def digits(value: float, half_width: float) -> str:
    """A number with as many digits as its interval knows, two of the half width.

    Example: ``digits(3.14159, 0.2)`` is "3.14", ``digits(1234.5, 80)`` is "1,234".
    """
    if not math.isfinite(value):
        return "-"
    if not (math.isfinite(half_width) and half_width > 0):
        return f"{value:,.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
    places = max(0, min(6, 1 - math.floor(math.log10(half_width))))
    return f"{value:,.{places}f}"
