"""Table of a task: ratios to the bound, or to the best policy of the draw, with intervals and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.bench.task import BenchTask
from experiments.comparison.entrants import GIVEN
from experiments.comparison.estimating import best_first, ranked, values_of
from experiments.comparison.metrics import CPU, digits, metric_of
from simulator.errors import InputError
from simulator.statistics import mean_of_skewed

if TYPE_CHECKING:
    import pandas as pd

    from experiments.comparison.answer import Comparison
    from experiments.scenario.schema import Scenario

SHIFTS = {"s": (3600.0, "1 h"), "share": (0.01, "1 %")}
"""What is added to both values of a ratio, by unit, else 1: of metrics that can be 0 alone.

Example: a draw in which the best policy makes jobs wait for 0 s would rule the mean.
"""

ROUNDING = 1e-9
"""Relative: a value may be so little below a bound."""

ASKED = "it asked for jobs that had not been submitted yet"
"""Of a policy of one's own that is marked."""
RANKS = {"rank": "rank", "lower": "rank_lower", "upper": "rank_upper"}
"""Of `ranked`, the columns of the table."""


def bounds_of(scenario: Scenario, seeds: Iterable[int]) -> pd.DataFrame:
    """Lower bounds of the jobs of each seed, by metric; a row a seed.

    Completion times and makespan: `experiments.analysis.pooled`. Cost: each job alone (`experiments.analysis.bounds`).
    """
    import pandas as pd

    from experiments.analysis.bounds import alone
    from experiments.analysis.pooled import pooled_bounds
    from experiments.scenario.build import build

    rows = {}
    for seed in dict.fromkeys(seeds):
        workload, cluster = build(scenario.model_copy(update={"seed": seed}))
        rows[seed] = pooled_bounds(workload, cluster)
        if cluster.is_configurable and not cluster.is_pool:
            rows[seed]["total_cost"] = float(alone(workload, cluster).sum())
    return pd.DataFrame.from_dict(rows, orient="index")


def expect_above_bounds(found: Comparison, task: BenchTask, bounds: pd.DataFrame) -> None:
    """Raise InputError for a run on the task's own jobs that is below a bound which no schedule is below."""
    own = found.runs[found.runs["view"] == GIVEN]
    for metric in (m for m in task.rank if m in bounds and m in own):
        for policy, seed, value in zip(own["policy"], own["seed"], own[metric], strict=True):
            bound = float(bounds[metric][seed])
            if value < bound * (1 - ROUNDING):
                raise InputError(
                    f"{policy}: {metric} is {value:.6g} under seed {seed}, expected {bound:.6g} at least, which no "
                    f"schedule is below (ratio {value / bound:.3g})"
                )


def standing(found: Comparison, task: BenchTask, bounds: pd.DataFrame) -> pd.DataFrame:
    """One row a policy and metric that is ranked, the best policy in the first metric first.

    Columns: ``policy``, ``view``, ``exact``, ``informed`` (what it knows beside the jobs so far), ``metric``, ``mean`` (of the metric), ``ratio`` (geometric mean of the ratios
    to the base, draw by draw), ``lower``, ``upper`` (95 %; a ratio is at least 1), ``base`` ("lower bound" or "best of the
    draw", with what is added to both, see `SHIFTS`), ``rank`` by the ratio, ``rank_lower``, ``rank_upper``, ``cpu_s`` (of a
    decision on this machine).
    """
    import pandas as pd

    rows = []
    for metric in task.rank:
        if metric not in found.runs:
            continue
        values, more = values_of(found.runs, metric), metric_of(metric).better == "more"
        base, said = values.max(axis=1) if more else values.min(axis=1), "best of the draw"
        if metric in bounds:
            seeds = values.index.get_level_values("seed")
            base, said = bounds[metric].reindex(seeds).set_axis(values.index), "lower bound"
        shift, added = SHIFTS.get(metric_of(metric).unit, (1.0, "1"))
        if metric_of(metric).never_0:
            shift = 0.0
        else:
            said += f", {added} added to both"
        logs = (values + shift).div(base + shift, axis="index").transform(np.log)
        logs = -logs if more else logs
        ranks = {row["policy"]: row for row in ranked(logs.dropna(axis="columns"))}
        for policy in values:
            own, of = values[policy].dropna(), found.runs[found.runs["policy"] == policy]
            mean, lower, upper = _over_draws(logs[policy].dropna().to_numpy(float))
            asked = "informed" in of and bool((of["informed"] == 1).any())
            rows.append({
                "policy": policy, "view": of["view"].iloc[0], "exact": task.exact.get(str(policy), ""),
                "informed": task.knows.get(str(policy), ASKED if asked else ""), "metric": metric, "mean": float(own.mean()), "ratio": mean, "lower": lower, "upper": upper,
                "base": said, "cpu_s": float(of[CPU].mean()) if CPU in of else math.nan,
                **{to: ranks.get(policy, {}).get(name, math.nan) for name, to in RANKS.items()},
            })  # fmt: skip
    table = pd.DataFrame(rows)
    first = table[table["metric"] == task.rank[0]].set_index("policy")["ratio"]
    place = {name: at for at, name in enumerate(best_first(first))}
    order = table["policy"].map(place).argsort(kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _over_draws(logs: Any) -> tuple[float, float, float]:
    """The ratio of the mean of logarithms from 0 on, with a 95 % interval; NaN ends where one draw was made."""
    if len(logs) == 1:
        return math.exp(logs[0]), math.nan, math.nan
    if np.ptp(logs) == 0:
        return (math.exp(logs[0]),) * 3
    found = mean_of_skewed(logs)
    return math.exp(found.mean), math.exp(max(found.lower, 0.0)), math.exp(found.upper)


def sheet(table: pd.DataFrame, task: BenchTask, currency: str = "") -> pd.DataFrame:
    """The table to read: a policy a row; of each metric the mean and the ratio with its interval."""
    import pandas as pd

    rows: dict[str, dict[str, str]] = {}
    for metric in task.rank:
        part = table[table["metric"] == metric]
        scale = metric_of(metric).scaled(float(part["mean"].abs().max()), currency)
        for row in part.to_dict("records"):
            marks = {" [exact]": row["exact"], " [informed]": row["informed"]}
            name = row["policy"] + "".join(mark for mark, why in marks.items() if why)
            told = rows.setdefault(row["policy"], {"policy": name, "jobs": row["view"]})
            told[metric_of(metric).title(float(part["mean"].abs().max()), currency)] = scale.number(
                row["mean"]
            )
            half = (row["upper"] - row["lower"]) / 2
            ends = (
                ""
                if math.isnan(half)
                else f" ({digits(row['lower'], half)} to {digits(row['upper'], half)})"
            )
            told[f"over the {row['base']}, {metric_of(metric).words}"] = (
                f"{digits(row['ratio'], half)}{ends}"
            )
            if metric == task.rank[0]:
                span = row["rank_lower"], row["rank_upper"]
                told["rank"] = (
                    f"{row['rank']:g}"
                    if math.isnan(span[0]) or span[0] == row["rank"] == span[1]
                    else f"{row['rank']:g} ({span[0]:g} to {span[1]:g})"
                )
                told["CPU time of a decision (ms)"] = f"{1000 * row['cpu_s']:.3g}"
    found = pd.DataFrame(list(rows.values()))
    first = ["rank", "policy", "jobs"]
    return found[[*first, *(name for name in found if name not in first)]]
