"""A job's estimate as in Pollux's released program (petuum/adaptdl, OSDI 2021): the same model, another fit.

The seven coefficients minimise

    rms(log T_grad error) + rms(log T_step error) + 0.001 (c - 1)^2 + 0.01 ((b1 / a1)^2 + (b2 / a2)^2)

by L-BFGS-B from fixed values, with ``1 <= c <= 10``. What the measurements cannot tell is fixed:

- one number of samples a GPU: half of the gradient's time does not depend on it;
- one GPU only, one node only, or at most two GPUs: the coefficients of synchronisation that belong to the others are 0, and
  those between nodes are at least 1.1 times those within a node.
"""

from __future__ import annotations

import numpy as np
import scipy

from policies.goodput.estimate import Estimator, StepModel
from simulator.model.cluster import FloatArray

NOTHING = 1e-8
"""In place of 0, whose logarithm is not finite."""
BETWEEN_OVER_WITHIN = 1.1
BATCH_SIZES = 50
A, B, A2, B2, A1, B1, C = range(7)
"""Coefficients: of the gradient, between nodes, within a node, the exponent."""


def fit_as_released(profile: FloatArray) -> StepModel:
    """The model of a profile, ``(n, 5)`` as in `policies.goodput.estimate.fit`."""
    nodes, gpus, local, step_s, sync_s = profile.T
    between, within = nodes > 1, (nodes == 1) & (gpus > 1)
    start = np.array([0.1, 0.01] * 3 + [1.001])
    lower, upper = np.array([NOTHING] * 6 + [1.0]), np.array([np.inf] * 6 + [10.0])
    if len(np.unique(local)) == 1:
        start[A] = lower[A] = upper[A] = (step_s - sync_s).mean() / 2
    unknown = np.zeros(7, dtype=bool)
    unknown[[A2, B2]] = not between.any()
    unknown[[A1, B1]] = not within.any()
    unknown[[B1, B2]] |= not (gpus > 2).any()
    start[unknown] = upper[unknown] = NOTHING
    found = scipy.optimize.minimize(
        _loss,
        start,
        args=(between, within, gpus, local, step_s, sync_s),
        jac=True,
        bounds=scipy.optimize.Bounds(lower, upper, keep_feasible=True),
    ).x
    if not between.any():
        found[[A2, B2]] = np.maximum(found[[A2, B2]], BETWEEN_OVER_WITHIN * found[[A1, B1]])
    a, b, a2, b2, a1, b1, c = found.tolist()
    return StepModel((a, b), (a1, b1), (a2, b2), c)


def _loss(
    x: FloatArray,
    between: np.ndarray,
    within: np.ndarray,
    gpus: FloatArray,
    local: FloatArray,
    step_s: FloatArray,
    sync_s: FloatArray,
) -> tuple[float, FloatArray]:
    """The error that is minimised, and its gradient."""
    beyond = np.maximum(gpus - 2, NOTHING)
    grad = x[A] + x[B] * local
    sync = np.select([between, within], [x[A2] + x[B2] * beyond, x[A1] + x[B1] * beyond], NOTHING)
    powers = grad ** x[C], sync ** x[C]
    both = powers[0] + powers[1]
    log_step = np.log(both) / x[C]
    of_grad, d_grad = _rms(np.log(grad / (step_s - sync_s)))
    of_step, d_step = _rms(log_step - np.log(step_s))
    slopes = x[B2] / x[A2], x[B1] / x[A1]
    loss = of_grad + of_step + 1e-3 * (x[C] - 1) ** 2 + 1e-2 * (slopes[0] ** 2 + slopes[1] ** 2)

    by_grad = d_grad / grad + d_step * powers[0] / both / grad
    by_sync = d_step * powers[1] / both / sync
    by_power = (powers[0] * np.log(grad) + powers[1] * np.log(sync)) / both - log_step
    gradient = np.array(
        [
            by_grad.sum(),
            (by_grad * local).sum(),
            by_sync[between].sum() - 2e-2 * slopes[0] ** 2 / x[A2],
            (by_sync * beyond)[between].sum() + 2e-2 * slopes[0] / x[A2],
            by_sync[within].sum() - 2e-2 * slopes[1] ** 2 / x[A1],
            (by_sync * beyond)[within].sum() + 2e-2 * slopes[1] / x[A1],
            (d_step * by_power).sum() / x[C] + 2e-3 * (x[C] - 1),
        ]
    )
    return float(loss), gradient


def _rms(error: FloatArray) -> tuple[float, FloatArray]:
    """Root mean square, and its derivative by each error."""
    value = float(np.sqrt(np.mean(error**2)))
    return value, error / (len(error) * max(value, 1e-300))


RELEASED = Estimator(fit_as_released, BATCH_SIZES)
