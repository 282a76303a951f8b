"""The book of a controller: what is known of its jobs, as orderings rank them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from policies.synergy.demand import Kinds
from simulator import Placement, View
from simulator.model.cluster import FloatArray, IntArray


class Book:
    """Attributes of the jobs of one controller, ``(J,)`` each, brought up to date as asked.

    Only jobs that ran since the last decision have changed, so the others are not looked at. The book stays when nodes go and
    come back (`serve_on`).

    Parameters
    ----------
    count : J.
    """

    def __init__(self, count: int) -> None:
        self.remaining: FloatArray = np.ones(count)
        self.attained_gpu_s: FloatArray = np.zeros(count)
        self.attained_dominant_s: FloatArray = np.zeros(count)
        self.last_ran_s: FloatArray = np.full(count, -np.inf)
        self.rank_speed: FloatArray = np.ones(count)
        """``(J,)`` speed at which the released orderings count the remaining time."""
        self.memory: dict[str, Any] = {}
        """State of orderings between decisions, by name."""
        self.ran: Mapping[int, Sequence[Placement]] = {}
        """Placements since the last decision of the jobs that ran then, or were started."""
        self._since_s = -math.inf

    def serve_on(self, kinds: Kinds, total: tuple[float, float, float]) -> None:
        """Read what the jobs are on the servers that there are.

        Parameters
        ----------
        kinds : the jobs by kind.
        total : GPUs, CPUs and GB of all servers.
        """
        self.kinds = kinds
        self._full_speed = np.array([k.best_rate / k.fair_rate for k in kinds.kinds])[kinds.kind_of]
        # Where CPUs or memory are not modelled, nobody has any part of them.
        self._total = (total[0], max(total[1], 1e-9), max(total[2], 1e-9))
        demands = [(k.gpus, k.gpus * k.best.cpus, k.gpus * k.best.memory_gb) for k in kinds.kinds]
        parts = np.array(demands) / self._total
        self.dominant_of_kind: FloatArray = parts.max(axis=1)
        """``(K,)`` largest part of the cluster that the demand of a kind takes of any resource."""
        self.demand_of_kind: FloatArray = parts.sum(axis=1)
        """``(K,)`` parts of the cluster that the demand takes, all resources together."""

    def update(self, view: View) -> None:
        """Bring the jobs up to now that ran since the last decision."""
        running = list(view.running)
        stopped = [job for job in self.ran if job not in view.running]
        jobs = np.array([*running, *stopped], dtype=np.int64)
        if not len(jobs):
            return
        self.remaining[jobs] = [view.remaining_of(j) for j in jobs.tolist()]
        self.attained_gpu_s[jobs] = [view.attained_gpu_s_of(j) for j in jobs.tolist()]
        self.last_ran_s[running] = view.now_s
        self.last_ran_s[stopped] = [view.states.held_since_s[j] for j in stopped]

    def rank_at_full_speed(self, put_back: IntArray) -> None:
        """Rank jobs at their full speed-up, these at 1: they have their proportional share.

        As in the released simulator, which forgets in each round who was put back before it.
        """
        self.rank_speed[:] = self._full_speed
        self.rank_speed[put_back] = 1.0

    def update_dominant(self, view: View) -> None:
        """Add what jobs have had of their dominant resource since the last call."""
        since_s, held_since_s = self._since_s, view.states.held_since_s
        for job, shares in {**self.ran, **view.running}.items():
            held = (
                sum(p.gpus for p in shares) / self._total[0],
                sum(p.cpus for p in shares) / self._total[1],
                sum(p.memory_gb for p in shares) / self._total[2],
            )
            if job in view.running:
                seconds = view.now_s - max(since_s, held_since_s[job])
            else:  # until it ended, or its node failed
                seconds = max(0.0, held_since_s[job] - since_s)
            self.attained_dominant_s[job] += seconds * max(held)
        self._since_s = view.now_s
