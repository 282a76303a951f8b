"""The plain rule: quantiles of the past waits of such jobs."""

from __future__ import annotations

import numpy as np

from experiments.starts.forest import FIT_ON, QUANTILES
from experiments.starts.history import History
from experiments.starts.snapshot import INPUTS
from simulator.model.cluster import FloatArray, IntArray

ENOUGH = 50
"""Such jobs that there have to be; else less is asked of them."""
_COLUMNS = [INPUTS.index(name) for name in ("partition", "gpus", "asked_s")]


class PlainRule:
    """Such jobs have the same partition, and GPUs and time asked for between the same powers of two.

    Where there are fewer than `ENOUGH`, the time, then the GPUs, then the partition may differ.
    """

    def __init__(self, history: History, inputs: FloatArray) -> None:
        self._kinds, self._wait_s = _kinds(inputs), history.wait_s

    def quantiles(self, known: IntArray, jobs: FloatArray) -> FloatArray:
        """As `experiments.starts.forest.WaitModel`."""
        known = known[-FIT_ON:]
        kinds, waits_s = self._kinds[known], self._wait_s[known]
        wanted, which = np.unique(_kinds(jobs), axis=0, return_inverse=True)
        found = np.array([_quantiles(kind, kinds, waits_s) for kind in wanted])
        return np.asarray(found[which.ravel()])


def _kinds(inputs: FloatArray) -> FloatArray:
    partition, gpus, asked_s = inputs[:, _COLUMNS].T
    sizes = [np.floor(np.log2(np.maximum(x, 1))) for x in (gpus, asked_s)]
    return np.column_stack([partition, *sizes])


def _quantiles(kind: FloatArray, kinds: FloatArray, waits_s: FloatArray) -> FloatArray:
    for columns in (3, 2, 1):
        alike = waits_s[(kinds[:, :columns] == kind[:columns]).all(axis=1)]
        if len(alike) >= ENOUGH:
            return np.asarray(np.quantile(alike, QUANTILES))
    return np.asarray(np.quantile(waits_s, QUANTILES))
