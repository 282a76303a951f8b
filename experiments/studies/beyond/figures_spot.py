"""Spot VMs against machines on demand: what they save, and how much later jobs complete."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.pictures.plots import MARKERS, PALETTE, PAPER, canvas, intervals, legend_below
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import NOTICES_S
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
    found = {study: results.where("run_scenario", study=study) for study in STUDIES}
    runs = {study: part.scalars() for study, part in found.items()}
    drawn = [study for study in STUDIES if not runs[study].empty]
    if not drawn:
        raise NoRuns("no finished run of this figure")
    figure, axes = canvas(1, len(drawn), width=5.0 if len(drawn) > 1 else 7.0, height=4.4)
    points = [
        _panel(ax, runs[study], STUDIES[study]) for ax, study in zip(axes, drawn, strict=True)
    ]
    legend_below(figure, axes[0], 3)
    return Drawn(
        figure, pd.concat([p.assign(study=study) for p, study in zip(points, drawn, strict=True)])
    )


def beside_none(runs: pd.DataFrame, column: str, by: list[str], swept: str) -> pd.Series[float]:
    """``column`` over its value in the same group where ``swept`` is 0."""
    none = runs[runs[swept] == 0].set_index(by)[column]
    base = none.reindex(pd.MultiIndex.from_frame(runs[by])).to_numpy()
    return pd.Series(runs[column].to_numpy(dtype=float) / base, index=runs.index)


def _panel(ax: Any, runs: pd.DataFrame, title: str) -> pd.DataFrame:
    for name, column in (("delay", "mean_jct_s"), ("cost", "leasing_cost")):
        runs[name] = 100 * (beside_none(runs, column, ["notice_s", "seed"], "nodes") - 1)
    cost = intervals(runs, ["notice_s", "nodes"], "cost")
    hours = intervals(runs, ["notice_s", "nodes"], "delay")
    for k, notice_s in enumerate(NOTICES_S):
        x, y = (t[(t["notice_s"] == notice_s) & (t["nodes"] > 0)] for t in (hours, cost))
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
    return cost.merge(hours, on=["notice_s", "nodes"], suffixes=("_cost", "_delay"))
