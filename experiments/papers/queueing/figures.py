"""Figures for a lecture: lines are closed forms, points are simulated, bars 95 % intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.queueing.runs import (
    FILLING_S,
    GAPS,
    HEAVY,
    LAWS,
    LOSS_SERVERS,
    ONE_RUN_LOAD,
    ORDER_LAW,
    QUANTILE_LAWS,
    QUANTILE_LOAD,
    QUANTILES,
    SERVERS,
    SERVICE_S,
    TAIL_S,
    URGENT_SHARE,
    WITH_CLASSES,
    WITHOUT_CLASSES,
)
from experiments.pictures.plots import MARKERS, PALETTE, PAPER, canvas, intervals, legend_below
from experiments.report.contents import Figure, save_figure
from simulator.catalog import FloatArray
from simulator.queueing import (
    erlang_b,
    erlang_c,
    ggc_mean_wait_s,
    kingman_bound_s,
    mg1_mean_response_s,
    mg1_mean_wait_s,
    mg1_priority_response_s,
    mg1_ps_response_s,
    mg1_srpt_response_s,
    mg1_wait_exceeds,
    mg1_wait_quantile_s,
    mginf_number_pmf,
    mm1_mean_number_at,
    mmc_mean_wait_s,
)
from simulator.statistics import Estimate, batch_means, mser5, student

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.campaign.results import Results

GRID = np.linspace(0.02, 0.96, 60)
"""Loads at which lines are drawn."""


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce queueing --scale {results.scale or 'quick'}"
    drawn = []
    for draw in (
        _filling,
        _one_run,
        _little,
        _erlang,
        _mmc,
        _mg1,
        _tails,
        _orders,
        _kingman,
        _ggc,
        _unlimited,
    ):
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


def _servers(count: int) -> str:
    return f"{count} server{'s' if count > 1 else ''}"


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
            ax.plot(path["time_s"] / 3600, path["number"], color="#BBBBBB", linewidth=0.7)
        points = intervals(paths, ["time_s"], "number")
        points["theory"] = mm1_mean_number_at(rate_per_s(load), SERVICE_S, FILLING_S)
        hours = points["time_s"] / 3600
        _line(ax, hours, points["mean"], f"mean of {task.config['runs']} runs", index)
        ax.fill_between(hours, points["low"], points["high"], color=PALETTE[index], alpha=0.25)
        ax.plot(hours, points["theory"], color=PAPER, label="Kolmogorov's equations")
        if load < 1:
            ax.axhline(load / (1 - load), color=PAPER, linestyle="--", label="in the long run")
        ax.set(xlabel="time, h", ylabel="jobs in the system", title=f"load {load:g}")
        ax.set_ylim(0, 1.35 * ax.get_ylim()[1])
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


def one_run(results: Results) -> tuple[FloatArray, int, Estimate] | None:
    """Waits of the long run, s, the cut of MSER-5 and the mean with its batch-means interval."""
    runs = results.where("run_waits", load=ONE_RUN_LOAD)
    if not runs.tasks:
        return None
    waits = runs.outcome(runs.tasks[0]).tables["waits"]["wait_s"].to_numpy(dtype=float)
    cut = mser5(waits)
    return waits, cut, batch_means(waits[cut:])


def _one_run(results: Results, out_dir: Path, command: str) -> Figure | None:
    found = one_run(results)
    if found is None:
        return None
    waits, cut, estimate = found
    size = len(waits) // 200
    batches = waits[: 200 * size].reshape(200, size).mean(axis=1) / SERVICE_S
    middle = (np.arange(200) + 0.5) * size
    running = np.cumsum(waits)[size - 1 :: size][:200] / (np.arange(1, 201) * size) / SERVICE_S
    truth = mg1_mean_wait_s(rate_per_s(ONE_RUN_LOAD), LAWS["exponential"])
    figure, (ax,) = canvas(width=7.0, height=4.0)
    ax.plot(middle, batches, color="#BBBBBB", linewidth=0.8, label=f"means of {size} jobs")
    ax.plot(middle + size / 2, running, color=PALETTE[0], label="mean of all so far")
    ax.axhspan(
        estimate.lower / SERVICE_S,
        estimate.upper / SERVICE_S,
        color=PALETTE[1],
        alpha=0.25,
        label="all, 95 % interval by batch means",
    )
    ax.axhline(truth / SERVICE_S, color=PAPER, linestyle="--", label="Pollaczek-Khinchine")
    ax.axvline(cut, color=PALETTE[2], linewidth=1.2, label=f"MSER-5: {cut} jobs left out")
    naive = student(waits[cut:])
    ax.set(xlabel="jobs", ylabel="wait / mean service", ylim=(0, 1.3 * float(batches.max())))
    ax.legend(loc="upper right", ncols=2)
    return save_figure(
        out_dir,
        "one_run",
        "One long run: warm-up and batch means",
        f"M/M/1 at load {ONE_RUN_LOAD:g} from empty. Waits that follow each other are alike: the interval "
        f"by 20 batch means is {estimate.half_width / naive.half_width:.1f} times as wide as one that "
        "takes them for independent. MSER-5 leaves out what disturbs the mean more than it helps; an empty "
        "start is small beside the noise of so busy a queue.",
        figure,
        pd.DataFrame(
            {
                "jobs": middle + size / 2,
                "batch_mean": batches,
                "running_mean": running,
                "theory": truth / SERVICE_S,
                "low": estimate.lower / SERVICE_S,
                "high": estimate.upper / SERVICE_S,
            }
        ),
        command=command,
        seeds=results.where("run_waits", load=ONE_RUN_LOAD).seeds,
    )


def little_points(results: Results) -> pd.DataFrame:
    """Mean number in the system and arrival rate times mean response time, one row a run."""
    orders = results.where("run_order").scalars().assign(servers=1)
    runs = [study(results, name).assign(kind=name) for name in ("M/M/c", "M/G/1", "G/G/c")]
    table = pd.concat([*runs, orders.assign(kind="M/G/1, other orders")], ignore_index=True)
    if not table.empty:
        rate = table["load"] * table["servers"] / SERVICE_S
        table["rate_times_response"] = rate * table["mean_response_s"]
    return table


def _little(results: Results, out_dir: Path, command: str) -> Figure | None:
    table = little_points(results)
    if table.empty:
        return None
    figure, (ax,) = canvas(width=6.0, height=4.4)
    ends = np.array([0.8 * table["mean_number"].min(), 1.25 * table["mean_number"].max()])
    ax.plot(ends, ends, color=PAPER, linestyle="--", label="Little: L = λ T")
    for index, (kind, part) in enumerate(table.groupby("kind", sort=False)):
        ax.plot(
            part["rate_times_response"],
            part["mean_number"],
            MARKERS[index],
            color=PALETTE[index],
            markersize=4,
            alpha=0.5,
            label=str(kind),
        )
    ax.set(
        xlabel="arrival rate λ times mean response time T of the run",
        ylabel="mean number L in the system in the run",
        xscale="log",
        yscale="log",
    )
    ax.legend()
    columns = ["kind", "servers", "load", "seed", "rate_times_response", "mean_number"]
    return save_figure(
        out_dir,
        "little",
        "Little's law",
        "Every run of the other figures, one point each: time-average number in the system against the "
        "arrival rate times the jobs' mean response time, whatever arrivals, service, servers and order. "
        "Points leave the line where a run's own arrivals are off their rate.",
        figure,
        table[columns],
        command=command,
        seeds=results.where("run_queue").seeds,
    )


def _erlang(results: Results, out_dir: Path, command: str) -> Figure | None:
    lost, waited = results.where("run_loss").scalars(), study(results, "M/M/c")
    if lost.empty or waited.empty:
        return None
    figure, axes = canvas(1, 2, width=5.2, height=4.0)
    parts = []
    for ax, runs, formula, column, what in (
        (axes[0], lost, erlang_b, "lost", "Erlang B: P(all busy), jobs are lost"),
        (axes[1], waited, erlang_c, "waits", "Erlang C: P(all busy), jobs wait"),
    ):
        for index, c in enumerate(LOSS_SERVERS):
            _line(ax, GRID, [formula(u * c, c) for u in GRID], _servers(c), index)
            points = _points(ax, runs[runs["servers"] == c], "load", column, index)
            theory = [formula(u * c, c) for u in points["load"]]
            parts.append(points.assign(formula=formula.__name__, servers=c, theory=theory))
        ax.set(xlabel="load per server, erlang", ylabel="probability", ylim=(0, 1), title=what)
        ax.legend(loc="upper left")
    return save_figure(
        out_dir,
        "erlang",
        "Erlang's formulas: lost or waiting",
        "Memoryless arrivals and service. Lines: Erlang B (who finds all servers busy is lost) and "
        "Erlang C (waits); points: simulated, with 95 % intervals over seeds.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_loss").seeds,
    )


def kingman_points(results: Results) -> pd.DataFrame:
    """Simulated waits of G/G/1 with Kingman's bound and approximation, s, one row a setting."""
    runs = study(results, "G/G/1")
    if runs.empty:
        return runs
    points = intervals(runs, ["gaps", "service", "load"], "mean_wait_s")
    cases = [
        (rate_per_s(p["load"]), GAPS[p["gaps"]], SERVICE_S, LAWS[p["service"]].cv2)
        for p in points.to_dict("records")
    ]
    points["bound"] = [kingman_bound_s(*case) for case in cases]
    points["approximation"] = [ggc_mean_wait_s(*case) for case in cases]
    return points


def _kingman(results: Results, out_dir: Path, command: str) -> Figure | None:
    points = kingman_points(results)
    if points.empty:
        return None
    figure, axes = canvas(1, len(HEAVY), width=5.0, height=4.0)
    for index, (ax, (gaps, service)) in enumerate(zip(axes, HEAVY, strict=True)):
        cv2 = GAPS[gaps], LAWS[service].cv2
        cases = [(rate_per_s(u), cv2[0], SERVICE_S, cv2[1]) for u in GRID]
        bound = np.array([kingman_bound_s(*case) for case in cases]) / SERVICE_S
        near = np.array([ggc_mean_wait_s(*case) for case in cases]) / SERVICE_S
        ax.plot(GRID, bound, color=PAPER, linestyle="--", zorder=3, label="Kingman's bound")
        _line(ax, GRID, near, "Kingman's approximation", index)
        mine = points[(points["gaps"] == gaps) & (points["service"] == service)]
        error = np.array([mine["mean"] - mine["low"], mine["high"] - mine["mean"]]) / SERVICE_S
        ax.errorbar(
            mine["load"],
            mine["mean"] / SERVICE_S,
            yerr=np.nan_to_num(error),
            fmt=MARKERS[index],
            color=PALETTE[index],
            capsize=2.5,
            label="simulated",
        )
        ax.set(
            xlabel="utilisation",
            ylabel="mean wait / mean service",
            yscale="log",
            ylim=(0.1, 100),
            title=f"{gaps} gaps (cv² {cv2[0]:g}), {service} service (cv² {cv2[1]:g})",
        )
        ax.title.set_fontsize(9)
        ax.legend(loc="lower right" if cv2[0] > 0 else "upper left")
    return save_figure(
        out_dir,
        "kingman",
        "G/G/1: Kingman's bound and approximation",
        "One server. Near full load the bound, the approximation and the queue meet; far from it the "
        "bound is loose where gaps vary; with gaps all alike the two are the same line. Points: simulated, with 95 % intervals over seeds.",
        figure,
        points,
        command=command,
        seeds=results.where("run_queue", study="G/G/1").seeds,
    )


def _mmc(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = study(results, "M/M/c")
    if runs.empty:
        return None
    figure, (ax,) = canvas()
    parts = []
    for index, servers in enumerate(SERVERS):
        wait = [mmc_mean_wait_s(rate_per_s(u, servers), SERVICE_S, servers) for u in GRID]
        _line(ax, GRID, np.array(wait) / SERVICE_S, _servers(servers), index)
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
        "Lines: Erlang C; points: simulated, with 95 % intervals over seeds. One queue for many servers "
        "waits less than many queues at the same utilisation.",
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
        "Lines: the mean wait by Pollaczek and Khinchine; points: simulated, with 95 % intervals over "
        "seeds. It grows with the variability of the service, at the same mean and load.",
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
    figure, (ax, right) = canvas(1, 2, width=5.4, height=4.2)
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
        parts.append(points.assign(service=name, panel="P(wait > t)", theory=theory))
    ax.set(xlabel="t / mean service", ylabel="P(wait > t)", yscale="log", ylim=(1e-3, 1))
    parts += _quantiles(right, results)
    legend_below(figure, ax, 6)
    return save_figure(
        out_dir,
        "waiting_times",
        "M/G/1: the whole law of the wait",
        "At load 0.7. Lines: numerical inversion of the Pollaczek-Khinchine transform; points: "
        "simulated, with 95 % intervals over seeds. Left: how likely a wait is longer than t. Right: the "
        "wait that a part q of the jobs does not exceed, read from each run.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.where("run_queue", study="M/G/1").seeds,
    )


def _quantiles(ax: Axes, results: Results) -> list[pd.DataFrame]:
    """Quantiles of the wait, by theory and simulated; the points."""
    runs = results.where("run_waits", load=QUANTILE_LOAD).scalars()
    parts = []
    grid = np.linspace(0.32, 0.97, 40)
    for name in QUANTILE_LAWS if not runs.empty else ():
        index = list(LAWS).index(name)
        rate, law = rate_per_s(QUANTILE_LOAD), LAWS[name]
        line = np.array([mg1_wait_quantile_s(rate, law, q) for q in grid])
        _line(ax, grid, line / SERVICE_S, name, index)
        melted = runs[runs["service"] == name].melt(
            "seed", [f"quantile_{q:g}_s" for q in QUANTILES], "t", "wait_s"
        )
        melted["t"] = melted["t"].str.slice(len("quantile_"), -len("_s")).astype(float)
        points = _points(ax, melted, "t", "wait_s", index, SERVICE_S)
        theory = [mg1_wait_quantile_s(rate, law, q) for q in points["t"]]
        parts.append(points.assign(service=name, panel="quantile, s", theory=theory))
    ax.set(xlabel="part q of the jobs", ylabel="q-quantile of the wait / mean service")
    return parts


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
        ax.set(
            xlabel="utilisation",
            ylabel="mean response time / mean service",
            yscale="log",
            ylim=(0.9, 60),
        )
        ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        ax.legend()
    return save_figure(
        out_dir,
        "orders",
        "M/G/1: who is served next",
        "Lines: formulas; points: simulated, with 95 % intervals over seeds. Hyperexponential service, "
        "cv² 4. Left: sharing beats waiting where sizes vary, and knowing the "
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
            label=f"{_servers(int(str(servers)))}, {gaps} gaps",
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
        "Each point is one setting: service deterministic, exponential or hyperexponential (cv² 0, 1, 4), "
        "gaps likewise. On the dashed line approximation and simulation agree; below it the "
        "approximation waits too long, most where gaps are regular. 95 % intervals over seeds.",
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
