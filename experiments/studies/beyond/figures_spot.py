"""Spot VMs against machines on demand: what they save, and how much later jobs complete."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.pictures.plots import MARKERS, PALETTE, PAPER, canvas, intervals, legend_below
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import NOTICES_S
from experiments.studies.same_jobs import relative
from experiments.sweep.results import NoRuns, Results

STUDIES = {
    "spot": "16 nodes of 8 GPUs, backfilling",
    "spot VMs": "5 VMs of the hierarchical paper, greedy",
}


@PAGE.figure(
    "spot",
    "Spot against on-demand: cost against delay",
    "Numbers at the points: how many of the nodes or VMs are spot, at 30 % of the price. Each seed is "
    "compared with itself without them. A spot VM is taken away every 4 h on average and "
    "comes back after 1 h. With 120 s of notice jobs save their work, without they lose what they "
    "did since the last checkpoint. Left: first come first served. Right: the greedy method, which chooses "
    "types and GPUs by the prices on demand.",
)
def spot_figure(results: Results) -> Drawn:
    """Change of the leasing cost over change of the completion time, one panel a kind of machines."""
    runs = {study: results.where("run_scenario", study=study).scalars() for study in STUDIES}
    runs = {study: of_study for study, of_study in runs.items() if not of_study.empty}
    if not runs:
        raise NoRuns("no finished run of this figure")
    figure, axes = canvas(1, len(runs), width=5.0 if len(runs) > 1 else 7.0, height=4.4)
    points = [
        _panel(ax, of_study, STUDIES[study]).assign(study=study)
        for ax, (study, of_study) in zip(axes, runs.items(), strict=True)
    ]
    legend_below(figure, axes[0], 3)
    return Drawn(figure, pd.concat(points))


def _panel(ax: Any, runs: pd.DataFrame, title: str) -> pd.DataFrame:
    changes = []
    for column in ("mean_jct_s", "leasing_cost"):
        beside = relative(runs, column, {"nodes": 0}, ["notice_s", "seed"])
        beside["ratio"] = 100 * (beside["ratio"] - 1)
        changes.append(intervals(beside, ["notice_s", "nodes"], "ratio"))
    for k, notice_s in enumerate(NOTICES_S):
        x, y = (t[(t["notice_s"] == notice_s) & (t["nodes"] > 0)] for t in changes)
        ax.errorbar(
            x["mean"],
            y["mean"],
            xerr=(x["high"] - x["low"]) / 2,
            yerr=(y["high"] - y["low"]) / 2,
            color=PALETTE[k],
            marker=MARKERS[k],
            capsize=2.5,
            label=f"{notice_s:g} s of notice" if notice_s else "no notice",
        )
        for nodes, a, b in zip(x["nodes"], x["mean"], y["mean"], strict=True):
            ax.annotate(
                str(nodes),
                (a, b),
                textcoords="offset points",
                xytext=(6, 4) if k == 0 else (-14, -12),
                color=PALETTE[k],
            )
    ax.plot(
        [0], [0], marker="*", markersize=12, color=PAPER, linestyle="none", label="none on spot"
    )
    ax.set(
        title=title,
        xlabel="change of the mean completion time, %",
        ylabel="change of the leasing cost, %",
    )
    ax.set_ylim(-100, 8)
    delay, cost = changes
    return cost.merge(delay, on=["notice_s", "nodes"], suffixes=("_cost", "_delay"))
