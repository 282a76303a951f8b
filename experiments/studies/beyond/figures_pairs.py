"""Pairs of jobs on one GPU: energy and completion times against GPUs of one's own."""

from __future__ import annotations

import pandas as pd

from experiments.pictures.plots import intervals
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.sweep.results import Results


@PAGE.figure(
    "pairs",
    "Two jobs on one GPU: energy against completion time",
    "Jobs of one GPU and of five models come to 16 V100. A pair is as fast as Gavel measured it (P100), "
    "and is made only where both keep half their speed. Power is ANDREAS's, by GPUs in use; a GPU draws "
    "as much for two jobs as for one, which favours sharing. Each seed is compared with itself with a "
    "GPU for each job. The successor of ANDREAS reports -29 to -17 % of the energy for jobs of its own.",
)
def pairs_figure(results: Results) -> Drawn:
    """Energy and mean completion time, each seed over itself without sharing."""
    runs = results.runs("run_scenario", study="pairs")
    own = pd.MultiIndex.from_frame(runs[["load", "seed"]])
    kept = []
    for column in ("energy_kwh", "mean_jct_s"):
        base = runs[runs["share"] == "never"].set_index(["load", "seed"])[column]
        ratio = runs[column].to_numpy(dtype=float) / base.reindex(own).to_numpy()
        points = intervals(runs.assign(change=100 * (ratio - 1)), ["share", "load"], "change")
        kept.append(points.assign(quantity=column))
    return Drawn(None, pd.concat(kept))
