"""The goals that foresight was given, and what came out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from experiments.studies.foresight.families import FAMILIES
from experiments.studies.foresight.page import PAGE
from experiments.studies.foresight.runs import RELEASED_ITERATIONS
from experiments.studies.foresight.tables import brackets, over_asked, over_released, ratios
from experiments.studies.foresight.when import ENOUGH, when
from experiments.studies.same_jobs import geometric
from simulator.statistics import Estimate

if TYPE_CHECKING:
    from experiments.report.contents import Claim
    from experiments.sweep.results import Results

TIMED = ("hierarchical-5", "hierarchical-50", "hierarchical-100")
"""Families with five nodes a controller, on which a decision is timed."""
DECISION_S = 0.02
CONGESTED = ("2021-5", "2021-10", "2021-5-high")
NOT_THE_PROGRAM = (
    "on public instances our local search costs more than the authors' program (docs/papers.md), "
    "which makes this row easier to meet"
)
RIVAL = "cost over the best rival of each instance"
NO_LOWER = "no schedule has a lower ratio"


@PAGE.rows
def goals(results: Results) -> Iterator[Claim]:
    """Each goal beside the measured ratio. No paper has these numbers, so all of them are new."""
    table = ratios(results)
    over, congested = table["over_best_rival"], table["family"].isin(CONGESTED)
    bound = "cost over the best bound"
    yield _goal("all families", RIVAL, 0.72, over)
    for place, goal, part in (
        ("families with short queues", 1.15, table[~congested]),
        ("2021 at full load", 1.3, table[congested]),
    ):
        if not part.empty:
            yield _goal(place, bound, goal, part["over_bound"])
    for name in FAMILIES:
        if len(of_family := over[table["family"] == name]):
            yield _goal(FAMILIES[name].label, RIVAL, 1.0, of_family)
    least = over / table["over_bound"]
    text = "lower bound over the best rival of each instance"
    yield PAGE.new("all families", _mean_of(text, least), geometric(least), why=NO_LOWER)
    yield _above_one(table)


def _mean_of(text: str, values: pd.Series) -> str:
    return f"{text}, geometric mean of {len(values)}"


@PAGE.rows
def released(results: Results) -> Iterator[Claim]:
    """The goals for the best of the methods as our ``released`` option has them, and what the bound leaves."""
    table = over_released(results)
    best = f"the best of four methods with released = true, {RELEASED_ITERATIONS} iterations"
    kinds = table["family"].map(lambda name: FAMILIES[name].kind)
    for kind, goal in (("2021", 0.12), ("2020", 0.65)):
        part = table[kinds == kind]
        if not part.empty:
            yield _goal(kind, f"cost over {best}", goal, part["ratio"], NOT_THE_PROGRAM)
            text = _mean_of(f"lower bound over {best}", part["least"])
            yield PAGE.new(kind, text, geometric(part["least"]), why=NO_LOWER)


@PAGE.rows
def worst(results: Results) -> Iterator[Claim]:
    """The instance on which foresight does worst. An interval of means says little where a few
    instances are ten times as cheap."""
    over = ratios(results)["over_best_rival"]
    text = f"cost over the best rival, the worst of {len(over)} instances"
    most = float(over.max())
    why = f"goal: {'met' if most <= 1.0 else 'missed'}"
    yield PAGE.new("all families", text, most, why=why, goal="<= 1")


@PAGE.rows
def paying(results: Results) -> Iterator[Claim]:
    """Rows for users: a condition, and whether foresight pays there."""
    for condition, word, values, of_a_run in when(results):
        why = f"{word}; the worst run is at {of_a_run:.2f}"
        place = f"when it pays: {condition}"
        yield PAGE.new(place, _mean_of(RIVAL, values), geometric(values), why=why)


@PAGE.rows
def decision_cpu_s(results: Results) -> Iterator[Claim]:
    """CPU time of a decision, the mean of whole runs."""
    for name in TIMED:
        runs = results.where(study="compared", family=name, method="foresight").scalars()
        if runs.empty or "mean_decision_cpu_s" not in runs:
            continue
        mean = float(runs["mean_decision_cpu_s"].mean())
        yield PAGE.new(
            FAMILIES[name].label,
            f"CPU time of a decision over whole runs, where few jobs wait, mean of {len(runs)} runs",
            mean,
            "s",
            f"goal: {'met' if mean <= DECISION_S else 'missed'}; five nodes a controller, on this machine; "
            "with all jobs waiting: docs/foresight.md",
            goal="<= 0.02",
        )


@PAGE.rows
def twelve(results: Results) -> Iterator[Claim]:
    """Rivals that decide as often as foresight."""
    table = over_asked(results)
    place = ", ".join(FAMILIES[str(name)].label for name in table["family"].unique())
    text = "cost over the best of twelve, each rival with and without foresight's wake-ups"
    yield _goal(place, text, 1.0, table["ratio"])


@PAGE.rows
def all_jobs_known(results: Results) -> Iterator[Claim]:
    """Part of the distance to the bound that a schedule with all jobs known saves."""
    for family, saved in brackets(results).groupby("family")["saved"]:
        yield PAGE.new(
            FAMILIES[str(family)].label,
            "part of foresight's distance to the best bound that a schedule with all jobs known "
            f"saves, mean of {len(saved)}",
            Estimate(saved.mean(), saved.min(), saved.max(), len(saved)),
            why="the range of the instances in place of an interval",
        )


def _above_one(table: pd.DataFrame) -> Claim:
    """The goal for families, in one row: none is dearer than the best rival beyond its interval.

    An interval of two or three instances holds 1 nearly always, so only families with ``ENOUGH`` count.
    """
    parts = [part for _, part in table.groupby("family")["over_best_rival"]]
    known = [part for part in parts if len(part) >= ENOUGH]
    above = sum(geometric(part).lower > 1.0 for part in known)
    few = len(parts) - len(known)
    state = "missed" if above else "not clear" if few else "met"
    why = f"; families of fewer than {ENOUGH} instances, left out: {few}" if few else ""
    return PAGE.new(
        "all families",
        f"families of {len(known)} whose whole interval is above the best rival",
        float(above) if known else None,
        why=f"goal: {state}{why}",
        goal="0",
    )


def _goal(place: str, claim: str, most: float, values: pd.Series, why: str = "") -> Claim:
    """A row: the geometric mean with its interval, and whether the goal is met."""
    mean = geometric(values)
    state = "the interval is too wide"
    if len(values) == 1:
        state = "one instance, no interval"
    elif mean.upper <= most or mean.lower > most:
        state = "met" if mean.upper <= most else "missed"
    why = f"goal: {state}" + (f"; {why}" if why else "")
    return PAGE.new(place, _mean_of(claim, values), mean, why=why, goal=f"<= {most:g}")
