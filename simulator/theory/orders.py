"""M/G/1 under other orders: priorities, processor sharing, by size, by what is left or was had."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from simulator.arguments import positive, short
from simulator.errors import InputError
from simulator.laws import FloatArray, Law, quantile
from simulator.theory.checks import load_of_law, require_stable


def mg1_priority_response_s(
    arrival_rates_per_s: Sequence[float], services: Sequence[Law], preemptive: bool
) -> FloatArray:
    """Mean response time of each class, M/G/1, the most urgent class first.

    Source: Cobham, Operations Research 2, 1954, without preemption; with
    preemption and resumption K II, chapter 3.

    Parameters
    ----------
    arrival_rates_per_s, services : of each of the ``n`` classes.
    preemptive : whether a more urgent arrival interrupts, to be resumed later.

    Returns
    -------
    ``(n,)`` s.
    """
    for name, values in (("arrival_rates_per_s", arrival_rates_per_s), ("services", services)):
        if np.asarray(values, dtype=object).ndim != 1 or not len(values):
            raise InputError(f"{name} is {short(values)}, expected one of each class, in a list")
    if len(arrival_rates_per_s) != len(services):
        raise InputError(
            f"{len(arrival_rates_per_s)} arrival rates for {len(services)} service laws, expected "
            "one of each for every class"
        )
    loads = np.array(
        [load_of_law(r, law) for r, law in zip(arrival_rates_per_s, services, strict=True)]
    )
    mean = np.array([law.mean for law in services])
    require_stable(float(loads.sum()))
    residual = np.array(arrival_rates_per_s) * [law.second_moment for law in services] / 2
    upto = np.cumsum(loads)
    above = upto - loads
    if preemptive:
        wait = np.cumsum(residual) / ((1 - above) * (1 - upto))
        return np.asarray(wait + mean / (1 - above))
    return np.asarray(residual.sum() / ((1 - above) * (1 - upto)) + mean)


def mg1_ps_response_s(
    arrival_rate_per_s: float, service: Law, size_s: float | None = None
) -> float:
    """Mean response time under processor sharing, of all or of a job of one size.

    Insensitive: the law matters by its mean alone. Source: K II, chapter 4.

    Parameters
    ----------
    size_s : service time of the job alone; None: averaged over all.
    """
    load = require_stable(load_of_law(arrival_rate_per_s, service))
    if size_s is None:
        return service.mean / (1 - load)
    positive(size_s=size_s)
    return size_s / (1 - load)


def mg1_srpt_response_s(
    arrival_rate_per_s: float, service: Law, size_s: float | None = None
) -> float:
    """Mean response time with the shortest remaining time first, of all or of one size.

    The least of any order. Numerical integration over continuous laws, exact over atoms (equal
    jobs keep their order). Source: Schrage and Miller, Operations Research 14, 1966 (HB, chapter 33).

    Parameters
    ----------
    size_s : service time of the job alone; None: averaged over all.
    """
    require_stable(load_of_law(arrival_rate_per_s, service))
    if size_s is not None:
        positive(size_s=size_s)
        return _srpt_wait_s(arrival_rate_per_s, service, size_s) + _srpt_residence_s(
            arrival_rate_per_s, service, size_s
        )
    if service.atoms:
        return _srpt_over_atoms(arrival_rate_per_s, service)
    low, high = _almost_all(service)
    wait = _over_sizes(service, lambda x: _srpt_wait_s(arrival_rate_per_s, service, x))
    # E of the residence time, the order of integration changed.
    residence = low + _integrate(
        lambda t: (1 - service.cdf(t)) / (1 - _load_upto(arrival_rate_per_s, service, t)), low, high
    )
    return wait + residence


def mg1_sjf_response_s(
    arrival_rate_per_s: float, service: Law, preemptive: bool = False, size_s: float | None = None
) -> float:
    """Mean response time with the shortest job first, by its whole size, of all or of one size.

    Equal jobs keep their order. Source: Phipps, Operations Research 4, 1956 (HB, chapter 31); with
    preemption and resumption HB, chapter 32 (PSJF).

    Parameters
    ----------
    preemptive : whether a shorter arrival interrupts, to be resumed later.
    size_s : service time of the job alone; None: averaged over all.
    """
    rate = arrival_rate_per_s
    require_stable(load_of_law(rate, service))
    share = dict(service.atoms)

    def at(x: float) -> float:
        upto = _load_upto(rate, service, x)
        below = 1 - upto + rate * x * share.get(x, 0.0)
        ahead = service.partial_moment(2, x) if preemptive else service.second_moment
        return rate * ahead / (2 * below * (1 - upto)) + (x / below if preemptive else x)

    return _at_size(service, at, size_s)


def mg1_fb_response_s(
    arrival_rate_per_s: float, service: Law, size_s: float | None = None
) -> float:
    """Mean response time with the least attained service first (foreground-background), of all or of one size.

    Jobs of equal attained service share the server. Source: Schrage, Management Science 13, 1967 (HB,
    chapter 30).

    Parameters
    ----------
    size_s : service time of the job alone; None: averaged over all.
    """
    rate = arrival_rate_per_s
    require_stable(load_of_law(rate, service))

    def at(x: float) -> float:
        longer = 1 - service.cdf(x)  # of them so much counts as x has
        first, second = (service.partial_moment(k, x) + x**k * longer for k in (1, 2))
        idle = 1 - rate * first
        return rate * second / (2 * idle**2) + x / idle

    return _at_size(service, at, size_s)


def _at_size(service: Law, at: Callable[[float], float], size_s: float | None) -> float:
    """The value of one size, or its mean over all."""
    if size_s is None:
        return _over_sizes(service, at)
    positive(size_s=size_s)
    return at(size_s)


def _over_sizes(service: Law, at: Callable[[float], float]) -> float:
    """Mean of a function of the size."""
    if service.atoms:
        return sum(p * at(v) for v, p in service.atoms)
    return _integrate(lambda x: service.pdf(x) * at(x), *_almost_all(service))


def _almost_all(service: Law) -> tuple[float, float]:
    """Sizes between which almost all jobs lie."""
    least = 1e-18 * service.mean  # shorter ones weigh nothing, and a logarithm needs more than 0
    return max(least, quantile(service, 1e-13)), quantile(service, 1 - 1e-13)


def _load_upto(rate: float, service: Law, x: float) -> float:
    """Load of the jobs of at most this size."""
    return rate * service.partial_moment(1, x)


def _srpt_wait_s(rate: float, service: Law, x: float) -> float:
    """Mean time until a job of size ``x`` is first served."""
    upto = _load_upto(rate, service, x)
    below = upto - rate * sum(p * v for v, p in service.atoms if v == x)
    work = service.partial_moment(2, x) + x * x * (1 - service.cdf(x))
    return rate * work / (2 * (1 - below) * (1 - upto))


def _srpt_residence_s(rate: float, service: Law, x: float) -> float:
    """Mean time from first service to completion of a job of size ``x``."""
    if service.atoms:
        edges = [0.0, *(v for v, _ in service.atoms if v < x), x]
        return sum(
            (b - a) / (1 - _load_upto(rate, service, a)) for a, b in itertools.pairwise(edges)
        )
    least, largest = service.support
    low, top = min(x, max(least, 1e-12 * x)), min(x, largest)
    inside = _integrate(lambda t: 1 / (1 - _load_upto(rate, service, t)), low, top)
    return low + inside + (x - top) / (1 - _load_upto(rate, service, x))


def _srpt_over_atoms(rate: float, service: Law) -> float:
    """Mean response time where sizes take finitely many values: the same sums for all at once."""
    x, p = np.array(service.atoms).T
    upto = rate * np.cumsum(p * x)
    below = upto - rate * p * x
    work = np.cumsum(p * x**2) + x**2 * (1 - np.cumsum(p))
    wait = rate * work / (2 * (1 - below) * (1 - upto))
    residence = np.cumsum(np.diff(x, prepend=0.0) / (1 - below))
    return float(p @ (wait + residence))


def _integrate(f: Callable[[float], float], low: float, high: float) -> float:
    """Integral over positive numbers, in the logarithm: sizes span many orders of magnitude."""
    if high <= low:
        return 0.0
    value, _ = scipy.integrate.quad(
        lambda y: f(math.exp(y)) * math.exp(y),
        math.log(low),
        math.log(high),
        limit=500,
        epsabs=0,
        epsrel=1e-10,
    )
    return float(value)
