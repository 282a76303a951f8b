"""What the rental paper says, and what came out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Claim, Verdict
from experiments.rental.figures import MEAN, bridge_ratios, study, whole_gpu_loss
from experiments.rental.runs import FIGURE_1
from policies.rental import optimal_widths
from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    from experiments.store import Results

PAPER = "rental"
ROUNDING = 1e-9


def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    return [
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
            inside = ours.contains(truth)
            made.append(
                _claim(
                    "Figure 1(c), closed form",
                    f"{what} at b = {budget:g}, simulated",
                    truth,
                    ours,
                    unit,
                    "reproduced" if inside else "partly",
                    ""
                    if inside
                    else f"{abs(ours.mean / truth - 1):.1%} away: one in twenty 95 % intervals "
                    "misses by chance",
                )
            )
    return made


def _insensitivity(results: Results) -> list[Claim]:
    runs = study(results, "insensitivity")
    if runs.empty:
        return []
    truth = optimal_widths(FIGURE_1, 5.0).mean_response_time_h
    inside = [
        student(part[MEAN].to_numpy(dtype=float), 0.99).contains(truth)
        for _, part in runs.groupby(["size", "arrivals"])
    ]
    kept = sum(inside) == len(inside)
    return [
        Claim(
            PAPER,
            "Section 1, Lemma 3",
            "settings (4 laws of sizes x 3 arrival processes) whose mean response time agrees with "
            "the formula (99 % interval)",
            len(inside),
            sum(inside),
            verdict="reproduced" if kept else "partly",
            why="" if kept else "the tails of the sizes are too heavy for so few jobs",
        )
    ]


def _theorem_1(results: Results) -> list[Claim]:
    runs = study(results, "rivals")
    if runs.empty:
        return []
    ratio = runs[MEAN] / runs["least_h"]
    below = int((ratio < 1 - ROUNDING).sum())
    made = [
        Claim(
            PAPER,
            "Theorem 1",
            f"runs of rival policies below the frontier of their own jobs, of {len(runs)}",
            0,
            below,
            verdict="reproduced" if below == 0 else "not reproduced",
            why="" if below == 0 else "a policy beat the bound",
        )
    ]
    best = optimal_widths(FIGURE_1, 5.0).mean_response_time_h
    for policy, place, text in (
        ("equal-widths", "Definition 2", "one width for all types"),
        ("small-wider", "Conclusion", "more GPUs for short jobs"),
        ("large-wider", "Conclusion", "more GPUs for long jobs"),
        ("hesrpt", "Lemma 1", "queueing on b always-rented GPUs, heSRPT"),
        ("equi", "Lemma 1", "queueing on b always-rented GPUs, EQUI"),
        ("srpt", "Lemma 1", "queueing on b always-rented GPUs, SRPT"),
    ):
        part = runs[(runs["policy"] == policy) & (runs["budget_gpus"] == 5.0)]
        if part.empty:
            continue
        ours = student(100 * (part[MEAN].to_numpy(dtype=float) / best - 1))
        made.append(
            _claim(
                place,
                f"{text}: longer mean response time than the optimum at b = 5",
                "> 0",
                ours,
                "%",
                "reproduced" if ours.lower > 0 else "partly",
                "" if ours.lower > 0 else "the interval reaches zero",
            )
        )
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
    hindsight = "same jobs at the paper's load; the price of money is set with hindsight"
    alone = "same jobs at the paper's load; each job on what costs it least alone, due date known"
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
    return made
