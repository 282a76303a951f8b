"""Means and paired differences of a sweep, with intervals, for each of its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.sweep.store import Store
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from simulator.statistics import Estimate

POLICY, SEED = "policy", "seed"
ROWS = ("minus", "metric", "mean", "lower", "upper", "replications")


@dataclass(frozen=True)
class Summary:
    """Estimates from the finished runs of a sweep.

    Attributes
    ----------
    table : one row an estimate. The swept parameters, ``policy``, ``minus`` (empty, or the first
        policy of the sweep, subtracted seed by seed), ``metric``, ``mean``, ``lower``, ``upper``
        (95 %; NaN from one run), ``replications`` (runs, or pairs, that differ by chance:
        where no seed changes anything, 1).
    values : the numbers behind it, with ``value`` in place of the last four columns.
    runs : how many finished runs there are.
    """

    table: DataFrame
    values: DataFrame
    runs: int

    @classmethod
    def of(cls, store: Store, metrics: Sequence[str]) -> Summary:
        """The summary of scalars of a sweep; of each setting from the runs that are there.

        Raises
        ------
        InputError
            No finished run, or none has such a number.
        """
        import pandas as pd

        cells, runs = _cells(store, metrics)
        rows, values = [], []
        for cell, by_policy in cells:
            first = next(iter(by_policy))
            pairs = [(policy, None) for policy in by_policy]
            pairs += [(policy, first) for policy in by_policy if policy != first]
            for metric in metrics:
                for policy, minus in pairs:
                    found = _observed(by_policy, policy, minus, metric)
                    if not found:
                        continue
                    names = cell | ({POLICY: policy} if policy is not None else {})
                    names |= {"minus": minus or "", "metric": metric}
                    rows.append(names | row_of(estimate_of(found, is_difference=minus is not None)))
                    values += [names | {"value": value} for value in found]
        return cls(pd.DataFrame(rows), pd.DataFrame(values), runs)


Runs = dict[Any, tuple[dict[str, float], bool]]
"""By seed: the metrics of a run, and whether another seed could give others."""


def _cells(
    store: Store, metrics: Sequence[str]
) -> tuple[list[tuple[dict[str, Any], dict[Any, Runs]]], int]:
    """For each setting its labels, and the finished runs by policy and seed."""
    same, rows = store.same_under_all_seeds(), store.rows()
    cells: dict[tuple[Any, ...], tuple[dict[str, Any], dict[Any, Runs]]] = {}
    count, known = 0, dict[str, None]()
    for index, (labels, run) in enumerate(zip(rows.labels, rows.runs, strict=True)):
        if run is None or run.status != "done":
            continue
        count += 1
        numbers = {
            name: float(value)
            for name, value in run.scalars.items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        known.update(dict.fromkeys(numbers))
        rest = {name: v for name, v in labels.items() if name not in (POLICY, SEED)}
        cell = cells.setdefault(tuple(rest.items()), (rest, {}))
        chosen = {name: numbers[name] for name in metrics if name in numbers}
        of_policy = cell[1].setdefault(labels.get(POLICY), {})
        of_policy[labels.get(SEED, index)] = (chosen, run.key not in same)
    if not count:
        raise InputError(f"{store.folder}: no run is finished, expected at least one")
    for metric in metrics:
        if metric not in known:
            raise InputError(f"--metric: got {metric!r}, expected one of {', '.join(known)}")
    return list(cells.values()), count


def _observed(by_policy: dict[Any, Runs], policy: Any, minus: Any, metric: str) -> list[float]:
    """The numbers, or the differences seed by seed; one where chance changes nothing."""
    own, first = by_policy[policy], by_policy[minus] if minus is not None else None
    seeds = [
        seed
        for seed, (numbers, _) in own.items()
        if metric in numbers and (first is None or metric in first.get(seed, ({}, True))[0])
    ]
    values = [own[seed][0][metric] for seed in seeds]
    random = [own[seed][1] for seed in seeds]
    if first is not None:
        from simulator.statistics import differences

        values = differences(values, [first[seed][0][metric] for seed in seeds]).tolist()
        random = [r or first[seed][1] for r, seed in zip(random, seeds, strict=True)]
    return values if any(random) else values[:1]


def estimate_of(values: Sequence[float], is_difference: bool) -> Estimate:
    """The mean of one number a run, or of differences, with its interval.

    Where no run has a negative number and the mean is of no difference, the interval has no negative part:
    times, costs, counts and shares have none.
    """
    from simulator.statistics import mean_of_skewed

    found = mean_of_skewed(values)
    return found if is_difference or min(values) < 0 else found.at_least(0.0)


def row_of(found: Estimate) -> dict[str, float]:
    """An estimate as columns of a table; one observation has no interval."""
    ends = (found.lower, found.upper) if found.n > 1 else (math.nan, math.nan)
    return {"mean": found.mean, "lower": ends[0], "upper": ends[1], "replications": found.n}
