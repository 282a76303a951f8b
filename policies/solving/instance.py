"""One decision as arrays: which jobs want to run, what each configuration takes and costs.

The objective is (P1a) of the hierarchical paper: weighted tardiness of the jobs that run,
worst-case tardiness of those that wait, a penalty for idle GPUs, and on each node the lease until
its first job ends. `DecisionInput` prepares its coefficients, `cost` evaluates it for any assignment.

A `Formulation` is an instance as a model, with the way back from its solution to jobs on nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from policies.solving.model import BoolArray, FloatArray, Model
from simulator.arguments import nonnegative, whole
from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR

IntArray = npt.NDArray[np.int64]


class JobOnNode(NamedTuple):
    """A job on a node: indices of both, type that the node has, GPUs that the job gets."""

    job: int
    node: int
    node_type: int
    gpus: int


@dataclass(frozen=True, eq=False)
class DecisionInput:
    """Input of one decision of one controller.

    Attributes
    ----------
    times_s : ``(J, V, G + 1)`` residual execution times t[j, v, g], s; infinite where impossible.
        They need not fall with g. Entries at g = 0 and beyond the node's GPUs are ignored.
    due_s : ``(J,)`` due dates from now, s; negative when overdue, infinite when there is none.
    weight_per_s : ``(J,)`` cost of a second of tardiness.
    price_per_hour : ``(V,)`` of an open node, or ``(V, G + 1)`` by the GPUs of the job that pays
        for it (energy, ANDREAS).
    gpus : ``(V,)`` GPUs of a node of each type.
    num_nodes : N, nodes that can be used.
    nodes_of_type : ``(V,)`` how many nodes of each type exist, with sum N; None where every node
        can be of any type.
    rho : factor on the worst-case tardiness of a postponed job.
    mu : cost of an idle GPU on a node in use.
    horizon_s : H, how long a postponed job waits at the most before the next decision, s.
    open_nodes : how many nodes run something, instead of min(N, J) of (P1n); None as printed.

    Raises InputError: shapes that do not fit, or values out of range; one line.
    """

    times_s: FloatArray
    due_s: FloatArray
    weight_per_s: FloatArray
    price_per_hour: FloatArray
    gpus: IntArray
    num_nodes: int
    nodes_of_type: IntArray | None = None
    rho: float = 100.0
    mu: float = 1.0
    horizon_s: float = 3600.0
    open_nodes: int | None = None

    def __post_init__(self) -> None:
        times = np.array(self.times_s, dtype=np.float64)
        gpus = np.asarray(self.gpus, dtype=np.int64)
        if times.ndim != 3:
            raise InputError(f"milp: times_s has {times.ndim} axes, expected job, type, GPUs")
        jobs, types, width = times.shape
        if gpus.shape != (types,) or np.any(gpus < 1) or np.any(gpus >= width):
            raise InputError(
                f"milp: gpus is {gpus.tolist()}, expected {types} numbers from 1 to {width - 1}"
            )
        count = np.arange(width)
        times[:, (count == 0) | (count > gpus[:, None])] = np.inf
        price = np.asarray(self.price_per_hour, dtype=np.float64)
        if price.shape == (types,):
            price = np.repeat(price[:, None], width, axis=1)
        object.__setattr__(self, "times_s", times)
        object.__setattr__(self, "gpus", gpus)
        object.__setattr__(self, "price_per_hour", price)
        for name in ("due_s", "weight_per_s"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        self._check(jobs, types, width)

    def _check(self, jobs: int, types: int, width: int) -> None:
        """Shapes and ranges."""
        priced = (np.arange(width) >= 1) & (np.arange(width) <= self.gpus[:, None])
        for name, good, expected in (
            ("times_s", self.times_s >= 0, "seconds >= 0, infinite where impossible"),
            ("due_s", self.due_s > -np.inf, "seconds from now, infinite where there is none"),
            ("weight_per_s", np.isfinite(self.weight_per_s) & (self.weight_per_s >= 0), ">= 0"),
        ):
            value = getattr(self, name)
            if value.shape[0] != jobs or (name != "times_s" and value.ndim != 1):
                raise InputError(f"milp: {name} has shape {value.shape}, expected ({jobs},)")
            if not good.all():
                bad = tuple(int(i) for i in np.argwhere(~good)[0])
                raise InputError(
                    f"milp: job {bad[0]}: {name} is {float(value[bad])}, expected {expected}"
                )
        price = self.price_per_hour
        if price.shape != (types, width):
            raise InputError(f"milp: price_per_hour has shape {price.shape}, expected ({types},)")
        if not (np.isfinite(price) & (price >= 0))[priced].all():
            raise InputError("milp: price_per_hour holds a value that is not a number >= 0")
        nonnegative("milp", rho=self.rho, mu=self.mu, horizon_s=self.horizon_s)
        whole(1, "milp", num_nodes=self.num_nodes)
        if self.open_nodes is not None and not 0 <= self.open_nodes <= self.num_nodes:
            raise InputError(
                f"milp: open_nodes is {self.open_nodes}, expected 0 to {self.num_nodes}"
            )
        self._check_nodes(types)

    def _check_nodes(self, types: int) -> None:
        if self.nodes_of_type is None:
            return
        nodes = np.asarray(self.nodes_of_type, dtype=np.int64)
        if nodes.shape != (types,) or np.any(nodes < 0) or nodes.sum() != self.num_nodes:
            raise InputError(
                f"milp: nodes_of_type is {nodes.tolist()}, expected {types} numbers >= 0 "
                f"that add up to {self.num_nodes}"
            )
        object.__setattr__(self, "nodes_of_type", nodes)

    @property
    def num_jobs(self) -> int:
        """J."""
        return len(self.due_s)

    @cached_property
    def possible(self) -> BoolArray:
        """``(J, V, G + 1)`` where a job can run."""
        possible = np.isfinite(self.times_s)
        if self.nodes_of_type is not None:
            possible &= (self.nodes_of_type > 0)[:, None]
        return possible

    @cached_property
    def max_time_s(self) -> FloatArray:
        """``(J,)`` M_j, the longest residual time; 0 of a job that can run nowhere."""
        longest: FloatArray = np.where(self.possible, self.times_s, 0.0).max(axis=(1, 2))
        return longest

    @cached_property
    def tardiness_cost(self) -> FloatArray:
        """``(J, V, G + 1)`` q, cost of the tardiness of a job that runs; infinite: it cannot."""
        times = np.where(self.possible, self.times_s, 0.0)
        late = np.maximum(times - self.due_s[:, None, None], 0.0)
        return np.where(self.possible, self.weight_per_s[:, None, None] * late, np.inf)

    @cached_property
    def lease_cost(self) -> FloatArray:
        """``(J, V, G + 1)`` c t, lease of the node until the job ends; infinite: it cannot run."""
        times = np.where(self.possible, self.times_s, 0.0)
        priced = (np.arange(times.shape[2]) >= 1) & (
            np.arange(times.shape[2]) <= self.gpus[:, None]
        )
        rate = np.where(priced, self.price_per_hour, 0.0) / SECONDS_PER_HOUR
        return np.where(self.possible, times * rate, np.inf)

    @cached_property
    def worst_tardiness_s(self) -> FloatArray:
        """``(J,)`` (H + M_j - d_j)^+, tardiness of a job that waits for H and then runs slowest."""
        return np.maximum(self.horizon_s + self.max_time_s - self.due_s, 0.0)

    @cached_property
    def postponed_cost(self) -> FloatArray:
        """``(J,)`` Q, cost of a job that waits: it is late already, and may become very late."""
        overdue = np.maximum(-self.due_s, 0.0)
        cost: FloatArray = self.weight_per_s * (overdue + self.rho * self.worst_tardiness_s)
        return cost

    @cached_property
    def constant(self) -> float:
        """Part of the objective that no decision changes: each job's best case, summed."""
        if not self.num_jobs:
            return 0.0
        best = np.minimum(self.postponed_cost, self.tardiness_cost.min(axis=(1, 2)))
        return float(best.sum())

    @cached_property
    def nodes_in_use(self) -> int:
        """Nodes that must run something: min(N, J) of (P1n), counting only jobs that can run.

        With fixed nodes it is the most nodes that can each get a job of their own.
        """
        if self.open_nodes is not None:
            return self.open_nodes
        fits: BoolArray = np.any(self.possible, axis=2)
        if self.nodes_of_type is None or fits.all():
            return min(self.num_nodes, int(np.any(fits, axis=1).sum()))
        return _most_nodes(fits, self.nodes_of_type)


def _most_nodes(fits: BoolArray, nodes_of_type: IntArray) -> int:
    """Largest number of nodes that get a job each: a flow from jobs to types to nodes."""
    jobs, types = fits.shape
    source, sink = 0, 1 + jobs + types
    j, v = np.nonzero(fits)
    tail = np.concatenate([np.zeros(jobs, dtype=np.int64), 1 + j, 1 + jobs + np.arange(types)])
    head = np.concatenate([1 + np.arange(jobs), 1 + jobs + v, np.full(types, sink)])
    capacity = np.concatenate([np.ones(jobs + len(j)), nodes_of_type]).astype(np.int32)
    ends = tail.astype(np.int32), head.astype(np.int32)  # older versions of SciPy take no other
    graph = scipy.sparse.csr_array((capacity, ends), shape=(sink + 1, sink + 1))
    return int(scipy.sparse.csgraph.maximum_flow(graph, source, sink).flow_value)


def cost(instance: DecisionInput, assignments: Sequence[JobOnNode]) -> float:
    """(P1a) of an assignment: tardiness, postponement, idle GPUs, leases to the first finish."""
    run = np.array([a.job for a in assignments], dtype=np.int64)
    waits = np.ones(instance.num_jobs, dtype=bool)
    waits[run] = False
    total = float(instance.postponed_cost[waits].sum())
    for node in by_node(assignments):
        v = node[0].node_type
        total += sum(float(instance.tardiness_cost[a.job, v, a.gpus]) for a in node)
        total += min(float(instance.lease_cost[a.job, v, a.gpus]) for a in node)
        total += instance.mu * (int(instance.gpus[v]) - sum(a.gpus for a in node))
    return total


def by_node(assignments: Iterable[JobOnNode]) -> list[list[JobOnNode]]:
    """The assignments of each node in use, by node."""
    nodes: dict[int, list[JobOnNode]] = {}
    for a in sorted(assignments, key=lambda a: (a.node, a.job)):
        nodes.setdefault(a.node, []).append(a)
    return list(nodes.values())


def check_assignments(instance: DecisionInput, assignments: Sequence[JobOnNode]) -> None:
    """`ValueError` unless the assignment can be carried out: a check for tests and for decoders."""
    jobs = [a.job for a in assignments]
    if len(set(jobs)) < len(jobs):
        raise ValueError("a job is assigned twice")
    used = np.zeros(len(instance.gpus), dtype=np.int64)
    for node in by_node(assignments):
        v = node[0].node_type
        if any(a.node_type != v for a in node) or not 0 <= node[0].node < instance.num_nodes:
            raise ValueError(f"node {node[0].node} does not exist or has two types")
        if any(not instance.possible[a.job, v, a.gpus] for a in node):
            raise ValueError(f"a job cannot run on node {node[0].node}")
        if sum(a.gpus for a in node) > instance.gpus[v]:
            raise ValueError(f"node {node[0].node} is over its GPUs")
        used[v] += 1
    if instance.nodes_of_type is not None and np.any(used > instance.nodes_of_type):
        raise ValueError("more nodes of a type than exist")


@dataclass(frozen=True, eq=False)
class Formulation:
    """One instance as a model.

    Attributes
    ----------
    model : the arrays.
    decode : columns of a solution -> assignments. Where the instance fixes the types of nodes,
        they are numbered type by type.
    encode : assignments -> columns, NaN where the solver is to complete them (a MIP start).
    evaluate : the formulation's objective of any assignment, computed without the model.
    """

    model: Model
    decode: Callable[[FloatArray], list[JobOnNode]]
    encode: Callable[[Sequence[JobOnNode]], FloatArray]
    evaluate: Callable[[Sequence[JobOnNode]], float]
