"""Consolidation against waiting: how long it pays to wait for GPUs that are together."""

from __future__ import annotations

import pandas as pd

from experiments.pictures.plots import intervals
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.sweep.results import Results


@PAGE.figure(
    "place",
    "Consolidation against waiting: delay scheduling",
    "Jobs of 1 to 8 GPUs on four racks of four nodes of four GPUs, first come first served with "
    "backfilling. A job over nodes takes the published factor times as long as on one node, over racks "
    "1.2 times more. It waits for GPUs of one node, then of one rack, and takes any after the time "
    "wait_s. All jobs of a run are of one model. Each seed is compared with itself without waiting.",
)
def place_figure(results: Results) -> Drawn:
    """Mean completion time over that without waiting, each seed compared with itself."""
    runs = results.runs("run_scenario", study="place")
    base = runs[runs["wait_s"] == 0].set_index(["model", "seed"])["mean_jct_s"]
    own = pd.MultiIndex.from_frame(runs[["model", "seed"]])
    runs["ratio"] = runs["mean_jct_s"].to_numpy(dtype=float) / base.reindex(own).to_numpy()
    points = intervals(runs, ["model", "wait_s"], "ratio", geometric=True)
    return Drawn(None, points)
