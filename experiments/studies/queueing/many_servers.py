"""Figures of many servers: Erlang's formulas, M/M/c, G/G/c, servers without limit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.pages import Drawn, Results
from experiments.pictures.plots import MARKERS, PALETTE, PAPER, canvas, draw_estimates, intervals
from experiments.studies.queueing.drawing import GRID, draw_formula, draw_points, servers_text
from experiments.studies.queueing.runs import (
    LAWS,
    LOSS_SERVERS,
    PAGE,
    SERVERS,
    SERVICE_S,
)
from experiments.studies.queueing.theory import (
    approximation_errors,
    rate_per_s,
    study,
)
from simulator.theory import (
    erlang_b,
    erlang_c,
    mginf_number_pmf,
    mmc_mean_wait_s,
)


@PAGE.figure(
    "erlang",
    "Erlang's formulas: lost or waiting",
    "Memoryless arrivals and service. Lines: Erlang B (who finds all servers busy is lost) and "
    "Erlang C (waits); points: simulated, with 95 % intervals over seeds.",
)
def figure_erlang(results: Results) -> Drawn:
    """Erlang's formulas: jobs lost and jobs that wait."""
    lost, waited = results.runs("run_loss"), study(results, "M/M/c")
    figure, axes = canvas(1, 2, width=5.2, height=4.0)
    parts = []
    for ax, runs, formula, column, what in (
        (axes[0], lost, erlang_b, "lost", "Erlang B: P(all busy), jobs are lost"),
        (axes[1], waited, erlang_c, "waits", "Erlang C: P(all busy), jobs wait"),
    ):
        for index, c in enumerate(LOSS_SERVERS):
            draw_formula(ax, GRID, [formula(u * c, c) for u in GRID], servers_text(c), index)
            points = draw_points(ax, runs[runs["servers"] == c], "load", column, index)
            theory = [formula(u * c, c) for u in points["load"]]
            parts.append(points.assign(formula=formula.__name__, servers=c, theory=theory))
        ax.set(xlabel="load per server, erlang", ylabel="probability", ylim=(0, 1), title=what)
        ax.legend(loc="upper left")
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "mmc",
    "M/M/c: Erlang's waiting time",
    "Lines: Erlang C; points: simulated, with 95 % intervals over seeds. One queue for many servers "
    "waits less than many queues at the same utilisation.",
)
def figure_mmc(results: Results) -> Drawn:
    """Mean wait of M/M/c over load."""
    runs = study(results, "M/M/c")
    figure, (ax,) = canvas()
    parts = []
    for index, servers in enumerate(SERVERS):
        wait = [mmc_mean_wait_s(rate_per_s(u, servers), SERVICE_S, servers) for u in GRID]
        draw_formula(ax, GRID, np.array(wait) / SERVICE_S, servers_text(servers), index)
        points = draw_points(
            ax, runs[runs["servers"] == servers], "load", "mean_wait_s", index, SERVICE_S
        )
        theory = [
            mmc_mean_wait_s(rate_per_s(u, servers), SERVICE_S, servers) for u in points["load"]
        ]
        parts.append(points.assign(servers=servers, theory=theory))
    ax.set(xlabel="utilisation", ylabel="mean wait / mean service", yscale="log", ylim=(4e-4, 30))
    ax.legend()
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "ggc",
    "G/G/c: Allen and Cunneen's approximation",
    "Each point is one setting: service deterministic, exponential or hyperexponential (cv² 0, 1, 4), "
    "gaps likewise. On the dashed line approximation and simulation agree; below it the "
    "approximation waits too long, most where gaps are regular. 95 % intervals over seeds.",
)
def figure_ggc(results: Results) -> Drawn:
    """The approximation of Allen and Cunneen, and its error."""
    points = approximation_errors(results)
    figure, (ax,) = canvas(width=6.4, height=4.6)
    bounds = points[["mean", "theory"]].to_numpy() / SERVICE_S
    ends = np.array([bounds.min() * 0.7, bounds.max() * 1.4])
    ax.plot(ends, ends, color=PAPER, linestyle="--", label="equal")
    for index, (key, part) in enumerate(points.groupby(["servers", "gaps"])):
        servers, gaps = key
        error = np.array([part["mean"] - part["low"], part["high"] - part["mean"]]) / SERVICE_S
        draw_estimates(
            ax, part["theory"] / SERVICE_S, part["mean"] / SERVICE_S, yerr=error, linestyle="none",
            marker=MARKERS[index], color=PALETTE[index],
            label=f"{servers_text(int(str(servers)))}, {gaps} gaps",
        )  # fmt: skip
    ax.set(
        xlabel="approximate mean wait / mean service",
        ylabel="simulated mean wait / mean service",
        xscale="log",
        yscale="log",
    )
    ax.legend()
    return Drawn(figure, points)


@PAGE.figure(
    "unlimited",
    "M/G/inf: as many servers as jobs",
    "The number in service is Poisson whatever the law of the service. A rental pool under fixed widths "
    "is such a queue.",
)
def figure_unlimited(results: Results) -> Drawn:
    """Jobs in service where nobody waits."""
    runs = results.runs("run_unlimited")
    number = np.arange(16)
    pmf = mginf_number_pmf(rate_per_s(4.0), LAWS["exponential"], number)
    parts = []
    for law in LAWS:
        mine = runs[runs["service"] == law]
        melted = mine.melt("seed", [f"at_{n}" for n in number], "number", "part")
        melted["number"] = melted["number"].str.removeprefix("at_").astype(int)
        points = intervals(melted, ["number"], "part")
        parts.append(points.assign(service=law, theory=pmf))
    return Drawn(None, pd.concat(parts))
