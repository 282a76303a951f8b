"""The goals that foresight was given, and what came out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from experiments.studies.foresight.families import FAMILIES
from experiments.studies.foresight.runs import PAGE
from experiments.studies.foresight.tables import brackets, geometric, ratios
from experiments.studies.foresight.when import ENOUGH, when
from simulator.statistics import Estimate

if TYPE_CHECKING:
    from experiments.pages import Claim, Results

CONGESTED = ("2021-5", "2021-10", "2021-5-high")
RIVAL = "cost over the best rival of each instance"


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
    least = over / table["over_bound"]
    text = "lower bound over the best rival of each instance"
    yield PAGE.new(
        "all families", _mean_of(text, least), geometric(least), why="no schedule has a lower ratio"
    )
    yield _above_one(table)


def _mean_of(text: str, values: pd.Series) -> str:
    return f"{text}, geometric mean of {len(values)}"


@PAGE.rows
def paying(results: Results) -> Iterator[Claim]:
    """Rows for users: a condition, and whether foresight pays there."""
    for condition, word, values, of_a_run in when(results):
        why = f"{word}; the worst run is at {of_a_run:.2f}"
        place = f"when it pays: {condition}"
        yield PAGE.new(place, _mean_of(RIVAL, values), geometric(values), why=why)


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


def _goal(place: str, claim: str, most: float, values: pd.Series) -> Claim:
    """A row: the geometric mean with its interval, and whether the goal is met."""
    mean = geometric(values)
    state = "the interval is too wide"
    if len(values) == 1:
        state = "one instance, no interval"
    elif mean.upper <= most or mean.lower > most:
        state = "met" if mean.upper <= most else "missed"
    return PAGE.new(place, _mean_of(claim, values), mean, why=f"goal: {state}", goal=f"<= {most:g}")
