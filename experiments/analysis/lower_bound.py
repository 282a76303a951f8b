"""All lower bounds of one instance, and what each takes: what `schedlab bound` prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload

SHARED_JOBS = 60
"""Beyond so many jobs the linear program of `shared` takes minutes, and is left out."""


def lower_bounds(
    workload: Workload,
    cluster: Cluster,
    intervals: int = 40,
    clairvoyant_steps: int = 0,
    begins: Callable[[str], object] = lambda name: None,
) -> dict[str, Any]:
    """Lower bounds on the total cost of any schedule, and a schedule as an upper bound.

    Parameters
    ----------
    intervals : of the bounds that look at intervals of time; more are tighter and slower.
    clairvoyant_steps : of the search for a schedule that knows all jobs beforehand; 0 for none.
    begins : called with the name of each bound, and of the search, before it is computed.

    Returns
    -------
    ``best``, and under ``bounds`` for each of ``alone``, ``shared`` and ``lagrangian`` its
    ``value`` and its ``cpu_s``; jobs, nodes and currency. With a search, under ``clairvoyant`` the cost
    of its schedule, that of foresight's run, from which it began, and which part of the distance from
    the best bound to foresight lies below and above the schedule.

    Raises
    ------
    InputError
        A rental pool, or a job that can run nowhere.
    """
    from experiments.analysis.bounds import alone, shared
    from experiments.analysis.lagrangian import lagrangian

    methods: dict[str, Callable[[], float]] = {
        "alone": lambda: float(alone(workload, cluster).sum()),
        "shared": lambda: shared(workload, cluster, intervals),
        "lagrangian": lambda: lagrangian(workload, cluster, intervals),
    }
    if len(workload) > SHARED_JOBS:
        del methods["shared"]
    if _costs_nothing(workload, cluster):
        methods = {"alone": lambda: 0.0}
    found = {}
    for name, method in methods.items():
        begins(name)
        begin = time.process_time()
        value = max(0.0, method())  # no cost is below 0; a bound near 0 may be, by rounding
        found[name] = {"value": value, "cpu_s": round(time.process_time() - begin, 3)}
    best = max(found, key=lambda name: found[name]["value"])
    answer = {
        "best": found[best]["value"],
        "by": best,
        "currency": cluster.currency,
        "jobs": len(workload),
        "nodes": cluster.num_nodes,
        "bounds": found,
    }
    if clairvoyant_steps:
        begins("clairvoyant")
        answer["clairvoyant"] = _upper_bound(
            workload, cluster, clairvoyant_steps, found[best]["value"]
        )
    return answer


def _costs_nothing(workload: Workload, cluster: Cluster) -> bool:
    """Whether every schedule has cost 0: no prices, and no job with a due date that weighs."""
    prices = [(t.price_per_hour, t.price_per_gpu_hour) for t in cluster.node_types]
    power = cluster.energy_price_per_kwh > 0 and any(t.power_w for t in cluster.node_types)
    late = np.isfinite(workload.due_s) & (workload.weight_per_s > 0)
    return not (np.any(prices) or power or late.any())


def _upper_bound(workload: Workload, cluster: Cluster, steps: int, bound: float) -> dict[str, Any]:
    """Result of the search for a schedule, and its place between the bound and foresight."""
    from experiments.analysis.clairvoyant import clairvoyant

    begin = time.process_time()
    plan = clairvoyant(workload, cluster, steps)
    distance = plan.begun_at - bound
    return {
        "value": plan.cost,
        "foresight": plan.begun_at,
        "over_bound": plan.cost / bound if bound > 0.0 else None,
        "part_below": (plan.cost - bound) / distance if distance > 0.0 else None,
        "part_above": (plan.begun_at - plan.cost) / distance if distance > 0.0 else None,
        "steps": steps,
        "cpu_s": round(time.process_time() - begin, 3),
    }


def read(scenario: Path | None, instance: Path | None) -> tuple[Workload, Cluster]:
    """Jobs and machines of a scenario file, or of a folder in one of the authors' formats.

    Raises
    ------
    InputError
        Both or none of the two, or one that cannot be read.
    """
    if (scenario is None) == (instance is None):
        raise InputError("bound: expected a scenario file or --instance FOLDER, one of the two")
    if instance is not None:
        from simulator.workloads.authors import read_instance

        found = read_instance(instance)
        return found.workload, found.cluster
    from experiments.scenario.build import build
    from experiments.scenario.schema import read_scenario

    assert scenario is not None
    return build(read_scenario(scenario))
