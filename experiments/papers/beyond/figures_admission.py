"""Admission control: who is on time when there is more work than GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from experiments.papers.beyond.runs import ADMISSION, ADMISSION_LOADS
from experiments.pictures.plots import canvas, draw_line, intervals, legend_below
from experiments.report.contents import Figure, save_figure

if TYPE_CHECKING:
    from experiments.campaign.results import Results

NAMES = {
    "none": "no admission control",
    "downgrade": "downgraded, without a due date",
    "reject": "rejected",
}


def admission_figure(results: Results, out_dir: Path, command: str) -> Figure | None:
    """Jobs that were not on time, rejected ones among them, and completion times of the others."""
    found = results.where("run_scenario", study="admission")
    runs = found.scalars()
    if runs.empty:
        return None
    rejected = runs["rejected_jobs"].fillna(0)
    runs["missed"] = 100 * (runs["late_jobs"] + rejected) / runs["jobs"]
    runs["jct_h"] = runs["mean_jct_s"] / 3600
    figure, axes = canvas(1, 2, width=5.0, height=4.0)
    kept = []
    for ax, column, label in (
        (axes[0], "missed", "jobs late or rejected, %"),
        (axes[1], "jct_h", "mean completion time of those that ran, h"),
    ):
        points = intervals(runs, ["rule", "load"], column)
        for k, rule in enumerate(ADMISSION):
            part = points[points["rule"] == rule]
            draw_line(ax, part["load"] + 0.012 * (k - 1), part, NAMES[rule], k)
        ax.set_xticks(ADMISSION_LOADS, [f"{load:g}" for load in ADMISSION_LOADS])
        ax.set(xlabel="load while jobs come", ylabel=label)
        ax.set_ylim(bottom=min(0.0, 1.1 * float(points["low"].min())))
        kept.append(points.assign(quantity=column))
    legend_below(figure, axes[0], 3)
    return save_figure(
        out_dir,
        "admission",
        "Admission control: what cannot be on time, and what that does to the others",
        "16 GPUs, earliest due date first with preemption; jobs of 1 to 4 GPUs are due once to twice their time "
        "after they come. A job is admitted if a schedule exists in which it and all that were admitted are on "
        "time (ElasticFlow's test for a fixed number of GPUs). The table of claims counts promises that were missed.",
        figure,
        pd.concat(kept),
        command=command,
        seeds=found.seeds,
    )
