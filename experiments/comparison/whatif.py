"""`schedlab whatif`: a scenario as it is, and with other keys, on the same random numbers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.comparison.comparing import on_same_draws, said_of_jobs
from experiments.comparison.estimating import is_shown
from experiments.comparison.metrics import metric_of
from experiments.comparison.plan import Plan
from experiments.comparison.premises import premises
from experiments.comparison.recorded import said_of_record
from experiments.comparison.runs import ComparedRuns
from experiments.estimates import INTERVAL
from simulator.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario
    from experiments.sweep.store import Store

TOLD = ("mean_total_wait_s", "p95_total_wait_s", "gpu_utilisation", "lost_gpu_h", "total_cost")
"""Metrics of which the answer has a sentence."""


@dataclass(frozen=True)
class WhatIf:
    """The answer.

    Attributes
    ----------
    table : one row a metric: ``base``, ``whatif``, ``difference`` with ``lower`` and ``upper`` (95 %), ``replications``.
    currency : of costs.
    ends : what ``lower`` and ``upper`` are.
    """

    table: pd.DataFrame
    currency: str
    notes: tuple[str, ...]
    ends: str = INTERVAL

    def sheet(self) -> pd.DataFrame:
        """The table to read: a metric a row in words with its unit."""
        import pandas as pd

        return pd.DataFrame([self._line(row) for row in self.table.to_dict("records")])

    def _line(self, row: Any) -> dict[str, str]:
        most = max(abs(row["base"]), abs(row["whatif"]))
        metric = metric_of(row["metric"])
        scale = metric.scaled(most, self.currency)
        told = {"": metric.title(most, self.currency)}
        told |= {name: scale.number(row[name]) for name in ("base", "whatif", "difference")}
        return told | {self.ends: scale.interval(row["lower"], row["upper"])}

    def words(self) -> list[str]:
        """The answer, a sentence each."""
        rows = self.table.set_index("metric")
        return [self._sentence(name, rows.loc[name]) for name in TOLD if name in rows.index]

    def _sentence(self, name: str, row: Any) -> str:
        metric, change = metric_of(name), row["difference"]
        apart = Estimate(change, row["lower"], row["upper"], int(row["replications"]))
        scale = metric.scaled(max(abs(row["base"]), abs(row["whatif"])), self.currency)
        unit = f" {scale.unit}" if scale.unit else ""
        base, other, by = map(scale.number, (row["base"], row["whatif"], abs(change)))

        def ends(lower: float, upper: float) -> str:
            told = scale.interval(lower, upper)
            return told and f" ({self.ends} {told}{unit})"

        subject = f"The {metric.words}"
        if change == 0 and (apart.n == 1 or apart.lower == apart.upper == 0):
            return f"{subject} stays {base}{unit}."
        if not is_shown(apart):
            return (
                f"{subject}: cannot tell; {base}{unit} becomes {other}{unit}, difference "
                f"{scale.number(change)}{unit}{ends(apart.lower, apart.upper)}."
            )
        verb = "rises" if change > 0 else "falls"
        sizes = sorted((abs(apart.lower), abs(apart.upper)))
        return f"{subject} {verb} from {base} to {other}{unit}, by {by}{unit}{ends(*sizes)}."


def what_if(
    base: Scenario,
    other: Scenario,
    source: str,
    *,
    draws: int = 40,
    store: Store | None = None,
    progress: bool = False,
    **options: Any,
) -> WhatIf:
    """The two on the same jobs and random numbers: differences in the metrics that both have.

    Parameters
    ----------
    draws : see `Plan`.
    store, progress, options : see `ComparedRuns`.

    Raises
    ------
    InputError
        A scenario or a number is wrong; one line.
    """
    import pandas as pd

    with closing(ComparedRuns(source, store, progress, **options)) as runs:
        found = on_same_draws({"base": base, "whatif": other}, Plan(draws=draws), runs, "base")
    rows = []
    for metric in found.metrics:
        own = found.table[found.table["metric"] == metric]
        of = {(row["policy"], row["minus"]): row for _, row in own.iterrows()}
        if (apart := of.get(("whatif", "base"))) is not None:
            rows.append({
                "metric": metric, "base": of["base", ""]["mean"], "whatif": of["whatif", ""]["mean"],
                "difference": apart["mean"], "lower": apart["lower"], "upper": apart["upper"],
                "replications": apart["replications"],
            })  # fmt: skip
    told = [*said_of_record(base, found.runs, "base"), *premises((base, other), found.runs)]
    notes = [*found.notes, *said_of_jobs((base, other)), *told]
    if "total_cost" not in found.metrics:
        notes.append(
            "total_cost: 0, because nothing has a price; --base cluster.price_per_hour=20 sets one"
        )
    return WhatIf(pd.DataFrame(rows), found.currency, tuple(notes), found.ends)
