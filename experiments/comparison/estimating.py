"""Estimates, paired differences and ranks of each setting, from the numbers of its runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.comparison.metrics import metric_of
from experiments.estimates import estimate_of, on_redrawn_traces, row_of
from simulator.model.ranks import levelled
from simulator.model.ranks import ranks as places
from simulator.statistics import RESAMPLES, Estimate, differences

if TYPE_CHECKING:
    import pandas as pd

    from experiments.comparison.runs import PlannedRun, Ran

Floats = npt.NDArray[np.float64]
OF_A_RUN = ("policy", "view", "seed", "draw", "random")
FEWEST_DRAWS = 39
"""With fewer there is no percentile of 2.5 %."""


def by_setting(
    table: pd.DataFrame, settings: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each setting, with its labels."""
    if not settings or table.empty:
        yield {}, table
        return
    for key, part in table.groupby(list(settings), sort=False, dropna=False):
        yield dict(zip(settings, key, strict=True)), part


def runs_table(made: Sequence[tuple[PlannedRun, Ran]]) -> pd.DataFrame:
    """One row a finished run."""
    import pandas as pd

    return pd.DataFrame([
        {
            **order.setting, "policy": order.entrant.policy, "view": order.entrant.view,
            "seed": order.seed, "draw": order.draw, "random": ran.is_random, **ran.numbers,
        }
        for order, ran in made if not ran.error
    ])  # fmt: skip


def estimates(
    runs: pd.DataFrame, settings: Sequence[str], metrics: Sequence[str], base: str
) -> pd.DataFrame:
    """The table of a comparison: each policy, then its difference from the base."""
    import pandas as pd

    rows = []
    for labels, part in by_setting(runs, settings):
        views: dict[Any, Any] = part.groupby("policy", sort=False)["view"].first().to_dict()
        for metric in metrics:
            values = values_of(part, metric)
            names_here = [str(name) for name in values]
            first = base if base in names_here else best_of(values, metric)
            pairs = [(name, "") for name in names_here]
            pairs += [(name, first) for name in names_here if name != first]
            for name, minus in pairs:
                found = estimate(part, values, name, minus)
                names = {"metric": metric, "policy": name, "view": views[name], "minus": minus}
                rows.append({**labels, **names, **row_of(found)})
    return pd.DataFrame(rows)


def estimate(part: pd.DataFrame, values: pd.DataFrame, name: str, minus: str = "") -> Estimate:
    """One estimate of a setting: of a policy, or of its difference from another one.

    Parameters
    ----------
    part : the runs of the setting.
    values : the metric, one column a policy and one row a draw.
    """
    own = values[[name] if not minus else [name, minus]].dropna()
    numbers = own[name].to_numpy(dtype=float)
    if minus:
        numbers = differences(numbers, own[minus].to_numpy(dtype=float))
    if is_of_file(part):
        return on_redrawn_traces(float(numbers[0]), numbers[1:].tolist())
    random = part[part["policy"].isin([name, minus])]["random"].any()
    return estimate_of(numbers.tolist() if random else numbers[:1].tolist(), bool(minus))


def is_shown(apart: Estimate) -> bool:
    """Whether runs show a difference: its interval has no 0 in it, and lies on the side of the difference itself.

    On traces that are drawn from a file all differences may have the other sign than on the file. One run shows whatever
    it has.
    """
    if apart.n == 1:
        return apart.mean != 0
    return apart.lower > 0 < apart.mean or apart.upper < 0 > apart.mean


def is_of_file(part: pd.DataFrame) -> bool:
    """Whether the runs are of the jobs of a file (draw 0) and of traces drawn from it."""
    return bool((part["draw"] > 0).any())


def best_of(values: pd.DataFrame, metric: str) -> str:
    """The policy with the best mean; of equal ones the first."""
    of_file = bool((values.index.get_level_values("draw") > 0).any())
    means = values.iloc[0] if of_file else values.mean()
    return best_first(means, metric_of(metric).better == "more")[0]


def best_first(means: pd.Series[float], more: bool = False) -> list[str]:
    """Names of means, the best first, which is the least one, or with ``more`` the largest; equal ones as they stand."""
    worth = same(np.asarray(means, dtype=np.float64))
    order = np.argsort(-worth if more else worth, kind="stable")
    return [str(name) for name in means.index[order]]


def same(x: Floats) -> Floats:
    """Numbers, of which those that differ by rounding are one and the same."""
    return levelled(np.round(x, 9))


def ranks(runs: pd.DataFrame, settings: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """The ranks of a comparison: 1 is the best; the interval is that of the rank on other draws.

    Of jobs of a file each drawn trace gives ranks; of seeds they are drawn again with replacement, and the means
    have ranks. Policies that failed on a draw have no rank.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for labels, part in by_setting(runs, settings):
        for metric in metrics:
            if not metric_of(metric).better:
                continue
            values = values_of(part, metric).dropna(axis="columns")
            if metric_of(metric).better == "more":
                values = -values
            names = {**labels, "metric": metric}
            rows += [{**names, **row} for row in ranked(values, is_of_file(part))]
    return pd.DataFrame(rows, columns=[*settings, "metric", "policy", "rank", "lower", "upper"])


def ranked(values: pd.DataFrame, of_file: bool = False) -> Iterator[dict[str, Any]]:
    """``policy``, ``rank``, ``lower`` and ``upper`` of each column of values, of which the least is the best."""
    x = values.to_numpy(dtype=float)
    own = _ranked(x[:1] if of_file else x.mean(axis=0, keepdims=True))[0]
    low = high = np.full(len(own), math.nan)
    if len(x) > 1:
        again = _ranked(x[1:] if of_file else _resampled(x))
        low, high = np.quantile(again, [0.025, 0.975], axis=0, method="inverted_cdf")
    for place, name in enumerate(values):
        yield {"policy": name, "rank": own[place], "lower": low[place], "upper": high[place]}


def values_of(part: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One column a policy in the order of the runs, one row a draw."""
    table = part.pivot_table(index=["draw", "seed"], columns="policy", values=metric, sort=False)
    order = [name for name in dict.fromkeys(part["policy"]) if name in table]
    return table.sort_index()[order]


def _resampled(x: Floats) -> Floats:
    """Means of seeds drawn with replacement, ``(resamples, policies)``."""
    chosen = np.random.default_rng(0).integers(len(x), size=(min(RESAMPLES, 1000), len(x)))
    means: Floats = x[chosen].mean(axis=1)
    return means


def _ranked(x: Floats) -> Floats:
    """Ranks within each row, equals by their mean."""
    from scipy.stats import rankdata

    found: Floats = rankdata([places(row) for row in np.round(x, 9)], axis=1)
    return found


def chosen(table: pd.DataFrame, labels: Mapping[str, Any]) -> pd.DataFrame:
    """The rows with these values."""
    for name, value in labels.items():
        table = table[table[name] == value]
    return table
