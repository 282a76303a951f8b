"""Wrong predictions of execution times: mean completion time over the error."""

from __future__ import annotations

import pandas as pd

from experiments.pictures.plots import (
    PALETTE,
    PAPER,
    canvas,
    intervals,
    lines,
    log_ticks,
)
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import BLIND, GUESSED_BY
from experiments.studies.same_jobs import relative
from experiments.sweep.results import Results

EXACT = "SRTF"
"""The policy whose runs with exact times all others are compared with."""


def over_exact(results: Results) -> pd.DataFrame:
    """The runs with a column ``ratio``: mean completion time over that of exact SRTF on the same jobs."""
    runs = results.runs("run_scenario", study="guessed")
    return relative(runs, "mean_jct_s", {"policy": EXACT, "error": 0.0}, ["seed"])


@PAGE.figure(
    "predictions",
    "Mean completion time over the error of predictions",
    "Policies are shown wrong times, the jobs take the true ones. Errors are a lognormal factor by job, "
    "and another one by configuration, each of this standard deviation. A job of fixed demand has one configuration, "
    "so both multiply on one number: two factors of 10 % are an error of 14 %. All decide every 30 min on the same jobs: "
    "of 1 to 8 GPUs, on two servers of eight; while they come, they ask for 110 %. SJF, SRTF, LAS and Gittins give each "
    "job the GPUs that it asks for. Greedy and MILP choose the GPUs, and minimise cost, not completion "
    "time. Gittins knows the law of the predicted times alone. The page of the cross comparison has the cost.",
)
def guessed_figure(results: Results) -> Drawn:
    """One line a policy; a level for the one that is blind to predictions."""
    runs = over_exact(results)
    figure, (ax,) = canvas(width=7.4, height=4.6)
    runs["percent"] = 100 * runs["error"]
    seeing = [name for name in GUESSED_BY if name != BLIND]
    points = lines(ax, runs, "percent", "ratio", "policy", seeing, geometric=True)
    blind = intervals(runs[runs["policy"] == BLIND], ["policy"], "ratio", geometric=True)
    if not blind.empty:
        ax.axhline(
            blind["mean"].iloc[0], color=PALETTE[7], linestyle=":", label=f"{BLIND} (sees no times)"
        )
    errors = sorted(runs["percent"].unique())
    ax.axhline(1.0, color=PAPER, linewidth=1.0, linestyle="--")
    ax.set_xticks(errors, [f"{e:g}" for e in errors])
    ax.set(
        xlabel="standard deviation of each of two error factors, %",
        ylabel=f"mean JCT over that of {EXACT} with exact times",
    )
    log_ticks(ax)
    ax.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return Drawn(figure, pd.concat([points, blind]))
