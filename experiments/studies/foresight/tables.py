"""Tables that figures and claims both read: paired ratios of costs on the same instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from experiments.studies.foresight.runs import HEURISTICS, RIVALS

if TYPE_CHECKING:
    from experiments.sweep.results import Results

INSTANCE = ["family", "seed"]


def costs(results: Results) -> pd.DataFrame:
    """Total cost by instance (rows) and method, with the best bound; whole rows only."""
    runs = results.where(study="compared").scalars()
    bounds = results.where("run_bounds").scalars()
    if runs.empty or bounds.empty:
        return pd.DataFrame()
    wide = runs.pivot_table(index=INSTANCE, columns="method", values="total_cost")
    wide = wide.join(bounds.set_index(INSTANCE)["best"].rename("bound"))
    wanted = [*RIVALS, "foresight", "bound"]
    return wide.dropna() if set(wanted) <= set(wide.columns) else pd.DataFrame()


def ratios(results: Results) -> pd.DataFrame:
    """foresight over the best rival *of each instance*, and over the bound."""
    wide = costs(results)
    if wide.empty:
        return wide
    table = pd.DataFrame(
        {
            "over_best_rival": wide["foresight"] / wide[list(RIVALS)].min(axis=1),
            "over_bound": wide["foresight"] / wide["bound"],
        }
    )
    return table.reset_index()


def self_timed(results: Results) -> pd.DataFrame:
    """Cost of each rival with wake-ups over its cost without, on the same instances."""
    asked = results.where(study="self-timed").scalars()
    plain = results.where(study="compared").scalars()
    if asked.empty or plain.empty:
        return pd.DataFrame()
    asked["method"] = asked["method"].str.removesuffix("@self-timed")
    keys = [*INSTANCE, "method"]
    both = asked.merge(plain, on=keys, suffixes=("_asked", ""))
    both["ratio"] = both["total_cost_asked"] / both["total_cost"]
    return both[[*keys, "ratio"]]


def over_released(results: Results) -> pd.DataFrame:
    """foresight over the best of the heuristics with ``released``; the bound over it too: no schedule
    can have a lower ratio."""
    runs = results.where(study="released").scalars()
    wide = costs(results)
    if runs.empty or wide.empty:
        return pd.DataFrame()
    released = runs.pivot_table(index=INSTANCE, columns="method", values="total_cost").dropna()
    if not set(HEURISTICS) <= set(released.columns):
        return pd.DataFrame()
    both = wide[["foresight", "bound"]].join(released.min(axis=1).rename("best"), how="inner")
    both = both.assign(ratio=both["foresight"] / both["best"], least=both["bound"] / both["best"])
    return both[["ratio", "least"]].reset_index()


def over_asked(results: Results) -> pd.DataFrame:
    """foresight over the best of twelve: each rival with and without foresight's wake-ups."""
    asked = results.where(study="self-timed").scalars()
    wide = costs(results)
    if asked.empty or wide.empty:
        return pd.DataFrame()
    again = asked.pivot_table(index=INSTANCE, columns="method", values="total_cost").dropna()
    if not {f"{rival}@self-timed" for rival in RIVALS} <= set(again.columns):
        return pd.DataFrame()
    both = wide[[*RIVALS, "foresight"]].join(again, how="inner")
    best = both.drop(columns="foresight").min(axis=1)
    return (both["foresight"] / best).rename("ratio").reset_index()


def ablation(results: Results) -> pd.DataFrame:
    """Cost without a part over cost with all, on the same instances."""
    less = results.where(study="ablation").scalars()
    whole = results.where(study="compared", method="foresight").scalars()
    if less.empty or whole.empty:
        return pd.DataFrame()
    both = less.merge(whole[[*INSTANCE, "total_cost"]], on=INSTANCE, suffixes=("", "_whole"))
    both["ratio"] = both["total_cost"] / both["total_cost_whole"]
    return both[[*INSTANCE, "without", "ratio"]]


def disturbed(results: Results) -> pd.DataFrame:
    """foresight over the best of the rivals in the study of prediction errors, reconfigurations, due
    dates and controllers, on the same instances; ``change`` says what is disturbed."""
    runs = results.where(study="disturbed").scalars()
    if runs.empty:
        return runs
    wide = runs.pivot_table(index=["change", *INSTANCE], columns="method", values="total_cost")
    if "foresight" not in wide:
        return pd.DataFrame()
    wide = wide.dropna()
    wide["ratio"] = wide["foresight"] / wide.drop(columns="foresight").min(axis=1)
    return wide["ratio"].reset_index()


def brackets(results: Results) -> pd.DataFrame:
    """Costs of a schedule that knows all jobs and of foresight over the bound, and which part of
    foresight's distance to the bound the schedule saves."""
    plans, bounds = results.where("run_bracket").scalars(), results.where("run_bounds").scalars()
    if plans.empty or bounds.empty:
        return pd.DataFrame()
    both = plans.merge(bounds[[*INSTANCE, "best"]], on=INSTANCE)
    distance = both["foresight"] - both["best"]
    both["saved"] = (both["foresight"] - both["clairvoyant"]) / distance
    for name in ("clairvoyant", "foresight"):
        both[name] /= both["best"]
    return both[[*INSTANCE, "clairvoyant", "foresight", "saved"]]
