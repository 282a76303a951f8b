"""Theory beside each run, and what is worked out of the runs; figures and claims use the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from experiments.pictures.plots import intervals
from experiments.studies.queueing.runs import (
    GAPS,
    LAWS,
    ONE_RUN_LOAD,
    ORDER_LAW,
    SERVICE_S,
    URGENT_SHARE,
)
from experiments.sweep.results import NoRuns
from simulator.model.cluster import FloatArray
from simulator.statistics import BATCHES, Estimate, steady_state_mean
from simulator.theory import (
    ggc_mean_wait_s,
    kingman_bound_s,
    mg1_mean_response_s,
    mg1_priority_response_s,
    mg1_ps_response_s,
    mg1_srpt_response_s,
    response_run_length,
)

if TYPE_CHECKING:
    from experiments.sweep.results import Results


def rate_per_s(load: float, servers: int = 1) -> float:
    """Arrivals per second that load each server this much."""
    return load * servers / SERVICE_S


def order_response_s(order: str, load: float) -> float:
    """Mean response time of M/G/1 in an order without classes."""
    law, rate = LAWS[ORDER_LAW], rate_per_s(load)
    formula = {
        "first come": mg1_mean_response_s,
        "processor sharing": mg1_ps_response_s,
        "shortest remaining": mg1_srpt_response_s,
    }[order]
    return formula(rate, law)


def class_response_s(order: str, load: float) -> FloatArray:
    """Mean response times of the urgent and the other class, ``(2,)``."""
    law, rate = LAWS[ORDER_LAW], rate_per_s(load)
    rates = [URGENT_SHARE * rate, (1 - URGENT_SHARE) * rate]
    return mg1_priority_response_s(rates, [law, law], order == "preemptive priority")


def study(results: Results, name: str) -> pd.DataFrame:
    """The runs of one study of queues, one row a run; `NoRuns` where there are none."""
    return results.runs("run_queue", study=name)


def one_run(results: Results) -> tuple[FloatArray, int, Estimate]:
    """Waits of the long run, s, the jobs of its warm-up and the mean with its interval; `NoRuns` without it."""
    runs = results.where("run_waits", load=ONE_RUN_LOAD)
    if not runs.tasks:
        raise NoRuns("no long run")
    waits = runs.outcome(runs.tasks[0]).tables["waits"]["wait_s"].to_numpy(dtype=float)
    length = response_run_length(rate_per_s(ONE_RUN_LOAD), LAWS["exponential"])
    estimate = steady_state_mean(waits, relaxation=length.relaxation_jobs)
    return waits, len(waits) // (BATCHES + 1), estimate


def little_points(results: Results) -> pd.DataFrame:
    """Mean number in the system and arrival rate times mean response time, one row a run."""
    orders = results.runs("run_order").assign(servers=1)
    runs = [study(results, name).assign(kind=name) for name in ("M/M/c", "M/G/1", "G/G/c")]
    table = pd.concat([*runs, orders.assign(kind="M/G/1, other orders")], ignore_index=True)
    rate = table["load"] * table["servers"] / SERVICE_S
    return table.assign(rate_times_response=rate * table["mean_response_s"])


def kingman_points(results: Results) -> pd.DataFrame:
    """Simulated waits of G/G/1 with Kingman's bound and approximation, s, one row a setting."""
    points = intervals(study(results, "G/G/1"), ["gaps", "service", "load"], "mean_wait_s")
    cases = [
        (rate_per_s(p["load"]), GAPS[p["gaps"]], SERVICE_S, LAWS[p["service"]].cv2)
        for p in points.to_dict("records")
    ]
    points["bound"] = [kingman_bound_s(*case) for case in cases]
    points["approximation"] = [ggc_mean_wait_s(*case) for case in cases]
    return points


def approximation_errors(results: Results) -> pd.DataFrame:
    """Allen-Cunneen beside the simulated wait, one row a setting; errors in % of the latter."""
    points = intervals(
        study(results, "G/G/c"), ["servers", "load", "gaps", "service"], "mean_wait_s"
    )
    points["theory"] = [
        ggc_mean_wait_s(
            rate_per_s(p["load"], p["servers"]), GAPS[p["gaps"]], SERVICE_S, LAWS[p["service"]].cv2,
            p["servers"],
        )
        for p in points.to_dict("records")
    ]  # fmt: skip
    # Deterministic gaps and service never wait: there is nothing to be wrong about.
    points = points[points["theory"] > 0].reset_index(drop=True)
    points["error_percent"] = 100 * (points["theory"] / points["mean"] - 1)
    return points
