"""Pairs of jobs on one GPU: energy and completion times against GPUs of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.beyond.runs import PAIR_LOADS, PAIR_SHARES
from experiments.pictures.plots import PAPER, canvas, draw_line, intervals, legend_below
from experiments.report.contents import Figure, save_figure

if TYPE_CHECKING:
    from experiments.sweep.results import Results

CLAIMED = (-29.0, -17.0)
"""Change of the energy by sharing that the successor of ANDREAS (2024) reports, %."""


def pairs_figure(results: Results, out_dir: Path, command: str) -> Figure | None:
    """Energy and mean completion time, each seed over itself without sharing."""
    found = results.where("run_scenario", study="pairs")
    runs = found.scalars()
    if runs.empty:
        return None
    figure, axes = canvas(1, 2, width=5.0, height=4.0)
    place = np.arange(len(PAIR_LOADS))
    kept = []
    for ax, column, label in (
        (axes[0], "energy_kwh", "change of the energy, %"),
        (axes[1], "mean_jct_s", "change of the mean completion time, %"),
    ):
        base = runs[runs["share"] == "never"].set_index(["load", "seed"])[column]
        own = pd.MultiIndex.from_frame(runs[["load", "seed"]])
        ratio = runs[column].to_numpy(dtype=float) / base.reindex(own).to_numpy()
        points = intervals(runs.assign(change=100 * (ratio - 1)), ["share", "load"], "change")
        for k, share in enumerate(PAIR_SHARES[1:]):
            part = points[points["share"] == share]
            name = (
                "where no GPU is empty" if share == "when-full" else "before an empty GPU is used"
            )
            draw_line(ax, place + 0.06 * (k - 0.5), part, f"shared {name}", k)
        ax.axhline(0.0, color=PAPER, linewidth=1.0)
        ax.set_xticks(place, [f"{load:g}" for load in PAIR_LOADS])
        ax.set(xlabel="load, without sharing", ylabel=label)
        kept.append(points.assign(quantity=column))
    axes[0].axhspan(*CLAIMED, color=PAPER, alpha=0.15, label="successor of ANDREAS, 2024")
    legend_below(figure, axes[0], 3)
    return save_figure(
        out_dir,
        "pairs",
        "Two jobs on one GPU: energy against completion time",
        "Jobs of one GPU and of five models come to 16 V100. A pair is as fast as Gavel measured it (P100), "
        "and is made only where both keep half their speed. Power is ANDREAS's, by GPUs in use; a GPU draws "
        "as much for two jobs as for one, which favours sharing. Each seed is compared with itself with a "
        "GPU for each job. Grey: what the successor of ANDREAS reports for jobs of its own.",
        figure,
        pd.concat(kept),
        command=command,
        seeds=found.seeds,
    )
