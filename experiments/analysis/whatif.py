"""`schedlab whatif`: a scenario as it is, and with other keys, on the same random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.analysis.compare import on_same_draws
from experiments.analysis.measuring import Entrant, Measuring
from experiments.analysis.wording import wording

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario

HEADLINE = (
    "mean_total_wait_s", "p95_total_wait_s", "mean_jct_s", "p95_jct_s", "mean_slowdown", "makespan_s",
    "gpu_utilisation", "effective_training_ratio", "total_cost", "leasing_cost", "energy_cost", "tardiness_cost",
    "energy_kwh", "late_jobs", "preemptions",
)  # fmt: skip
"""Those that both scenarios have are compared."""
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

    def words(self) -> list[str]:
        """The answer, a sentence each."""
        rows = self.table.set_index("metric")
        return [self._sentence(name, rows.loc[name]) for name in TOLD if name in rows.index]

    def _sentence(self, name: str, row: Any) -> str:
        said = wording(name, max(abs(row["base"]), abs(row["whatif"])), self.currency)
        of, unit = said.number, f" {said.unit}" if said.unit else ""
        subject = f"The {said.words}"
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
    workers: int | None = 1,
    progress: bool = False,
    keep: Path | None = None,
) -> WhatIf:
    """The two on the same jobs and random numbers: differences in every headline metric.

    Parameters
    ----------
    draws, workers, progress, keep : see `on_same_draws` and `Measuring`.

    Raises
    ------
    InputError
        A scenario or a number is wrong; one line.
    """
    import pandas as pd

    from experiments.scenario.build import build

    entrants = {"base": Entrant(base), "whatif": Entrant(other)}
    first = [(entrant, base.seed) for entrant in entrants.values()]
    with Measuring(source, (), workers, progress, keep) as measuring:
        known = measuring.all_of(first)
        both = [name for name in HEADLINE if all(name in numbers for numbers in known)]
        measuring.metrics = [n for n in both if n == "total_cost" or any(of[n] for of in known)]
        table, _, notes = on_same_draws(entrants, measuring, base.seed, draws)
    rows = []
    for metric in measuring.metrics:
        of = {(r["policy"], r["minus"]): r for _, r in table[table["metric"] == metric].iterrows()}
        apart = of["whatif", "base"]
        rows.append({
            "metric": metric, "base": of["base", ""]["mean"], "whatif": of["whatif", ""]["mean"],
            "difference": apart["mean"], "lower": apart["lower"], "upper": apart["upper"],
            "replications": apart["replications"],
        })  # fmt: skip
    if not any(numbers.get("total_cost") for numbers in known):
        notes.append(
            "total_cost: 0, because nothing has a price; --base cluster.price_per_hour=20 sets one"
        )
    return WhatIf(pd.DataFrame(rows), build(base)[1].currency, tuple(notes))
