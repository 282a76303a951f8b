"""General arrivals, no queue at all, and the waits of one given sample path."""

from __future__ import annotations

import heapq
import math

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import nonnegative, positive, whole
from simulator.errors import InputError
from simulator.laws import FloatArray, Law, require_law
from simulator.theory.checks import (
    load_of,
    numbers,
    real,
    require_stable,
)
from simulator.theory.mmc import mmc_mean_wait_s


def kingman_bound_s(
    arrival_rate_per_s: float, arrival_cv2: float, mean_service_s: float, service_cv2: float
) -> float:
    """Upper bound on the mean wait, G/G/1, exact in heavy traffic.

    Source: Kingman, Journal of the Royal Statistical Society B 24, 1962 (K II, chapter 2).

    Parameters
    ----------
    arrival_cv2, service_cv2 : squared coefficients of variation of the gaps between arrivals and
        of the service times.
    """
    load = require_stable(load_of(arrival_rate_per_s, mean_service_s))
    nonnegative(arrival_cv2=arrival_cv2, service_cv2=service_cv2)
    variance = arrival_cv2 / arrival_rate_per_s**2 + service_cv2 * mean_service_s**2
    return arrival_rate_per_s * variance / (2 * (1 - load))


def ggc_mean_wait_s(
    arrival_rate_per_s: float,
    arrival_cv2: float,
    mean_service_s: float,
    service_cv2: float,
    servers: int = 1,
) -> float:
    """Approximate mean wait, G/G/c: that of M/M/c times the mean of the two cv2.

    With one server it is Kingman's approximation; exact for M/M/c and for M/G/1. Source: Allen,
    Probability, Statistics and Queueing Theory, 1990 (Allen-Cunneen); for memoryless
    arrivals Lee and Longton 1959.
    """
    nonnegative(arrival_cv2=arrival_cv2, service_cv2=service_cv2)
    wait = mmc_mean_wait_s(arrival_rate_per_s, mean_service_s, servers)
    return wait * (arrival_cv2 + service_cv2) / 2


def mginf_number_pmf(
    arrival_rate_per_s: float, service: Law, number: npt.ArrayLike, elapsed_s: float = math.inf
) -> FloatArray:
    """Probability of so many in service with unlimited servers (M/G/inf): Poisson.

    Insensitive: in the long run the law matters by its mean alone. Source: Takács,
    Introduction to the Theory of Queues, 1962.

    Parameters
    ----------
    number : whole numbers, any shape.
    elapsed_s : time since the system was empty; infinite: in the long run.
    """
    positive(arrival_rate_per_s=arrival_rate_per_s)
    require_law("service", service)
    real(elapsed_s=elapsed_s)
    if not elapsed_s > 0:
        raise InputError(f"elapsed_s is {elapsed_s}, expected a positive number")
    inside = service.partial_moment(1, elapsed_s)
    if elapsed_s < math.inf:  # the integral of P(service > u) up to now, E[min(service, elapsed)]
        inside += elapsed_s * (1 - service.cdf(elapsed_s))
    mean = arrival_rate_per_s * inside
    n = numbers("number", number)
    return np.asarray(np.exp(scipy.special.xlogy(n, mean) - mean - scipy.special.gammaln(n + 1)))


def fcfs_wait_s(arrival_s: npt.ArrayLike, service_s: npt.ArrayLike, servers: int = 1) -> FloatArray:
    """Waits of given customers at ``servers`` equal servers with one queue, G/G/c, exactly.

    Source: Lindley 1952; Kiefer and Wolfowitz 1955.

    Parameters
    ----------
    arrival_s : ``(n,)`` ascending.
    service_s : ``(n,)``.
    """
    whole(1, servers=servers)
    arrivals = numbers("arrival_s", arrival_s)
    services = numbers("service_s", service_s)
    if arrivals.shape != services.shape or arrivals.ndim != 1:
        raise InputError(f"{arrivals.shape} arrivals and {services.shape} services, expected equal")
    free_s = [-math.inf] * servers
    waits = np.empty(len(arrivals))
    for i, (arrival, service) in enumerate(zip(arrivals.tolist(), services.tolist(), strict=True)):
        start = max(arrival, free_s[0])
        heapq.heapreplace(free_s, start + service)
        waits[i] = start - arrival
    return waits
