"""The figures: lines are closed forms or means of runs, bars 95 % intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.pictures.plots import (
    MARKERS,
    PALETTE,
    PAPER,
    canvas,
    draw_line,
    intervals,
    legend_below,
    lines,
    log_ticks,
)
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import COST_S, POLICIES, RESTART_S, UP_S, WORK_S
from experiments.studies.same_jobs import relative
from experiments.sweep.results import Results, kept
from policies.fractional_gpus.state import RULES
from simulator.theory.reliability import best_interval_s, completion_s, daly_interval_s

RELEASED_AT_100 = {
    "random": (86.303, 0.332),
    "dot-product": (90.622, 0.186),
    "clustering": (91.650, 0.610),
    "packing": (91.779, 0.532),
    "best-fit": (92.862, 0.144),
    "fgd": (95.227, 0.106),
}
"""GPUs allocated (%) at 100 % arrived load on the trace itself: mean and standard deviation over ten
orders of the pods, as the released simulator of the FGD paper reports (Apache-2.0)."""


def goodput(interval_s: float, up_s: float) -> float:
    """Work over GPU time held, by the closed form; repairs hold no GPU."""
    return WORK_S / completion_s(WORK_S, interval_s, COST_S, RESTART_S, up_s)


@PAGE.figure(
    "checkpoints",
    "Goodput over the interval between checkpoints",
    "{caption}",
)
def _saving(results: Results) -> Drawn:
    runs = results.runs("run_scenario", study="saving")
    figure, (ax,) = canvas(width=7.0, height=4.2)
    points = intervals(runs, ["up_s", "interval_s"], "goodput")
    grid = np.geomspace(200, 15_000, 200)
    for k, up_s in enumerate(UP_S):
        part = points[points["up_s"] == up_s]
        draw_line(ax, part["interval_s"], part, f"mean {up_s / 3600:g} h between failures", k,
                  linestyle="none")  # fmt: skip
        ax.plot(grid, [goodput(i, up_s) for i in grid], color=PALETTE[k], linewidth=1.0)
        best_s = daly_interval_s(COST_S, up_s)
        ax.plot([best_s], [goodput(best_s, up_s)], marker="*", markersize=13, color=PALETTE[k],
                markeredgecolor="black", linestyle="none")  # fmt: skip
    ax.plot([], [], color=PAPER, linewidth=1.0, label="closed form")
    ax.plot([], [], marker="*", markersize=12, color="white", markeredgecolor="black",
            linestyle="none", label="Daly's interval")  # fmt: skip
    ax.set(xlabel="work between two checkpoints, s", ylabel="goodput", ylim=(0, 1))
    log_ticks(ax, "x")
    legend_below(figure, ax, 3)
    points["closed_form"] = [
        goodput(i, u) for i, u in zip(points["interval_s"], points["up_s"], strict=True)
    ]
    points["best_interval_s"] = [best_interval_s(COST_S, u) for u in points["up_s"]]
    return Drawn(
        figure,
        points,
        {
            "caption": f"Jobs of {WORK_S:,.0f} s on one node that fails; a checkpoint takes {COST_S:g} s, a restart "
            f"{RESTART_S:g} s. Goodput is work over GPU time held. Points are simulated, lines the exact "
            "expectation. The curves bend at the end because a job of few intervals needs few checkpoints."
        },
    )


@PAGE.figure(
    "failures_by_policy",
    "What failures do to each policy",
    "16 nodes of 8 GPUs, about 70 % loaded; repairs take 30 min on average, checkpoints follow "
    "Daly. Each seed is compared with itself without failures. A job over two nodes fails twice as "
    "often. Preemption saves the work, so policies that preempt lose less of it.",
)
def _failing(results: Results) -> Drawn:
    runs = results.runs("run_scenario", study="failing")
    runs = relative(runs, "mean_jct_s", {"up_h": 0.0}, ["policy", "seed"])
    figure, axes = canvas(1, 2, width=5.0, height=4.0)
    found = []
    levels = sorted(runs["up_h"].unique(), key=lambda h: -h if h else -np.inf)
    runs["level"] = runs["up_h"].map(levels.index)
    names = ["none" if h == 0 else f"{h:g} h" for h in levels]
    for ax, value, label in zip(
        axes,
        ("ratio", "goodput"),
        ("mean JCT over that without failures", "goodput"),
        strict=True,
    ):
        points = lines(ax, runs, "level", value, "policy", POLICIES)
        ax.set_xticks(range(len(levels)), names)
        ax.set(xlabel="mean time between failures of a node", ylabel=label)
        found.append(points.assign(quantity=value))
    legend_below(figure, axes[0], 3)
    return Drawn(figure, pd.concat(found))


@kept
def allocated(results: Results) -> pd.DataFrame:
    """GPUs allocated over GPUs asked for, %, one row a run, rule and arrived percentage."""
    return results.where("run_filling").table("allocated")


@PAGE.figure(
    "filling",
    "Shared GPUs: allocated over asked for (FGD, ATC 2023, Figure 9a)",
    "8,152 pods drawn from the marginals of Alibaba's openb trace and its 1,213 machines; pods come "
    "until they ask for 130 %, none leaves, one that fits nowhere is turned away. Markers: what "
    "the released simulator reports at 100 % on the trace itself, moved apart a little.",
)
def _filling(results: Results) -> Drawn:
    table = allocated(results)
    points = intervals(table, ["rule", "arrived_percent"], "allocated_percent")
    figure, (ax,) = canvas(width=7.0, height=4.4)
    for k, rule in enumerate(RULES):
        part = points[points["rule"] == rule]
        ax.plot(part["arrived_percent"], part["mean"], color=PALETTE[k], label=rule)
        ax.fill_between(part["arrived_percent"], part["low"], part["high"], color=PALETTE[k],
                        alpha=0.25)  # fmt: skip
        ax.plot([100], [RELEASED_AT_100[rule][0]], marker=MARKERS[k],
                color=PALETTE[k], markeredgecolor=PAPER, linestyle="none")  # fmt: skip
    ax.plot([], [], marker="o", color="white", markeredgecolor=PAPER, linestyle="none",
            label="released, on the trace")  # fmt: skip
    ax.set(xlabel="GPUs asked for, % of the cluster", ylabel="GPUs allocated, % of the cluster")
    ax.set_xlim(70, 130)
    ax.set_ylim(68, 98)
    legend_below(figure, ax, 4)
    points["released_at_100"] = [
        RELEASED_AT_100[r][0] if a == 100 else np.nan
        for r, a in zip(points["rule"], points["arrived_percent"], strict=True)
    ]
    return Drawn(figure, points)
