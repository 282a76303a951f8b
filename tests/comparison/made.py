"""Comparisons with numbers made by hand: a run a number, without a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from experiments.comparison.answer import Comparison
from experiments.comparison.comparing import of_runs

Values = Mapping[str, Sequence[float]]


def runs_of(
    values: Values, metric: str = "mean_jct_s", more: Mapping[str, Values] | None = None, **columns: Any
) -> pd.DataFrame:  # fmt: skip
    """Runs of policies, a seed a number; ``columns`` are the same in all, or a dict by policy."""
    rows = []
    for name, numbers in values.items():
        own = {key: each[name] if isinstance(each, dict) else each for key, each in columns.items()}
        for seed, value in enumerate(numbers):
            others = {other: of[name][seed] for other, of in (more or {}).items() if name in of}
            rows.append(
                {"policy": name, "view": "as given", "seed": seed, "draw": 0, "random": True}
                | {metric: value} | others | own
            )  # fmt: skip
    return pd.DataFrame(rows)


def drawn(values: Values, metric: str = "mean_jct_s", traces: int = 39) -> pd.DataFrame:
    """Runs on a file (the first number), and on so many traces drawn from it (the others, the last one to the end)."""
    rows = []
    for name, (first, *others) in values.items():
        times = [first, *others, *[others[-1]] * (traces - len(others))]
        rows += [
            {"policy": name, "view": "as given", "seed": draw, "draw": draw, "random": True, metric: time}
            for draw, time in enumerate(times)
        ]  # fmt: skip
    return pd.DataFrame(rows)


def compared(
    runs: pd.DataFrame, metrics: Sequence[str] = ("mean_jct_s",), settings: Sequence[str] = (),
    base: str = "", bounds: Sequence[Mapping[str, Any]] = (), excluded: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (), currency: str = "USD",
) -> Comparison:  # fmt: skip
    """The comparison of runs."""
    found = of_runs("jobs.csv", runs, settings, metrics, base)
    return replace(
        found,
        bounds=pd.DataFrame(bounds, columns=[*settings, "view", "metric", "bound"]),
        excluded=pd.DataFrame(excluded, columns=[*settings, "policy", "reason"]),
        notes=tuple(notes), currency=currency,
    )  # fmt: skip
