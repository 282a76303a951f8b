"""The rows: means of our runs beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.pages import Claim, Results
from experiments.studies.reliability.runs import FACTORS, PAGE, RETIRE_AFTER, SETTINGS, SIZE
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.statistics import Estimate, mean_of_skewed

if TYPE_CHECKING:
    import pandas as pd

TABLE = (
    "time_h", "effective_training_ratio", "server_failures", "systematic_failures", "manual_repairs", "good_repairs",
    "bad_repairs", "host_selections", "preempted_spares",
)  # fmt: skip
"""Quantities of the published table."""
WHY = (
    "means of few runs; a failed server's place is taken at the failure, and there after the restart, in which a "
    "standby may have come back"
)


def _mean(runs: pd.DataFrame, column: str) -> Estimate:
    return mean_of_skewed(runs[column].to_numpy(dtype=float), 0.95)


@PAGE.rows
def defaults(results: Results) -> Iterator[Claim]:
    """The table of the defaults."""
    runs = results.runs("run_job", setting="defaults")
    for name in TABLE:
        yield PAGE.row(f"defaults.{name}", _mean(runs, name), WHY)


@PAGE.rows
def expected(results: Results) -> Iterator[Claim]:
    """The training time with the number of failures by the usual rate, a Poisson number, at its mean."""
    runs = results.runs("run_job", setting="defaults")
    spec, _, work_h, restart_s = SETTINGS["defaults"]
    mean = SIZE * work_h * HOUR_S / spec["time_to_failure_s"]
    surplus = runs["server_failures"] - runs["systematic_failures"] - mean
    time_h = runs["time_h"] - surplus * restart_s / HOUR_S
    ours = mean_of_skewed(time_h.to_numpy(dtype=float), 0.95)
    method = "of a mean of replications, after a control variate: the number of failures by the usual rate"
    yield PAGE.row("expected", ours, WHY, interval=method)


@PAGE.rows
def retirement(results: Results) -> Iterator[Claim]:
    """Training times by the rule of retirement, and what it saves."""
    runs = results.runs("run_job", setting="hostile", bad_factor=0.0)
    for count in (0, *RETIRE_AFTER):
        rule = f"retired after {count} failures in 7 days" if count else "never retired"
        part = runs[runs["retire_after"] == count]
        yield PAGE.row(f"retire.after_{count}", _mean(part, "time_h"), WHY, rule=rule)
    by_seed = runs.pivot(index="seed", columns="retire_after", values="time_h")
    saved_h = (by_seed[0] - by_seed[2]).to_numpy(dtype=float)
    yield PAGE.row("saves", mean_of_skewed(saved_h, 0.95), WHY)


@PAGE.rows
def by_factor(results: Results) -> Iterator[Claim]:
    """Training times by the further rate of bad servers."""
    for factor in FACTORS:
        runs = results.runs("run_job", setting="hostile", bad_factor=factor)
        yield PAGE.row(f"factor.times_{factor:g}", _mean(runs, "time_h"), WHY, factor=f"{factor:g}")
