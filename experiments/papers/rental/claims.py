"""The rental paper's numbers, and what came out here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from experiments.estimates import geometric, percent_over
from experiments.pages import Claim, Results
from experiments.papers.rental.figures import MEAN, bridge_ratios, study, whole_gpu_loss
from experiments.papers.rental.page import PAGE
from experiments.papers.rental.runs import FIGURE_1
from experiments.pictures.plots import intervals
from policies.rental import optimal_widths
from simulator.errors import InputError
from simulator.statistics import mean_of_skewed

if TYPE_CHECKING:
    from pandas import DataFrame

ON_THE_BOUND = 1e-9
"""Relative: a mean time that lies below the least one by so little lies on it."""
WORKED_OUT = "worked out, not simulated"
LIMIT = "expected below 1e-08, a limit of ours"


def figure_1_closed_form(budget_gpus: float) -> tuple[float, float, float]:
    """k1, k2 and E[T] (h) of Figure 1: its KKT conditions solved on paper, b >= 0.8."""
    if budget_gpus < 0.88:  # type 2 at its least width
        k1 = (budget_gpus - 0.72) / 0.08
        return k1, 1.0, 0.5 * (0.2 + 0.8 / k1) + 0.5
    k1 = (budget_gpus - 0.32) / 0.28
    return k1, k1**2 / 4, 0.1 + 0.392 / (budget_gpus - 0.32)


@PAGE.rows
def closed_form(results: Results) -> Iterator[Claim]:
    """Widths of the solver beside those worked out on paper."""
    study(results, "frontier")
    away, residual = 0.0, 0.0
    for budget in np.geomspace(0.8, 30, 200).tolist():
        plan = optimal_widths(FIGURE_1, budget)
        ours = np.array([*plan.widths_gpus, plan.mean_response_time_h])
        away = max(away, float(np.abs(ours / figure_1_closed_form(budget) - 1).max()))
        residual = max(residual, plan.kkt_residual)
    yield PAGE.row("closed-form", away, LIMIT, exact=f"{WORKED_OUT}; {LIMIT}")
    yield PAGE.row("kkt", residual, LIMIT, exact=f"{WORKED_OUT}; {LIMIT}")


@PAGE.rows
def frontier(results: Results) -> Iterator[Claim]:
    """Simulated points on the curve, and the types' times at b = 2, which are equal."""
    runs = study(results, "frontier")
    for budget in sorted(set(runs["budget_gpus"])):
        part = runs[runs["budget_gpus"] == budget]
        for name, column in (("time", MEAN), ("rented", "paid_gpus")):
            ours = mean_of_skewed(part[column].to_numpy(dtype=float))
            yield PAGE.row(f"{name}.at-{budget:g}", ours, _of_the_draw(part), budget=budget)
    part = runs[runs["budget_gpus"] == 2.0]
    if not part.empty:
        both = [part[f"mean_response_time_{t.name}_h"] for t in FIGURE_1]
        ratio = both[0] / both[1]
        why = f"{ratio.min():.2f} to {ratio.max():.2f} in {len(ratio)} runs; {_of_the_draw(part)}"
        yield PAGE.row("equal-types", geometric(ratio), why)


def _of_the_draw(runs: DataFrame) -> str:
    """GPUs that the jobs of the runs ask for themselves, and how far the runs are from what is best for these."""
    work, above = (
        mean_of_skewed(runs["work_gpus"].to_numpy()),
        (runs[MEAN] / runs["least_h"]).max() - 1,
    )
    budget = runs["budget_gpus"].iloc[0]
    rented = mean_of_skewed((runs["paid_gpus"] - runs["work_gpus"]).to_numpy())
    return (
        f"the jobs drawn ask for {work} GPUs by Lemma 2's sum, not {budget:g}; rented less that: {rented}. The mean "
        f"response time is at most {100 * max(above, 0.0):.1g} % above the least of the jobs of each run"
    )


@PAGE.rows
def stability(results: Results) -> Iterator[Claim]:
    """Equation 2: a plan exists for every budget above the sum of the rho, and for none below."""
    study(results, "frontier")
    load = sum(t.arrival_rate_per_h * t.mean_size_h for t in FIGURE_1)
    low, high = 0.5 * load, 2 * load
    while high - low > 1e-9 * load:
        middle = (low + high) / 2
        try:
            optimal_widths(FIGURE_1, middle)
        except InputError:
            low = middle
        else:
            high = middle
    why = "the solver refuses a budget near the least one"
    yield PAGE.row("stability", high, why, exact=WORKED_OUT)


@PAGE.rows
def insensitivity(results: Results) -> Iterator[Claim]:
    """Lemma 2's budget whatever the sizes and arrivals, which have random numbers of their own."""
    runs = study(results, "insensitivity")
    settings = list(runs.groupby(["size", "arrivals"]))
    level = 1 - 0.05 / len(settings)
    estimates = {
        str(key): mean_of_skewed(part["paid_gpus"].to_numpy(dtype=float), level)
        for key, part in settings
    }
    missed = [f"{key}: {e}" for key, e in estimates.items() if not e.contains(PAGE["budget"].low)]
    agree = float(len(settings) - len(missed))
    yield PAGE.row("settings", agree, "; ".join(missed), exact="a count of intervals")
    burst = runs[(runs["size"] == "bounded Pareto") & (runs["arrivals"] == "mmpp")]
    ours = mean_of_skewed(burst["paid_gpus"].to_numpy(dtype=float))
    yield PAGE.row("budget", ours, _of_the_draw(burst))


RIVALS = {
    "equal-widths": "one width for all types",
    "small-wider": "more GPUs for short jobs",
    "large-wider": "more GPUs for long jobs",
    "hesrpt": "queueing on b always-rented GPUs, heSRPT",
    "equi": "queueing on b always-rented GPUs, EQUI",
    "srpt": "queueing on b always-rented GPUs, SRPT",
    "autoscaler": "autoscaler that pays for b GPUs, 3 minutes of boot",
}


@PAGE.rows
def theorem_1(results: Results) -> Iterator[Claim]:
    """Rivals beside the frontier of their own jobs, and beside the optimal widths."""
    runs = study(results, "rivals")
    below = int((runs[MEAN] / runs["least_h"] < 1 - ON_THE_BOUND).sum())
    yield PAGE.row(
        "below", float(below), "a policy beat the bound", exact="a count of runs", runs=len(runs)
    )
    optimal = study(results, "frontier")
    best = optimal[optimal["budget_gpus"] == 5.0].set_index("seed")[MEAN]
    for policy, text in RIVALS.items():
        part = runs[(runs["policy"] == policy) & (runs["budget_gpus"] == 5.0)]
        ratio = (part.set_index("seed")[MEAN] / best).dropna()  # on the same jobs
        if not ratio.empty:
            ours = mean_of_skewed(100 * (ratio.to_numpy(dtype=float) - 1))
            why = f"{int((ratio > 1).sum())} of {len(ratio)} runs are above the optimal widths"
            yield PAGE.row(f"above.{policy}", ours, why, rival=text)


@PAGE.rows
def whole_gpus(results: Results) -> Iterator[Claim]:
    """Loss of whole GPUs over real widths."""
    study(results, "frontier")
    table = whole_gpu_loss()
    worst = table.sort_values("loss_percent").iloc[-1]
    yield PAGE.new(
        "Section 1 (whole GPUs, after prior work)",
        f"largest loss of whole GPUs over b = 0.8 to 30, at b = {worst['budget_gpus']:g}",
        float(worst["loss_percent"]), "%",
        f"the paper leaves whole GPUs to a rounding of prior work; no interval: {WORKED_OUT}",
        figure="whole_gpus",
    )  # fmt: skip


BRIDGE = {
    ("by the GPU, response time", MEAN): "mean response time, GPUs by the piece",
    ("N VMs, response time", MEAN): "mean response time, the same N VMs",
    ("N VMs, response time", "total_cost"): "total cost, the same N VMs",
    ("N VMs, total cost", "total_cost"): "total cost, the same N VMs, chosen for cost",
}
"""Method and quantity of rows beside the hierarchical paper, in words."""
WITHIN = "fixed configurations within the hierarchical MILP's leasing cost"


@PAGE.rows
def bridge(results: Results) -> Iterator[Claim]:
    """Fixed configurations against the hierarchical policy: at the paper's load, and over all settings."""
    ratios = bridge_ratios(results)
    jobs = f"same jobs at the paper's load, laws of due dates: {ratios['due'].nunique()}"
    hindsight = f"{jobs}; the price of money is set with hindsight"
    alone = f"{jobs}; each job on what costs it least alone, due date known"
    place = "beside the hierarchical paper"
    for (method, column), text in BRIDGE.items():
        part = ratios[(ratios["method"] == method) & (ratios["gap"] == 1.0)]
        by_seed = np.exp(np.log(part[column]).groupby(part["seed"]).mean())
        why = alone if method.endswith("cost") else hindsight
        ours = percent_over(geometric(by_seed))
        yield PAGE.new(place, f"{WITHIN}: {text}, against it", ours, "%", why, figure="bridge")
    for (method, column), text in BRIDGE.items():
        part = ratios[ratios["method"] == method]
        points = intervals(part, ["gap", "due"], column, geometric=True)
        higher = points[points["low"] > 1]
        named = "; ".join(f"gap {p['gap']:g}, due {p['due']}" for p in higher.to_dict("records"))
        yield PAGE.new(
            place,
            f"{WITHIN}: {text}: settings (loads x due dates) of {len(points)} where it is lower "
            "(95 % interval)",
            int((points["high"] < 1).sum()),
            why=f"higher in {len(higher)}{': ' if named else ''}{named}; no difference shown in the others; "
            f"within the leasing cost in {part['within_budget'].sum()} of {len(part)} runs; no interval: a count",
            figure="bridge",
        )
