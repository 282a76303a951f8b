"""Faults of jobs: not served, on other GPUs, nodes or CPUs than they ask for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.bench.check.changes import NONE, HeldChanges, levels
from experiments.bench.check.stretches import Stretches
from experiments.bench.check.verdict import AMOUNT, Fault, short, told
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.fractional import shares_gpus
from simulator.model.performance import TimeTable
from simulator.model.workload import ELASTIC, Workload


def demand_faults(
    changes: HeldChanges,
    stretches: Stretches,
    rates: FloatArray,
    workload: Workload,
    cluster: Cluster,
) -> Iterator[Fault]:
    """Jobs without a row, and what jobs hold at a time that they cannot run on.

    Parameters
    ----------
    rates : 0 where a job cannot run on what it holds in a stretch.
    """

    def job_of(at: int) -> str:
        return f"job {short(workload.job_id[stretches.job[at]])}"

    served = np.isin(np.arange(len(workload)), stretches.job)
    yield from told(
        ~served, lambda job: (f"job {short(workload.job_id[job])}", "is not in the schedule")
    )
    job, from_s = stretches.job, stretches.start_s
    asks = workload.num_gpus[job]
    yield from told(
        rates == 0,
        lambda at: (
            job_of(at),
            f"holds {stretches.gpus[at]:g} GPUs from {from_s[at]:.9g} s, asks for "
            f"{'what it can run on' if asks[at] == ELASTIC else asks[at]}",
        ),
        job,
    )
    nodes = _nodes_asked(workload)[job]
    yield from told(
        (nodes > 0) & (stretches.nodes != nodes),
        lambda at: (
            job_of(at),
            f"is on {stretches.nodes[at]} nodes from {from_s[at]:.9g} s, expected {nodes[at]}",
        ),
        job,
    )
    yield from told(
        workload.one_rack[job] & (stretches.racks > 1),
        lambda at: (
            job_of(at),
            f"is in {stretches.racks[at]} racks from {from_s[at]:.9g} s, expected one",
        ),
        job,
    )
    for name, asked in (("cpus", workload.num_cpus[job]), ("memory_gb", workload.memory_gb[job])):
        held = getattr(stretches, name)
        yield from told(
            (held < asked - AMOUNT) & (name in cluster.limited_resources),
            lambda at, name=name, held=held, asked=asked: (  # type: ignore[misc]
                job_of(at),
                f"from {from_s[at]:.9g} s holds {held[at]:g} {name}, asks for {asked[at]:g}",
            ),
            job,
        )
    yield from _unequal(changes, workload)


def _nodes_asked(workload: Workload) -> np.ndarray:
    """``(J,)`` nodes that each job lies on; 0: any number.

    A table of times is one of the GPUs of one node, and who has a part of a GPU has it on one.
    """
    on_one = shares_gpus(workload) or (
        isinstance(workload.performance, TimeTable) and workload.is_elastic
    )
    return np.maximum(workload.num_nodes, int(on_one))


def _unequal(changes: HeldChanges, workload: Workload) -> Iterator[Fault]:
    """Jobs that ask for a number of nodes, and do not have as many GPUs on each."""
    if not workload.num_nodes.any():
        return
    (job, node), at_s, held = levels([changes.job, changes.node], changes.at_s, changes.gpus)
    nodes = workload.num_nodes[job]
    each = workload.num_gpus[job] / np.maximum(nodes, 1)
    yield from told(
        (nodes > 0) & (held[:, 0] > NONE) & (np.abs(held[:, 0] - each) > AMOUNT),
        lambda at: (
            f"job {short(workload.job_id[job[at]])}",
            f"holds {held[at, 0]:g} GPUs of node {node[at]} from {at_s[at]:.9g} s, expected {each[at]:g}",
        ),
        job,
    )
