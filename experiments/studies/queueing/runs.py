"""The runs: jobs of one GPU on few GPUs, in several orders of service. Mean service is 100 s."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.classroom.runs import ORDER_POLICY, served
from experiments.pages import Experiment, Outcome, Scalar, Scale, Task
from simulator.laws import (
    Bimodal,
    BoundedPareto,
    Deterministic,
    Exponential,
    HyperExponential,
    Law,
    LogNormal,
)
from simulator.model.cluster import FloatArray
from simulator.statistics import Streams

if TYPE_CHECKING:
    from simulator import Result

HERE = "experiments.studies.queueing.runs"
SOURCES = ("simulator", "policies")

SERVICE_S = 100.0
"""Mean service time."""

LAWS: dict[str, Law] = {
    "deterministic": Deterministic(SERVICE_S),
    "exponential": Exponential(SERVICE_S),
    "lognormal": LogNormal(SERVICE_S, 1.5),
    "hyperexponential": HyperExponential.with_cv2(SERVICE_S, 4.0),
    "bimodal": Bimodal.with_mean(SERVICE_S, 0.1, 20.0),
    "bounded Pareto": BoundedPareto.with_mean(SERVICE_S, 1.5, 100.0),
}
"""Laws of service times, and of gaps between arrivals after scaling."""

GAPS = {"deterministic": 0.0, "exponential": 1.0, "hyperexponential": 4.0}
"""Laws of the gaps between arrivals, with their squared coefficients of variation."""

SERVERS = (1, 2, 4, 16)
WITHOUT_CLASSES = ("first come", "processor sharing", "shortest remaining")
WITH_CLASSES = ("priority", "preemptive priority")
ORDERS = ORDER_POLICY | {
    "priority": ("priority", False),
    "preemptive priority": ("priority", True),
}
"""The policy of an order, and whether it is asked to preempt."""
UNLIMITED = 1000
"""Servers that are never all busy at a load of 4."""
ORDER_LAW = "hyperexponential"
"""Service of the runs that compare orders."""

URGENT_SHARE = 0.5
"""Part of the jobs in the urgent class; both classes have the same law."""

TAIL_S = (50.0, 200.0, 500.0, 1000.0, 2000.0)
"""Waits whose probability to be exceeded is counted."""

WARM_UP = 0.25
"""Part of the jobs, from the start, that the averages leave out."""

FILLING_LOADS = (0.5, 0.9, 1.1)
FILLING_S = tuple(float(t) for t in range(0, 30_001, 250))
"""Instants at which the queue that fills up is looked at."""

LOSS_SERVERS = (1, 4, 16)
HEAVY = (("deterministic", "exponential"), ("hyperexponential", "exponential"))
"""Gaps and service of the runs beside Kingman's bound."""

QUANTILE_LAWS = ("deterministic", "exponential", "hyperexponential")
QUANTILE_LOAD = 0.7
QUANTILES = (0.5, 0.8, 0.9, 0.95)
"""Of the wait, taken run by run."""

ONE_RUN_LOAD = 0.8

LOADS: dict[Scale, tuple[float, ...]] = {
    "quick": (0.5, 0.7, 0.85),
    "paper": (0.3, 0.5, 0.7, 0.8, 0.9),
}
GENERAL_LOADS: dict[Scale, tuple[float, ...]] = {"quick": (0.7,), "paper": (0.7, 0.9)}
"""Loads of the runs that general arrivals are approximated at."""

JOBS: dict[Scale, int] = {"quick": 2500, "paper": 20_000}
SEEDS: dict[Scale, tuple[int, ...]] = {"quick": tuple(range(1, 7)), "paper": tuple(range(1, 11))}
ONE_RUN_JOBS: dict[Scale, int] = {"quick": 40_000, "paper": 200_000}
"""More than `simulator.theory.RunLength.jobs` asks for at `ONE_RUN_LOAD`."""
FILLING_RUNS: dict[Scale, int] = {"quick": 40, "paper": 400}


def tasks(scale: Scale) -> list[Task]:
    """Every run of the laboratory."""
    loads = LOADS[scale]
    settings: list[tuple[str, dict[str, Any]]] = [
        *(("run_queue", queue) for queue in _queues(scale)),
        *(("run_order", {"order": order, "load": u}) for order in ORDERS for u in loads),
        *(("run_unlimited", {"service": law, "load": 4.0}) for law in LAWS),
        *(("run_loss", {"servers": c, "load": u}) for c in LOSS_SERVERS for u in loads),
        *(("run_waits", {"service": law, "load": QUANTILE_LOAD}) for law in QUANTILE_LAWS),
    ]
    one_run = {"service": "exponential", "load": ONE_RUN_LOAD, "jobs": ONE_RUN_JOBS[scale]}
    return [
        *(_task(name, scale, seed, config) for seed in SEEDS[scale] for name, config in settings),
        _task("run_waits", scale, 1, one_run),
        *(
            _task("run_filling", scale, 1, {"load": u, "runs": FILLING_RUNS[scale]})
            for u in FILLING_LOADS
        ),
    ]


def _queues(scale: Scale) -> Iterator[dict[str, Any]]:
    """The queues that one law of gaps and one of service times describe."""
    loads = LOADS[scale]
    for name, servers, laws in (
        ("M/M/c", SERVERS, [("exponential", "exponential")]),
        ("M/G/1", (1,), [("exponential", law) for law in LAWS]),
        ("G/G/1", (1,), HEAVY),
    ):
        for (gaps, law), c, u in itertools.product(laws, servers, loads):
            yield {"study": name, "servers": c, "load": u, "gaps": gaps, "service": law}
    for c, u, gaps, law in itertools.product((1, 4), GENERAL_LOADS[scale], GAPS, GAPS):
        yield {"study": "G/G/c", "servers": c, "load": u, "gaps": gaps, "service": law}


def _task(function: str, scale: Scale, seed: int, config: dict[str, Any]) -> Task:
    labels: dict[str, Scalar] = {**config, "seed": seed}
    jobs = int(config.get("jobs", JOBS[scale]))
    run = {k: v for k, v in labels.items() if k != "study"} | {"jobs": jobs}
    cost_s = (1e-4 if function == "run_order" else 3e-5) * jobs
    return Task(f"{HERE}:{function}", run, labels=labels, cost_s=cost_s, sources=SOURCES)


# -- task functions --------------------------------------------------------------------------


def run_queue(config: dict[str, Any]) -> Outcome:
    """G/G/c, first come first served, by the engine's own strict FIFO.

    Scalars: mean wait and response time, time-average number in the system, the part that waits, and
    ``exceeds_<t>``, the part that waits longer than t seconds.
    """
    servers = config["servers"]
    submit_s, service_s = sample(config, servers)
    result = served(submit_s, service_s, servers)
    first = int(WARM_UP * len(submit_s))
    wait_s = result.wait_s[first:]
    scalars: dict[str, Scalar] = {
        "mean_wait_s": float(wait_s.mean()),
        "mean_response_s": float(result.jct_s[first:].mean()),
        "mean_number": _mean_number(result, first),
        "waits": float((wait_s > 0).mean()),
    }
    scalars |= {f"exceeds_{t:g}": float((wait_s > t).mean()) for t in TAIL_S}
    return Outcome(scalars)


def run_order(config: dict[str, Any]) -> Outcome:
    """M/G/1 in another order; mean response time, by class too."""
    submit_s, service_s = sample({**config, "gaps": "exponential", "service": ORDER_LAW}, 1)
    count = len(submit_s)
    rng = Streams(config["seed"]).generator("classes")
    urgent = rng.random(count) < URGENT_SHARE
    weight = np.where(urgent, 2.0, 1.0)
    order = ORDERS[config["order"]]
    result = served(submit_s, service_s, 1, *order, weight_per_s=weight)
    first = int(WARM_UP * count)
    response_s, urgent = result.jct_s[first:], urgent[first:]
    return Outcome(
        {
            "mean_response_s": float(response_s.mean()),
            "urgent_response_s": float(response_s[urgent].mean()),
            "normal_response_s": float(response_s[~urgent].mean()),
            "mean_number": _mean_number(result, first),
        }
    )


def run_unlimited(config: dict[str, Any]) -> Outcome:
    """M/G/inf, on more servers than jobs come at once: the part of time with 0, 1, .. 15 jobs (``at_<n>``)."""
    submit_s, service_s = sample({**config, "gaps": "exponential"}, 1)
    result = served(submit_s, service_s, UNLIMITED)
    assert result.wait_s.max() == 0
    times = np.linspace(submit_s[int(WARM_UP * len(submit_s))], submit_s[-1], 20_000)
    number = _number_at(result, times)
    scalars: dict[str, Scalar] = {f"at_{n}": float((number == n).mean()) for n in range(16)}
    return Outcome(scalars | {"mean_number": float(number.mean())})


def run_filling(config: dict[str, Any]) -> Outcome:
    """M/M/1 from empty, several runs: how many are in the system at the instants of `FILLING_S`."""
    import pandas as pd

    enough = int(2 * max(config["load"], 1.0) * FILLING_S[-1] / SERVICE_S)
    paths = []
    for run in range(config["runs"]):
        streams = Streams(config["seed"]).replication(run)
        submit_s = np.cumsum(streams.generator("arrivals").exponential(SERVICE_S, enough))
        submit_s /= config["load"]
        service_s = streams.generator("service").exponential(SERVICE_S, enough)
        number = _number_at(served(submit_s, service_s, 1), np.array(FILLING_S))
        paths.append(pd.DataFrame({"run": run, "time_s": FILLING_S, "number": number}))
    return Outcome({}, {"paths": pd.concat(paths, ignore_index=True)})


def run_loss(config: dict[str, Any]) -> Outcome:
    """M/M/c/c, jobs without patience: ``lost``, the part of the jobs that find all servers busy."""
    servers = config["servers"]
    submit_s, service_s = sample(
        {**config, **dict.fromkeys(("gaps", "service"), "exponential")}, servers
    )
    result = served(submit_s, service_s, servers, patience_s=np.zeros(len(submit_s)))
    assert result.left is not None
    return Outcome({"lost": float(result.left[int(WARM_UP * len(submit_s)) :].mean())})


def run_waits(config: dict[str, Any]) -> Outcome:
    """M/G/1, first come first served: every wait (table ``waits``), and quantiles of the later ones.

    Scalars ``quantile_<q>_s``, the warm-up left out.
    """
    import pandas as pd

    submit_s, service_s = sample({**config, "gaps": "exponential"}, 1)
    wait_s = served(submit_s, service_s, 1).wait_s
    found = np.quantile(wait_s[int(WARM_UP * len(wait_s)) :], QUANTILES)
    scalars: dict[str, Scalar] = {
        f"quantile_{q:g}_s": float(t) for q, t in zip(QUANTILES, found, strict=True)
    }
    return Outcome(scalars, {"waits": pd.DataFrame({"wait_s": wait_s})})


# -- parts -----------------------------------------------------------------------------------


def sample(config: dict[str, Any], servers: int) -> tuple[FloatArray, FloatArray]:
    """Arrival and service times, s.

    Every setting has streams of its own, so that the points of a figure err independently; orders of
    service are compared on the same jobs.
    """
    setting = f"{config['gaps']} {config['service']} {servers} {config['load']:g}"
    streams = Streams(config["seed"])
    gaps = LAWS[config["gaps"]].sample(streams.generator(f"arrivals {setting}"), config["jobs"])
    service_s = LAWS[config["service"]].sample(
        streams.generator(f"service {setting}"), config["jobs"]
    )
    return np.cumsum(gaps) / (config["load"] * servers), service_s


def _mean_number(result: Result, first: int) -> float:
    """Time-average number in the system between the first counted arrival and the last."""
    submit_s, end_s = result.workload.submit_s, result.completion_s
    low, high = float(submit_s[first]), float(submit_s[-1])
    inside = np.clip(end_s, low, high) - np.clip(submit_s, low, high)
    return float(inside.sum() / (high - low))


def _number_at(result: Result, times_s: FloatArray) -> FloatArray:
    """Number of jobs in the system at some instants."""
    came = np.searchsorted(result.workload.submit_s, times_s, side="right")
    left = np.searchsorted(np.sort(result.completion_s), times_s, side="right")
    return np.asarray(came - left, dtype=np.float64)


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
