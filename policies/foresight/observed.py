"""Speeds of jobs as they were observed, where predicted times are wrong.

A job's GPU-seconds and its progress between two decisions give the time that its whole work takes on these
GPUs. Over the predicted time, this is a ratio that corrects all predictions of the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from policies.foresight.machines import Machines
from simulator.model.cluster import FloatArray
from simulator.model.contract import Placement, View

LEAST = 0.01
"""Part of a job's predicted work after which its speed counts as observed."""
EXACT = 1e-3
"""Ratios that differ from 1 by less are right: clocks and progress are rounded."""


class _Observed(NamedTuple):
    """A job at a decision; ``moving``: a delay without progress may have begun then."""

    remaining: float
    gpu_s: float
    shares: Sequence[Placement] | None
    moving: bool


class ObservedSpeeds:
    """Time over predicted time of the jobs of one controller."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._last: dict[int, _Observed] = {}
        self._took: dict[int, tuple[float, float]] = {}

    def ratio(self, view: View, times_s: FloatArray) -> FloatArray:
        """``(n,)`` true over predicted time of the active jobs, 1 where it was not observed.

        Parameters
        ----------
        times_s : ``(n, C)`` predicted times of the whole jobs, s.
        """
        ratio = np.ones(len(view.jobs))
        if getattr(view, "learned", False):
            return ratio
        delayed, seen = bool(getattr(view, "reconfiguration", 0.0)), {}
        fixed, index = view.cluster.node_type_of, self._machines.config_index
        columns = zip(
            view.jobs.tolist(), view.remaining.tolist(), view.attained_gpu_s.tolist(), strict=True
        )
        for row, (job, remaining, gpu_s) in enumerate(columns):
            shares, last = view.running.get(job), self._last.get(job)
            same = last is not None and shares == last.shares
            done = last.remaining - remaining if last is not None else 0.0
            seen[job] = _Observed(remaining, gpu_s, shares, delayed and not (same and done > 0.0))
            if (
                last is not None
                and shares
                and done > 0.0
                and not (delayed and (last.moving or not same))
            ):
                share = shares[0]
                v = share.node_type if fixed is None else fixed[share.node]
                predicted_s = done * times_s[row, index[v, int(share.gpus)]]
                took_s, should_s = self._took.get(job, (0.0, 0.0))
                took_s += (gpu_s - last.gpu_s) / share.gpus
                self._took[job] = took_s, should_s + float(predicted_s)
            if job in self._took and 1.0 - remaining > LEAST:
                took_s, should_s = self._took[job]
                ratio[row] = took_s / should_s
        self._last = seen
        ratio[np.abs(ratio - 1.0) < EXACT] = 1.0
        return ratio
