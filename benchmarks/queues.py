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
    order : ``first come``, or of one server ``processor sharing`` or ``srpt``.
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
def shortest_remaining(arrival: FloatArray, size: FloatArray, servers: int) -> FloatArray:
    """One server that always runs the job with the shortest remaining time."""
    response = np.empty(len(size))
    queue = [(0.0, 0) for _ in range(0)]
    now = 0.0
    for j in range(len(size) + 1):
        until = arrival[j] if j < len(size) else np.inf
        while queue and now < until:
            left, k = heapq.heappop(queue)
            if now + left <= until:
                now += left
                response[k] = now - arrival[k]
            else:
                heapq.heappush(queue, (left - (until - now), k))
                now = until
        if j < len(size):
            now = until
            heapq.heappush(queue, (size[j], j))
    return response


RESPONSES = {
    "first come": first_come,
    "processor sharing": processor_sharing,
    "srpt": shortest_remaining,
}
