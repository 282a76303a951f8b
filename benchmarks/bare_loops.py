"""Bare simulations of strict FIFO: loops without nodes, records or checks, as units for the engine's cost.

Both serve the same jobs as the engine on one pool of GPUs, and return each job's completion time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from typing import Any

import numpy as np
import simpy

from simulator.model.cluster import FloatArray, IntArray

Events = Generator[simpy.Event, Any, None]


def heapq_fifo(
    submit_s: FloatArray, duration_s: FloatArray, gpus: IntArray, total: int
) -> list[float]:
    """A loop over a heap of ends."""
    ends: list[tuple[float, int]] = []
    waiting: deque[int] = deque()
    completion = [0.0] * len(submit_s)
    arrivals, lengths, widths = submit_s.tolist(), duration_s.tolist(), gpus.tolist()
    free, job, count = total, 0, len(arrivals)
    while job < count or ends:
        if ends and (job == count or ends[0][0] <= arrivals[job]):
            now, done = heapq.heappop(ends)
            free += widths[done]
            completion[done] = now
        else:
            now = arrivals[job]
            waiting.append(job)
            job += 1
        while waiting and widths[waiting[0]] <= free:
            first = waiting.popleft()
            free -= widths[first]
            heapq.heappush(ends, (now + lengths[first], first))
    return completion


def simpy_resource(submit_s: FloatArray, duration_s: FloatArray, total: int) -> list[float]:
    """SimPy as its first examples have it: the GPUs are a `simpy.Resource`, each job is a process and needs one."""
    env = simpy.Environment()
    gpus = simpy.Resource(env, total)
    completion = [0.0] * len(submit_s)
    lengths = duration_s.tolist()

    def run(job: int) -> Events:
        with gpus.request() as mine:
            yield mine
            yield env.timeout(lengths[job])
        completion[job] = env.now

    def arrive() -> Events:
        for job, gap_s in enumerate(np.diff(submit_s, prepend=0.0).tolist()):
            yield env.timeout(gap_s)
            env.process(run(job))

    env.process(arrive())
    env.run()
    return completion
