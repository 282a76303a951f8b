"""Means and paired differences of a sweep, with intervals, for each of its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.columns import expect_known
from experiments.estimates import NO_MEAN, estimate_of, row_of
from experiments.sweep.store import Store
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

POLICY, SEED = "policy", "seed"
ROWS = ("minus", "metric", "mean", "lower", "upper", "replications", "failed")


@dataclass(frozen=True)
class Summary:
    """Estimates from the finished runs of a sweep.

    Attributes
    ----------
    table : one row an estimate. The swept parameters, ``policy``, ``minus`` (empty, or the first
        policy of the sweep, subtracted seed by seed), ``metric``, ``mean``, ``lower``, ``upper``
        (95 %; NaN from one run), ``replications`` (runs, or pairs, that differ by chance:
        where no seed changes anything, 1), ``failed`` (runs of the policy that failed; a setting of which no
        run is finished has no mean).
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
            first = next(iter(by_policy))  # also where all its runs failed
            pairs = [(policy, None) for policy in by_policy]
            pairs += [(policy, first) for policy in by_policy if policy != first]
            for metric in metrics:
                for policy, minus in pairs:
                    found = _observed(by_policy, policy, minus, metric)
                    failed = sum(numbers is None for numbers, _ in by_policy[policy].values())
                    if not found and (minus is not None or not failed):
                        continue
                    names = cell | ({POLICY: policy} if policy is not None else {})
                    names |= {"minus": minus or "", "metric": metric}
                    of_all = row_of(estimate_of(found, minus is not None)) if found else NO_MEAN
                    rows.append(names | of_all | {"failed": failed})
                    values += [names | {"value": value} for value in found]
        return cls(pd.DataFrame(rows), pd.DataFrame(values), runs)


Runs = dict[Any, tuple[dict[str, float] | None, bool]]
"""By seed: the metrics of a run, None where it failed, and whether another seed could give others."""


def _cells(
    store: Store, metrics: Sequence[str]
) -> tuple[list[tuple[dict[str, Any], dict[Any, Runs]]], int]:
    """For each setting its labels, and the runs by policy and seed; and how many runs are finished."""
    same, rows = store.same_under_all_seeds(), store.rows()
    cells: dict[tuple[Any, ...], tuple[dict[str, Any], dict[Any, Runs]]] = {}
    count, known = 0, dict[str, None]()
    for index, (labels, run) in enumerate(zip(rows.labels, rows.runs, strict=True)):
        if run is None:
            continue
        is_done = run.status == "done"
        count += is_done
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
        of_policy[labels.get(SEED, index)] = (chosen if is_done else None, run.key not in same)
    if not count:
        raise InputError(f"{store.folder}: no run is finished, expected at least one")
    expect_known(metrics, [*known], "--metric", "in the tables of the runs")
    return list(cells.values()), count


def _observed(by_policy: dict[Any, Runs], policy: Any, minus: Any, metric: str) -> list[float]:
    """The numbers, or the differences seed by seed; one where chance changes nothing."""

    def known(runs: Runs) -> dict[Any, float]:
        return {
            seed: found[metric] for seed, (found, _) in runs.items() if found and metric in found
        }

    own = known(by_policy[policy])
    others = own if minus is None else known(by_policy[minus])
    seeds = [seed for seed in own if seed in others]
    values = [own[seed] for seed in seeds]
    chosen = [by_policy[policy]]
    if minus is not None:
        from simulator.statistics import differences

        values = differences(values, [others[seed] for seed in seeds]).tolist()
        chosen.append(by_policy[minus])
    random = [runs[seed][1] for runs in chosen for seed in seeds]
    return values if any(random) else values[:1]
