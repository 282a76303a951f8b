"""Exact response times of queues without the engine, for studies of thousands of long runs.

tests/statistics/test_coverage.py compares them with the simulator, job by job.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
from numba import njit

from simulator.laws import Law

FloatArray = npt.NDArray[np.float64]


def poisson_queue(
    order: str, load: float, servers: int, law: Law, jobs: int, rng: np.random.Generator
) -> FloatArray:
    """``(n,)`` response times of a queue that is empty at the start, in order of arrival.

    Parameters
    ----------
    order : a key of `RESPONSES`; all but ``first come`` are of one server.
    load : of each server.
    """
    gaps = rng.exponential(law.mean / (load * servers), jobs)
    return RESPONSES[order](np.cumsum(gaps), law.sample(rng, jobs), servers)


@njit(cache=True)
def first_come(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """Kiefer and Wolfowitz: each job takes the server that is free first."""
    free = np.zeros(servers)
    response = np.empty(len(size))
    for j in range(len(size)):
        k = np.argmin(free)
        free[k] = max(free[k], arrival[j]) + size[j]
        response[j] = free[k] - arrival[j]
    return response


@njit(cache=True)
def processor_sharing(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """One server shared equally: a job ends when the service of each has grown by its size."""
    response = np.empty(len(size))
    queue = [(0.0, 0) for _ in range(0)]
    now, each = 0.0, 0.0  # time; service that a job present since the start would have had
    for j in range(len(size) + 1):
        until = arrival[j] if j < len(size) else np.inf
        while queue and now + (queue[0][0] - each) * len(queue) <= until:
            mark, k = queue[0]
            now, each = now + (mark - each) * len(queue), mark
            heapq.heappop(queue)
            response[k] = now - arrival[k]
        if j < len(size):
            each = each + (until - now) / len(queue) if queue else 0.0
            now = until
            heapq.heappush(queue, (each + size[j], j))
    return response


@njit(cache=True)
def _shortest(arrival: FloatArray, size: FloatArray, preemptive: bool, whole: bool) -> FloatArray:
    """One server that takes the job of the least time that is left, or of the least ``whole`` time."""
    response = np.empty(len(size))
    queue = [(0.0, 0, 0.0) for _ in range(0)]
    now = 0.0
    for j in range(len(size) + 1):
        until = arrival[j] if j < len(size) else np.inf
        while queue and now < until:
            _, k, left = heapq.heappop(queue)
            if now + left <= until or not preemptive:
                now += left
                response[k] = now - arrival[k]
            else:
                left -= until - now
                heapq.heappush(queue, (size[k] if whole else left, k, left))
                now = until
        if j < len(size):
            now = max(now, until)
            heapq.heappush(queue, (size[j], j, size[j]))
    return response


def shortest_remaining(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """One server that always runs the job with the shortest remaining time."""
    return np.asarray(_shortest(arrival, size, True, False))


def shortest_job(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """One server that, when it is free, takes the shortest job."""
    return np.asarray(_shortest(arrival, size, False, True))


def shortest_job_preemptive(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """One server that always runs the job that was the shortest when it came."""
    return np.asarray(_shortest(arrival, size, True, True))


@njit(cache=True)
def foreground_background(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """One server that the jobs of least service share.

    Of each job so much is served before job ``j`` ends as ``j`` has in all. So ``j`` ends when a queue of jobs that
    are cut to its size is empty for the first time after its arrival.
    """
    response = np.empty(len(size))
    first, work = 0, 0.0  # of the busy period, and what is left in it at an arrival
    for j in range(len(size)):
        work -= arrival[j] - arrival[max(j - 1, 0)]
        if work <= 0:
            first, work = j, 0.0
        work += size[j]
        left, k = 0.0, first
        while True:
            left += min(size[k], size[j])
            k += 1
            gap = arrival[k] - arrival[k - 1] if k < len(size) else np.inf
            if k > j and left <= gap:
                break
            left = max(0.0, left - gap)
        response[j] = arrival[k - 1] + left - arrival[j]
    return response


RESPONSES = {
    "first come": first_come,
    "processor sharing": processor_sharing,
    "srpt": shortest_remaining,
    "shortest job": shortest_job,
    "shortest job, preemptive": shortest_job_preemptive,
    "foreground-background": foreground_background,
}
