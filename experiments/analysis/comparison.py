"""Result of a comparison of policies: a table of estimates, as text, CSV and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from experiments.sweep.summary import row_of
from simulator.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Comparison:
    """Policies on the same jobs. The last line of a notebook's cell shows it as tables.

    Attributes
    ----------
    source : the scenario.
    policies : as they were named; the first is the one that the others are compared with.
    metrics : scalars of ``summary.json``.
    table : one row an estimate. Columns ``metric``, ``policy``, ``minus`` (empty, or the policy
        that is subtracted), ``mean``, ``lower``, ``upper`` (95 %; NaN where one run was made),
        ``replications``. Times are in s, costs in the scenario's currency.
    notes : what a reader should know, a line each.
    numbers : the numbers behind the table, column ``value`` in place of the last four; None where
        they were not kept.
    """

    source: str
    policies: tuple[str, ...]
    metrics: tuple[str, ...]
    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    numbers: pd.DataFrame | None = None

    def csv(self) -> str:
        """The table as CSV, as ``schedlab compare`` prints it."""
        return self.table.to_csv(index=False, float_format="%.9g", lineterminator="\n")

    def __repr__(self) -> str:
        """The table as text, with the notes below."""
        lines = [self.table.to_string(index=False), *(f"note: {note}" for note in self.notes)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Representation in a notebook: a table for each metric, and the notes."""
        title = f"<p>{escape(self.source)}: {len(self.policies)} policies on the same jobs</p>"
        tables = "".join(self._metric_html(metric) for metric in self.metrics)
        notes = "".join(f"<p><b>Note.</b> {escape(note)}</p>" for note in self.notes)
        return f"<div>{title}{tables}{notes}</div>"

    def _metric_html(self, metric: str) -> str:
        """One row a policy: its estimate, and its difference from the first policy."""
        own = self.table[self.table["metric"] == metric]
        of = {(row["policy"], row["minus"]): row for _, row in own.iterrows()}
        first = self.policies[0]
        head = ["policy", "mean", "95 % interval"]
        if len(self.policies) > 1:
            head += [f"minus {first}", "95 % interval of the difference", f"against {first}"]
        rows = []
        for policy in self.policies:
            cells = [policy, *_numbers(of[policy, ""])]
            if policy != first:
                difference = of[policy, first]
                cells += [*_numbers(difference), _verdict(difference)]
            rows.append(cells + [""] * (len(head) - len(cells)))
        runs = sorted(set(own["replications"].tolist()))
        made = f"{runs[0]:,}" if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,}"
        unit = "run" if runs == [1] else "runs"
        caption = f"<caption>{escape(metric)}, {made} {unit} of each policy</caption>"
        body = "".join(_row("td", row) for row in rows)
        return f"<table>{caption}<thead>{_row('th', head)}</thead><tbody>{body}</tbody></table>"


def tabulate(
    names: Sequence[str],
    metrics: Sequence[str],
    estimate: Callable[[str, str, str], tuple[Estimate, list[float]]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`Comparison.table` and ``values``: each policy, then its difference from the first one.

    ``estimate(metric, policy, minus)`` gives one of them with the numbers behind it; ``minus`` is empty or
    the first policy.
    """
    import pandas as pd

    pairs = [(name, "") for name in names] + [(name, names[0]) for name in names[1:]]
    rows, values = [], []
    for metric in metrics:
        for policy, minus in pairs:
            found, behind = estimate(metric, policy, minus)
            row: dict[str, Any] = {"metric": metric, "policy": policy, "minus": minus}
            values += [{**row, "value": value} for value in behind]
            rows.append(row | row_of(found))
    return pd.DataFrame(rows), pd.DataFrame(values)


def _numbers(row: Any) -> list[str]:
    """Mean and interval of an estimate, as text."""
    if math.isnan(row["lower"]):
        return [f"{row['mean']:,.6g}", "none"]
    return [f"{row['mean']:,.6g}", f"{row['lower']:,.6g} to {row['upper']:,.6g}"]


def _verdict(row: Any) -> str:
    """Verdict of an interval of a difference; one that contains zero says nothing."""
    if math.isnan(row["lower"]):
        return "one run, no interval"
    if row["lower"] > 0:
        return "higher"
    return "lower" if row["upper"] < 0 else "cannot tell"


def _row(tag: str, cells: Sequence[str]) -> str:
    aligned = ["left", *["right"] * (len(cells) - 1)]
    inside = "".join(
        f"<{tag} style='text-align:{side}'>{escape(cell)}</{tag}>"
        for side, cell in zip(aligned, cells, strict=True)
    )
    return f"<tr>{inside}</tr>"
