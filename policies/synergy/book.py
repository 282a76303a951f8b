"""The book of a controller: what is known of its jobs, as orderings rank them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policies.synergy.demand import Kinds
from simulator import View
from simulator.model.cluster import FloatArray, IntArray


class Book:
    """Attributes of the jobs of one controller, ``(J,)`` each, brought up to date as asked.

    Only jobs that ran since the last decision have changed, so the others are not looked at.

    Parameters
    ----------
    kinds : the jobs by kind.
    total : GPUs, CPUs and GB of all servers.
    """

    def __init__(self, kinds: Kinds, total: tuple[float, float, float]) -> None:
        count = len(kinds.kind_of)
        self.kinds = kinds
        self.remaining: FloatArray = np.ones(count)
        self.attained_gpu_s: FloatArray = np.zeros(count)
        self.attained_dominant_s: FloatArray = np.zeros(count)
        self.last_ran_s: FloatArray = np.full(count, -np.inf)
        self.rank_speed: FloatArray = np.ones(count)
        """``(J,)`` speed at which the released orderings count the remaining time."""
        self._full_speed = np.array([k.best_rate / k.fair_rate for k in kinds.kinds])[kinds.kind_of]
        # Where CPUs or memory are not modelled, nobody has any part of them.
        self._total = (total[0], max(total[1], 1e-9), max(total[2], 1e-9))
        demands = [(k.gpus, k.gpus * k.best.cpus, k.gpus * k.best.memory_gb) for k in kinds.kinds]
        parts = np.array(demands) / self._total
        self.dominant_of_kind: FloatArray = parts.max(axis=1)
        """``(K,)`` largest part of the cluster that the demand of a kind takes of any resource."""
        self.demand_of_kind: FloatArray = parts.sum(axis=1)
        """``(K,)`` parts of the cluster that the demand takes, all resources together."""
        self.memory: dict[str, Any] = {}
        """State of orderings between decisions, by name."""
        self._since_s = -math.inf

    def update(self, view: View) -> None:
        """Bring the running jobs up to now."""
        running = list(view.running)
        if not running:
            self._since_s = view.now_s
            return
        jobs = np.array(running, dtype=np.int64)
        self.remaining[jobs] = [view.remaining_of(j) for j in running]
        self.attained_gpu_s[jobs] = [view.attained_gpu_s_of(j) for j in running]
        self.last_ran_s[jobs] = view.now_s

    def rank_at_full_speed(self, put_back: IntArray) -> None:
        """Rank jobs at their full speed-up, these at 1: they have their proportional share.

        As in the released simulator, which forgets in each round who was put back before it.
        """
        self.rank_speed[:] = self._full_speed
        self.rank_speed[put_back] = 1.0

    def update_dominant(self, view: View) -> None:
        """Add what the running jobs have had of their dominant resource since the last call."""
        elapsed = view.now_s - self._since_s
        self._since_s = view.now_s
        if not 0 < elapsed < math.inf:
            return
        total = self._total
        for job, shares in view.running.items():
            held = (
                sum(p.gpus for p in shares) / total[0],
                sum(p.cpus for p in shares) / total[1],
                sum(p.memory_gb for p in shares) / total[2],
            )
            self.attained_dominant_s[job] += elapsed * max(held)
