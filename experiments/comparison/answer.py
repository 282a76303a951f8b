"""Result of a comparison: its tables, and the answer in words made from them, as text, LaTeX and HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from experiments.comparison.estimating import (
    best_first,
    best_of,
    by_setting,
    chosen,
    estimate,
    same,
    values_of,
)
from experiments.comparison.metrics import CPU, Metric, digits, metric_of

if TYPE_CHECKING:
    import pandas as pd

    from simulator.statistics import Estimate

NAMED = 4
"""So many policies are named in a sentence; of others their number."""
ALIKE = 1e-9
"""An interval that is narrower, relative to its mean, is rounding."""
ESCAPED = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$"}


@dataclass(frozen=True)
class Comparison:
    """Policies on the same jobs and random numbers.

    Attributes
    ----------
    source : the files that were compared.
    metrics : names of ``summary.json``; the first one ranks.
    settings : columns that name a setting: ``file`` where there are several, swept keys.
    base : the policy that others are compared with in ``table``: the first that was named; where none was,
        the best of each setting.
    runs : one row a run: ``settings``, ``policy``, ``view``, ``seed``, ``draw`` (0: the jobs of a file as
        they are), ``random``, and the numbers.
    table : one row an estimate: ``settings``, ``metric``, ``policy``, ``view``, ``minus`` (empty, or the
        policy subtracted run by run), ``mean``, ``lower``, ``upper`` (95 %; NaN from one run), ``replications``.
    ranks : one row a policy and metric: ``settings``, ``metric``, ``policy``, ``rank``, ``lower``, ``upper``.
    bounds : one row a view and metric: ``settings``, ``view``, ``metric``, ``bound``; no schedule is below.
    excluded : one row a policy that cannot run or failed: ``settings``, ``policy``, ``reason``.
    notes : what a reader should know, a line each.
    currency : of costs.
    """

    source: str
    metrics: tuple[str, ...]
    settings: tuple[str, ...]
    base: str
    runs: pd.DataFrame
    table: pd.DataFrame
    ranks: pd.DataFrame
    bounds: pd.DataFrame
    excluded: pd.DataFrame
    notes: tuple[str, ...] = ()
    currency: str = ""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that ran, in the order in which they were named."""
        return tuple(dict.fromkeys(self.runs["policy"]))

    def __repr__(self) -> str:
        """The answer, the table and the notes as text."""
        return text_of(self)

    def _repr_html_(self) -> str:
        """Representation in a notebook."""
        return html_of(self)


def words_of(found: Comparison) -> list[str]:
    """The answer: in each setting which policy is best, by how much, and what it costs elsewhere."""
    lines = []
    for labels, part in by_setting(found.runs, found.settings):
        at = ", ".join(f"{name} {value}" for name, value in labels.items())
        lines.append(" ".join(([f"With {at}:"] if at else []) + _sentences(found, labels, part)))
    return lines


def _sentences(found: Comparison, labels: Mapping[str, Any], part: pd.DataFrame) -> list[str]:
    metric, values = metric_of(found.metrics[0]), values_of(part, found.metrics[0])
    best = best_of(values, metric.name)
    own = estimate(part, values, best)
    if len(values.columns) == 1:
        return [f"{best}: {metric.words} {_text(metric, own, found.currency)}."]
    said = f"Best in {metric.words} is {best}: {_text(metric, own, found.currency)}{_over(found, labels, best)}."
    equal, worse = _against(part, values, best)
    base = own.mean
    told = ""
    if worse:
        name, apart = min(worse, key=lambda row: abs(row[1].mean))
        if base == 0:
            by = f"with {_text(metric, estimate(part, values, name), found.currency)}"
        else:
            by = f"{_percent(_scaled(apart, -base if metric.better == 'more' else base))} {_more(metric)}"
        told = f"Next is {name}, {by}"
    if not math.isfinite(own.half_width) or own.n == 1:
        alike = [f"Equal: {_listed(equal)}."] if equal else []
        return [said, *alike, *([f"{told} (one run, no interval)."] if told else [])]
    sentences = [said]
    if equal:
        sentences.append(f"No difference from it is shown for {_listed(equal)}.")
    if told:
        sentences.append(f"{told}.")
    return [*sentences, *_elsewhere(found, part, best)]


def _against(
    part: pd.DataFrame, values: pd.DataFrame, best: str
) -> tuple[list[str], list[tuple[str, Estimate]]]:
    """Policies without a shown difference from the best, and the others with their difference from it."""
    equal, worse = [], []
    for name in map(str, values):
        if name == best:
            continue
        apart = estimate(part, values, name, best)
        if apart.mean == 0 or (math.isfinite(apart.lower) and apart.lower <= 0 <= apart.upper):
            equal.append(name)
        else:
            worse.append((name, apart))
    return equal, worse


def _elsewhere(found: Comparison, part: pd.DataFrame, best: str) -> list[str]:
    """One sentence for each metric in which the best policy is shown to be worse than another one."""
    sentences = []
    for name in found.metrics[1:]:
        metric, values = metric_of(name), values_of(part, name)
        if not metric.better or best not in values:
            continue
        other = best_of(values, name)
        if other == best:
            continue
        apart = estimate(part, values, best, other)
        base = estimate(part, values, other).mean
        if apart.lower <= 0 <= apart.upper or not math.isfinite(apart.half_width):
            continue
        if base == 0:
            sentences.append(
                f"The {metric.words} of {best}: {_text(metric, estimate(part, values, best), found.currency)}, {other} has none."
            )
        else:
            ratio = _scaled(apart, -base if metric.better == "more" else base)
            sentences.append(
                f"The {metric.words} of {best} is {_percent(ratio)} {_more(metric)} than that of {other}."
            )
    return sentences[:NAMED]


def _over(found: Comparison, labels: Mapping[str, Any], best: str) -> str:
    """Distance of the best policy from the lower bound, as text."""
    bounds = chosen(found.bounds, labels)
    rows = chosen(found.table, {**labels, "metric": found.metrics[0], "policy": best, "minus": ""})
    bounds = chosen(bounds, {"metric": found.metrics[0], "view": rows["view"].iloc[0]})
    if bounds.empty or not bounds["bound"].iloc[0]:
        return ""
    over = rows["mean"].iloc[0] / bounds["bound"].iloc[0]
    what = "a bound that no schedule is below"
    return f", equal to {what}" if abs(over - 1) < 5e-4 else f", {over:.4g} times {what}"


def _scaled(found: Estimate, by: float) -> Any:
    from simulator.statistics import Estimate

    ends = sorted((found.lower / by, found.upper / by))
    return Estimate(found.mean / by, ends[0], ends[1], found.n)


def _more(metric: Metric) -> str:
    if metric.better == "more":
        return "less"
    return "longer" if metric.unit == "s" else "more"


def _percent(ratio: Estimate) -> str:
    if ratio.mean >= 10:
        return f"{ratio.mean + 1:.3g} times"
    own = digits(
        100 * ratio.mean,
        100 * ratio.half_width if math.isfinite(ratio.half_width) else 0.1 * 100 * abs(ratio.mean),
    )
    if not math.isfinite(ratio.half_width) or ratio.half_width <= ALIKE * abs(ratio.mean):
        return f"{own} %"
    ends = [digits(100 * end, 100 * ratio.half_width) for end in (ratio.lower, ratio.upper)]
    return f"{own} % ({ends[0]} to {ends[1]} %)"


def _text(metric: Metric, found: Estimate, currency: str) -> str:
    by, unit = metric.scaled(abs(found.mean), currency)
    half = found.half_width / by
    own = digits(found.mean / by, half)
    after = f" {unit}" if unit else ""
    if found.n == 1 or not math.isfinite(half):
        return f"{own}{after}"
    return f"{own}{after} (95 % interval {digits(found.lower / by, half)} to {digits(found.upper / by, half)})"


def _listed(names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"


def sheet_of(
    found: Comparison, labels: Mapping[str, Any], metrics: Sequence[str] | None = None
) -> pd.DataFrame:
    """One setting as a table to read: a row a policy, the best first; a column a metric in words with its unit.

    The cells are texts: a mean with the digits that its interval knows, and the interval behind it.
    """
    import pandas as pd

    means = chosen(found.table, {**labels, "minus": ""})
    ranks = chosen(found.ranks, labels)
    columns: dict[str, Any] = {}
    first = means[means["metric"] == found.metrics[0]].set_index("policy")
    order = order_of(found, labels)
    rank = ranks[ranks["metric"] == found.metrics[0]].set_index("policy")
    columns["rank"] = [_rank(rank, name) for name in order]
    columns["policy"] = order
    columns["view"] = [first.loc[name, "view"] for name in order]
    for name in [*(metrics or found.metrics), CPU]:
        rows = means[means["metric"] == name].set_index("policy")
        if rows.empty:
            continue
        metric = metric_of(name)
        by, _ = metric.scaled(float(rows["mean"].abs().max()), found.currency)
        title = metric.title(float(rows["mean"].abs().max()), found.currency)
        columns[title] = [_cell(rows, policy, by) for policy in order]
    return pd.DataFrame(columns)


def order_of(found: Comparison, labels: Mapping[str, Any]) -> list[str]:
    """Policies in the order of their means of the first metric, over all settings that have these labels."""
    metric = found.metrics[0]
    rows = chosen(found.table, {**labels, "metric": metric, "minus": ""})
    means = rows.groupby("policy", sort=False)["mean"].mean()
    return best_first(means, metric_of(metric).better == "more")


def _rank(ranks: pd.DataFrame, policy: str) -> str:
    if policy not in ranks.index:
        return "-"
    row: Any = ranks.loc[policy]
    low, high = row["lower"], row["upper"]
    own = f"{row['rank']:g}"
    return own if not math.isfinite(low) or low == high else f"{own} ({low:g}-{high:g})"


def _cell(rows: pd.DataFrame, policy: str, by: float) -> str:
    if policy not in rows.index:
        return "-"
    row: Any = rows.loc[policy]
    half = (row["upper"] - row["lower"]) / 2 / by
    if not math.isfinite(half) or half <= ALIKE * abs(row["mean"] / by):
        return digits(row["mean"] / by, math.nan)
    own, lower, upper = (digits(row[end] / by, half) for end in ("mean", "lower", "upper"))
    return f"{own} ({lower} to {upper})"


def text_of(found: Comparison, most: int | None = None) -> str:
    """The answer, the tables with at most so many metrics, what is left out, and the notes."""
    lines = [*words_of(found), ""]
    for labels, _ in by_setting(found.runs, found.settings):
        if labels:
            lines.append(", ".join(f"{name} = {value}" for name, value in labels.items()))
        lines += [sheet_of(found, labels, found.metrics[:most]).to_string(index=False), ""]
    lines += left_out(found)
    return "\n".join([*lines, *(f"note: {note}" for note in found.notes)])


def left_out(found: Comparison) -> list[str]:
    """Policies that cannot run, those with the same reason together."""
    alike: dict[str, dict[str, None]] = {}
    for row in found.excluded.to_dict("records"):
        alike.setdefault(str(row["reason"]), {})[str(row["policy"])] = None
    return [f"cannot run: {', '.join(names)}: {reason}" for reason, names in alike.items()]


def latex_of(found: Comparison) -> str:
    """Tables for LaTeX (booktabs): policies as rows, the best of each column in bold, equal ones all."""
    parts = []
    for labels, _ in by_setting(found.runs, found.settings):
        sheet = sheet_of(found, labels)
        if (sheet["view"] == "as given").all():
            sheet = sheet.drop(columns="view")
        best: dict[str, list[str]] = {}
        for name in found.metrics:
            rows = chosen(found.table, {**labels, "metric": name, "minus": ""}).set_index("policy")[
                "mean"
            ]
            if metric_of(name).better and len(rows):
                title = next(
                    (str(c) for c in sheet if str(c).startswith(metric_of(name).words)), ""
                )
                worth = same(rows.to_numpy(dtype=float))
                most = worth.max() if metric_of(name).better == "more" else worth.min()
                best[title] = [*rows.index[worth == most]]
        if labels:
            parts.append("% " + ", ".join(f"{name} = {value}" for name, value in labels.items()))
        parts.append(_tabular(sheet, best))
    return "\n".join(parts)


def _tabular(sheet: pd.DataFrame, best: Mapping[str, Sequence[str]]) -> str:
    head = " & ".join(_tex(str(name)) for name in sheet)
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(sheet.columns)}}}",
        r"\toprule",
        head + r" \\",
        r"\midrule",
    ]
    for row in sheet.to_dict("records"):
        cells = [
            rf"\textbf{{{_tex(text)}}}" if row["policy"] in best.get(str(name), ()) else _tex(text)
            for name, text in row.items()
        ]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _tex(text: str) -> str:
    return "".join(ESCAPED.get(letter, letter) for letter in text)


def html_of(found: Comparison) -> str:
    """Representation in a notebook: the answer, a table for each setting, the notes."""
    parts = [f"<p>{escape(line)}</p>" for line in words_of(found)]
    for labels, _ in by_setting(found.runs, found.settings):
        title = ", ".join(f"{name} = {value}" for name, value in labels.items()) or found.source
        table = sheet_of(found, labels).to_html(index=False, border=0)
        parts += [f"<p><b>{escape(title)}</b></p>", table]
    parts += [f"<p>{escape(line)}</p>" for line in left_out(found)]
    parts += [f"<p><b>Note.</b> {escape(note)}</p>" for note in found.notes]
    return f"<div>{''.join(parts)}</div>"
