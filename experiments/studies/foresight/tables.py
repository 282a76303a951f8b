"""Tables that figures and claims both read: paired ratios of costs on the same instances.

Each raises `NoRuns` where the runs that it compares are not there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments import estimates
from experiments.pages import NoRuns
from experiments.studies.foresight.runs import RIVALS
from simulator.statistics import Estimate

if TYPE_CHECKING:
    from experiments.pages import Results

INSTANCE = ["family", "seed"]


def geometric(values: pd.Series) -> Estimate:
    """Geometric mean with its 95 % interval, whose ends are NaN where there is one value."""
    found = estimates.geometric(values)
    return found if found.n > 1 else replace(found, lower=math.nan, upper=math.nan)


def _by_method(runs: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Total cost by instance (rows) and method."""
    return runs.pivot_table(index=[*by, *INSTANCE], columns="method", values="total_cost")


def _whole(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The rows in which none of these columns is missing."""
    rows = table.reindex(columns=list(columns)).dropna()
    if rows.empty:
        raise NoRuns("no instance has all of the runs that are compared")
    return rows


def costs(results: Results) -> pd.DataFrame:
    """Total cost by instance (rows) and method, with the best bound; whole rows only."""
    bounds = results.runs("run_bounds").set_index(INSTANCE)["best"].rename("bound")
    wide = _by_method(results.runs(study="compared")).join(bounds)
    return _whole(wide, [*RIVALS, "foresight", "bound"])


def ratios(results: Results) -> pd.DataFrame:
    """foresight over the best rival *of each instance*, and over the bound."""
    wide = costs(results)
    best = wide[list(RIVALS)].min(axis=1)
    table = {
        "over_best_rival": wide["foresight"] / best,
        "over_bound": wide["foresight"] / wide["bound"],
    }
    return pd.DataFrame(table).reset_index()


def ablation(results: Results) -> pd.DataFrame:
    """Cost without a part over cost with all, on the same instances."""
    less = results.runs(study="ablation")
    whole = results.runs(study="compared", method="foresight")
    both = less.merge(whole[[*INSTANCE, "total_cost"]], on=INSTANCE, suffixes=("", "_whole"))
    both["ratio"] = both["total_cost"] / both["total_cost_whole"]
    return both[[*INSTANCE, "without", "ratio"]]


def disturbed(results: Results) -> pd.DataFrame:
    """foresight over the best of the rivals in the study of prediction errors, reconfigurations, due
    dates and controllers, on the same instances; ``change`` says what is disturbed."""
    wide = _by_method(results.runs(study="disturbed"), "change")
    wide = _whole(wide, [*wide.columns.drop("foresight", errors="ignore"), "foresight"])
    wide["ratio"] = wide["foresight"] / wide.drop(columns="foresight").min(axis=1)
    return wide["ratio"].reset_index()


def haste(results: Results) -> pd.DataFrame:
    """Total cost and mean completion time over the greedy's on the same jobs: geometric means by family and
    method, with the number of instances."""
    runs = results.runs(study="haste")
    greedy = runs[runs["method"] == "greedy"]
    both = runs.merge(greedy, on=INSTANCE, suffixes=("", "_greedy"))
    for value in ("total_cost", "mean_jct_s"):
        both[value] = np.log(both[value] / both[f"{value}_greedy"])
    groups = both.groupby(["family", "method"], sort=False)
    means = groups[["total_cost", "mean_jct_s"]].mean().apply(np.exp)
    return means.assign(instances=groups.size()).reset_index()


def brackets(results: Results) -> pd.DataFrame:
    """Costs of a schedule that knows all jobs and of foresight over the bound, and which part of
    foresight's distance to the bound the schedule saves."""
    bounds = results.runs("run_bounds")[[*INSTANCE, "best"]]
    both = results.runs("run_bracket").merge(bounds, on=INSTANCE)
    distance = both["foresight"] - both["best"]
    both["saved"] = (both["foresight"] - both["clairvoyant"]) / distance
    for name in ("clairvoyant", "foresight"):
        both[name] /= both["best"]
    return both[[*INSTANCE, "clairvoyant", "foresight", "saved"]]
