"""`schedlab whatif`: a scenario as it is, and with other keys, on the same random numbers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.comparison.comparing import on_same_draws, said_of_jobs
from experiments.comparison.metrics import metric_of
from experiments.comparison.plan import Plan
from experiments.comparison.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario
    from experiments.sweep.store import Store

TOLD = ("mean_total_wait_s", "p95_total_wait_s", "gpu_utilisation", "total_cost")
"""Metrics of which the answer has a sentence."""


@dataclass(frozen=True)
class WhatIf:
    """The answer.

    Attributes
    ----------
    table : one row a metric: ``base``, ``whatif``, ``difference`` with ``lower`` and ``upper`` (95 %), ``replications``.
    currency : of costs.
    """

    table: pd.DataFrame
    currency: str
    notes: tuple[str, ...]

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
        return told | {"95 % interval": scale.interval(row["lower"], row["upper"])}

    def words(self) -> list[str]:
        """The answer, a sentence each."""
        rows = self.table.set_index("metric")
        return [self._sentence(name, rows.loc[name]) for name in TOLD if name in rows.index]

    def _sentence(self, name: str, row: Any) -> str:
        metric = metric_of(name)
        scale = metric.scaled(max(abs(row["base"]), abs(row["whatif"])), self.currency)
        of, unit = scale.number, f" {scale.unit}" if scale.unit else ""
        subject = f"The {metric.words}"
        change = row["difference"]
        known = np.isnan(row["lower"]) or row["lower"] > 0 or row["upper"] < 0
        lower, upper = sorted((row["lower"], row["upper"]))
        if known and change < 0:
            lower, upper = -upper, -lower
        ends = "" if np.isnan(lower) else f" (95 % interval {of(lower)} to {of(upper)}{unit})"
        if change == 0 and (known or row["lower"] == row["upper"]):
            return f"{subject} stays {of(row['base'])}{unit}."
        verb = "rises" if change > 0 else "falls"
        if not known:
            return (
                f"{subject}: cannot tell; {of(row['base'])}{unit} becomes {of(row['whatif'])}{unit}, "
                f"difference {of(change)}{unit}{ends}."
            )
        return f"{subject} {verb} from {of(row['base'])} to {of(row['whatif'])}{unit}, by {of(abs(change))}{unit}{ends}."


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
    store, progress, options : see `Runs`.

    Raises
    ------
    InputError
        A scenario or a number is wrong; one line.
    """
    import pandas as pd

    with closing(Runs(source, store, progress, **options)) as runs:
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
    notes = [*found.notes, *said_of_jobs((base, other))]
    if "total_cost" not in found.metrics:
        notes.append(
            "total_cost: 0, because nothing has a price; --base cluster.price_per_hour=20 sets one"
        )
    return WhatIf(pd.DataFrame(rows), found.currency, tuple(notes))
