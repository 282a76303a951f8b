"""Figures of queues over time: filling up, one long run, Little's law."""

from __future__ import annotations

import pandas as pd

from experiments.pages import Drawn, Results, kept
from experiments.pictures.plots import PALETTE, PAPER, canvas, intervals, legend_below, thousands
from experiments.studies.queueing.drawing import draw_formula
from experiments.studies.queueing.runs import (
    FILLING_S,
    LAWS,
    ONE_RUN_LOAD,
    PAGE,
    SERVICE_S,
)
from experiments.studies.queueing.theory import (
    estimate_of,
    little_points,
    one_run,
    rate_per_s,
)
from simulator.theory import (
    mg1_mean_wait_s,
    mm1_mean_number_at,
)


@kept
def _paths(results: Results) -> pd.DataFrame:
    """Jobs in the system over time, one row a load, run and time."""
    return results.where("run_filling").table("paths")


@PAGE.figure(
    "filling",
    "A queue that fills up",
    "One server from empty, memoryless arrivals and service of 100 s; six of the runs in grey. Near "
    "load 1 it takes long to forget the empty start, which is what warm-up truncation is for.",
)
def figure_filling(results: Results) -> Drawn:
    """A queue that fills up from empty, mean of many runs."""
    of_all = _paths(results)
    loads = [float(load) for load in of_all["load"].unique()]
    figure, axes = canvas(1, len(loads), width=4.4, height=3.6)
    parts = []
    for ax, load in zip(axes, loads, strict=False):
        paths = of_all[of_all["load"] == load]
        for run, path in paths[paths["run"] < 6].groupby("run"):
            label = "_one run" if run else "single runs"
            ax.plot(
                path["time_s"] / 3600, path["number"], color="#BBBBBB", linewidth=0.7, label=label
            )
        points = intervals(paths, ["time_s"], "number")
        points["theory"] = mm1_mean_number_at(rate_per_s(load), SERVICE_S, FILLING_S)
        hours = points["time_s"] / 3600
        draw_formula(ax, hours, points["mean"], f"mean of {paths['run'].nunique()} runs", 0)
        ax.fill_between(
            hours, points["low"], points["high"], color=PALETTE[0], alpha=0.25, label="its interval of 95 %"
        )  # fmt: skip
        ax.plot(hours, points["theory"], color=PAPER, linestyle=":", label="Kolmogorov's equations")
        if load < 1:
            ax.axhline(load / (1 - load), color=PAPER, linestyle="--", label="in the long run")
        ax.set(xlabel="time, h", ylabel="jobs in the system", title=f"load {load:g}")
        ax.set_ylim(0, None)
        parts.append(points.assign(load=load))
    legend_below(figure, axes[0], 5)
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "one_run",
    "One long run: warm-up and batch means",
    "{caption}",
)
def figure_one_run(results: Results) -> Drawn:
    """One long run: warm-up, batch means, and the formula."""
    run = one_run(results)
    estimate, (cut, naive) = estimate_of(run), run.iloc[0][["warm_up", "naive_half_width"]]
    batches, running, size = run["wait_s"] / SERVICE_S, run["running_s"] / SERVICE_S, run["jobs"][0]
    truth = mg1_mean_wait_s(rate_per_s(ONE_RUN_LOAD), LAWS["exponential"])
    figure, (ax,) = canvas(width=7.0, height=4.0)
    ax.plot(
        run["jobs"] - size / 2,
        batches,
        color="#BBBBBB",
        linewidth=0.8,
        label=f"means of {size} jobs",
    )
    ax.plot(run["jobs"], running, color=PALETTE[0], label="mean of all so far")
    ax.axhspan(
        estimate.lower / SERVICE_S,
        estimate.upper / SERVICE_S,
        color=PALETTE[1],
        alpha=0.25,
        label="all, 95 % interval by batch means",
    )
    ax.axhline(truth / SERVICE_S, color=PAPER, linestyle="--", label="Pollaczek-Khinchine")
    ax.axvline(cut, color=PALETTE[2], linewidth=1.2, label=f"warm-up: {cut:.0f} jobs")
    thousands(ax.xaxis)
    ax.set(xlabel="jobs so far", ylabel="wait / mean service", ylim=(0, 1.3 * float(batches.max())))
    ax.legend(loc="upper right", ncols=2)
    return Drawn(
        figure,
        pd.DataFrame(
            {
                "jobs": run["jobs"],
                "batch_mean": batches,
                "running_mean": running,
                "theory": truth / SERVICE_S,
                "low": estimate.lower / SERVICE_S,
                "high": estimate.upper / SERVICE_S,
            }
        ),
        {
            "caption": f"M/M/1 at load {ONE_RUN_LOAD:g} from empty. Waits that follow each other are alike: the interval "
            f"by 20 batch means is {estimate.half_width / naive:.1f} times as wide as one that "
            "takes them for independent. The first of 21 equal parts is the warm-up; an empty start is small "
            "beside the noise of so busy a queue."
        },
    )


@PAGE.figure(
    "little",
    "Little's law",
    "Every run of the other figures, one point each: time-average number in the system against the "
    "arrival rate times the jobs' mean response time, whatever arrivals, service, servers and order. "
    "Points leave the line where a run's own arrivals are off their rate.",
)
def figure_little(results: Results) -> Drawn:
    """Little's law, run by run."""
    columns = ["kind", "servers", "load", "seed", "rate_times_response", "mean_number"]
    return Drawn(None, little_points(results)[columns])
