"""Sia: an integer program over configurations (Jayaram Subramanya et al., SOSP 2023, Section 4).

A configuration is a type of GPU and a number: powers of two within a node, then whole nodes. ``G_ij`` is the goodput of job ``i`` on
configuration ``j`` over its least on any; where the job would be moved, ``r_i G_ij`` with ``r_i = (age - moves S) / (age + S)``.

    p > 0:  max sum_ij A_ij (r_i G_ij)^p - penalties        p < 0:  min sum_ij A_ij (r_i G_ij)^p + penalties

with at most one configuration a job and no more GPUs of a type than there are. Penalties are ``lambda_n`` for each job without GPUs, and
``lambda_a`` for each that is moved.

The paper has ``p = 0.5``. The released program has ``p = -0.5``, rounds the matrix to two decimals and clips it at 3,000:
``released=true``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.goodput.dividing import Candidate, GoodputPolicy, NodeGroup
from policies.goodput.times import BY_TYPE
from policies.registry.registration import register
from policies.solving.model import BoolArray, Builder
from policies.solving.solvers import solve
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

LEAST_FACTOR = 1e-2
"""Of a job that was moved more often than it is old."""
RELEASED_DECIMALS, RELEASED_CLIP = 2, 3000.0


@register("sia", requires=BY_TYPE, paper="Jayaram Subramanya et al., SOSP 2023")
class Sia(GoodputPolicy):
    """GPUs and batch sizes by an integer program over configurations (Sia).

    Parameters
    ----------
    p : power of the goodput; not 0.
    lambda_n : penalty of a job without GPUs.
    lambda_a : penalty of a job that is moved.
    restart_s : seconds that a restart is expected to cost (S).
    released : matrix as in the released program: rounded and clipped; ``p`` becomes -0.5.

    Raises
    ------
    InputError
        An option out of its range, or ``p`` beside ``released``.
    """

    by_type = True

    def __init__(
        self,
        p: float = 0.5,
        lambda_n: float = 1.1,
        lambda_a: float = 0.01,
        restart_s: float = 30.0,
        released: bool = False,
    ) -> None:
        if p == 0 or not abs(p) < np.inf:
            raise InputError(f"p is {p}, expected a number that is not 0")
        for name, value in (
            ("lambda_n", lambda_n),
            ("lambda_a", lambda_a),
            ("restart_s", restart_s),
        ):
            if not 0 <= value < np.inf:
                raise InputError(f"{name} is {value}, expected a number >= 0")
        if released and p != 0.5:
            raise InputError(f"released=true sets p to -0.5, expected no p beside it, found {p}")
        super().__init__()
        self._p = -0.5 if released else p
        self._lambda_n, self._lambda_a = lambda_n, lambda_a
        self._restart_s = restart_s
        self._released = released

    def divide(
        self, jobs: Sequence[Candidate], groups: Sequence[NodeGroup]
    ) -> list[tuple[int, int]]:
        """Group and GPUs of each job by the integer program."""
        sizes = [configurations(group.per_node, group.num_nodes) for group in groups]
        group_of = np.repeat(np.arange(len(groups)), [len(each) for each in sizes])
        gpus = np.concatenate(sizes)
        capacity = [group.gpus for group in groups]
        value = self._value(jobs, groups, sizes)
        chosen = assign(value, gpus, group_of, capacity, self._lambda_n)
        return [(int(group_of[c]), int(gpus[c])) if c >= 0 else (0, 0) for c in chosen]

    def _value(
        self, jobs: Sequence[Candidate], groups: Sequence[NodeGroup], sizes: Sequence[IntArray]
    ) -> FloatArray:
        """``(n, C)`` value of each configuration of each job, to be maximised; minus infinite: not possible."""
        of_groups, moved = [], []
        held = np.array([[job.gpus] for job in jobs])
        types = np.array([[job.node_type] for job in jobs])
        for group, gpus in zip(groups, sizes, strict=True):
            known = [
                job.agent.speedups(group.per_node, group.gpus, group.node_type) for job in jobs
            ]
            of_groups.append(np.array(known)[:, gpus])
            moved.append((gpus != held) | (group.node_type != types))
        has_started = np.array([[job.agent.starts > 0] for job in jobs])
        kept = np.array([[max(job.kept(self._restart_s), LEAST_FACTOR)] for job in jobs])
        return self._powers(np.hstack(of_groups), np.hstack(moved) & has_started, kept)

    def _powers(self, goodput: FloatArray, moved: BoolArray, kept: FloatArray) -> FloatArray:
        possible = goodput > 0
        least = goodput.min(axis=1, keepdims=True, where=possible, initial=np.inf)
        relative = np.divide(goodput, least, out=np.ones_like(goodput), where=possible)
        powers = np.where(moved, relative * kept, relative) ** self._p
        if self._released:
            powers = np.minimum(np.round(powers, RELEASED_DECIMALS), RELEASED_CLIP)
        value = (powers if self._p > 0 else -powers) - self._lambda_a * moved
        return np.where(possible, value, -np.inf)


def configurations(per_node: int, num_nodes: int) -> IntArray:
    """GPUs of each configuration of one type: powers of two below a node, then 1, 2, .. whole nodes."""
    within = [2**k for k in range(per_node.bit_length()) if 2**k < per_node]
    return np.array([*within, *(per_node * n for n in range(1, num_nodes + 1))])


def assign(
    value: FloatArray,
    sizes: IntArray,
    group_of: IntArray,
    capacity: Sequence[int],
    penalty: float,
) -> list[int]:
    """The configuration of each job, by the integer program; -1: none.

    Parameters
    ----------
    value : ``(n, C)`` value of each configuration of each job, minus infinite where it is not possible.
    sizes, group_of : ``(C,)`` GPUs of each configuration, and the group that they are of.
    capacity : GPUs of each group.
    penalty : of a job without a configuration.
    """
    jobs, columns = np.nonzero(np.isfinite(value))
    chosen = [-1] * len(value)
    if not len(jobs):
        return chosen
    program = Builder()
    cost = -(value[jobs, columns] + penalty)
    assigned = program.add_columns(len(jobs), cost=cost, upper=1.0, integer=True)
    program.add(program.add_rows(len(value), lower=-np.inf, upper=1.0)[jobs], assigned)
    room = program.add_rows(len(capacity), lower=-np.inf, upper=np.array(capacity, dtype=float))
    program.add(room[group_of[columns]], assigned, sizes[columns])
    found = solve(program.build(offset=0.0, constant=0.0, tight=True), "highs").x
    assert found is not None  # no assignment is one
    for k in np.flatnonzero(found > 0.5).tolist():
        chosen[int(jobs[k])] = int(columns[k])
    return chosen
