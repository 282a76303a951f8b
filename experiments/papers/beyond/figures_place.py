"""Consolidation against waiting: how long it pays to wait for GPUs that are together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.beyond.runs import FACTORS, WAITS_S
from experiments.pictures.plots import PAPER, canvas, draw_line, intervals, legend_below
from experiments.report.contents import Figure, save_figure

if TYPE_CHECKING:
    from experiments.sweep.results import Results


def place_figure(results: Results, out_dir: Path, command: str) -> Figure | None:
    """Mean completion time over that without waiting, each seed compared with itself."""
    found = results.where("run_scenario", study="place")
    runs = found.scalars()
    if runs.empty:
        return None
    base = runs[runs["wait_s"] == 0].set_index(["model", "seed"])["mean_jct_s"]
    own = pd.MultiIndex.from_frame(runs[["model", "seed"]])
    runs["ratio"] = runs["mean_jct_s"].to_numpy(dtype=float) / base.reindex(own).to_numpy()
    figure, (ax,) = canvas(width=7.0, height=4.2)
    names = [_in_words(wait) for wait in WAITS_S]
    place = np.arange(len(WAITS_S))
    points = intervals(runs, ["model", "wait_s"], "ratio", geometric=True)
    for k, (model, factor) in enumerate(FACTORS.items()):
        part = points[points["model"] == model]
        draw_line(ax, place + 0.06 * (k - 1), part, f"{model}: {factor:g} times as long", k)
    ax.axhline(1.0, color=PAPER, linewidth=1.0)
    ax.set_xticks(place, names)
    ax.set(xlabel="longest wait for GPUs that are together", ylabel="mean JCT, 1: without waiting")
    legend_below(figure, ax, 3)
    return save_figure(
        out_dir,
        "place",
        "Consolidation against waiting: delay scheduling",
        "Jobs of 1 to 8 GPUs on four racks of four nodes of four GPUs, first come first served with "
        "backfilling. A job over nodes takes the published factor times as long as on one node, over racks "
        "1.2 times more. It waits for GPUs of one node, then of one rack, and takes any after the time "
        "below. All jobs of a run are of one model. Each seed is compared with itself without waiting.",
        figure,
        points,
        command=command,
        seeds=found.seeds,
    )


def _in_words(wait_s: float) -> str:
    if wait_s == 0:
        return "none"
    return f"{wait_s / 60:g} min" if wait_s < 3600 else f"{wait_s / 3600:g} h"
