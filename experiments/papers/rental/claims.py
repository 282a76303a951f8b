"""The rental paper's numbers, and what came out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.rental.figures import MEAN, bridge_ratios, study, whole_gpu_loss
from experiments.papers.rental.page import PAGE
from experiments.papers.rental.runs import FIGURE_1
from experiments.pictures.plots import intervals
from experiments.report.contents import Claim, Verdict
from experiments.report.verdict import amount, at_least, at_most, judged, theorem
from policies.rental import optimal_widths
from simulator.errors import InputError
from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    import pandas as pd

    from experiments.sweep.results import Results

PAPER = "rental"
ON_THE_BOUND = 1e-9
"""Relative: a mean time that lies below the least one by so little lies on it."""

CERTAIN = 1e-8
DERIVED = ("derived",)
MEAN_OF_LAWS = "same jobs at the paper's load, mean over three laws of due dates"


@PAGE.rows
def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    return [
        *_closed_form(results),
        *_frontier(results),
        *_insensitivity(results),
        *_theorem_1(results),
        *_whole_gpus(results),
        *_bridge(results),
    ]


def _claim(
    place: str,
    text: str,
    paper_value: float | str | None,
    ours: Estimate,
    unit: str,
    verdict: Verdict,
    why: str = "",
) -> Claim:
    finite = np.isfinite(ours.half_width)
    low, high = (ours.lower, ours.upper) if finite else (None, None)
    return Claim(PAPER, place, text, paper_value, ours.mean, low, high, unit, verdict, why)


def figure_1_closed_form(budget_gpus: float) -> tuple[float, float, float]:
    """k1, k2 and E[T] (h) of Figure 1: its KKT conditions solved on paper, b >= 0.8."""
    if budget_gpus < 0.88:  # type 2 at its least width
        k1 = (budget_gpus - 0.72) / 0.08
        return k1, 1.0, 0.5 * (0.2 + 0.8 / k1) + 0.5
    k1 = (budget_gpus - 0.32) / 0.28
    return k1, k1**2 / 4, 0.1 + 0.392 / (budget_gpus - 0.32)


def _closed_form(results: Results) -> list[Claim]:
    if study(results, "frontier").empty:
        return []
    away, residual = 0.0, 0.0
    for budget in np.geomspace(0.8, 30, 200).tolist():
        plan = optimal_widths(FIGURE_1, budget)
        ours = np.array([*plan.widths_gpus, plan.mean_response_time_h])
        away = max(away, float(np.abs(ours / figure_1_closed_form(budget) - 1).max()))
        residual = max(residual, plan.kkt_residual)
    return [
        judged(
            PAPER,
            place,
            f"{text}, largest of 200 budgets from 0.8 to 30",
            at_most(CERTAIN, text="0"),
            value,
            why=f"expected below {CERTAIN:g}, a limit of ours",
            labels=DERIVED,
        )
        for place, text, value in (
            ("Figure 1(b, c)", "relative difference of widths and E[T] from the closed form", away),
            ("Definition 2", "violation of the KKT conditions by the widths, relative", residual),
        )
    ]


def _frontier(results: Results) -> list[Claim]:
    runs = study(results, "frontier")
    made = []
    for budget, part in runs.groupby("budget_gpus") if not runs.empty else ():
        plan = optimal_widths(FIGURE_1, float(str(budget)))
        for column, truth, what, unit in (
            (MEAN, plan.mean_response_time_h, "mean response time", "h"),
            ("paid_gpus", plan.budget_gpus, "GPUs rented on average", "GPUs"),
        ):
            ours = student(part[column].to_numpy(dtype=float))
            made.append(
                judged(PAPER, "Figure 1(c), closed form", f"{what} at b = {budget:g}, simulated",
                       amount(truth), ours, unit=unit, labels=DERIVED,
                       why="lengths of jobs differ much between so few runs")
            )  # fmt: skip
    return [*made, *_equal_types(runs)]


def _equal_types(runs: pd.DataFrame) -> list[Claim]:
    """E[T1] = E[T2] at b = 2, worked out and simulated; and the budgets that are stable at all."""
    if runs.empty:
        return []
    k1, k2 = optimal_widths(FIGURE_1, 2.0).widths_gpus.tolist()
    times = [float(1 / t.speedup(k)) for t, k in zip(FIGURE_1, (k1, k2), strict=True)]
    made = [
        judged(PAPER, "Figure 1, derived", "E[T1] over E[T2] at b = 2, worked out",
               theorem(1.0), times[0] / times[1], labels=DERIVED,
               why="the solver's widths are not exact"),
    ]  # fmt: skip
    part = runs[runs["budget_gpus"] == 2.0]
    columns = [f"mean_response_time_{t.name}_h" for t in FIGURE_1]
    if not part.empty:
        logs = np.log(part[columns[0]]) - np.log(part[columns[1]])
        e = student(logs.to_numpy(dtype=float))
        mean, low, high = (float(np.exp(x)) for x in (e.mean, e.lower, e.upper))
        made.append(
            judged(PAPER, "Figure 1, derived", "E[T1] over E[T2] at b = 2, simulated",
                   amount(1.0), Estimate(mean, low, high, e.n), why="few runs", labels=DERIVED)
        )  # fmt: skip
    return [*made, _least_stable_budget()]


def _least_stable_budget() -> Claim:
    """Equation 2: a plan exists for every budget above the sum of the rho, and for none below."""
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
    return judged(PAPER, "Equation 2", "least budget for which there are widths, found by bisection",
                  theorem(load), high, unit="GPUs", labels=DERIVED,
                  why="the solver refuses a budget near the least one")  # fmt: skip


def _insensitivity(results: Results) -> list[Claim]:
    """Lemma 2's budget whatever the sizes and arrivals; the mean response times are not counted again.

    With fixed widths nobody waits, so these are the same to all digits for the same sizes.
    """
    runs = study(results, "insensitivity")
    if runs.empty:
        return []
    settings = list(runs.groupby(["size", "arrivals"]))
    level = 1 - 0.05 / len(settings)
    estimates = {
        str(key): student(part["paid_gpus"].to_numpy(dtype=float), level) for key, part in settings
    }
    missed = [f"{key}: {e}" for key, e in estimates.items() if not e.contains(5.0)]
    burst = runs[(runs["size"] == "bounded Pareto") & (runs["arrivals"] == "mmpp")]
    return [
        judged(PAPER, "Lemma 2", "settings (4 laws of sizes x 3 arrival processes) whose rented GPUs "
               "agree with b = 5 (intervals of 95 % for all together)",
               amount(len(settings), margin=0.0), float(len(settings) - len(missed)),
               why="; ".join(missed), labels=("count",)),
        judged(PAPER, "Lemma 2", "GPUs rented on average at b = 5, heavy-tailed sizes (bounded "
               "Pareto) in bursts (MMPP)", theorem(5.0),
               student(burst["paid_gpus"].to_numpy(dtype=float)), unit="GPUs",
               why="the cause is open: runs start empty, and with heavy-tailed sizes the interval of few "
               "runs lies low more often than one time in twenty"),
    ]  # fmt: skip


def _theorem_1(results: Results) -> list[Claim]:
    runs = study(results, "rivals")
    if runs.empty:
        return []
    ratio = runs[MEAN] / runs["least_h"]
    below = int((ratio < 1 - ON_THE_BOUND).sum())
    made = [
        judged(
            PAPER,
            "Theorem 1",
            f"runs of rival policies below the frontier of their own jobs, of {len(runs)}",
            at_most(0.0, text="0"),
            float(below),
            why="a policy beat the bound",
        )
    ]
    frontier = study(results, "frontier")
    optimal = frontier[frontier["budget_gpus"] == 5.0].set_index("seed")[MEAN]
    for policy, place, text in (
        ("equal-widths", "Definition 2", "one width for all types"),
        ("small-wider", "Conclusion", "more GPUs for short jobs"),
        ("large-wider", "Conclusion", "more GPUs for long jobs"),
        ("hesrpt", "Lemma 1", "queueing on b always-rented GPUs, heSRPT"),
        ("equi", "Lemma 1", "queueing on b always-rented GPUs, EQUI"),
        ("srpt", "Lemma 1", "queueing on b always-rented GPUs, SRPT"),
        ("autoscaler", "Lemma 1", "autoscaler that pays for b GPUs, 3 minutes of boot"),
    ):
        part = runs[(runs["policy"] == policy) & (runs["budget_gpus"] == 5.0)]
        best = optimal.reindex(part["seed"]).to_numpy(dtype=float)  # of the same jobs
        if part.empty or np.isnan(best).any():
            continue
        ours = student(100 * (part[MEAN].to_numpy(dtype=float) / best - 1))
        made.append(
            judged(PAPER, place, f"{text}: mean response time above that of the optimal widths on the "
                   "same jobs, b = 5", at_least(0, text="> 0"), ours, unit="%",
                   why="the interval reaches zero")
        )  # fmt: skip
    return made


def _whole_gpus(results: Results) -> list[Claim]:
    if study(results, "frontier").empty:
        return []
    table = whole_gpu_loss()
    loss = table["loss_percent"]
    worst = float(table["budget_gpus"].to_numpy()[int(loss.to_numpy().argmax())])
    return [
        Claim(
            PAPER,
            "Section 1 (whole GPUs, after prior work)",
            f"largest loss of whole GPUs over b = 0.8 to 30, at b = {worst:g}",
            None,
            float(loss.max()),
            unit="%",
            verdict="new",
            why="the paper leaves whole GPUs to a rounding of prior work",
        )
    ]


def _bridge(results: Results) -> list[Claim]:
    ratios = bridge_ratios(results)
    if ratios.empty:
        return []
    made = []
    hindsight = f"{MEAN_OF_LAWS}; the price of money is set with hindsight"
    alone = f"{MEAN_OF_LAWS}; each job on what costs it least alone, due date known"
    for method, column, text, why in (
        ("by the GPU, response time", MEAN, "mean response time, GPUs by the piece", hindsight),
        ("N VMs, response time", MEAN, "mean response time, the same N VMs", hindsight),
        ("N VMs, response time", "total_cost", "total cost, the same N VMs", hindsight),
        ("N VMs, total cost", "total_cost", "total cost, the same N VMs, chosen for cost", alone),
    ):
        part = ratios[(ratios["method"] == method) & (ratios["gap"] == 1.0)]
        by_seed = np.log(part[column]).groupby(part["seed"]).mean()
        e = student(by_seed.to_numpy())
        mean, low, high = (100 * (float(np.exp(x)) - 1) for x in (e.mean, e.lower, e.upper))
        ours = Estimate(mean, low, high, e.n)
        made.append(
            _claim(
                "beside the hierarchical paper",
                f"fixed configurations within the hierarchical MILP's leasing cost: {text}, against it",
                None,
                ours,
                "%",
                "new",
                why,
            )
        )
    return [*made, *_winners(ratios)]


def _winners(ratios: pd.DataFrame) -> list[Claim]:
    """In how many loads and laws of due dates fixed configurations do better, and where not."""
    made = []
    for method, column, text in (
        ("by the GPU, response time", MEAN, "mean response time, GPUs by the piece"),
        ("N VMs, response time", MEAN, "mean response time, the same N VMs"),
        ("N VMs, response time", "total_cost", "total cost, the same N VMs"),
        ("N VMs, total cost", "total_cost", "total cost, the same N VMs, chosen for cost"),
    ):
        part = ratios[ratios["method"] == method]
        points = intervals(part, ["gap", "due"], column, geometric=True)
        lower, higher = points[points["high"] < 1], points[points["low"] > 1]
        named = [f"gap {p['gap']:g}, due {p['due']}" for p in higher.to_dict("records")]
        made.append(
            Claim(
                PAPER,
                "beside the hierarchical paper",
                f"fixed configurations within the hierarchical MILP's leasing cost: {text}: settings (loads "
                f"x due dates) of {len(points)} where it is lower (95 % interval)",
                None,
                len(lower),
                verdict="new",
                why=f"higher in {len(higher)}{': ' if named else ''}{'; '.join(named)}; no difference shown "
                f"in the others; within the leasing cost in {part['within_budget'].sum()} of {len(part)} runs",
            )
        )
    return made
