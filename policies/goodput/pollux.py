"""Pollux: GPUs and batch sizes for the goodput of all jobs (Qiao et al., OSDI 2021, Section 4.2).

It maximises the generalised mean of the jobs' speed-ups,

    (1/n sum_j (f_j s_j)^p)^(1/p),    p = -1,

where a job that would be moved loses the part ``1 - f_j`` of its speed-up: ``f_j = (age - moves x restart) / (age + restart)``.
A speed-up is relative to one GPU, or as in the paper and the released program to an n-th of the GPUs (``released``).
The paper searches with a genetic algorithm. This is a search of our own: for p < 1 the mean is a sum over jobs, so the numbers
of GPUs follow exactly from dynamic programming, on part of a node or on whole nodes; then the jobs are placed.
At most one job that spans nodes uses a node, since two would slow each other down.

It does not see types of GPU: where there are several, a job's measurements on all of them are one profile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from policies.goodput.dividing import Candidate, GoodputPolicy, NodeGroup
from policies.goodput.estimate import LEAST_SQUARES
from policies.goodput.released_fit import RELEASED
from policies.goodput.times import BY_TYPE
from policies.registry.registration import register
from simulator.errors import InputError
from simulator.model.cluster import FloatArray

LEAST_SPEEDUP = 0.01
"""Of a job without GPUs, in the mean of powers."""
RELEASED_LEAST = 0.004
"""Added to each speed-up in the released program: 0.001, where four GPUs of 64 count as one."""


@register("pollux", requires=BY_TYPE, paper="Qiao et al., OSDI 2021")
class Pollux(GoodputPolicy):
    """GPUs and batch sizes that maximise the mean of powers of the speed-ups of goodput (Pollux).

    Parameters
    ----------
    p : power of the mean; below 1 and not 0. The smaller, the fairer.
    restart_s : seconds that a restart is expected to cost.
    released : as the released program: speed-ups are relative to an n-th of the GPUs, as if of one node; a job's first start
        counts as a move; jobs that keep their batch size have one GPU; estimates as in `policies.goodput.released_fit`.

    Raises
    ------
    InputError
        A power or a time out of its range.
    """

    def __init__(self, p: float = -1.0, restart_s: float = 30.0, released: bool = False) -> None:
        if not -math.inf < p < 1 or p == 0:
            raise InputError(f"p is {p}, expected a number below 1 that is not 0")
        if not 0 <= restart_s < math.inf:
            raise InputError(f"restart_s is {restart_s}, expected a number >= 0")
        super().__init__(RELEASED if released else LEAST_SQUARES)
        self._p = p
        self._restart_s = restart_s
        self._released = released

    def divide(
        self, jobs: Sequence[Candidate], groups: Sequence[NodeGroup]
    ) -> list[tuple[int, int]]:
        """GPUs of each job that maximise the mean; all are of one group."""
        (group,) = groups
        total = group.gpus
        fair = -(-total // max(len(jobs), 1))
        values = [self._values(job, group.per_node, total, fair) for job in jobs]
        return [(0, gpus) for gpus in share_out(np.array(values), total)]

    def _values(self, job: Candidate, per_node: int, total: int, fair: int) -> FloatArray:
        """``(total + 1,)`` the job's term of the mean, by GPUs."""
        speedup = job.agent.speedups(per_node, total)
        if self._released:
            speedup /= job.agent.on_one_node(fair)
            if job.agent.keeps_batch:
                speedup[2:] = 0.0
        sizes = np.arange(total + 1)
        speedup[(sizes > per_node) & (sizes % per_node != 0)] = 0.0  # beyond a node: whole nodes
        if job.agent.starts or self._released:
            speedup[sizes != job.gpus] *= max(job.kept(self._restart_s), 0.0)
        more = speedup + RELEASED_LEAST if self._released else np.maximum(speedup, LEAST_SPEEDUP)
        term: FloatArray = more**self._p
        return -term if self._p < 0 else term


def share_out(value: FloatArray, total: int) -> list[int]:
    """GPUs of each job that maximise the sum of values; as few as possible among equals.

    Parameters
    ----------
    value : ``(n, total + 1)`` value of each job by GPUs.
    total : GPUs that there are.
    """
    best = np.zeros(total + 1)
    picks = []
    rows, columns = np.indices((total + 1, total + 1))
    before = np.maximum(rows - columns, 0)
    allowed = columns <= rows
    for mine in value:
        sums = np.where(allowed, best[before] + mine[columns], -np.inf)
        pick = sums.argmax(axis=1)
        picks.append(pick)
        best = sums[np.arange(total + 1), pick]
    left, gpus = int(best.argmax()), []
    for pick in reversed(picks):
        gpus.append(int(pick[left]))
        left -= gpus[-1]
    return gpus[::-1]
