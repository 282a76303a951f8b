"""(P2) of the hierarchical paper as printed, for checking and for its sizes and times.

Readings: x carries the index g; d_j, t and M_j are residual, relative to now. As printed, (P1i)
would charge an executed job that is overdue with worst-case tardiness; the prose says what is
meant, tau_hat_j = (H + M_j - d_j)^+ (1 - sum_n z_jn). Configurations that do not exist have no
column. With fixed nodes y_nv is fixed, and leases depend on the job's GPUs (ANDREAS, (4k)).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policies.solving.instance import DecisionInput, Formulation, IntArray, JobOnNode, cost
from policies.solving.model import Builder, FloatArray


@dataclass(frozen=True, eq=False)
class Columns:
    """Indices of the common columns of a node-indexed model.

    Attributes
    ----------
    job, node_type, gpus : ``(C,)`` the configurations that exist.
    w, y, z, x : ``(N,)``, ``(N, V)``, ``(N, J)``, ``(N, C)``.
    """

    job: IntArray
    node_type: IntArray
    gpus: IntArray
    w: IntArray
    y: IntArray
    z: IntArray
    x: IntArray

    def decode(self, x: FloatArray) -> list[JobOnNode]:
        """Jobs on nodes."""
        node, c = np.nonzero(x[self.x] > 0.5)
        rows = zip(self.job[c], node, self.node_type[c], self.gpus[c], strict=True)
        return [JobOnNode(*(int(value) for value in row)) for row in rows]

    def encode(self, columns: int, assignments: Sequence[JobOnNode]) -> FloatArray:
        """The binary columns; the others are left to the solver."""
        start = np.full(columns, np.nan)
        for index in (self.w, self.y, self.z, self.x):
            start[index] = 0.0
        which = {
            key: c
            for c, key in enumerate(
                zip(self.job.tolist(), self.node_type.tolist(), self.gpus.tolist(), strict=True)
            )
        }
        for a in assignments:
            start[self.w[a.node]] = start[self.y[a.node, a.node_type]] = 1.0
            start[self.z[a.node, a.job]] = 1.0
            start[self.x[a.node, which[a.job, a.node_type, a.gpus]]] = 1.0
        return start


def literal(instance: DecisionInput) -> Formulation:
    """(P2) of an instance: J N (configurations + 4) + 2 J + N (V + 2) columns."""
    b = Builder()
    columns = add_schedule(b, instance)
    alpha = _add_leases(b, instance, columns)
    model = b.build(offset=0.0, constant=instance.constant)

    def encode(assignments: Sequence[JobOnNode]) -> FloatArray:
        start = columns.encode(model.columns, assignments)
        start[alpha] = 0.0
        lease = instance.lease_cost
        for n in {a.node for a in assignments}:
            node = [a for a in assignments if a.node == n]
            leader = min(node, key=lambda a: lease[a.job, a.node_type, a.gpus])
            start[alpha[n, leader.job]] = 1.0
        return start

    return Formulation(model, columns.decode, encode, functools.partial(cost, instance))


def add_schedule(b: Builder, instance: DecisionInput, lease: FloatArray | None = None) -> Columns:
    """Constraints (P1b)-(P1i), (P1m), (P1n): types, partitions, tardiness, nodes in use.

    Parameters
    ----------
    lease : ``(J, V, G + 1)`` cost of each configuration in the objective, or None.
    """
    job, v, g = np.nonzero(instance.possible)
    nodes, jobs, types = instance.num_nodes, instance.num_jobs, len(instance.gpus)
    paid = -instance.mu * g + (0.0 if lease is None else lease[job, v, g])
    exists = np.ones((nodes, types))
    if instance.nodes_of_type is not None:
        exists = np.repeat(np.eye(types), instance.nodes_of_type, axis=0)
    w = b.add_columns(nodes, upper=1.0, integer=True)
    y = b.add_columns((nodes, types), cost=instance.mu * instance.gpus, upper=exists, integer=True)
    z = b.add_columns((nodes, jobs), upper=1.0, integer=True)
    x = b.add_columns((nodes, len(job)), cost=paid, upper=1.0, integer=True)
    columns = Columns(job, v, g, w, y, z, x)
    _add_assignment_rows(b, instance, columns)
    _add_tardiness(b, instance, columns)
    return columns


def _add_assignment_rows(b: Builder, instance: DecisionInput, c: Columns) -> None:
    nodes, jobs = c.z.shape
    types = c.y.shape[1]
    node = np.arange(nodes)[:, None]

    rows = b.add_rows(nodes, lower=0.0, upper=0.0)  # (P1b) one type a node
    b.add(rows[:, None], c.y)
    b.add(rows, c.w, -1.0)
    for limit in (c.y[:, c.node_type], c.z[:, c.job]):  # (P1c), (P1d)
        rows = b.add_rows(c.x.shape, lower=-np.inf, upper=0.0)
        b.add(rows, c.x)
        b.add(rows, limit, -1.0)
    rows = b.add_rows((nodes, jobs), lower=-np.inf, upper=0.0)  # (P1e)
    b.add(rows[node, c.job], c.x)
    b.add(rows, c.w[:, None], -1.0)
    rows = b.add_rows(jobs, lower=0.0, upper=0.0)  # (P1f) one configuration a job
    b.add(rows[c.job], c.x)
    b.add(rows, c.z, -1.0)
    rows = b.add_rows((nodes, types), lower=-np.inf, upper=instance.gpus)  # (P1g) capacity
    b.add(rows[node, c.node_type], c.x, c.gpus)
    rows = b.add_rows(jobs, lower=-np.inf, upper=1.0)  # (P1m) one node a job
    b.add(rows, c.z)
    use = float(instance.nodes_in_use)
    b.add(b.add_rows(1, lower=use, upper=use), c.w)  # (P1n)


def _add_tardiness(b: Builder, instance: DecisionInput, c: Columns) -> None:
    jobs = instance.num_jobs
    weight = instance.weight_per_s
    tau = b.add_columns(jobs, cost=weight)
    tau_hat = b.add_columns(jobs, cost=instance.rho * weight)
    rows = b.add_rows(jobs, lower=-instance.due_s, upper=np.inf)  # (P1h)
    b.add(rows, tau)
    b.add(rows[c.job], c.x, -instance.times_s[c.job, c.node_type, c.gpus])
    worst = instance.worst_tardiness_s
    rows = b.add_rows(jobs, lower=worst, upper=np.inf)  # (P1i), as the prose has it
    b.add(rows, tau_hat)
    b.add(rows, c.z, worst)


def _add_leases(b: Builder, instance: DecisionInput, c: Columns) -> IntArray:
    """(P1j)-(P1l), (P2b)-(P2g): on each node the lease until the first job's end. Returns alpha."""
    nodes, jobs = c.z.shape
    node = np.arange(nodes)[:, None]
    lease = instance.lease_cost
    most = np.where(instance.possible, lease, 0.0).max(axis=(1, 2))
    alpha = b.add_columns((nodes, jobs), upper=1.0, integer=True)
    pi = b.add_columns((nodes, jobs))
    gamma = b.add_columns((nodes, jobs))
    xi = b.add_columns(nodes, cost=1.0)

    rows = b.add_rows((nodes, jobs), lower=-np.inf, upper=0.0)  # (P1j)
    b.add(rows[node, c.job], c.x, lease[c.job, c.node_type, c.gpus])
    b.add(rows, pi, -1.0)
    rows = b.add_rows(nodes, lower=0.0, upper=0.0)  # (P1k) one leader a node
    b.add(rows[:, None], alpha)
    b.add(rows, c.w, -1.0)
    for small, factor, large, upper in (
        (alpha, 1.0, c.z, 0.0),  # (P1l)
        (gamma, 1.0, pi, 0.0),  # (P2c)
        (gamma, most, alpha, 0.0),  # (P2d)
    ):
        rows = b.add_rows((nodes, jobs), lower=-np.inf, upper=upper)
        b.add(rows, small)
        b.add(rows, large, -np.broadcast_to(factor, rows.shape))
    rows = b.add_rows((nodes, jobs), lower=-np.inf, upper=most)  # (P2e)
    b.add(rows, pi)
    b.add(rows, alpha, most)
    b.add(rows, gamma, -1.0)
    rows = b.add_rows(nodes, lower=0.0, upper=np.inf)  # (P2b)
    b.add(rows, xi)
    b.add(rows[:, None], gamma, -1.0)
    return alpha
