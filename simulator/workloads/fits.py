"""Feasibility of a workload on a cluster: reported before the simulation, not after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.errors import InputError
from simulator.model.cluster import Cluster, FloatArray, IntArray, NodeType
from simulator.model.performance import FixedDuration, TimeTable
from simulator.model.places import BETWEEN, Places, group_of, types_of
from simulator.model.tolerances import CAPACITY
from simulator.model.workload import ELASTIC, Workload
from simulator.workloads.gpu_types import known_gpu_type

BoolArray = npt.NDArray[np.bool_]

BLOCK = 10_000
"""Jobs whose tables of times are looked at together, so that a million of them need no more room."""


def check_fits(workload: Workload, cluster: Cluster) -> None:
    """Check that every job can run on the empty cluster.

    A job of fixed demand may lie on several nodes, its CPUs and memory in proportion to its GPUs on
    each; it must fit on the nodes of any one controller, since any may get it. A job whose GPUs the
    policy chooses needs one finite execution time.

    Raises InputError: one line with the first job that does not fit.
    """
    fixed = workload.num_gpus != ELASTIC
    for fault in _faults(workload, cluster) if fixed.any() else ():
        if fault.bad.any():
            first, count = int(np.argmax(fault.bad)), int(fault.bad.sum())
            more = f"; {count} jobs are so" if count > 1 else ""
            value = f"{fault.value[first]:g}"
            raise InputError(f"job {workload.job_id[first]!r}: {fault.problem % value}{more}")
    if fixed.all():
        return
    stuck = _without_time(workload, cluster)
    if stuck.any():
        job = workload.job_id[int(np.argmax(stuck))]
        raise InputError(f"job {job!r}: no node type can run it, expected one finite time")


def _without_time(workload: Workload, cluster: Cluster) -> BoolArray:
    """``(J,)`` jobs whose GPUs the policy chooses and that no node type can run."""
    if isinstance(workload.performance, TimeTable):
        _check_shape(workload.performance, cluster)
    stuck = np.zeros(len(workload), dtype=np.bool_)
    elastic = np.flatnonzero(workload.num_gpus == ELASTIC).astype(np.int64)
    for first in range(0, len(elastic), BLOCK):
        jobs = elastic[first : first + BLOCK]
        table = workload.performance.table_s(jobs, cluster)
        stuck[jobs] = ~np.isfinite(table).reshape(len(jobs), -1).any(axis=1)
    return stuck


def sized(workload: Workload, cluster: Cluster, rule: Literal["leave-out", "clip"]) -> Workload:
    """The jobs that fit on the empty cluster, with a note on the others.

    Parameters
    ----------
    rule : the others are left out; or those of fixed demand get the GPUs that a controller has, CPUs and memory in proportion, and
        where these do not fit the part of a node's that goes with its GPUs. Their durations stay.

    Raises InputError: no job fits.
    """
    performance = workload.performance
    bad = _larger(workload, cluster)
    if rule == "leave-out":
        bad |= _without_time(workload, cluster)
    if not bad.any():
        return workload
    if rule == "leave-out":
        if bad.all():
            raise InputError(
                f"none of the {len(bad)} jobs fits on the machines, expected one at least"
            )
        workload = replace(workload, **workload.rows(np.flatnonzero(~bad)))
        return workload.noted(f"workload: {bad.sum()} jobs do not fit on the machines, left out")
    if not isinstance(performance, FixedDuration):
        return workload
    of_type = np.array([[float(t.gpus)] for t in cluster.node_types])
    gpus = np.minimum(workload.num_gpus, int(_least_of_a_controller(of_type, cluster)[0]))
    part = gpus / workload.num_gpus
    workload = replace(
        workload, performance=replace(performance, num_gpus=gpus),
        num_cpus=workload.num_cpus * part, memory_gb=workload.memory_gb * part,
        num_nodes=np.where(part < 1, 0, workload.num_nodes),
    )  # fmt: skip
    still = _larger(workload, cluster)
    stated: dict[str, Any] = {
        name: np.where(still, np.nan, getattr(workload, name)) for name in ("num_cpus", "memory_gb")
    }
    stated["num_nodes"] = np.where(still, 0, workload.num_nodes)
    stated["one_rack"] = workload.one_rack & ~still
    note = f"workload: {bad.sum()} jobs do not fit on the machines; their demand is reduced to what these have"
    return replace(workload, **stated).noted(note)


def with_known_types(workload: Workload, cluster: Cluster) -> Workload:
    """The jobs without the types of GPU that they ask for where these leave no choice: one type, or none of theirs.

    Types are spelt as the machines spell them: "nvidia_a100" is "A100". A note counts jobs that get GPUs of another type.
    """
    if not any(workload.gpu_types):
        return workload
    types = {node_type.gpu_type.lower() for node_type in cluster.node_types}
    have = types | {group_of(node_type) for node_type in cluster.node_types}
    spelt = {
        text: frozenset().union(*(_of_type(name, have) for name in types_of(text)))
        for text in {*workload.gpu_types}
    }
    other = [bool(text) and not spelt[text] & have for text in workload.gpu_types]
    as_here = {t: t if spelt[t] == types_of(t) else BETWEEN.join(sorted(spelt[t])) for t in spelt}
    texts = [
        "" if is_other or (len(types) == 1 and "@" not in text) else as_here[text]
        for text, is_other in zip(workload.gpu_types, other, strict=True)
    ]
    # Of jobs with a duration on the type that they ask for, the rate on other GPUs is told elsewhere.
    taken_on = zip(workload.gpu_types, workload.gpu_type, other, strict=True)
    count = sum(is_other and asked != known for asked, known, is_other in taken_on)
    note = f"workload: {count} jobs ask for a type of GPU that no node has; here they may run on any type"
    workload = replace(workload, gpu_types=texts)
    return workload.noted(note) if count else workload


def _of_type(name: str, have: Collection[str]) -> frozenset[str]:
    """The machines' types that a type is by any of its spellings; itself where it is none of them."""
    if name in have or not (known := known_gpu_type(name)):
        return frozenset({name})
    return frozenset(each for each in have if known_gpu_type(each) == known) or frozenset({name})


def _larger(workload: Workload, cluster: Cluster) -> BoolArray:
    return np.asarray(np.any([fault.bad for fault in _faults(workload, cluster)], axis=0))


class _Fault(NamedTuple):
    """Jobs that do not fit, their value and what is wrong with it, ``%s`` in its place."""

    bad: BoolArray
    value: FloatArray
    problem: str


def _faults(workload: Workload, cluster: Cluster) -> Iterator[_Fault]:
    """No job wants more than the nodes of a controller have together, or can hold of it."""
    of = "" if cluster.num_controllers == 1 else " of a controller"
    nodes = f"{cluster.num_nodes // cluster.num_controllers} nodes{of}"
    demands = {
        "num_gpus": (workload.num_gpus.astype(np.float64), "gpus"),
        "num_cpus": (workload.num_cpus, "cpus"),
        "memory_gb": (workload.memory_gb, "memory_gb"),
    }
    for name, (demand, attribute) in demands.items():
        of_type = np.array([[float(getattr(t, attribute))] for t in cluster.node_types])
        capacity = float(_least_of_a_controller(of_type, cluster)[0])
        yield _Fault(
            demand > capacity,
            demand,
            f"{name} is %s, expected at most {capacity:g}, what the {nodes} have together",
        )
    gpus = demands["num_gpus"][0]
    held = np.array([_gpus_held(demands.values(), gpus, t) for t in cluster.node_types])
    if workload.has_places:
        places = Places(workload, cluster)
        held, wanted = np.where(places.table(), held, 0), workload.num_nodes
        on_one = np.floor(held * np.maximum(wanted, 1) + CAPACITY) >= gpus
        least = np.where(
            wanted > 0, _least(on_one.astype(np.float64), workload, cluster) - wanted,
            _least(held, workload, cluster) - gpus,
        )  # fmt: skip
        yield _Fault(
            least < 0,
            gpus,
            f"%s GPUs do not fit on the nodes, the rack and the types of GPU that it asks for, of {nodes}",
        )
    yield _Fault(
        _least_of_a_controller(held, cluster) < gpus,
        gpus,
        f"%s GPUs with its num_cpus and memory_gb do not fit on the {nodes}, expected less of them "
        "for each GPU",
    )


def _gpus_held(
    demands: Iterable[tuple[FloatArray, str]], gpus: FloatArray, spec: NodeType
) -> FloatArray:
    """``(J,)`` GPUs of each job that an empty node of the type holds, the rest in proportion."""
    held = np.full(len(gpus), np.inf)
    for demand, attribute in demands:
        per_gpu = np.divide(demand, gpus, out=np.zeros_like(gpus), where=gpus > 0)
        room = np.full(len(gpus), np.inf)
        np.divide(getattr(spec, attribute), per_gpu, out=room, where=per_gpu > 0)
        held = np.minimum(held, np.floor(room * (1 + CAPACITY)))
    return held


def _least(of_type: FloatArray, workload: Workload, cluster: Cluster) -> FloatArray:
    """``(J,)`` as `_least_of_a_controller` of ``(V, J)``, in one rack for the jobs that ask for one."""
    of_one_rack = cluster.nodes_per_rack is not None and workload.one_rack.any()
    anywhere = _least_of_a_controller(of_type, cluster)
    if not of_one_rack:
        return anywhere
    in_rack = _least_of_a_controller(of_type, cluster, cluster.rack_of)
    return np.where(workload.one_rack, in_rack, anywhere)


def _least_of_a_controller(
    of_type: FloatArray, cluster: Cluster, rack_of: IntArray | None = None
) -> FloatArray:
    """``(n,)`` sums over the nodes of the controller that has least, of ``(V, n)`` per type.

    Parameters
    ----------
    rack_of : by node; sums are over the nodes of the rack where the controller has most. None: all nodes.
    """
    if cluster.node_type_of is None:
        return np.asarray(cluster.num_nodes // cluster.num_controllers * of_type.max(axis=0))
    types, nodes = np.array(cluster.node_type_of), np.arange(cluster.num_nodes)
    owner, rack = nodes % cluster.num_controllers, 0 * nodes if rack_of is None else rack_of
    parts, part_of = np.unique(owner * len(nodes) + rack, return_inverse=True)
    numbers = np.zeros((len(parts), len(of_type)), np.int64)
    np.add.at(numbers, (part_of, types), 1)
    kinds: dict[int, set[tuple[int, ...]]] = {}
    for part, counts in zip(parts.tolist(), numbers.tolist(), strict=True):
        kinds.setdefault(part // len(nodes), set()).add(tuple(counts))

    def total(counts: tuple[int, ...]) -> FloatArray:
        held = [count * of_type[v] for v, count in enumerate(counts) if count]
        return np.asarray(np.sum(held, axis=0))

    most = [np.max([*map(total, each)], axis=0) for each in {*map(frozenset, kinds.values())}]
    return np.asarray(np.min(most, axis=0))


def _check_shape(performance: TimeTable, cluster: Cluster) -> None:
    expected = (len(cluster.node_types), cluster.max_gpus_per_node + 1)
    if performance.times_s.shape[1:] != expected:
        types, gpus = performance.times_s.shape[1:]
        raise InputError(
            f"times for {types} node types of up to {gpus - 1} GPUs, expected "
            f"{expected[0]} and {expected[1] - 1} as the cluster has them"
        )
