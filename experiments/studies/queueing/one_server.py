"""Figures of one server: Pollaczek and Khinchine, waits, orders of service, Kingman's bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.pages import Drawn, Results
from experiments.pictures.plots import canvas, legend_below
from experiments.studies.queueing.runs import (
    LAWS,
    PAGE,
    QUANTILE_LAWS,
    QUANTILE_LOAD,
    QUANTILES,
    SERVICE_S,
    TAIL_S,
    WITH_CLASSES,
    WITHOUT_CLASSES,
)
from simulator.theory import (
    mg1_mean_wait_s,
    mg1_wait_exceeds,
    mg1_wait_quantile_s,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


from experiments.studies.queueing.drawing import GRID, draw_formula, draw_points
from experiments.studies.queueing.theory import (
    class_response_s,
    kingman_points,
    order_response_s,
    rate_per_s,
    study,
)


@PAGE.figure(
    "mg1",
    "M/G/1: Pollaczek and Khinchine",
    "Lines: the mean wait by Pollaczek and Khinchine; points: simulated, with 95 % intervals over "
    "seeds. It grows with the variability of the service, at the same mean and load.",
)
def figure_mg1(results: Results) -> Drawn:
    """Mean wait of one server by law of service."""
    runs = study(results, "M/G/1")
    figure, (ax,) = canvas()
    parts = []
    for index, (name, law) in enumerate(LAWS.items()):
        wait = [mg1_mean_wait_s(rate_per_s(u), law) for u in GRID]
        draw_formula(ax, GRID, np.array(wait) / SERVICE_S, f"{name}, cv² {law.cv2:.3g}", index)
        points = draw_points(
            ax, runs[runs["service"] == name], "load", "mean_wait_s", index, SERVICE_S
        )
        theory = [mg1_mean_wait_s(rate_per_s(u), law) for u in points["load"]]
        parts.append(points.assign(service=name, theory=theory))
    ax.set(xlabel="utilisation", ylabel="mean wait / mean service", yscale="log", ylim=(0.1, 100))
    ax.legend()
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "waiting_times",
    "M/G/1: the whole law of the wait",
    "At load 0.7. Lines: numerical inversion of the Pollaczek-Khinchine transform; points: "
    "simulated, with 95 % intervals over seeds. Left: how likely a wait is longer than t. Right: the "
    "wait that a part q of the jobs does not exceed, read from each run.",
)
def figure_tails(results: Results) -> Drawn:
    """Tail of the waiting time, M/G/1."""
    runs = study(results, "M/G/1")
    runs = runs[runs["load"] == 0.7]
    figure, (ax, right) = canvas(1, 2, width=5.4, height=4.2)
    grid = np.linspace(0, TAIL_S[-1], 80)
    parts = []
    for index, (name, law) in enumerate(LAWS.items()):
        tail = [mg1_wait_exceeds(rate_per_s(0.7), law, t) for t in grid]
        draw_formula(ax, grid / SERVICE_S, tail, name, index)
        mine = runs[runs["service"] == name]
        melted = mine.melt("seed", [f"exceeds_{t:g}" for t in TAIL_S], "t", "part")
        melted["t"] = melted["t"].str.removeprefix("exceeds_").astype(float) / SERVICE_S
        points = draw_points(ax, melted, "t", "part", index)
        theory = [mg1_wait_exceeds(rate_per_s(0.7), law, t * SERVICE_S) for t in points["t"]]
        parts.append(points.assign(service=name, panel="P(wait > t)", theory=theory))
    ax.set(xlabel="t / mean service", ylabel="P(wait > t)", yscale="log", ylim=(3e-4, 1))
    parts += _quantiles(right, results)
    legend_below(figure, ax, 6)
    return Drawn(figure, pd.concat(parts))


def _quantiles(ax: Axes, results: Results) -> list[pd.DataFrame]:
    """Quantiles of the wait, by theory and simulated; the points."""
    runs = results.where("run_waits", load=QUANTILE_LOAD).scalars()
    parts = []
    grid = np.linspace(0.32, 0.97, 40)
    for name in QUANTILE_LAWS if not runs.empty else ():
        index = list(LAWS).index(name)
        rate, law = rate_per_s(QUANTILE_LOAD), LAWS[name]
        line = np.array([mg1_wait_quantile_s(rate, law, q) for q in grid])
        draw_formula(ax, grid, line / SERVICE_S, name, index)
        melted = runs[runs["service"] == name].melt(
            "seed", [f"quantile_{q:g}_s" for q in QUANTILES], "t", "wait_s"
        )
        melted["t"] = melted["t"].str.slice(len("quantile_"), -len("_s")).astype(float)
        points = draw_points(ax, melted, "t", "wait_s", index, SERVICE_S)
        theory = [mg1_wait_quantile_s(rate, law, q) for q in points["t"]]
        parts.append(points.assign(service=name, panel="quantile, s", theory=theory))
    ax.set(xlabel="part q of the jobs", ylabel="q-quantile of the wait / mean service")
    return parts


@PAGE.figure(
    "orders",
    "M/G/1: who is served next",
    "Lines: formulas; points: simulated, with 95 % intervals over seeds. Hyperexponential service, "
    "cv² 4. Left: sharing beats waiting where sizes vary, and knowing the "
    "sizes beats sharing. Right: two classes of the same law, half of the jobs urgent.",
)
def figure_orders(results: Results) -> Drawn:
    """Mean response time by order of service."""
    runs = results.runs("run_order")
    figure, (left, right) = canvas(1, 2, width=5.4, height=4.0)
    parts = []
    for index, order in enumerate(WITHOUT_CLASSES):
        response = np.array([order_response_s(order, u) for u in GRID])
        draw_formula(left, GRID, response / SERVICE_S, order, index)
        mine = runs[runs["order"] == order]
        points = draw_points(left, mine, "load", "mean_response_s", index, SERVICE_S)
        theory = [order_response_s(order, u) for u in points["load"]]
        parts.append(points.assign(order=order, jobs="all", theory=theory))
    for index, order in enumerate(WITH_CLASSES):
        mine = runs[runs["order"] == order]
        by_load = np.array([class_response_s(order, u) for u in GRID])
        for k, jobs in enumerate(("urgent", "normal")):
            draw_formula(right, GRID, by_load[:, k] / SERVICE_S, f"{order}, {jobs}", 2 * index + k)
            points = draw_points(
                right, mine, "load", f"{jobs}_response_s", 2 * index + k, SERVICE_S
            )
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
    return Drawn(figure, pd.concat(parts))


@PAGE.figure(
    "kingman",
    "G/G/1: Kingman's bound and approximation",
    "One server. Near full load the bound, the approximation and the queue meet; far from it the "
    "bound is loose where gaps vary; with gaps all alike the two are the same.",
)
def figure_kingman(results: Results) -> Drawn:
    """Kingman's bound over what is simulated."""
    return Drawn(None, kingman_points(results))
