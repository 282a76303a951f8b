"""The rental paper's figure, simulated points on it, and the experiments around it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.pages import Drawn, NoRuns, Results, kept
from experiments.papers.rental.bridge import OWN, RENTAL, RULES
from experiments.papers.rental.page import PAGE
from experiments.papers.rental.runs import FIGURE_1, RIVALS, SIZES
from experiments.pictures.plots import (
    PALETTE,
    PAPER,
    canvas,
    draw_line,
    intervals,
    legend_below,
    log_ticks,
    points,
)
from policies.rental import optimal_widths, rental_table, whole_gpu_widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MEAN = "mean_response_time_h"
SERIES = (
    (MEAN, "all jobs", PALETTE[0]),
    ("mean_response_time_amdahl_h", "type 1, Amdahl 0.8", PALETTE[1]),
    ("mean_response_time_root_h", "type 2, square root", PALETTE[2]),
)
ARRIVAL_LABELS = {
    "poisson": "Poisson arrivals",
    "deterministic": "deterministic arrivals",
    "mmpp": "bursty arrivals (MMPP)",
}
RING: dict[str, Any] = {"markerfacecolor": "none", "markersize": 10}
"""Seen around the marker of the next rival, which lies on it."""
DUE_LABELS = {
    "min-max": "due after U[min t, max t]",
    "min-2max": "due after U[min t, 2 max t] (the paper's)",
    "min-3min": "due after U[min t, 3 min t]",
}
RIVAL_LABELS = {
    "whole-gpus": "whole GPUs",
    "equal-widths": "one width for all",
    "small-wider": "small jobs wider",
    "large-wider": "large jobs wider",
    "redrawn": "widths redrawn at every event",
    "equi": "b GPUs always, EQUI",
    "srpt": "b GPUs always, SRPT",
    "hesrpt": "b GPUs always, heSRPT",
    "autoscaler": "autoscaler, 3 min boot",
}


def study(results: Results, name: str) -> pd.DataFrame:
    """The runs of one study on the pool, one row a run; raises NoRuns where there are none."""
    return results.runs("run_pool", study=name)


@PAGE.figure(
    "figure_1",
    "Figure 1: speed-ups, optimal widths and Pareto frontier",
    "As the paper's Figure 1: two types, both 0.4 jobs an hour of one GPU-hour. Lines: the convex "
    "optimization, which is the paper's own curve (closed form k1 = (b - 0.32) / 0.28, k2 = k1² / 4, "
    "E[T] = 0.1 + 0.392 / (b - 0.32) for b >= 0.88); points: simulated, with 95 % intervals over "
    "seeds (Poisson arrivals, exponential sizes). (b) has a logarithmic axis here: at b = 30 the "
    "square root takes 2809 GPUs a job, Amdahl's law 106. (c) begins at the least budget, where each job has one GPU.",
)
def _figure_1(results: Results) -> Drawn:
    runs = study(results, "frontier")
    figure, axes = canvas(1, 3, width=4.6, height=3.8)
    k = np.linspace(1, 30, 59)
    budgets = np.concatenate([np.linspace(0.8, 2, 60), np.linspace(2, 30, 120)[1:]])
    table = rental_table(FIGURE_1, budgets.tolist())
    curves: list[tuple[int, Any, Any, Any]] = [
        *((0, SERIES[i + 1], k, t.speedup(k)) for i, t in enumerate(FIGURE_1)),
        *(
            (1, SERIES[i + 1], budgets, table[f"width_{t.name}_gpus"])
            for i, t in enumerate(FIGURE_1)
        ),
        *((2, series, budgets, table[series[0]]) for series in SERIES),
    ]
    parts = []
    for panel, (column, label, color), x, y in curves:
        axes[panel].plot(x, y, color=color, label=label)
        drawn = pd.DataFrame({"panel": "abc"[panel], "series": label, "x": x, "value": y})
        parts.append(drawn.assign(low=np.nan, high=np.nan))
        if panel == 2:
            ours = intervals(runs, ["budget_gpus"], column)
            ours.columns = ["x", "value", "low", "high", "n"]
            label = f"{label}, simulated"
            drawn = ours.rename(columns={"value": "mean"})
            draw_line(axes[2], ours["x"], drawn, label, PALETTE.index(color), linestyle="none")
            parts.append(ours.assign(panel="c", series=label)[list(parts[-1])])
    axes[0].set(xlabel="GPUs k", ylabel="speed-up s(k)", title="(a) speed-up functions")
    axes[1].set(ylabel="optimal width, GPUs", title="(b) optimal widths", yscale="log")
    axes[2].set(ylabel="mean response time, h", title="(c) Pareto frontier", ylim=(0, 1.15))
    axes[2].annotate("least budget: 0.8 GPUs, 1 h", (budgets[0], table[MEAN].iloc[0]), (4, 5),
                     textcoords="offset points", fontsize=8)  # fmt: skip
    for ax in axes:
        ax.set_xlabel(ax.get_xlabel() or "budget limit b, GPUs")
        ax.legend(loc="center right" if ax is axes[2] else None)
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "insensitivity",
    "Arrivals and sizes matter only by their means",
    "The optimal widths at b = 5 under three arrival processes and four laws of sizes, with 95 % "
    "intervals over seeds; each setting has its own jobs. Heavier tails and bursts widen the intervals, but do not "
    "change the means. MMPP: a Poisson process that switches to three times its mean "
    "rate for a quarter of the time.",
)
def _insensitivity(results: Results) -> Drawn:
    runs = study(results, "insensitivity")
    figure, axes = canvas(1, 2, width=5.2, height=3.8)
    plan = optimal_widths(FIGURE_1, 5.0)
    parts = []
    for ax, column, formula, what in (
        (axes[0], MEAN, plan.mean_response_time_h, "mean response time, h"),
        (axes[1], "paid_gpus", plan.budget_gpus, "GPUs rented, time average"),
    ):
        drawn = points(ax, runs, "size", column, "arrivals", ARRIVAL_LABELS, order=list(SIZES))
        parts.append(drawn.assign(quantity=what, formula=formula))
        ax.axhline(formula, color=PAPER, linestyle="--", label="formula (Lemmas 2 and 3)")
        ax.set(xlabel="law of the sizes", ylabel=what)
    legend_below(figure, axes[0], 4)
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "theorem_1",
    "Theorem 1: nothing lies below the frontier",
    "Rivals at the same budgets, Figure 1's types, with 95 % intervals over seeds. In each run, no rival is below the "
    "least mean response time that is possible for the run's own jobs with the GPU-hours used (an average may seem to "
    "be, if jobs happen to be small). The autoscaler plans for fewer GPUs than it "
    "may pay for: the rest goes to GPUs that boot or idle.",
)
def _theorem_1(results: Results) -> Drawn:
    runs = study(results, "rivals")
    figure, (ax,) = canvas(width=7.2, height=4.8)
    budgets = np.geomspace(0.8, 12, 120)
    frontier = rental_table(FIGURE_1, budgets.tolist())
    ax.plot(budgets, frontier[MEAN], color=PAPER, linewidth=2.4, label="frontier: optimal widths")
    parts = []
    for i, rival in enumerate(r for r in RIVALS if r != "whole-gpus"):
        mine = runs[runs["policy"] == rival]
        if mine.empty:
            continue
        found = _paid_and_waited(mine)
        paid = found["paid_gpus"]
        across = np.array([paid - found["paid_low"], found["paid_high"] - paid])
        ring = RING if rival == "small-wider" else {}
        draw_line(ax, paid, found, RIVAL_LABELS[rival], i, linewidth=1.0, xerr=across, **ring)
        parts.append(found.assign(policy=rival))
    ax.set(
        xlabel="GPUs paid for, time average",
        ylabel="mean response time, h",
        xscale="log",
        yscale="log",
    )
    ax.set_xticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    log_ticks(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return Drawn(figure, pd.concat(parts))


def _paid_and_waited(runs: pd.DataFrame) -> pd.DataFrame:
    """Of one rival by budget: mean response time, GPUs paid for, and the frontier's time for these."""
    found = intervals(runs, ["budget_gpus"], MEAN)
    paid = intervals(runs, ["budget_gpus"], "paid_gpus")
    least_h = [optimal_widths(FIGURE_1, max(0.8, b)).mean_response_time_h for b in paid["mean"]]
    return found.assign(
        paid_gpus=paid["mean"], paid_low=paid["low"], paid_high=paid["high"], frontier=least_h
    )


@cache
def whole_gpu_loss() -> pd.DataFrame:
    """Loss of whole GPUs over real-valued widths, %, by budget."""
    budgets = np.geomspace(0.8, 30, 300)
    real = np.array([optimal_widths(FIGURE_1, b).mean_response_time_h for b in budgets])
    whole = np.array([whole_gpu_widths(FIGURE_1, b).mean_response_time_h for b in budgets])
    return pd.DataFrame({"budget_gpus": budgets, "loss_percent": 100 * (whole / real - 1)})


@PAGE.figure(
    "whole_gpus",
    "What whole GPUs cost",
    "Best mixture of two neighbouring whole widths against the best real-valued widths, Figure 1's "
    "types; exact, no simulation. Nothing is lost where the best widths are whole numbers, and hardly "
    "anything where they are large.",
)
def _whole_gpus(results: Results) -> Drawn:
    study(results, "frontier")  # nothing is simulated; drawn beside the frontier
    table = whole_gpu_loss()
    figure, (ax,) = canvas(width=5.6, height=3.6)
    ax.plot(table["budget_gpus"], table["loss_percent"], color=PALETTE[0])
    ax.set(
        xlabel="budget limit b, GPUs",
        ylabel="mean response time above real widths, %",
        xscale="log",
    )
    ax.set_xticks([1, 2, 5, 10, 30], ["1", "2", "5", "10", "30"])
    return Drawn(figure, table)


@kept
def bridge_ratios(results: Results) -> pd.DataFrame:
    """Each method over the hierarchical policy on the same jobs; one row a run and method."""
    parts = []
    for task in results.where("run_bridge").tasks:
        table = results.outcome(task).tables["methods"].set_index("method")
        own = table.loc["hierarchical"]
        parts.append(
            pd.DataFrame(
                {
                    "total_cost": table["total_cost"] / own["total_cost"],
                    "leasing_cost": table["leasing_cost"] / own["leasing_cost"],
                    MEAN: table[MEAN] / own[MEAN],
                    "late_jobs": table["late_jobs"],
                    "within_budget": table["within_budget"],
                }
            )
            .reset_index()
            .assign(**{k: task.config[k] for k in ("gap", "due", "seed")})
        )
    if not parts:
        raise NoRuns("no finished run of the bridge")
    return pd.concat(parts, ignore_index=True)


def _bridge_panel(ax: Axes, ratios: pd.DataFrame, what: str) -> list[pd.DataFrame]:
    """One panel; its points."""
    points_of = []
    styles = dict(zip((*OWN[1:], *RULES), ("-", "-", "-", "--", ":"), strict=True))
    methods = [*OWN[1:], *(f"{way}, {rule}" for rule in RULES for way in RENTAL)]
    colors = ("#404040", "#808080", "#B0B0B0", *PALETTE[:6])
    for i, (method, color) in enumerate(zip(methods, colors, strict=True)):
        found = intervals(ratios[ratios["method"] == method], ["gap"], what, geometric=True)
        draw_line(
            ax, found["gap"], found, method.upper() if method in OWN else method, i,
            color=color, linestyle=styles[method.rpartition(", ")[2]], linewidth=1.2, elinewidth=0.8,
        )  # fmt: skip
        points_of.append(found.assign(method=method, quantity=what))
    ax.axhline(1, color=PAPER, linewidth=2, label="hierarchical MILP")
    name = "total cost" if what == "total_cost" else "mean response time"
    ax.set(ylabel=f"{name}, MILP: 1", xscale="log", yscale="log")
    gaps = sorted(ratios["gap"].unique())
    ax.set_xticks(gaps, [f"{g:g}" for g in gaps])
    ax.minorticks_off()
    log_ticks(ax)
    return points_of


@PAGE.figure(
    "bridge",
    "Fixed widths on the hierarchical paper's jobs and prices",
    "All values are divided by those of the hierarchical MILP policy on the same jobs (line at 1); lower is better. The "
    "paper's mean gap is 45,000 s / N; to the right the load is lighter. Grey: the hierarchical paper's other methods. Colours: each job "
    "runs from start to end on one configuration, on single GPUs, on whole VMs without limit, or on the same N VMs; chosen "
    "for mean response time within the MILP's leasing cost (where that can be kept), or for the job's own "
    "leasing and tardiness cost. Geometric "
    "means, 95 % intervals over seeds; the axes of the panels differ. Of lines that lie on each other the last in the "
    "legend is on top.",
)
def _bridge(results: Results) -> Drawn:
    ratios = bridge_ratios(results)
    dues = sorted(ratios["due"].unique())
    figure, axes = canvas(len(dues), 2, width=5.6, height=3.6, sharex=True)
    parts = []
    for row, due in enumerate(dues):
        for ax, what in zip(axes[2 * row : 2 * row + 2], ("total_cost", MEAN), strict=True):
            part = ratios[ratios["due"] == due]
            parts += [found.assign(due=due) for found in _bridge_panel(ax, part, what)]
            ax.set_title(DUE_LABELS[due], fontsize=10)
            if row == len(dues) - 1:
                ax.set_xlabel("mean gap between submissions, the paper's: 1")
    legend_below(figure, axes[0], 4)
    return Drawn(figure, pd.concat(parts))
