"""Conditions that a user can tell, and whether foresight pays under each."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from experiments.pages import NoRuns
from experiments.studies.foresight.families import FAMILIES
from experiments.studies.foresight.tables import disturbed, geometric, ratios

if TYPE_CHECKING:
    from experiments.pages import Results

CONDITIONS: dict[str, tuple[str, ...]] = {
    "VMs, overload, tight due dates": ("2021-5", "2021-10", "2021-5-high"),
    "VMs, 1.5 times the usual load, loose due dates": ("2020-5-high", "hierarchical-5-high"),
    "VMs, usual load, loose due dates": (
        "2020-5", "2020-10", "hierarchical-5", "hierarchical-10",
        "hierarchical-20", "hierarchical-50", "hierarchical-100",
    ),
    "VMs, light load": ("2021-5-low", "2020-5-low", "hierarchical-5-low"),
    "fixed nodes with energy, mixed arrivals": ("andreas-1-10", "andreas-2-10"),
    "fixed nodes with energy, many arrivals": ("energy-10", "energy-20"),
}  # fmt: skip
"""Properties of a cluster that a user knows, and the families that have them."""

CHANGES: dict[str, tuple[str, bool]] = {
    "VMs, times predicted 10 to 50 % wrong": ("errors of", False),
    "VMs, moving a job takes 5 to 30 minutes": ("moving takes", False),
    "VMs, overload, but loose due dates": ("loose due dates", False),
    "VMs, usual load, but tight due dates": ("tight due dates", False),
    "VMs, two controllers": ("controllers", False),
    "fixed nodes with energy, times predicted 50 % wrong": ("errors of", True),
    "fixed nodes with energy, moving a job takes 30 minutes": ("moving takes", True),
}
"""Conditions of the study with three rivals: what their changes have in their names, and whether nodes
cost energy."""

ENOUGH = 5
"""Instances from which on an interval is drawn and there is a verdict; of fewer the instances say more."""


class Condition(NamedTuple):
    """A property of a cluster that a user knows, and the result of foresight there.

    Attributes
    ----------
    verdict : see `verdict`.
    ratios : costs of foresight over the best rival, one an instance: the geometric mean over its changes.
    worst : the largest ratio of a single run; a mean over changes would hide it.
    """

    name: str
    verdict: str
    ratios: pd.Series
    worst: float


def when(results: Results) -> list[Condition]:
    """Every condition that has runs."""
    found = []
    with contextlib.suppress(NoRuns):
        table = ratios(results)
        for condition, names in CONDITIONS.items():
            part = table.loc[table["family"].isin(names), "over_best_rival"]
            found.append((condition, part, part))
    with contextlib.suppress(NoRuns):
        changed = disturbed(results)
        of_energy = changed["family"].map(lambda name: FAMILIES[name].is_energy)
        for condition, (text, energy) in CHANGES.items():
            same = changed["change"].str.contains(text, regex=False)
            runs = changed[same & (of_energy == energy)]
            found.append((condition, _by_instance(runs), runs["ratio"]))
    return [
        Condition(condition, verdict(part), part, float(runs.max()))
        for condition, part, runs in found
        if len(part)
    ]


def _by_instance(changed: pd.DataFrame) -> pd.Series:
    """One ratio an instance, the geometric mean over its changes: three errors on the same jobs are no
    three observations."""
    logs = changed["ratio"].astype(float).map(math.log)
    return logs.groupby([changed["family"], changed["seed"]]).mean().map(math.exp)


def verdict(values: pd.Series) -> str:
    """ "pays" where the whole 95 % interval of the geometric mean is below 1.

    "does not pay" where it is above. An interval that holds 1 is "not clear", and so are few instances.
    """
    mean = geometric(values)
    if len(values) < ENOUGH or mean.lower <= 1.0 <= mean.upper:
        return "not clear"
    return "pays" if mean.upper < 1.0 else "does not pay"
