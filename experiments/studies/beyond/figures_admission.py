"""Admission control: who is on time when there is more work than GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from experiments.pictures.plots import canvas, legend_below, lines
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import ADMISSION_LOADS, WIDTH_LOADS, WIDTHS
from experiments.sweep.results import Results

NAMES = {
    "none": "no admission control",
    "downgrade": "downgraded, without a due date",
    "reject": "rejected",
}


@PAGE.figure(
    "admission",
    "Admission control: what cannot be on time, and what that does to the others",
    "16 GPUs, earliest due date first with preemption; jobs of 1 to 4 GPUs are due once to twice their time "
    "after they come. A job is admitted if a schedule exists in which it and all that were admitted are on "
    "time (ElasticFlow's test for a fixed number of GPUs). The table of claims counts promises that were missed.",
)
def admission_figure(results: Results) -> Drawn:
    """Jobs that were not on time, rejected ones among them, and completion times of the others."""
    runs = results.runs("run_scenario", study="admission")
    rejected = runs["rejected_jobs"].fillna(0)
    runs["missed"] = 100 * (runs["late_jobs"] + rejected) / runs["jobs"]
    runs["jct_h"] = runs["mean_jct_s"] / 3600
    return _by_load(
        runs,
        {
            "missed": "jobs late or rejected, %",
            "jct_h": "mean completion time of those that ran, h",
        },
        "rule",
        NAMES,
        ADMISSION_LOADS,
    )


def _by_load(
    runs: pd.DataFrame,
    columns: Mapping[str, str],
    by: str,
    names: Mapping[str, str] | Sequence[str],
    loads: Sequence[float],
    top: float = 0.0,
) -> Drawn:
    """A panel for each column, with its label: a line over the load for each name, at least up to ``top``."""
    figure, axes = canvas(1, len(columns), width=4.6, height=4.0)
    points = []
    for ax, (column, label) in zip(axes, columns.items(), strict=True):
        table = lines(ax, runs.dropna(subset=[column]), "load", column, by, names)
        ax.set_xticks(loads, [f"{load:g}" for load in loads])
        ax.set(xlabel="load while jobs come", ylabel=label)
        low, high = ax.get_ylim()
        ax.set_ylim(min(0.0, low), max(top, high))
        points.append(table.assign(quantity=column))
    legend_below(figure, axes[0], len(names))
    return Drawn(figure, pd.concat(points))


def on_time(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of jobs that may have any number of GPUs, with ``on_time``, ``promised`` and ``kept`` in percent."""
    promised = runs["promised_jobs"].astype(float)
    late = runs["late_jobs"] + runs["rejected_jobs"].fillna(0)
    return runs.assign(
        on_time=100 * (1 - late / runs["jobs"]),
        promised=100 * promised / runs["jobs"],
        kept=100 * (1 - runs["broken_promises"].astype(float) / promised),
    )


@PAGE.figure(
    "elastic_admission",
    "Jobs that may have any number of GPUs: who is on time (ElasticFlow, ASPLOS 2023)",
    "16 GPUs; jobs are due once to three times their least time after they come. edf-shared starts the earliest "
    "due date first, on the cheapest number of GPUs that is on time, and never changes it; it admits all jobs, "
    "or those for which admission control finds a plan. greedy weighs what GPUs and lateness cost, and chooses anew "
    "whenever a job comes or ends; it admits all. elasticflow admits likewise by a plan, and follows it: each job has its least "
    "share, and what is left goes where it speeds up most. The load is that of the GPUs that jobs come with, "
    "before they may choose. ElasticFlow's paper reports 1.46 to 7.65 times as many jobs on time as its rivals.",
)
def widths_figure(results: Results) -> Drawn:
    """Jobs on time, and promises kept, where the scheduler chooses how many GPUs each job has."""
    return _by_load(
        on_time(results.runs("run_scenario", study="widths")),
        {
            "on_time": "jobs on time, % of all",
            "promised": "jobs promised their due date, % of all",
            "kept": "promises kept, %",
        },
        "policy",
        [*WIDTHS],
        WIDTH_LOADS,
        top=103.0,
    )
