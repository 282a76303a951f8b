"""Tables, ratios and ranks: what figures, claims and texts of the cross experiment share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.studies.cross.comparison import ANDREAS, METHODS, WORKLOADS
from experiments.studies.cross.studies import DISPATCHERS
from experiments.studies.same_jobs import paired
from experiments.sweep.results import Results, kept
from simulator.model.cluster import FloatArray
from simulator.statistics import Estimate

POOLS = tuple(m.label for m in METHODS if m.view == "pool")
"""Methods that share GPUs in fractions, whatever node they are on: nothing on nodes can do that."""

ON_NODES = tuple(m.label for m in METHODS if m.view != "pool")
COMMON = tuple(m.label for m in METHODS if m.view != "pool" and not m.one_gpu)
"""Methods on nodes that run everywhere."""
EVERYWHERE = tuple(w for w in WORKLOADS if w not in ANDREAS)
"""Workloads that these methods can run."""


@kept
def methods_of_cells(results: Results) -> pd.DataFrame:
    """One row a workload, load, seed and method of the comparison; `NoRuns` where there is none."""
    return results.where("run_cell").table("methods")


def study(results: Results, name: str) -> pd.DataFrame:
    """The runs of one study; `NoRuns` where there are none."""
    return results.runs("run_delayed" if name == "delays" else "run_scenario", study=name)


@kept
def over_bounds(results: Results) -> pd.DataFrame:
    """Column ``ratio``: total cost over the lower bound, by load, seed and method; `NoRuns` where there is none."""
    return results.where("run_bound").table("ratios")


def value_of(method: str) -> str:
    """The value by which a method of a study is compared: cost where it minimises that."""
    return "total_cost" if method.startswith(("greedy", "EDF", "MILP")) else "mean_jct_s"


def of_method(
    table: pd.DataFrame, method: str, one: Mapping[str, Any], other: Mapping[str, Any]
) -> Estimate:
    """A method at one setting over itself at another, by its own value, over the seeds."""
    return paired(table[table["method"] == method], value_of(method), one, other)


def of_methods(table: pd.DataFrame, value: str, one: str, other: str) -> Estimate:
    """One method over another, over the seeds."""
    return paired(table, value, {"method": one}, {"method": other})


def cheapest(table: pd.DataFrame) -> int:
    """The number of controllers with the least geometric mean of cost over seeds."""
    logs = np.log(table["total_cost"]).groupby(table["controllers"]).mean()
    return int(logs.idxmin())


def in_words(ratio: Estimate) -> str:
    """``1.22 (1.14 to 1.30)``; with three decimals where one of them is near 1."""
    if not math.isfinite(ratio.half_width):
        return f"{ratio.mean:.3g} (no interval)"
    ends = (ratio.mean, ratio.lower, ratio.upper)
    digits = 3 if any(abs(end - 1) < 0.015 for end in ends) else 2
    told = [f"{end:.{digits}f}" if end < 9.995 else f"{end:,.0f}" for end in ends]
    return f"{told[0]} ({told[1]} to {told[2]})"


def over_round_robin(table: pd.DataFrame, policy: str) -> dict[str, Estimate]:
    """Cost of each other dispatching rule over round robin under one policy, over loads and controllers."""
    own, keys = table[table["policy"] == policy], ("load", "controllers", "seed")
    return {
        rule: paired(own, "total_cost", {"rule": rule}, {"rule": "round-robin"}, keys)
        for rule in DISPATCHERS[1:]
    }


def to_the_best(cells: pd.DataFrame, value: str) -> pd.DataFrame:
    """Each method's value over the best method on nodes in its cell: workload, load and seed."""
    cell = ["workload", "load", "seed"]
    best = cells[cells["method"].isin(ON_NODES)].groupby(cell)[value].min().rename("best")
    joined = cells.join(best, on=cell)
    return joined.assign(ratio=joined[value] / joined["best"])


def rank_intervals(cells: pd.DataFrame, value: str) -> pd.DataFrame:
    """Ranks by geometric mean over seeds, with 90 % bootstrap intervals over them.

    Returns
    -------
    Columns workload, method, ratio, low, high: geometric mean of the ratio to the best, and the
    interval of the rank among the methods on nodes.
    """
    rows = []
    rng = np.random.default_rng(1)
    for workload, part in to_the_best(cells, value).groupby("workload", sort=False):
        wide = part.pivot_table(index="seed", columns="method", values="ratio")
        logs = np.log(wide.to_numpy(dtype=float))
        picks = rng.integers(len(wide), size=(1000, len(wide)))
        means: FloatArray = logs[picks].mean(axis=1)
        on_nodes = np.array([m in ON_NODES for m in wide.columns])
        for i, method in enumerate(wide.columns):
            rank = 1 + (means[:, on_nodes] < means[:, [i]] - 1e-12).sum(axis=1)
            low, high = np.quantile(rank, [0.05, 0.95])
            ratio = math.exp(logs[:, i].mean())
            rows.append((workload, method, ratio, int(low), int(high)))
    return pd.DataFrame(rows, columns=["workload", "method", "ratio", "low", "high"])


def mean_ranks(cells: pd.DataFrame, value: str) -> tuple[pd.DataFrame, float, float]:
    """Friedman's test with Nemenyi's critical difference over settings: workload and load.

    A setting is one block, with geometric means over its seeds: the test wants blocks that are independent,
    and seeds of one setting are alike.

    Returns
    -------
    Columns method and rank, the best first; the critical difference at 5 %; the p-value.
    """
    from scipy import stats

    part = cells[cells["workload"].isin(EVERYWHERE) & cells["method"].isin(COMMON)]
    part = part.assign(log=np.log(part[value]))
    wide = part.pivot_table(index=["workload", "load"], columns="method", values="log").dropna()
    # Costs that differ by rounding are equal.
    ranks = wide.round(9).rank(axis=1)
    count, methods = ranks.shape
    q = float(stats.studentized_range.ppf(0.95, methods, np.inf)) / math.sqrt(2)
    difference = q * math.sqrt(methods * (methods + 1) / (6 * count))
    p = float(stats.friedmanchisquare(*wide.to_numpy(dtype=float).T).pvalue)
    table = ranks.mean().sort_values().rename("rank").reset_index()
    return table, difference, p
