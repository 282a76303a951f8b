"""Figures for a lecture: lines are closed forms, points are simulated, bars 95 % intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.experiment import Figure, save_figure
from experiments.plots import MARKERS, PALETTE, PAPER, canvas, intervals
from experiments.queueing.runs import (
    FILLING_S,
    GAPS,
    LAWS,
    ORDER_LAW,
    SERVERS,
    SERVICE_S,
    TAIL_S,
    URGENT_SHARE,
    WITH_CLASSES,
    WITHOUT_CLASSES,
)
from simulator.catalog import FloatArray
from simulator.queueing import (
    ggc_mean_wait_s,
    mg1_mean_response_s,
    mg1_mean_wait_s,
    mg1_priority_response_s,
    mg1_ps_response_s,
    mg1_srpt_response_s,
    mg1_wait_exceeds,
    mginf_number_pmf,
    mm1_mean_number_at,
    mmc_mean_wait_s,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.store import Results

GRID = np.linspace(0.02, 0.96, 60)
"""Loads at which lines are drawn."""


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce queueing --scale {results.scale or 'quick'}"
    drawn = []
    for draw in (_filling, _mmc, _mg1, _tails, _orders, _ggc, _unlimited):
        figure = draw(results, out_dir, command)
        if figure is not None:
            drawn.append(figure)
    return drawn


# -- theory beside each run; claims use the same ---------------------------------------------


def rate_per_s(load: float, servers: int = 1) -> float:
    """Arrivals per second that load each server this much."""
    return load * servers / SERVICE_S


def order_response_s(order: str, load: float) -> float:
    """Mean response time of M/G/1 in an order without classes."""
    law, rate = LAWS[ORDER_LAW], rate_per_s(load)
    formula = {
        "first come": mg1_mean_response_s,
        "processor sharing": mg1_ps_response_s,
        "shortest remaining": mg1_srpt_response_s,
    }[order]
    return formula(rate, law)


def class_response_s(order: str, load: float) -> FloatArray:
    """Mean response times of the urgent and the other class, ``(2,)``."""
    law, rate = LAWS[ORDER_LAW], rate_per_s(load)
    rates = [URGENT_SHARE * rate, (1 - URGENT_SHARE) * rate]
    return mg1_priority_response_s(rates, [law, law], order == "preemptive priority")


def study(results: Results, name: str) -> pd.DataFrame:
    """The runs of one study of queues, one row a run."""
    return results.where("run_queue", study=name).scalars()


# -- figures ---------------------------------------------------------------------------------


def _points(
    ax: Axes, table: pd.DataFrame, by: str, value: str, index: int, scale: float = 1.0
) -> pd.DataFrame:
    """Means with intervals; the table behind them."""
    points = intervals(table, [by], value)
    error = np.array([points["mean"] - points["low"], points["high"] - points["mean"]])
    ax.errorbar(
        points[by],
        points["mean"] / scale,
        yerr=np.nan_to_num(error) / scale,
        fmt=MARKERS[index % len(MARKERS)],
        color=PALETTE[index % len(PALETTE)],
        capsize=2.5,
    )
    return points


def _line(ax: Axes, x: object, y: object, label: str, index: int) -> None:
    ax.plot(x, y, color=PALETTE[index % len(PALETTE)], label=label)  # type: ignore[arg-type]


def _filling(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_filling")
    if not runs.tasks:
        return None
    figure, axes = canvas(1, len(runs.tasks), width=4.4, height=3.6)
    parts = []
    for index, (ax, task) in enumerate(zip(axes, runs.tasks, strict=False)):
        load = task.config["load"]
        paths = runs.outcome(task).tables["paths"]
        for _, path in paths[paths["run"] < 6].groupby("run"):
            ax.plot(path["time_s"], path["number"], color="#BBBBBB", linewidth=0.7)
        points = intervals(paths, ["time_s"], "number")
        points["theory"] = mm1_mean_number_at(rate_per_s(load), SERVICE_S, FILLING_S)
        _line(ax, points["time_s"], points["mean"], f"mean of {task.config['runs']} runs", index)
        ax.fill_between(
            points["time_s"], points["low"], points["high"], color=PALETTE[index], alpha=0.25
        )
        ax.plot(points["time_s"], points["theory"], color=PAPER, label="Kolmogorov's equations")
        if load < 1:
            ax.axhline(load / (1 - load), color=PAPER, linestyle="--", label="in the long run")
        ax.set(xlabel="time, s", ylabel="jobs in the system", title=f"load {load:g}")
        ax.legend(loc="upper left")
        parts.append(points.assign(load=load))
    return save_figure(
        out_dir,
        "filling",
        "A queue that fills up",
        "One server from empty, memoryless arrivals and service of 100 s; six of the runs in grey. Near "
        "load 1 it takes long to forget the empty start, which is what warm-up truncation is for.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=runs.seeds,
    )


def _mmc(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = study(results, "M/M/c")
    if runs.empty:
        return None
    figure, (ax,) = canvas()
    parts = []
    for index, servers in enumerate(SERVERS):
        wait = [mmc_mean_wait_s(rate_per_s(u, servers), SERVICE_S, servers) for u in GRID]
        _line(ax, GRID, np.array(wait) / SERVICE_S, f"{servers} server(s)", index)
        points = _points(
            ax, runs[runs["servers"] == servers], "load", "mean_wait_s", index, SERVICE_S
        )
        theory = [
            mmc_mean_wait_s(rate_per_s(u, servers), SERVICE_S, servers) for u in points["load"]
        ]
        parts.append(points.assign(servers=servers, theory=theory))
    ax.set(xlabel="utilisation", ylabel="mean wait / mean service", yscale="log", ylim=(1e-3, 30))
    ax.legend()
    return save_figure(
        out_dir,
        "mmc",
        "M/M/c: Erlang's waiting time",
        "One queue for many servers waits less than many queues at the same utilisation.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_queue", study="M/M/c").seeds,
    )


def _mg1(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = study(results, "M/G/1")
    if runs.empty:
        return None
    figure, (ax,) = canvas()
    parts = []
    for index, (name, law) in enumerate(LAWS.items()):
        wait = [mg1_mean_wait_s(rate_per_s(u), law) for u in GRID]
        _line(ax, GRID, np.array(wait) / SERVICE_S, f"{name}, cv² {law.cv2:.3g}", index)
        points = _points(ax, runs[runs["service"] == name], "load", "mean_wait_s", index, SERVICE_S)
        theory = [mg1_mean_wait_s(rate_per_s(u), law) for u in points["load"]]
        parts.append(points.assign(service=name, theory=theory))
    ax.set(xlabel="utilisation", ylabel="mean wait / mean service", yscale="log", ylim=(0.1, 100))
    ax.legend()
    return save_figure(
        out_dir,
        "mg1",
        "M/G/1: Pollaczek and Khinchine",
        "The wait grows with the variability of the service, at the same mean and load.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_queue", study="M/G/1").seeds,
    )


def _tails(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = study(results, "M/G/1")
    if runs.empty:
        return None
    runs = runs[runs["load"] == 0.7]
    figure, (ax,) = canvas()
    grid = np.linspace(0, TAIL_S[-1], 80)
    parts = []
    for index, (name, law) in enumerate(LAWS.items()):
        tail = [mg1_wait_exceeds(rate_per_s(0.7), law, t) for t in grid]
        _line(ax, grid / SERVICE_S, tail, name, index)
        mine = runs[runs["service"] == name]
        melted = mine.melt("seed", [f"exceeds_{t:g}" for t in TAIL_S], "t", "part")
        melted["t"] = melted["t"].str.removeprefix("exceeds_").astype(float) / SERVICE_S
        points = _points(ax, melted, "t", "part", index)
        theory = [mg1_wait_exceeds(rate_per_s(0.7), law, t * SERVICE_S) for t in points["t"]]
        parts.append(points.assign(service=name, theory=theory))
    ax.set(
        xlabel="t / mean service",
        ylabel="P(wait > t)",
        yscale="log",
        ylim=(1e-3, 1),
    )
    ax.legend()
    return save_figure(
        out_dir,
        "waiting_times",
        "M/G/1: the whole law of the wait",
        "At load 0.7, by numerical inversion of the Pollaczek-Khinchine transform.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_queue", study="M/G/1").seeds,
    )


def _orders(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_order").scalars()
    if runs.empty:
        return None
    figure, (left, right) = canvas(1, 2, width=5.4, height=4.0)
    parts = []
    for index, order in enumerate(WITHOUT_CLASSES):
        response = np.array([order_response_s(order, u) for u in GRID])
        _line(left, GRID, response / SERVICE_S, order, index)
        mine = runs[runs["order"] == order]
        points = _points(left, mine, "load", "mean_response_s", index, SERVICE_S)
        theory = [order_response_s(order, u) for u in points["load"]]
        parts.append(points.assign(order=order, jobs="all", theory=theory))
    for index, order in enumerate(WITH_CLASSES):
        mine = runs[runs["order"] == order]
        by_load = np.array([class_response_s(order, u) for u in GRID])
        for k, jobs in enumerate(("urgent", "normal")):
            _line(right, GRID, by_load[:, k] / SERVICE_S, f"{order}, {jobs}", 2 * index + k)
            points = _points(right, mine, "load", f"{jobs}_response_s", 2 * index + k, SERVICE_S)
            theory = [float(class_response_s(order, u)[k]) for u in points["load"]]
            parts.append(points.assign(order=order, jobs=jobs, theory=theory))
    for ax in (left, right):
        ax.set(xlabel="utilisation", yscale="log", ylim=(0.9, 60))
        ax.legend()
    left.set_ylabel("mean response time / mean service")
    return save_figure(
        out_dir,
        "orders",
        "M/G/1: who is served next",
        "Hyperexponential service, cv² 4. Left: sharing beats waiting where sizes vary, and knowing the "
        "sizes beats sharing. Right: two classes of the same law, half of the jobs urgent.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_order").seeds,
    )


def approximation_errors(results: Results) -> pd.DataFrame:
    """Allen-Cunneen beside the simulated wait, one row a setting; errors in % of the latter."""
    runs = study(results, "G/G/c")
    if runs.empty:
        return runs
    points = intervals(runs, ["servers", "load", "gaps", "service"], "mean_wait_s")
    points["theory"] = [
        ggc_mean_wait_s(
            rate_per_s(p["load"], p["servers"]), GAPS[p["gaps"]], SERVICE_S, LAWS[p["service"]].cv2,
            p["servers"],
        )
        for p in points.to_dict("records")
    ]  # fmt: skip
    # Deterministic gaps and service never wait: there is nothing to be wrong about.
    points = points[points["theory"] > 0].reset_index(drop=True)
    points["error_percent"] = 100 * (points["theory"] / points["mean"] - 1)
    return points


def _ggc(results: Results, out_dir: Path, command: str) -> Figure | None:
    points = approximation_errors(results)
    if points.empty:
        return None
    figure, (ax,) = canvas(width=6.4, height=4.6)
    bounds = points[["mean", "theory"]].to_numpy() / SERVICE_S
    ends = np.array([bounds.min() * 0.7, bounds.max() * 1.4])
    ax.plot(ends, ends, color=PAPER, linestyle="--", label="equal")
    for index, (key, part) in enumerate(points.groupby(["servers", "gaps"])):
        servers, gaps = key
        error = np.array([part["mean"] - part["low"], part["high"] - part["mean"]]) / SERVICE_S
        ax.errorbar(
            part["theory"] / SERVICE_S,
            part["mean"] / SERVICE_S,
            yerr=np.nan_to_num(error),
            fmt=MARKERS[index],
            color=PALETTE[index],
            capsize=2.5,
            label=f"{servers} server(s), {gaps} gaps",
        )
    ax.set(
        xlabel="approximate mean wait / mean service",
        ylabel="simulated mean wait / mean service",
        xscale="log",
        yscale="log",
    )
    ax.legend()
    return save_figure(
        out_dir,
        "ggc",
        "G/G/c: Allen and Cunneen's approximation",
        "Service deterministic, exponential and hyperexponential (cv² 4); gaps of cv² 0, 1 and 4.",
        figure,
        points,
        command=command,
        seeds=results.where("run_queue", study="G/G/c").seeds,
    )


def _unlimited(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_unlimited").scalars()
    if runs.empty:
        return None
    figure, (ax,) = canvas(width=6.0)
    number = np.arange(16)
    pmf = mginf_number_pmf(rate_per_s(4.0), LAWS["exponential"], number)
    ax.bar(number, pmf, color="#DDDDDD", label="Poisson, mean 4")
    parts = []
    for index, law in enumerate(LAWS):
        mine = runs[runs["service"] == law]
        melted = mine.melt("seed", [f"at_{n}" for n in number], "number", "part")
        melted["number"] = melted["number"].str.removeprefix("at_").astype(int)
        points = intervals(melted, ["number"], "part")
        error = np.array([points["mean"] - points["low"], points["high"] - points["mean"]])
        ax.errorbar(
            points["number"] + 0.12 * (index - 2.5),
            points["mean"],
            yerr=np.nan_to_num(error),
            fmt=MARKERS[index],
            color=PALETTE[index],
            markersize=3.5,
            label=law,
        )
        parts.append(points.assign(service=law, theory=pmf))
    ax.set(xlabel="jobs in service", ylabel="part of the time")
    ax.legend()
    return save_figure(
        out_dir,
        "unlimited",
        "M/G/inf: as many servers as jobs",
        "The number in service is Poisson whatever the law of the service. A rental pool under fixed widths "
        "is such a queue.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_unlimited").seeds,
    )
