"""AlloX (Le et al., EuroSys 2020): a matching of jobs to GPUs and places in their queues."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import scipy

from policies.shares.problem import Active, Shares
from policies.solving.model import BoolArray
from simulator.errors import InputError
from simulator.model.cluster import IntArray
from simulator.model.ranks import levelled
from simulator.model.tolerances import INSTANT_S

Queue = Literal["matching", "submission"]
"""Who runs next: the matching of the paper, or the first submitted, as published results have it."""


def check_queue(queue: str) -> None:
    """`InputError` unless ``queue`` is one of `Queue`."""
    if queue not in get_args(Queue):
        raise InputError(f"allox: queue is {queue!r}, expected one of {', '.join(get_args(Queue))}")


def allox(active: Active, running_on: IntArray) -> Shares:
    """Shares of 1 for the jobs that run until they end, 0 for those that wait.

    The sum of completion times is least if jobs run one after the other on each GPU: a job that is the
    ``k``-th from the end of its queue delays ``k`` jobs, itself included. So the least-cost matching of jobs
    to places, at ``k`` times the job's time on that type, is an optimal plan (Section 4). The paper's jobs have
    one GPU; here a job of several waits until they are free, and smaller ones pass it.

    Parameters
    ----------
    running_on : ``(n,)`` type of GPU on which a job runs already, where it stays; -1: none.
    """
    n, types = active.rate.shape
    free = active.capacity.astype(float)
    shares = np.zeros((n, types))
    for j in np.flatnonzero(running_on >= 0).tolist():
        shares[j, running_on[j]] = 1.0
        free[running_on[j]] -= active.gpus[j]
    waits = np.flatnonzero(running_on < 0)
    if not len(waits):
        return shares
    with np.errstate(divide="ignore"):
        time_s = levelled((active.left / active.rate.T)[:, waits], INSTANT_S)  # (K, w)
    place = np.concatenate([np.arange(len(waits)) // count + 1 for count in active.capacity])
    kind = np.repeat(np.arange(types), len(waits))
    cost = place * time_s[kind].T
    most = cost[np.isfinite(cost)].max()
    rows, columns = scipy.optimize.linear_sum_assignment(
        np.where(np.isfinite(cost), cost, most * 1e3 * n)
    )
    # The front of a queue is the place that delays most jobs.
    for i in np.lexsort((rows, -place[columns])).tolist():
        j, k = int(waits[rows[i]]), int(kind[columns[i]])
        if active.gpus[j] <= free[k] and active.rate[j, k] > 0:
            shares[j, k] = 1.0
            free[k] -= active.gpus[j]
    return shares


def in_order(active: Active, holds: BoolArray) -> Shares:
    """Shares of as many jobs as there are GPUs: those that had one, then in order of submission.

    A job's share is 1 over its GPUs, on GPUs of one type; so large jobs run less often than small ones.

    Parameters
    ----------
    holds : ``(n,)`` whether the job had a share before; it keeps it until it ends.

    Raises InputError on GPUs of several types.
    """
    if active.rate.shape[1] > 1:
        raise InputError("allox: queue is 'submission', expected GPUs of one type")
    free = int(active.capacity[0]) - int(holds.sum())
    chosen = holds | (~holds & (np.cumsum(~holds) <= free))
    return np.asarray(np.where(chosen, 1.0 / active.gpus, 0.0)[:, None])
