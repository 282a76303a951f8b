"""Figures without a picture: the page links to their numbers. Each seed is compared with itself."""

from __future__ import annotations

import pandas as pd

from experiments.pictures.plots import intervals
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.same_jobs import relative
from experiments.sweep.results import Results


@PAGE.figure(
    "shared_queue",
    "Shared GPUs as a queue: what the FGD paper does not have",
    "Pods with GPUs come as a Poisson stream to 20 of the machines, hold them for an hour on "
    "average, and leave; first come first served with backfilling. Load counts parts of GPUs. Each "
    "seed is compared with itself under the random rule. Right: every part takes a whole GPU. Where "
    "an interval holds 1, these runs do not tell the rules apart.",
)
def shared_queue(results: Results) -> Drawn:
    runs = results.runs("run_scenario", study="queue")
    runs = relative(runs, "mean_wait_s", {"rule": "random"}, ["load", "seed"])
    runs = runs[(runs["ratio"] > 0) & (runs["rule"] != "random")]
    return Drawn(None, intervals(runs, ["load", "rule"], "ratio", geometric=True))


@PAGE.figure(
    "pairs",
    "Two jobs on one GPU: energy against completion time",
    "Jobs of one GPU and of five models come to 16 V100. A pair is as fast as Gavel measured it (P100), "
    "and is made only where both keep half their speed. Power is ANDREAS's, by GPUs in use; a GPU draws "
    "as much for two jobs as for one, which favours sharing. Each seed is compared with itself with a "
    "GPU for each job. The successor of ANDREAS reports -29 to -17 % of the energy for jobs of its own.",
)
def pairs(results: Results) -> Drawn:
    runs = results.runs("run_scenario", study="pairs")
    kept = []
    for column in ("energy_kwh", "mean_jct_s"):
        changed = relative(runs, column, {"share": "never"}, ["load", "seed"])
        changed["change"] = 100 * (changed["ratio"] - 1)
        kept.append(intervals(changed, ["share", "load"], "change").assign(quantity=column))
    return Drawn(None, pd.concat(kept))


@PAGE.figure(
    "place",
    "Consolidation against waiting: delay scheduling",
    "Jobs of 1 to 8 GPUs on four racks of four nodes of four GPUs, first come first served with "
    "backfilling. A job over nodes takes the published factor times as long as on one node, over racks "
    "1.2 times more. It waits for GPUs of one node, then of one rack, and takes any after the time "
    "wait_s. All jobs of a run are of one model. Each seed is compared with itself without waiting.",
)
def place(results: Results) -> Drawn:
    runs = results.runs("run_scenario", study="place")
    runs = relative(runs, "mean_jct_s", {"wait_s": 0.0}, ["model", "seed"])
    return Drawn(None, intervals(runs, ["model", "wait_s"], "ratio", geometric=True))
