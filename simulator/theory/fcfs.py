"""M/G/1, first come first served, its waits by numerical inversion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from simulator.arguments import inside, positive, short
from simulator.errors import InputError
from simulator.laws import ComplexArray, Law
from simulator.theory.checks import load_of_law, real, require_stable


def mg1_mean_wait_s(arrival_rate_per_s: float, service: Law) -> float:
    """Mean time in the queue, M/G/1. Source: Pollaczek 1930, Khinchine 1932 (K I, chapter 5)."""
    load = require_stable(load_of_law(arrival_rate_per_s, service))
    return arrival_rate_per_s * service.second_moment / (2 * (1 - load))


def mg1_mean_response_s(arrival_rate_per_s: float, service: Law) -> float:
    """Mean time in queue and service, M/G/1. Source: K I, chapter 5."""
    return mg1_mean_wait_s(arrival_rate_per_s, service) + service.mean


def mg1_wait_exceeds(arrival_rate_per_s: float, service: Law, t_s: float) -> float:
    """``P(wait > t)``, M/G/1, by numerical inversion of the Pollaczek-Khinchine transform.

    Source: K I, chapter 5, and Abate and Whitt, ORSA Journal on Computing 7, 1995. The error is about
    1e-8; up to 4e-4 next to a kink, at sums of atoms of the service law.
    """
    rate = arrival_rate_per_s
    load = require_stable(load_of_law(rate, service))
    real(t_s=t_s)
    if t_s < 0:
        return 1.0
    if t_s == 0:
        return load
    if t_s == math.inf:
        return 0.0

    def transform(s: ComplexArray) -> ComplexArray:
        wait = (1 - load) * s / (s - rate * (1 - service.laplace(s)))
        return np.asarray((1 - wait) / s, dtype=np.complex128)

    return min(load, max(0.0, invert_laplace(transform, t_s)))


def mg1_wait_quantile_s(arrival_rate_per_s: float, service: Law, q: float) -> float:
    """The wait that a fraction ``q`` (at most 0.9999) does not exceed, M/G/1. See above."""
    inside(quantile=q)
    if q > 0.9999:
        raise InputError(f"quantile is {q}, expected at most 0.9999 (accuracy of the inversion)")
    load = require_stable(load_of_law(arrival_rate_per_s, service))
    if q <= 1 - load:
        return 0.0
    high = mg1_mean_wait_s(arrival_rate_per_s, service)
    while mg1_wait_exceeds(arrival_rate_per_s, service, high) > 1 - q:
        high *= 2
    return float(
        scipy.optimize.brentq(
            lambda t: mg1_wait_exceeds(arrival_rate_per_s, service, t) - (1 - q),
            0.0,
            high,
            xtol=1e-12 * high,
            rtol=1e-10,
        )
    )


def invert_laplace(transform: Callable[[ComplexArray], ComplexArray], t: float) -> float:
    """The function of time at ``t > 0`` whose Laplace transform this is (Euler's method).

    Trapezoidal rule along the line ``Re s = A / 2t``, summed by Euler's binomial averages; the
    discretisation error is ``exp(-A)``. Source: Abate and Whitt 1995, with more terms.

    Parameters
    ----------
    transform : vectorised over complex ``s``.
    """
    if not callable(transform):
        raise InputError(f"transform is {short(transform)}, expected a function of complex numbers")
    positive(t=t)
    a, first, averaged = 18.4, 40, 16
    k = np.arange(first + averaged + 1)
    nodes = np.asarray((a + 2j * np.pi * k) / (2 * t), dtype=np.complex128)
    terms = transform(nodes).real * np.where(k % 2, -1.0, 1.0)
    terms[0] /= 2
    sums = np.cumsum(terms)[first:]
    weights = scipy.special.binom(averaged, np.arange(averaged + 1)) / 2.0**averaged
    return float(math.exp(a / 2) / t * (weights @ sums))
