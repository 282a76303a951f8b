"""Theory beside each run, and what is worked out of the runs; figures and claims use the same."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from experiments.pages import NoRuns, Results, kept
from experiments.pictures.plots import intervals
from experiments.studies.queueing.runs import (
    GAPS,
    LAWS,
    ONE_RUN_LOAD,
    ORDER_LAW,
    SERVICE_S,
    URGENT_SHARE,
)
from simulator.model.cluster import FloatArray
from simulator.statistics import BATCHES, Estimate, steady_state_mean, student
from simulator.theory import (
    ggc_mean_wait_s,
    kingman_bound_s,
    mg1_mean_response_s,
    mg1_priority_response_s,
    mg1_ps_response_s,
    mg1_srpt_response_s,
    response_run_length,
)

PARTS = 200
"""Of the long run."""


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


@kept
def one_run(results: Results) -> pd.DataFrame:
    """The long run in 200 parts: ``jobs`` until the end, mean ``wait_s`` of the part and ``running_s`` of all so far.

    The same in each row: the ``mean`` with its interval (`Estimate`), half the width of one that takes waits
    for independent, ``all_jobs`` and those of the ``warm_up``. `NoRuns` without the run.
    """
    runs = results.where("run_waits", load=ONE_RUN_LOAD)
    if not runs.tasks:
        raise NoRuns("no long run")
    waits = runs.outcome(runs.tasks[0]).tables["waits"]["wait_s"].to_numpy(dtype=float)
    length = response_run_length(rate_per_s(ONE_RUN_LOAD), LAWS["exponential"])
    estimate = steady_state_mean(waits, relaxation=length.relaxation_jobs)
    warm_up, size = len(waits) // (BATCHES + 1), len(waits) // PARTS
    jobs = size * np.arange(1, PARTS + 1)
    return pd.DataFrame(
        {
            "jobs": jobs,
            "wait_s": waits[: size * PARTS].reshape(PARTS, size).mean(axis=1),
            "running_s": np.cumsum(waits)[jobs - 1] / jobs,
            **asdict(estimate),
            "naive_half_width": student(waits[warm_up:]).half_width,
            "all_jobs": len(waits),
            "warm_up": warm_up,
        }
    )


def estimate_of(run: pd.DataFrame) -> Estimate:
    """The mean wait of `one_run` with its interval, s."""
    return Estimate(run["mean"][0], run["lower"][0], run["upper"][0], int(run["n"][0]))


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
