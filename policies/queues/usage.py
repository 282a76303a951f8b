"""GPU-time that tenants have used until now; older use counts less."""

from __future__ import annotations

import math

import numpy as np

from policies.queues.of_tenants import tenants_of
from simulator.model.cluster import FloatArray
from simulator.model.contract import View


class Usage:
    """GPU-seconds that each tenant has used, of which half counts after a half-life ``h``.

    It is an exact integral, however far the looks at it are apart: ``u`` GPUs that a job held for ``d`` seconds, until ``e``
    seconds ago, count ``u h / ln 2 (1 - 2^(-d/h)) 2^(-e/h)``. For example, one GPU held for 30 days until now counts 9.6
    GPU-days at a half-life of 7 days.

    Parameters
    ----------
    half_life_s : h, s; 0: usage counts for ever.
    """

    def __init__(self, half_life_s: float) -> None:
        self._rate = math.log(2) / half_life_s if half_life_s else 0.0
        self._used: FloatArray | None = None

    def until_now(self, view: View) -> FloatArray:
        """``(T,)`` usage of the tenants."""
        tenants, states, now_s = tenants_of(view), view.states, view.now_s
        gpus, attained = np.frombuffer(states.gpus), np.frombuffer(states.attained_gpu_s)
        if self._used is None:
            self._used, self._known, self._at_s = (
                np.zeros(len(tenants)),
                np.zeros(len(view.rows)),
                now_s,
            )
        jobs = np.flatnonzero((gpus > 0) | (attained != self._known[: len(gpus)]))
        held_since_s = np.frombuffer(states.held_since_s)[jobs]  # of who holds nothing, the end
        until_now = attained[jobs] + gpus[jobs] * (now_s - held_since_s)
        more = until_now - self._known[jobs]
        self._known[jobs] = until_now
        if self._rate:
            each = np.where(gpus[jobs] > 0, gpus[jobs], view.workload.num_gpus[jobs])
            ago_s = np.where(gpus[jobs] > 0, 0.0, now_s - held_since_s)
            more = -each / self._rate * np.expm1(-self._rate * more / each)
            more *= np.exp(-self._rate * ago_s)
            self._used *= math.exp(-self._rate * (now_s - self._at_s))
        np.add.at(self._used, tenants.of[jobs], more)
        self._at_s = now_s
        return self._used
