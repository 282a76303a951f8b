"""A job's own estimate of its goodput, from what it has measured so far (Pollux, Section 3.2).

Seconds of a step on ``K`` GPUs of ``N`` nodes with ``m`` samples a GPU::

    T_grad = a + b m                       gradient of one pass
    T_sync = 0 (K = 1), a1 + b1 (K - 2) (N = 1), a2 + b2 (K - 2) (N > 1)
    T_step = (T_grad^c + T_sync^c)^(1 / c)

The six coefficients are non-negative; ``c`` is one of `EXPONENTS`. The measured gradient times give ``a`` and ``b``;
for each ``c`` the rest of the step gives the others by least squares, and the ``c`` of the least relative error is kept.
Where nothing was measured (one GPU only, or one node only), synchronisation costs nothing, or what it costs within a
node: so jobs try more GPUs. Likewise a single point has no slope: so jobs try larger batches first, which costs no restart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.model.batch_size import BatchSize
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.goodput import Application

Limits = tuple[IntArray, IntArray]
"""Smallest and largest local batch sizes."""

EXPONENTS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)


@dataclass(frozen=True)
class StepModel:
    """Coefficients of the times of a step, s."""

    grad: tuple[float, float]
    node: tuple[float, float]
    network: tuple[float, float]
    exponent: float

    def grad_s(self, local: FloatArray) -> FloatArray:
        """Seconds of the gradient of one pass."""
        return self.grad[0] + self.grad[1] * local

    def step_s(self, nodes: FloatArray, gpus: FloatArray, local: FloatArray) -> FloatArray:
        """Seconds of a pass with synchronisation."""
        beyond = np.maximum(gpus - 2, 0)
        sync = np.where(
            nodes > 1,
            self.network[0] + self.network[1] * beyond,
            self.node[0] + self.node[1] * beyond,
        )
        sync = np.where(gpus > 1, sync, 0.0)
        c = self.exponent
        total: FloatArray = (self.grad_s(local) ** c + sync**c) ** (1 / c)
        return total


def fit(profile: FloatArray) -> StepModel:
    """The model of a profile.

    Parameters
    ----------
    profile : ``(n, 5)`` nodes, GPUs, samples a GPU, seconds of a step and of its synchronisation.
    """
    nodes, gpus, local, step_s, sync_s = profile.T
    grad = _line(local, step_s - sync_s)
    grad_s = grad[0] + grad[1] * local
    best, least = None, np.inf
    for c in EXPONENTS:
        rest = np.maximum(step_s**c - grad_s**c, 0.0) ** (1 / c)
        inside = (gpus > 1) & (nodes == 1)
        across = (gpus > 1) & (nodes > 1)
        node = _line(gpus[inside] - 2, rest[inside]) if inside.any() else (0.0, 0.0)
        network = _line(gpus[across] - 2, rest[across]) if across.any() else node
        model = StepModel(grad, node, network, c)
        error = float(np.mean(np.log(model.step_s(nodes, gpus, local) / step_s) ** 2))
        if error < least:
            best, least = model, error
    assert best is not None
    return best


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Non-negative intercept and slope of least relative squares."""
    weight = 1.0 / np.maximum(y, 1e-6) ** 2
    total = weight.sum()
    mx, my = (weight @ x) / total, (weight @ y) / total
    spread = weight @ (x - mx) ** 2
    slope = float(weight @ ((x - mx) * (y - my)) / spread) if spread > 0 else 0.0
    slope = max(slope, 0.0)
    if my - slope * mx < 0:
        slope = float((weight @ (x * y)) / (weight @ x**2))
    return max(float(my - slope * mx), 0.0), slope


@dataclass(frozen=True)
class Choice:
    """The best batch sizes of a job: ``(M,)`` arrays over placements.

    Attributes
    ----------
    goodput : progress per second.
    local, accumulation : samples a GPU in a pass, and passes before the one that synchronises.
    """

    goodput: FloatArray
    local: FloatArray
    accumulation: FloatArray

    def batch_size(self, index: int) -> BatchSize:
        """The configuration on one of the placements."""
        return BatchSize(int(self.local[index]), int(self.accumulation[index]))


@dataclass(frozen=True)
class Estimator:
    """A job's rule of estimation.

    Attributes
    ----------
    fit : the model of a profile.
    batch_sizes : how many a job considers, between the initial and the largest, in equal ratios.
    """

    fit: Callable[[FloatArray], StepModel]
    batch_sizes: int

    def candidates(self, app: Application) -> FloatArray:
        """Batch sizes that a job considers."""
        return _in_equal_ratios(app.initial, app.largest, self.batch_sizes)


@lru_cache
def _in_equal_ratios(first: int, last: int, count: int) -> FloatArray:
    return np.geomspace(first, last, count)


LEAST_SQUARES = Estimator(fit, 32)


def best_batch_sizes(
    app: Application,
    model: StepModel,
    noise: tuple[float, float],
    nodes: FloatArray,
    gpus: FloatArray,
    batch: FloatArray,
    limits: Limits,
) -> Choice:
    """The batch size of most goodput on each placement.

    Parameters
    ----------
    noise : squared norm and variance of the gradient as last measured.
    nodes, gpus : ``(M,)`` nodes and GPUs of each placement.
    batch : ``(M, B)`` batch sizes to choose from, or ``(1, B)``.
    limits : ``(M,)`` smallest and largest local batch size on each placement.

    Returns
    -------
    Goodput 0 where no batch size fits.
    """
    k = gpus[:, None]
    share = np.ceil(batch / k - 1e-8)
    low, high = (each[:, None] for each in limits)
    passes = np.ceil(share / np.maximum(high, 1) - 1e-8)
    passes = np.where((k == 1) & (batch > app.initial * (1 + 1e-8)), np.maximum(passes, 2), passes)
    local = np.minimum(np.ceil(share / passes - 1e-8), np.floor(app.largest / (k * passes)))
    sqr, var = noise
    scale = k * local * passes / app.initial
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(scale > 0, (var + sqr) / (var / scale + sqr), 0.0)
        seconds = model.step_s(nodes[:, None], k, local) + (passes - 1) * model.grad_s(local)
        goodput = np.where((low <= local) & (local <= high) & (scale >= 1), gain / seconds, 0.0)
    best = goodput.argmax(axis=1)
    rows = np.arange(len(best))
    return Choice(goodput[rows, best], local[rows, best], passes[rows, best] - 1)
