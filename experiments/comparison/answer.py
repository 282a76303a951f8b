"""Result of a comparison: its tables, and the answer in words made from them, as text, LaTeX and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from experiments.comparison.estimating import (
    best_first,
    best_of,
    by_setting,
    chosen,
    estimate,
    is_of_file,
    is_shown,
    same,
    values_of,
)
from experiments.comparison.metrics import CPU, Metric, digits, metric_of
from experiments.estimates import INTERVAL, RANGE

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
    columns : metrics that tables to read show, in this order; empty: ``metrics`` and the CPU time of a decision.
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
    columns: tuple[str, ...] = ()

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that ran, in the order in which they were named."""
        return tuple(dict.fromkeys(self.runs["policy"]))

    @property
    def ends(self) -> str:
        """Name of the ends of its estimates: a 95 % interval, or of jobs of a file a range on redrawn traces."""
        return RANGE if is_of_file(self.runs) else INTERVAL

    @property
    def shown(self) -> pd.DataFrame:
        """The table, without metrics that are not among the columns that were asked for."""
        return self.table[self.table["metric"].isin(self.columns)] if self.columns else self.table

    def marked(self, policy: str) -> str:
        """The name of a policy; with a mark behind it where a run of it asked for jobs that had not been submitted yet (`View.all_jobs`)."""
        runs = self.runs[self.runs["policy"] == policy]
        knows = "informed" in runs and bool((runs["informed"] == 1).any())
        return f"{policy} [informed]" if knows else policy

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
        return [f"{found.marked(best)}: {metric.words} {_text(metric, own, found)}."]
    said = f"Best in {metric.words} is {found.marked(best)}: {_text(metric, own, found)}{_over(found, labels, best)}."
    apart = {name: estimate(part, values, name, best) for name in map(str, values) if name != best}
    worse = {name: each for name, each in apart.items() if is_shown(each)}
    equal = _listed(found, [name for name in apart if name not in worse])
    told = ""
    if worse:
        name = min(worse, key=lambda name: abs(worse[name].mean))
        if own.mean == 0:
            by = f"with {_text(metric, estimate(part, values, name), found)}"
        else:
            by = _worse_by(metric, worse[name], own.mean)
        told = f"Next is {found.marked(name)}, {by}"
    if all(each.n == 1 for each in apart.values()):
        sentences = [equal and f"Equal: {equal}.", told and f"{told} (one run, no interval)."]
    else:
        sentences = [
            equal and f"The runs show no difference from it for {equal}.",
            told and f"{told}.",
        ]
        sentences += _elsewhere(found, part, best)
    return [said, *filter(None, sentences)]


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
        if apart.n == 1 or not is_shown(apart):
            continue
        if base == 0:
            sentences.append(
                f"The {metric.words} of {best}: {_text(metric, estimate(part, values, best), found)}, {other} has none."
            )
        else:
            verb, those = ("are", "those") if metric.several else ("is", "that")
            sentences.append(
                f"The {metric.words} of {best} {verb} {_worse_by(metric, apart, base)} than {those} of {other}."
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


def _worse_by(metric: Metric, apart: Estimate, base: float) -> str:
    """A difference from a better number as a part of that: "20 % (15 to 25 %) longer"."""
    by = -abs(base) if metric.better == "more" else abs(base)
    lower, upper = sorted((apart.lower / by, apart.upper / by))
    percent = _percent(replace(apart, mean=apart.mean / by, lower=lower, upper=upper))
    if metric.better == "more":
        return f"{percent} less"
    return f"{percent} {'longer' if metric.unit == 's' else 'more'}"


def _percent(ratio: Estimate) -> str:
    if not _has_interval(ratio):
        return f"{digits(100 * ratio.mean, 10 * abs(ratio.mean))} %"
    mean, lower, upper = _digits_of(ratio, 0.01)
    return f"{mean} % ({lower} to {upper} %)"


def _text(metric: Metric, own: Estimate, found: Comparison) -> str:
    by, unit = metric.scaled(abs(own.mean), found.currency)
    mean, lower, upper = _digits_of(own, by)
    after = f" {unit}" if unit else ""
    if not _has_interval(own):
        return f"{mean}{after}"
    return f"{mean}{after} ({found.ends} {lower} to {upper})"


def _has_interval(found: Estimate) -> bool:
    """Whether an estimate has an interval that is not rounding alone."""
    return ALIKE * abs(found.mean) < found.half_width < math.inf


def _digits_of(found: Estimate, by: float) -> Iterator[str]:
    """Mean and ends of an estimate over a number, with the digits that the interval knows."""
    half = found.half_width / by if _has_interval(found) else math.nan
    return (digits(x / by, half) for x in (found.mean, found.lower, found.upper))


def _listed(found: Comparison, names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(map(found.marked, names))
    return f"{', '.join(map(found.marked, names[:NAMED]))} and {len(names) - NAMED} others"


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
    columns["policy"] = [found.marked(name) for name in order]
    columns["view"] = [first.loc[name, "view"] for name in order]
    for name in found.columns or dict.fromkeys([*(metrics or found.metrics), CPU]):
        rows = means[means["metric"] == name].set_index("policy")
        if rows.empty:
            continue
        metric = metric_of(name)
        most = float(rows["mean"].abs().max())
        by, _ = metric.scaled(most, found.currency)
        columns[metric.title(most, found.currency)] = [_cell(rows, policy, by) for policy in order]
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
    return own if math.isnan(low) or low == row["rank"] == high else f"{own} ({low:g}-{high:g})"


def _cell(rows: pd.DataFrame, policy: str, by: float) -> str:
    from simulator.statistics import Estimate

    if policy not in rows.index:
        return "-"
    row: Any = rows.loc[policy]
    found = Estimate(row["mean"], row["lower"], row["upper"], row["replications"])
    mean, lower, upper = _digits_of(found, by)
    return f"{mean} ({lower} to {upper})" if _has_interval(found) else mean


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
        for name in found.columns or found.metrics:
            rows = chosen(found.table, {**labels, "metric": name, "minus": ""}).set_index("policy")
            metric, means = metric_of(name), rows["mean"]
            if metric.better and len(means):
                worth = same(means.to_numpy(dtype=float))
                most = worth.max() if metric.better == "more" else worth.min()
                title = metric.title(float(means.abs().max()), found.currency)
                best[title] = [found.marked(str(name)) for name in means.index[worth == most]]
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
