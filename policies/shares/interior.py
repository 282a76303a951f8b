"""The analytic centre of optimal shares on GPUs of several types, by a primal-dual interior-point method.

Interior-point solvers end near this centre where the optimum is not unique. The steps have a closed form but for a system
of one row a type and one more, since jobs meet only in the GPUs of each type and in the least value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies.solving.model import BoolArray
from simulator.model.cluster import FloatArray

STEPS = 200
"""Most steps; about 20 are needed."""
GAP = 1e-8
"""Mean product of slack and multiplier at the end, for values of about 1; far below it the steps lose their digits."""
CENTRED = 5
"""Steps at the end that only centre."""
SHORTENED = 0.9
"""Part of the step to the boundary that is made."""


@dataclass
class _Point:
    """Shares, the least value, and the multipliers of all conditions."""

    share: FloatArray
    least: float
    slack: list[FloatArray]
    price: list[FloatArray]


def centre_of_types(value: FloatArray, gpus: FloatArray, capacity: FloatArray) -> FloatArray:
    """Analytic centre of the shares at which the least ``sum_k value * X`` is as large as it can be.

    It maximises the sum of the logarithms of what each condition has to spare: of each share where it may be above 0, of
    each job's time, of the GPUs of each type, and of each job's value over the least.

    Parameters
    ----------
    value : ``(n, K)`` value of a job's whole time on each type; 0: it does not run there.
    gpus, capacity : ``(n,)`` GPUs of each job, ``(K,)`` of each type.
    """
    value = value / value.max(axis=1).mean()
    able = value > 0
    point = _begin(value, able, gpus, capacity)
    count = int(able.sum()) + 2 * len(gpus) + len(capacity)
    centred = 0
    for _ in range(STEPS):
        gap = sum(float((s * p).sum()) for s, p in zip(point.slack, point.price, strict=True))
        at_end = gap / count <= GAP
        if at_end and centred == CENTRED:
            break
        centred += at_end
        _step(point, value, able, gpus, gap / count * (1.0 if at_end else 0.1))
    return point.share


def _begin(value: FloatArray, able: BoolArray, gpus: FloatArray, capacity: FloatArray) -> _Point:
    """Shares inside all conditions, with multipliers to match."""
    asked = np.maximum((gpus[:, None] * able).sum(axis=0), 1.0)
    share = 0.5 * np.minimum(1 / able.shape[1], capacity / asked) * able
    each = (value * share).sum(axis=1)
    least = 0.5 * float(each.min())
    slack = [
        np.where(able, share, 1.0),
        1 - share.sum(axis=1),
        capacity - gpus @ share,
        each - least,
    ]
    price = [1 / s for s in slack]
    price[0] = price[0] * able
    return _Point(share, least, slack, price)


def _step(
    point: _Point, value: FloatArray, able: BoolArray, gpus: FloatArray, target: float
) -> None:
    """A Newton step to where all products of slack and multiplier are ``target``."""
    slack, price = point.slack, point.price
    ratio = [p / s for p, s in zip(price, slack, strict=True)]
    wanted = [target / s for s in slack]  # multipliers, were the slacks right already
    inverse, by_value, corner = _jobs(ratio[0], ratio[1], ratio[3], value, able)
    residual = wanted[0] - wanted[1][:, None] - np.outer(gpus, wanted[2])
    residual = np.where(able, residual + value * wanted[3][:, None], 0.0)
    free = np.einsum("jkl,jl->jk", inverse, residual)
    in_use, kinds = gpus @ by_value, len(ratio[2])
    system = np.zeros((kinds + 1, kinds + 1))
    system[:kinds, :kinds] = np.diag(1 / ratio[2]) + np.einsum("j,jkl->kl", gpus**2, inverse)
    system[:kinds, kinds] = system[kinds, :kinds] = -in_use
    system[kinds, kinds] = corner
    right = np.append(gpus @ free, wanted[3].sum() - 1 - (residual * by_value).sum())
    *of_gpus, rise = np.linalg.solve(system, right).tolist()
    change = free + by_value * rise
    change -= np.einsum("jkl,jl->jk", inverse, np.outer(gpus, of_gpus))
    change = np.where(able, change, 0.0)
    moved = [
        change,
        -change.sum(axis=1),
        -(gpus @ change),
        (value * change).sum(axis=1) - rise,
    ]
    priced = [w - p - r * m for w, p, r, m in zip(wanted, price, ratio, moved, strict=True)]
    priced[0] = np.where(able, priced[0], 0.0)
    part, part_of_prices = _part(slack, moved), _part(price, priced)
    point.share = point.share + part * change
    point.least += part * rise
    point.slack = [s + part * m for s, m in zip(slack, moved, strict=True)]
    point.price = [p + part_of_prices * m for p, m in zip(price, priced, strict=True)]


def _jobs(
    weight: FloatArray,
    of_time: FloatArray,
    of_value: FloatArray,
    value: FloatArray,
    able: BoolArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Parts of a Newton step, of each job.

    With ``B = diag(weight) + of_time 1 1' + of_value v v'`` of each job: ``B^-1``, ``of_value B^-1 v``, and the sum of
    ``of_value^2 v' B^-1 v - of_value``. All are parts of the inverse of a larger matrix, which stays well conditioned when
    weights are far apart. Types on which a job does not run have no part.
    """
    n, kinds = weight.shape
    whole = np.zeros((n, kinds + 2, kinds + 2))
    types = np.arange(kinds)
    whole[:, types, types] = np.where(able, weight, 1.0)
    whole[:, :kinds, kinds] = whole[:, kinds, :kinds] = able
    whole[:, :kinds, kinds + 1] = whole[:, kinds + 1, :kinds] = value
    whole[:, kinds, kinds] = -1 / of_time
    whole[:, kinds + 1, kinds + 1] = -1 / of_value
    inverse = np.linalg.inv(whole)
    return (
        inverse[:, :kinds, :kinds] * (able[:, :, None] & able[:, None, :]),
        inverse[:, :kinds, kinds + 1],
        float(inverse[:, kinds + 1, kinds + 1].sum()),
    )


def _part(values: list[FloatArray], changes: list[FloatArray]) -> float:
    """Part of a step that keeps all values positive."""
    most = 1.0
    for value, change in zip(values, changes, strict=True):
        falls = change < 0
        if falls.any():
            most = min(most, SHORTENED * float((value[falls] / -change[falls]).min()))
    return most
