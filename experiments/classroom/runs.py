"""The runs behind the panels: one-GPU jobs with a mean duration of 1 h, in several queues."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.sweep.task import Outcome, Scalar, Task
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate
from simulator.laws import BoundedPareto, Deterministic, Exponential, HyperExponential, Law
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray
from simulator.statistics import Streams
from simulator.theory import response_run_length
from simulator.workloads.kinds import KINDS

if TYPE_CHECKING:
    from simulator import Result

HERE = "experiments.classroom.runs"
SOURCES = ("simulator", "policies")
WARM_UP = 0.25
"""Part of the jobs, from the start, that averages leave out."""

LOADS = (0.5, 0.7, 0.8, 0.9)
CV2 = (0.0, 1.0, 4.0, 16.0)
"""Squared coefficients of variation: deterministic, exponential, hyperexponential twice."""

SERVERS = (1, 2, 4, 8, 16)
GAPS_CV2 = (0.0, 1.0, 4.0)
ORDERS = ("first come", "processor sharing", "shortest remaining", "priority")
ORDER_POLICY = {
    "first come": ("fifo-strict", False),
    "processor sharing": ("processor-sharing", False),
    "shortest remaining": ("srpt", False),
    "priority": ("priority", True),
}
"""The policy of an order, and whether it is asked to preempt."""
ORDER_LOADS = (0.5, 0.7, 0.8)
PARETO = BoundedPareto.with_mean(1.0, 1.5, 100.0)
"""Heavy-tailed sizes, h: the longest job is a hundred times the shortest."""

SIZE_EDGES = (0.0, 0.5, 0.7, 1.0, 1.5, 3.0, 6.0, 400.0)
"""Sizes, h, between which slowdowns are averaged."""

CONTROLLERS = (5, 10, 20, 40, 60, 80, 100)
DECISION_S = 40.0
GAP_S = 4500.0
"""The hierarchical paper: 20 controllers ask together twice in 450 s."""

FILMS = ("packing", *(("one", "four") if "synergy" in KINDS else ()))
JOBS = {"quick": 3000, "paper": 20_000}
"""Jobs of a run at least."""

RELAXATIONS = {"quick": 30, "paper": 100}
"""Least number of times that a run forgets its state, a quarter of it in the warm-up."""

SEEDS = {"quick": tuple(range(1, 6)), "paper": tuple(range(1, 11))}


def tasks(scale: str) -> list[Task]:
    """Every run of the panels."""
    queues: list[dict[str, Any]] = [
        *({"panel": "variability", "servers": 1, "load": u, "gaps": 1.0, "service": v}
          for u in LOADS for v in CV2),
        *({"panel": "servers", "servers": c, "load": u, "gaps": 1.0, "service": 1.0}
          for u in LOADS for c in SERVERS),
        *({"panel": "general", "servers": 1, "load": u, "gaps": a, "service": v}
          for u in (0.7, 0.9) for a in GAPS_CV2 for v in (0.0, 1.0, 4.0)),
    ]  # fmt: skip
    made = []
    for seed in SEEDS[scale]:
        made += [_task("run_queue", scale, seed, config) for config in queues]
        made += [
            _task("run_order", scale, seed, {"order": order, "load": u})
            for order in ORDERS
            for u in ORDER_LOADS
        ]
        made += [
            _task("run_server", scale, seed, {"controllers": k, "service": v})
            for k in CONTROLLERS
            for v in (0.0, 1.0)
        ]
    films = [
        Task(f"{HERE}:run_film", {"film": film}, cost_s=20.0, sources=SOURCES) for film in FILMS
    ]
    return [*films, *made]


def _task(function: str, scale: str, seed: int, config: dict[str, Any]) -> Task:
    labels: dict[str, Scalar] = {**config, "seed": seed}
    jobs = max(JOBS[scale], math.ceil(RELAXATIONS[scale] * _relaxation_jobs(config)))
    run = {k: v for k, v in labels.items() if k != "panel"} | {"jobs": jobs}
    cost_s = (3e-4 if function == "run_order" else 3e-5) * jobs
    return Task(f"{HERE}:{function}", run, labels=labels, cost_s=cost_s, sources=SOURCES)


def _relaxation_jobs(config: dict[str, Any]) -> float:
    """Arrivals in which the queue of a run forgets its state."""
    service = PARETO if "order" in config else law(config["service"])
    servers = config.get("servers", 1)
    load = config["load"] if "load" in config else config["controllers"] * DECISION_S / GAP_S
    gaps = config.get("gaps", 1.0)
    return response_run_length(
        load * servers, service, servers, gaps, first_come=False
    ).relaxation_jobs


def law(cv2: float, mean: float = 1.0) -> Law:
    """The law that the page has in the same place."""
    if cv2 == 0:
        return Deterministic(mean)
    return Exponential(mean) if cv2 == 1 else HyperExponential.with_cv2(mean, cv2)


# -- task functions ------------------------------------------------------------------------------


def run_queue(config: dict[str, Any]) -> Outcome:
    """G/G/c, first come first served: mean and 95th percentile of the wait, h."""
    streams = Streams(config["seed"])
    count, servers = config["jobs"], config["servers"]
    setting = f"{config['gaps']} {config['service']} {servers} {config['load']}"
    gaps = law(config["gaps"]).sample(streams.generator(f"arrivals {setting}"), count)
    service = law(config["service"]).sample(streams.generator(f"service {setting}"), count)
    submit = np.cumsum(gaps) / (config["load"] * servers)
    wait = served(submit * HOUR_S, service * HOUR_S, servers).wait_s / HOUR_S
    late = wait[int(WARM_UP * count) :]
    return Outcome({"mean_wait": float(late.mean()), "p95_wait": float(np.quantile(late, 0.95))})


def run_order(config: dict[str, Any]) -> Outcome:
    """M/G/1 with heavy tails in one order: mean response, h, and slowdown by size.

    Half the jobs, drawn by chance, are urgent; only ``priority`` looks at that.
    """
    streams, count = Streams(config["seed"]), config["jobs"]
    submit = np.cumsum(streams.generator("arrivals").exponential(1.0, count)) / config["load"]
    size = PARETO.sample(streams.generator("service"), count)
    urgent = streams.generator("classes").random(count) < 0.5
    name, preemptive = ORDER_POLICY[config["order"]]
    result = served(
        submit * HOUR_S, size * HOUR_S, 1, name, preemptive, weight_per_s=np.where(urgent, 2.0, 1.0)
    )
    first = int(WARM_UP * count)
    response, size, urgent = result.jct_s[first:] / HOUR_S, size[first:], urgent[first:]
    slowdown = response / size
    scalars: dict[str, Scalar] = {
        "mean_response": float(response.mean()),
        "urgent_response": float(response[urgent].mean()),
        "normal_response": float(response[~urgent].mean()),
    }
    for k, (low, high) in enumerate(itertools.pairwise(SIZE_EDGES)):
        inside = (size >= low) & (size < high)
        if inside.any():
            scalars[f"slowdown_{k}"] = float(slowdown[inside].mean())
            scalars[f"size_{k}"] = float(size[inside].mean())
    return Outcome(scalars)


def run_server(config: dict[str, Any]) -> Outcome:
    """One optimization server: mean time from request to decision, s."""
    streams, count = Streams(config["seed"]), config["jobs"]
    setting = f"{config['controllers']} {config['service']}"
    gaps = streams.generator(f"arrivals {setting}").exponential(1.0, count)
    submit_s = np.cumsum(gaps) * GAP_S / config["controllers"]
    service_s = law(config["service"], DECISION_S).sample(
        streams.generator(f"service {setting}"), count
    )
    result = served(submit_s, service_s, 1)
    return Outcome({"mean_response": float(result.jct_s[int(WARM_UP * count) :].mean())})


def run_film(config: dict[str, Any]) -> Outcome:
    """Runs to be played in the page: their events, as JSON."""
    from experiments.classroom import films

    return Outcome({"events": json.dumps(films.FILMS[config["film"]](), separators=(",", ":"))})


def served(
    submit_s: FloatArray,
    service_s: FloatArray,
    servers: int,
    policy: str = "fifo-strict",
    preemptive: bool = False,
    **columns: Any,
) -> Result:
    """Jobs of one GPU on one node of ``servers`` GPUs.

    Parameters
    ----------
    preemptive : of the policy ``priority``.
    columns : of the workload.
    """
    ones = np.ones(len(submit_s), dtype=np.int64)
    times = FixedDuration(service_s, ones, time_shared=True)
    workload = Workload([str(j) for j in range(len(ones))], submit_s, times, **columns)
    cluster = Cluster.of_nodes(NodeType("servers", "GPU", servers), 1)
    made = make_policy(policy, **({"preemptive": True} if preemptive else {}))
    return simulate(workload, cluster, made, record_schedule=False)
