"""The figures: published against ours, Pollux by period, rules of Sia, and what users would gain."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import seaborn as sns

from experiments.pictures.plots import MARKERS, PALETTE, PAPER, canvas, legend_below, means_by_row
from experiments.report.experiment import Drawn
from experiments.studies.goodput import mixed
from experiments.studies.goodput.measured import SEARCHES, measured, periods
from experiments.studies.goodput.page import PAGE
from experiments.studies.goodput.runs import POLICIES, RULES
from experiments.sweep.results import Results

HOUR_S, MINUTE_S = 3600.0, 60.0


def _diagonal(source: str, policies: Sequence[str]) -> Drawn:
    """Published against ours, a panel a policy."""
    figure, axes = canvas(1, len(policies), width=3.4, height=3.2)
    parts = []
    for ax, policy in zip(axes, policies, strict=True):
        table = measured().query("source == @source and policy == @policy")
        hours = table[["published_s", "ours_s"]] / HOUR_S
        ends = [float(hours.to_numpy().min()), float(hours.to_numpy().max())]
        ax.plot(ends, ends, color=PAPER, linewidth=0.8)
        ax.plot(hours["published_s"], hours["ours_s"], "o", markersize=2.5, color=PALETTE[0])
        ax.set(title=policy, xlabel="published, h", ylabel="ours, h", xscale="log", yscale="log")
        parts.append(table)
    return Drawn(figure, pd.concat(parts, ignore_index=True))


@PAGE.figure(
    "published",
    "Published against ours, job by job: Pollux's simulator",
    "Completion times of eight workloads of 160 jobs on 16 nodes of 4 GPUs; the diagonal is equality. Under tiresias and optimus all 1,280 "
    "times are equal. Pollux searches with random numbers; ours is another search, without. Its jobs estimate times by least squares, or, "
    "in the last panel, as those of the released program. The numbers are committed with this page.",
)
def figure_published(results: Results) -> Drawn:
    """Scatter on the diagonal."""
    return _diagonal("pollux", ("tiresias", "optimus", *SEARCHES))


@PAGE.figure(
    "elasticflow",
    "Published against ours, job by job: ElasticFlow's simulator",
    "Completion times of the 100 jobs of Figure 10 on 128 GPUs; the diagonal is equality. Under edf-elastic all are equal; under tiresias none "
    "differs by more than 224 s.",
)
def figure_elasticflow(results: Results) -> Drawn:
    """Scatter on the diagonal."""
    return _diagonal("elasticflow", ("edf-elastic", "tiresias"))


@PAGE.figure(
    "applications",
    "Pollux by application",
    "Mean completion time of the jobs of each application over eight workloads, ours over the published one, with our estimates of times "
    "and with the released ones. With ours, jobs of ncf, which last two minutes, get a second GPU at their first decision, which costs 30 s.",
)
def figure_applications(results: Results) -> Drawn:
    """Bars by application."""
    table = measured().query("source == 'pollux' and policy in @SEARCHES")
    names = table["job"].str.rsplit("-", n=1).str[0].rename("application")
    means = table.groupby(["policy", names])[["published_s", "ours_s"]].mean()
    means["jobs"] = table.groupby(["policy", names]).size()
    means["change_percent"] = 100 * (means["ours_s"] / means["published_s"] - 1)
    means = means.reset_index()
    figure, (ax,) = canvas()
    sns.barplot(
        means,
        y="application",
        x="change_percent",
        hue="policy",
        palette=PALETTE[: len(SEARCHES)],
        ax=ax,
    )
    ax.axvline(0, color=PAPER, linewidth=0.8)
    ax.set(xlabel="mean completion time, ours over published, %", ylabel="")
    ax.legend(title="")
    return Drawn(figure, means)


@PAGE.figure(
    "periods",
    "Pollux by the period of its decisions",
    "Mean completion time over eight workloads. Right: ours over the published one with 95 % intervals of the paired differences over "
    "the workloads (Student's t), as bands.",
)
def figure_periods(results: Results) -> Drawn:
    """Means and differences."""
    table = periods()
    minutes = sorted(table["period_s"].unique() / MINUTE_S)
    figure, (left, right) = canvas(1, 2, width=4.4, height=3.2)
    for i, (name, rows) in enumerate(table.groupby("policy")):
        x, color = rows["period_s"] / MINUTE_S, PALETTE[i]
        if i == 0:
            left.plot(x, rows["published_s"] / HOUR_S, marker="s", color=PAPER, label="published")
        left.plot(x, rows["ours_s"] / HOUR_S, marker=MARKERS[i], color=color, label=name)
        right.plot(x, 50 * (rows["low"] + rows["high"]), marker=MARKERS[i], color=color, label=name)
        right.fill_between(x, 100 * rows["low"], 100 * rows["high"], color=color, alpha=0.2)
    left.set(xlabel="period, min", ylabel="mean completion time, h", xscale="log", ylim=(0, 1.05))
    left.legend()
    right.axhline(0, color=PAPER, linewidth=0.8)
    right.set(xlabel="period, min", ylabel="ours over published, %", xscale="log")
    for ax in (left, right):
        ax.set_xticks(minutes, [f"{minute:g}" for minute in minutes])
        ax.minorticks_off()
    return Drawn(figure, table)


MEAN_JCT = ("mean_jct_s", MINUTE_S, "mean completion time, min")
MOVES = ("moves", 1.0, "moves of a job")
GPU_H = ("gpu_h", 1.0, "GPU-hours")


def _means(runs: pd.DataFrame, right: tuple[str, float, str] = MOVES) -> Drawn:
    """Mean completion time and another scalar, a row a rule."""
    figure, axes = canvas(1, 2, width=4.6, height=3.2)
    parts = []
    for ax, (value, scale, label) in zip(axes, (MEAN_JCT, right), strict=True):
        parts.append(means_by_row(ax, runs, "rule", value, scale).assign(quantity=value))
        ax.set(xlabel=label)
        ax.set_xlim(left=0)
    axes[1].set_yticklabels([])
    return Drawn(figure, pd.concat(parts, ignore_index=True))


@PAGE.figure(
    "gains",
    "What users of one policy would gain from another",
    "24 random jobs of three invented applications on four servers of 4 GPUs; large points are means, small ones runs; lines are 95 % intervals where there are five runs. Tiresias keeps "
    "its users' GPUs, Optimus and AFS their batch sizes; Pollux and Sia choose both. Foresight keeps the batch sizes, runs a job on one server, "
    "knows its whole time on each number of GPUs there, and minimises the sum of completion times.",
)
def figure_gains(results: Results) -> Drawn:
    """Users' view of every policy."""
    return _means(_of_rules(results, POLICIES))


@PAGE.figure(
    "sia",
    "Rules of Sia",
    "The same jobs under Sia with its paper's rules (p = 0.5), its released program's, and others; large points are means, small ones runs; lines are 95 % intervals where there are five runs.",
)
def figure_sia(results: Results) -> Drawn:
    """Sia's options."""
    return _means(_of_rules(results, ("sia", *RULES)))


@PAGE.figure(
    "types",
    "GPUs of two types",
    "The same jobs on two servers of 4 T4 and two of 4 A100, on which the three applications are 4, 2 and 1.2 times as fast. Sia gives each type to the jobs that gain "
    "most from it; Pollux sees no types; the last two are Gavel's, with the users' GPUs and batch sizes. Large points are means, small ones runs; lines are 95 % intervals where there are five runs.",
)
def figure_types(results: Results) -> Drawn:
    """Random jobs on a mixed cluster."""
    return _means(results.runs("run_mixed"), GPU_H)


@PAGE.figure(
    "mixed",
    "What Sia saves on GPUs of three types",
    "Part of the rival's measure that Sia saves on Pollux's eight workloads, on 24 T4, 24 RTX 2080 Ti and 16 A100; means and 95 % intervals over the workloads (Student's t). "
    "Grey lines are the ranges of Sia's abstract, over its workloads and rivals. Below 0 Sia uses more. The numbers are committed with this page.",
)
def figure_mixed(results: Results) -> Drawn:
    """Savings by measure, a panel a rival."""
    found = [
        (rules, rival, measure, saved.mean, saved.lower, saved.upper)
        for rules in ("sia", "sia (released)")
        for rival, measure, saved in mixed.savings(rules)
    ]
    table = pd.DataFrame(found, columns=["sia", "rival", "measure", "mean", "low", "high"])
    names = ("mean JCT", "99th percentile", "makespan", "GPU-hours")
    figure, axes = canvas(1, len(mixed.RIVALS), width=2.9, height=3.0)
    for ax, rival in zip(axes, mixed.RIVALS, strict=True):
        for row, measure in enumerate(mixed.MEASURES):
            printed = PAGE[f"sia-saves.{measure}"]
            ax.plot([printed.low, printed.high], [row, row], color=PAPER, linewidth=6, alpha=0.3)
        for i, (rules, mine) in enumerate(table[table["rival"] == rival].groupby("sia")):
            rows = mine["measure"].map(mixed.MEASURES.index) + 0.2 * i - 0.1
            half = mine["high"] - mine["mean"]
            ax.errorbar(
                mine["mean"], rows, xerr=half, fmt=MARKERS[i], color=PALETTE[i], label=rules
            )
        ax.axvline(0, color=PAPER, linewidth=0.8)
        ax.set(title=f"over {rival}", xlabel="saved, %", yticks=range(len(mixed.MEASURES)))
        ax.set_yticklabels(names if ax is axes[0] else [])
        ax.invert_yaxis()
    legend_below(figure, axes[0], 2)
    return Drawn(figure, table)


def _of_rules(results: Results, rules: Sequence[str]) -> pd.DataFrame:
    runs = results.runs("run_goodput")
    return runs[runs["rule"].isin(rules)]
