"""What the hierarchical paper says, and what came out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.hierarchical.figures import (
    LABELS,
    PAPER_RATE_PER_S,
    savings,
    variant_savings,
)
from experiments.papers.hierarchical.runs import HEURISTICS
from experiments.report.contents import Claim, Verdict
from simulator.laws import Exponential
from simulator.queueing import mg1_mean_response_s, size_servers
from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    from experiments.campaign.results import Results

PAPER = "hierarchical"


def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    return [*_savings(results), *_against_central(results), *_sizes(results), *_server(results)]


def _claim(
    place: str,
    text: str,
    paper_value: float | str,
    ours: Estimate,
    unit: str,
    verdict: Verdict,
    why: str,
) -> Claim:
    finite = np.isfinite(ours.half_width)
    return Claim(
        PAPER,
        place,
        text,
        paper_value,
        ours.mean,
        ours.lower if finite else None,
        ours.upper if finite else None,
        unit,
        verdict,
        why,
    )


def _within(ours: Estimate, low: float, high: float) -> Verdict:
    """Whether the interval meets the band that the paper states."""
    if low <= ours.mean <= high:
        return "reproduced"
    return "partly" if ours.upper >= low and ours.lower <= high else "not reproduced"


def _savings(results: Results) -> list[Claim]:
    table = savings(results)
    if table.empty:
        return []
    made = []
    for method in HEURISTICS:
        part = table[table["method"] == method]
        ours = student(part.groupby("seed")["saving"].mean().to_numpy())
        verdict = _within(ours, 50, 70)
        made.append(
            _claim(
                "Abstract",
                f"saving over {LABELS[method]}, mean over N",
                "50-70",
                ours,
                "%",
                verdict,
                "" if verdict == "reproduced" else _why_savings(results, method),
            )
        )
    return made


def _why_savings(results: Results, method: str) -> str:
    variants = variant_savings(results)
    said = (
        "execution times are ours, fitted to published throughput: the paper's profiles are not "
        "public. The saving depends on the reading of the setup"
    )
    if variants.empty:
        return said
    part = variants[variants["method"] == method].groupby("study")["saving"].mean()
    said += _late(results, method)
    return said + ": " + ", ".join(f"{name} {value:.0f} %" for name, value in part.items())


def _late(results: Results, method: str) -> str:
    """How far the heuristic itself is late: what is in time can only save leasing."""
    runs = results.where("run_scenario", study="size", method=method).scalars()
    late = 100 * float((runs["late_jobs"] / (10 * runs["num_nodes"])).mean())
    return f" ({late:.1f} % of its jobs are late, all else can only save leasing)"


def _against_central(results: Results) -> list[Claim]:
    runs = results.where("run_scenario", study="size").scalars()
    if runs.empty:
        return []
    wide = runs.pivot(index=["num_nodes", "seed"], columns="method", values="total_cost")
    made = []
    for method, place, text, paper_value in (
        (
            "central-2019",
            "Section V-B, Figure 3",
            "hierarchical over the central 2019 model, cost",
            -3.0,
        ),
        (
            "central",
            "new",
            "hierarchical over its own objective solved centrally, cost",
            "not in the paper",
        ),
    ):
        if method not in wide:
            continue
        difference = (100 * (wide["hierarchical"] / wide[method] - 1)).dropna()
        ours = student(difference.groupby("seed").mean().to_numpy())
        verdict: Verdict = "new"
        why = "the paper's objective could not be solved centrally with the literal model"
        if method == "central-2019":
            verdict = "partly" if ours.upper < 0 else "not reproduced"  # cheaper, by another amount
            verdict = "reproduced" if ours.contains(-3) else verdict
            why = (
                ""
                if verdict == "reproduced"
                else "the 2019 model is rebuilt from its description; both are solved to 1e-6 here, not "
                "to 5 %, so the size of the difference is that of the models"
            )
        made.append(_claim(place, text, paper_value, ours, "%", verdict, why))
    return made


def _sizes(results: Results) -> list[Claim]:
    literal = results.where("run_literal").scalars()
    runs = results.where("run_scenario", study="size").scalars()
    made: list[Claim] = []
    if literal.empty or runs.empty:
        return made
    local = literal[literal["model"] == "hierarchical"]
    # Of the logarithm: three seeds leave an interval of a count that else goes below zero.
    logs = student(np.log(local.groupby("seed")["mean_columns"].mean().to_numpy()))
    columns, *ends = np.exp([logs.mean, logs.lower, logs.upper]).tolist()
    low, high = ends if np.isfinite(logs.half_width) else (None, None)
    verdict: Verdict = "partly" if logs.contains(np.log(5000)) else "not reproduced"
    made.append(
        Claim(
            PAPER,
            "Section V-B",
            "variables of a controller's model, geometric mean",
            5000,
            columns,
            low,
            high,
            verdict="reproduced" if abs(columns - 5000) < 500 else verdict,
            why="the number follows the jobs that wait, 5 x 32 for each: the paper's 5,000 are about "
            f"30 jobs a controller, here {local['jobs'].mean():.0f}",
        )
    )
    exact = runs[runs["method"] == "hierarchical"]
    largest = exact[exact["num_nodes"] == exact["num_nodes"].max()]
    ours = student(largest.groupby("seed")["mean_decision_cpu_s"].mean().to_numpy())
    made.append(
        _claim(
            "Abstract, Section V-B",
            f"time of one controller's decision at {int(largest['num_nodes'].iloc[0])} nodes, mean",
            "about 40, below 60",
            ours,
            "s",
            "not comparable",
            "another formulation: the exact pattern form of the same objective, one thread of HiGHS; "
            "the paper's literal model had 32 cores, Gurobi 8 and a 5 % gap",
        )
    )
    central = runs[runs["method"] == "central"]
    if not central.empty:
        biggest = central[central["num_nodes"] == central["num_nodes"].max()]
        made.append(
            _claim(
                "Section V-B",
                f"central decision at {int(biggest['num_nodes'].iloc[0])} nodes, mean time",
                "out of memory from 40 nodes on",
                student(biggest.groupby("seed")["mean_decision_cpu_s"].mean().to_numpy()),
                "s",
                "new",
                "the pattern form has no index of the node, so its size does not grow with N; "
                f"{int(biggest['not_optimal'].sum())} decisions were not proven optimal",
            )
        )
    return made


def _server(results: Results) -> list[Claim]:
    made = []
    alone = results.where("run_queue", service="exponential:40").scalars()
    theory = mg1_mean_response_s(PAPER_RATE_PER_S, Exponential(40.0))
    made.append(
        Claim(
            PAPER,
            "Section V-B",
            "response time of one optimization server, formula",
            48.65,
            theory,
            unit="s",
            verdict="reproduced" if round(theory, 2) == 48.65 else "not reproduced",
            why="exponential service; with deterministic service it would be 44.32 s",
        )
    )
    if not alone.empty:
        ours = student(alone["mean_response_s"].to_numpy())
        verdict: Verdict = "reproduced" if ours.contains(48.65) else "partly"
        made.append(
            _claim(
                "Section V-B",
                "response time of one optimization server, simulated",
                48.65,
                ours,
                "s",
                verdict,
                "" if verdict == "reproduced" else f"the formula gives {theory:.4g} s",
            )
        )
    system = results.where("run_server", service="exponential:40").scalars()
    if not system.empty:
        made.append(
            _claim(
                "new",
                f"response time inside the whole system, {int(system['num_nodes'].iloc[0])} nodes, "
                "40 s a decision",
                "48.65 if requests were Poisson",
                student(system["middle_mean_response_s"].to_numpy()),
                "s",
                "new",
                "every controller also asks at the full hour, so requests come in batches of K and "
                f"at {1e3 * system['middle_rate_per_s'].mean():.1f} per 1,000 s instead of 2 N / 45,000 s",
            )
        )
    sizing = size_servers(20, 2 / 45_000 * 5, Exponential(40.0), 50.0)
    made.append(
        Claim(
            PAPER,
            "Section V-B",
            "servers needed at 100 nodes, 20 controllers",
            1,
            float(sizing.servers),
            verdict="reproduced" if sizing.servers == 1 else "not reproduced",
            why="exact (M/M/c), for a mean response time of at most 50 s",
        )
    )
    return made
