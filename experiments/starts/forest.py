"""A quantile regression forest on snapshots of a log (Meinshausen, JMLR 2006), by the package quantile-forest."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from experiments.starts.history import History
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

FIT_ON = 5_000
"""Jobs that a model is fitted on: the last whose start is known."""
LEVELS = (0.05, 0.03, 0.02, 0.01, 0.005, 0.0025)
"""Lower levels of intervals, the nominal one of 90 % first; each has its upper one."""
QUANTILES = (*LEVELS, 0.5, *(1 - level for level in reversed(LEVELS)))
TREES, LEAF, FEATURES = 100, 5, 0.4


class WaitModel(Protocol):
    """Quantiles of the wait of jobs, from those whose start is known."""

    def quantiles(self, known: IntArray, jobs: FloatArray) -> FloatArray:
        """``(n, len(QUANTILES))`` s, in the order of `QUANTILES`.

        Parameters
        ----------
        known : jobs of the history to fit on, in order of submission.
        jobs : ``(n, len(INPUTS))`` snapshots of others.
        """
        ...


class Forest:
    """The forest. Waits are fitted as the logarithm of one minute and the wait.

    Raises InputError: quantile-forest is not installed.
    """

    def __init__(self, history: History, inputs: FloatArray) -> None:
        try:
            import quantile_forest
        except ImportError:
            raise InputError(
                "schedlab when: quantile-forest is not installed, expected pip install 'schedlab[when]'"
            ) from None
        self._kind: Any = quantile_forest.RandomForestQuantileRegressor
        self._inputs, self._wait = inputs, scaled(history.wait_s)

    def quantiles(self, known: IntArray, jobs: FloatArray) -> FloatArray:
        """As `WaitModel`."""
        known = known[-FIT_ON:]
        forest = self._kind(
            n_estimators=TREES,
            min_samples_leaf=LEAF,
            max_features=FEATURES,
            random_state=0,
            n_jobs=-1,
        )
        forest.fit(self._inputs[known], self._wait[known])
        return in_seconds(np.asarray(forest.predict(jobs, quantiles=list(QUANTILES))))


def scaled(wait_s: FloatArray) -> FloatArray:
    """Waits as ln(1 + minutes)."""
    return np.log1p(np.maximum(wait_s, 0) / 60)


def in_seconds(scale: FloatArray) -> FloatArray:
    """The inverse of `scaled`."""
    return np.expm1(scale) * 60
