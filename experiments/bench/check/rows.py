"""Faults of single rows: names, nodes, times and amounts that no right schedule has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.bench.check.reading import UNKNOWN, HeldShares
from experiments.bench.check.verdict import AMOUNT, Fault, is_before, short, told
from simulator.model.cluster import Cluster
from simulator.model.fractional import shares_gpus
from simulator.model.performance import Sensitivity
from simulator.model.places import Places
from simulator.model.tolerances import PART_OF_A_GPU
from simulator.model.workload import Workload

RESOURCES = ("gpus", "cpus", "memory_gb")


def row_faults(shares: HeldShares, workload: Workload, cluster: Cluster) -> Iterator[Fault]:
    """Faults of rows; where there is one of names, the others are not looked for."""
    found = list(_of_names(shares, cluster))
    yield from found
    if not found:
        yield from _of_times(shares, workload)
        yield from _of_amounts(shares, workload, cluster)
        yield from _of_gpus(shares, workload, cluster)


def _line(shares: HeldShares, at: int, what: str) -> tuple[str, str]:
    return f"{shares.row} {shares.line[at]}", f"job {short(shares.name[at])}: {what}"


def _of_names(shares: HeldShares, cluster: Cluster) -> Iterator[Fault]:
    """Jobs, nodes and node types that the task does not have."""
    yield from told(
        shares.job == UNKNOWN, lambda at: _line(shares, at, "is none of the task's jobs")
    )
    most = cluster.num_nodes - 1
    yield from told(
        shares.node > most,
        lambda at: _line(shares, at, f"node {shares.node[at]}, expected 0 to {most}"),
    )
    if cluster.node_type_of is None:
        names = ", ".join(t.name for t in cluster.node_types)
        yield from told(
            shares.kind == UNKNOWN,
            lambda at: _line(
                shares, at, f"node type {short(shares.type_name[at])!r}, expected one of {names}"
            ),
        )
        return
    own = [t.name for t in cluster.type_of]
    wrong = [
        bool(name) and node <= most and name != own[node]
        for name, node in zip(shares.type_name, shares.node.tolist(), strict=True)
    ]
    yield from told(
        wrong,
        lambda at: _line(
            shares,
            at,
            f"node {shares.node[at]} is of type {short(shares.type_name[at])}, expected {own[shares.node[at]]}",
        ),
    )


def _of_times(shares: HeldShares, workload: Workload) -> Iterator[Fault]:
    submit_s = workload.submit_s[shares.job]
    yield from told(
        is_before(shares.start_s, submit_s),
        lambda at: _line(
            shares,
            at,
            f"starts at {shares.start_s[at]:.9g} s, is submitted at {submit_s[at]:.9g} s",
        ),
    )


def _of_amounts(shares: HeldShares, workload: Workload, cluster: Cluster) -> Iterator[Fault]:
    """More than the node has, on a type of GPU that will not do, or too little for a known speed."""
    for name in RESOURCES:
        held = getattr(shares, name)
        has = np.array([getattr(t, name) for t in cluster.node_types])[shares.kind]
        yield from told(
            held > has + AMOUNT,
            lambda at, name=name, held=held, has=has: _line(  # type: ignore[misc]
                shares, at, f"holds {held[at]:g} {name} of a node that has {has[at]:g}"
            ),
        )
    if any(workload.gpu_types):
        allowed = Places(workload, cluster).table()[shares.kind, shares.job]
        yield from told(
            ~allowed,
            lambda at: _line(
                shares,
                at,
                f"is on a node with {cluster.node_types[shares.kind[at]].gpu_type}, asks for "
                f"{workload.gpu_types[shares.job[at]]}",
            ),
        )
    if isinstance(workload.performance, Sensitivity):
        yield from _below_the_measured(shares, workload.performance)


def _below_the_measured(shares: HeldShares, speeds: Sensitivity) -> Iterator[Fault]:
    """Fewer CPUs or GB for a GPU than any that a speed was measured with: a model would go on with that speed."""
    pairs = np.column_stack([shares.job, shares.kind])
    unique, row_of = np.unique(pairs, axis=0, return_inverse=True)
    matrices = [speeds.matrix(int(job), int(kind)) for job, kind in unique]
    for name, grids in (
        ("cpus", [m.cpus[0] for m in matrices]),
        ("memory_gb", [m.memory_gb[0] for m in matrices]),
    ):
        held, least = getattr(shares, name), shares.gpus * np.array(grids)[row_of.ravel()]
        yield from told(
            held < least - AMOUNT,
            lambda at, name=name, held=held, least=least: _line(  # type: ignore[misc]
                shares, at, f"holds {held[at]:g} {name}, expected {least[at]:g} at least"
            ),
        )


def _of_gpus(shares: HeldShares, workload: Workload, cluster: Cluster) -> Iterator[Fault]:
    """Parts of GPUs where jobs share none, and GPUs that are not named, or wrongly."""
    is_whole = np.abs(shares.gpus - np.round(shares.gpus)) < PART_OF_A_GPU
    if not shares_gpus(workload):
        if not cluster.is_pool:
            yield from told(
                ~is_whole,
                lambda at: _line(
                    shares, at, f"holds {shares.gpus[at]:g} GPUs, expected a whole number"
                ),
            )
        return
    if is_whole.all() and not any(shares.gpu_ids):
        return  # which whole GPUs makes no difference where all are whole
    has = np.array([t.gpus for t in cluster.node_types])[shares.kind].tolist()
    # A part of a GPU is on one; a job of several has them whole.
    wanted = np.maximum(1, np.ceil(shares.gpus - PART_OF_A_GPU)).astype(np.int64).tolist()
    wrong = [
        len({*ids}) != count or len(ids) != count or max(ids) >= most
        for ids, count, most in zip(shares.gpu_ids, wanted, has, strict=True)
    ]
    yield from told(
        wrong,
        lambda at: _line(
            shares,
            at,
            f"gpu_ids is {' '.join(map(str, shares.gpu_ids[at])) or 'empty'}, expected {wanted[at]} "
            f"of the node's GPUs 0 to {has[at] - 1:g}",
        ),
    )
    several = (shares.gpus > 1) & ~is_whole
    yield from told(
        several, lambda at: _line(shares, at, f"holds {shares.gpus[at]:g} GPUs, several in parts")
    )
