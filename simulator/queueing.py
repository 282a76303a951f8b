"""Closed forms of queueing theory, to lay beside the simulation and to size servers with.

Times in seconds, rates per second, loads in erlang (arrival rate times mean service time; the
mean number of busy servers). Kendall's letters: arrivals / service / servers, M memoryless, G
general; first come first served unless another order is named. Each function names its source;
K is Kleinrock, Queueing Systems (I 1975, II 1976), HB is Harchol-Balter, Performance Modeling and
Design of Computer Systems (2013).

Impossible parameters, a queue that is not stable among them, raise `InputError`, one line.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special

from simulator.errors import InputError
from simulator.laws import ComplexArray, FloatArray, HyperExponential, Law, quantile

__all__ = [
    "ServerSizing",
    "erlang_b",
    "erlang_c",
    "fcfs_wait_s",
    "ggc_mean_wait_s",
    "invert_laplace",
    "kingman_bound_s",
    "littles_law",
    "mg1_mean_response_s",
    "mg1_mean_wait_s",
    "mg1_priority_response_s",
    "mg1_ps_response_s",
    "mg1_srpt_response_s",
    "mg1_wait_exceeds",
    "mg1_wait_quantile_s",
    "mginf_number_pmf",
    "mm1_mean_number_at",
    "mmc_mean_response_s",
    "mmc_mean_wait_s",
    "mmc_wait_exceeds",
    "mmc_wait_quantile_s",
    "size_servers",
]

MOST_SERVERS = 1_000_000
"""`size_servers` gives up here."""


def littles_law(arrival_rate_per_s: float, mean_time_s: float) -> float:
    """Mean number in a system in which each spends ``mean_time_s`` on average.

    Source: Little, Operations Research 9, 1961 (K I, chapter 2).
    """
    _positive(arrival_rate_per_s=arrival_rate_per_s)
    if mean_time_s < 0:
        raise InputError(f"mean_time_s is {mean_time_s}, expected a number >= 0")
    return arrival_rate_per_s * mean_time_s


# --- M/M/c ---------------------------------------------------------------------------------------


def erlang_b(load: float, servers: int) -> float:
    """Probability that an arrival finds all servers busy, where it is then lost (M/G/c/c).

    Source: Erlang 1917; recursion over the servers, stable for any load (HB, chapter 14).

    Parameters
    ----------
    load : erlang, any number >= 0.
    servers : whole number >= 0.
    """
    _servers(servers, least=0)
    if not (load >= 0 and math.isfinite(load)):
        raise InputError(f"load is {load} erlang, expected a number >= 0")
    blocked = 1.0
    for c in range(1, servers + 1):
        blocked = load * blocked / (c + load * blocked)
    return blocked


def erlang_c(load: float, servers: int) -> float:
    """Probability that an arrival has to wait (M/M/c), load below the number of servers.

    Source: Erlang 1917, from `erlang_b` (HB, chapter 14).
    """
    _servers(servers)
    _stable(load, servers)
    blocked = erlang_b(load, servers)
    return blocked / (1 - load / servers * (1 - blocked))


def mmc_mean_wait_s(arrival_rate_per_s: float, mean_service_s: float, servers: int) -> float:
    """Mean time in the queue, M/M/c. Source: HB, chapter 14."""
    load = _load(arrival_rate_per_s, mean_service_s)
    return erlang_c(load, servers) * mean_service_s / (servers - load)


def mmc_mean_response_s(arrival_rate_per_s: float, mean_service_s: float, servers: int) -> float:
    """Mean time in queue and service, M/M/c. Source: HB, chapter 14."""
    return mmc_mean_wait_s(arrival_rate_per_s, mean_service_s, servers) + mean_service_s


def mmc_wait_exceeds(
    arrival_rate_per_s: float, mean_service_s: float, servers: int, t_s: float
) -> float:
    """``P(wait > t)``, M/M/c. Source: HB, chapter 14."""
    load = _load(arrival_rate_per_s, mean_service_s)
    if t_s < 0:
        return 1.0
    return erlang_c(load, servers) * math.exp(-(servers - load) * t_s / mean_service_s)


def mmc_wait_quantile_s(
    arrival_rate_per_s: float, mean_service_s: float, servers: int, q: float
) -> float:
    """The wait that a fraction ``q`` does not exceed, M/M/c. The inverse of `mmc_wait_exceeds`."""
    _fraction(q)
    load = _load(arrival_rate_per_s, mean_service_s)
    waits = erlang_c(load, servers)
    if waits <= 1 - q:
        return 0.0
    return math.log(waits / (1 - q)) * mean_service_s / (servers - load)


def mm1_mean_number_at(
    arrival_rate_per_s: float, mean_service_s: float, times_s: npt.ArrayLike
) -> FloatArray:
    """Mean number in the system at some times after an empty start, M/M/1, stable or not.

    Source: Kolmogorov's forward equations (K I, chapter 2), on as many states as the queue can
    reach, integrated by uniformisation (Grassmann, Computers & Operations Research 4, 1977).

    Parameters
    ----------
    times_s : ``(m,)`` s, >= 0.

    Returns
    -------
    ``(m,)``.
    """
    _load(arrival_rate_per_s, mean_service_s)
    times = np.asarray(times_s, dtype=np.float64)
    if times.ndim != 1 or not ((times >= 0) & np.isfinite(times)).all():
        raise InputError("times_s: expected a list of times >= 0")
    pace = arrival_rate_per_s + 1 / mean_service_s
    up, down = arrival_rate_per_s / pace, 1 / mean_service_s / pace
    jumps = int(pace * times.max() + 10 * math.sqrt(pace * times.max()) + 20)
    state = np.zeros(jumps + 2)
    state[0] = 1.0
    number = np.arange(len(state))
    means = np.empty(jumps + 1)
    for n in range(jumps + 1):  # the chain seen at the jumps of a Poisson process of rate `pace`
        means[n] = number @ state
        moved = np.zeros_like(state)
        moved[1:] += up * state[:-1]
        moved[:-1] += down * state[1:]
        moved[0] += down * state[0]
        state = moved
    weights = special.pdtr(np.arange(jumps + 1), (pace * times)[:, None])
    weights[:, 1:] -= weights[:, :-1].copy()
    return np.asarray(weights @ means)


# --- M/G/1, first come first served --------------------------------------------------------------


def mg1_mean_wait_s(arrival_rate_per_s: float, service: Law) -> float:
    """Mean time in the queue, M/G/1. Source: Pollaczek 1930, Khinchine 1932 (K I, chapter 5)."""
    load = _stable(_load(arrival_rate_per_s, service.mean))
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
    load = _stable(_load(rate, service.mean))
    if t_s < 0:
        return 1.0
    if t_s == 0:
        return load

    def transform(s: ComplexArray) -> ComplexArray:
        wait = (1 - load) * s / (s - rate * (1 - service.laplace(s)))
        return np.asarray((1 - wait) / s, dtype=np.complex128)

    return min(load, max(0.0, invert_laplace(transform, t_s)))


def mg1_wait_quantile_s(arrival_rate_per_s: float, service: Law, q: float) -> float:
    """The wait that a fraction ``q`` (at most 0.9999) does not exceed, M/G/1. See above."""
    _fraction(q)
    if q > 0.9999:
        raise InputError(f"quantile is {q}, expected at most 0.9999 (accuracy of the inversion)")
    load = _stable(_load(arrival_rate_per_s, service.mean))
    if q <= 1 - load:
        return 0.0
    high = mg1_mean_wait_s(arrival_rate_per_s, service)
    while mg1_wait_exceeds(arrival_rate_per_s, service, high) > 1 - q:
        high *= 2
    return float(
        optimize.brentq(
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
    a, first, averaged = 18.4, 40, 16
    k = np.arange(first + averaged + 1)
    nodes = np.asarray((a + 2j * np.pi * k) / (2 * t), dtype=np.complex128)
    terms = transform(nodes).real * np.where(k % 2, -1.0, 1.0)
    terms[0] /= 2
    sums = np.cumsum(terms)[first:]
    weights = special.binom(averaged, np.arange(averaged + 1)) / 2.0**averaged
    return float(math.exp(a / 2) / t * (weights @ sums))


# --- M/G/1, other orders -------------------------------------------------------------------------


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
    if not len(arrival_rates_per_s) == len(services) > 0:
        raise InputError(
            f"{len(arrival_rates_per_s)} arrival rates for {len(services)} service laws, expected "
            "one of each for every class"
        )
    mean = np.array([law.mean for law in services])
    loads = np.array(
        [_load(r, law.mean) for r, law in zip(arrival_rates_per_s, services, strict=True)]
    )
    _stable(float(loads.sum()))
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
    load = _stable(_load(arrival_rate_per_s, service.mean))
    return (service.mean if size_s is None else size_s) / (1 - load)


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
    _stable(_load(arrival_rate_per_s, service.mean))
    if size_s is not None:
        _positive(size_s=size_s)
        return _srpt_wait_s(arrival_rate_per_s, service, size_s) + _srpt_residence_s(
            arrival_rate_per_s, service, size_s
        )
    if service.atoms:
        return _srpt_over_atoms(arrival_rate_per_s, service)
    low, high = quantile(service, 1e-13), quantile(service, 1 - 1e-13)
    wait = _integrate(
        lambda x: service.pdf(x) * _srpt_wait_s(arrival_rate_per_s, service, x), low, high
    )
    # E of the residence time, the order of integration changed.
    residence = low + _integrate(
        lambda t: (1 - service.cdf(t)) / (1 - _load_upto(arrival_rate_per_s, service, t)), low, high
    )
    return wait + residence


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
    low = min(x, max(service.support[0], 1e-12 * x))
    return low + _integrate(lambda t: 1 / (1 - _load_upto(rate, service, t)), low, x)


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
    value, _ = integrate.quad(
        lambda y: f(math.exp(y)) * math.exp(y),
        math.log(low),
        math.log(high),
        limit=500,
        epsabs=0,
        epsrel=1e-10,
    )
    return float(value)


# --- general arrivals, and no queue at all -------------------------------------------------------


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
    load = _stable(_load(arrival_rate_per_s, mean_service_s))
    _nonnegative(arrival_cv2=arrival_cv2, service_cv2=service_cv2)
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
    _nonnegative(arrival_cv2=arrival_cv2, service_cv2=service_cv2)
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
    _positive(arrival_rate_per_s=arrival_rate_per_s)
    if not elapsed_s > 0:
        raise InputError(f"elapsed_s is {elapsed_s}, expected a positive number")
    inside = service.partial_moment(1, elapsed_s)
    if elapsed_s < math.inf:  # the integral of P(service > u) up to now, E[min(service, elapsed)]
        inside += elapsed_s * (1 - service.cdf(elapsed_s))
    mean = arrival_rate_per_s * inside
    n = np.asarray(number, dtype=np.float64)
    return np.asarray(np.exp(special.xlogy(n, mean) - mean - special.gammaln(n + 1)))


# --- one sample path -----------------------------------------------------------------------------


def fcfs_wait_s(arrival_s: npt.ArrayLike, service_s: npt.ArrayLike, servers: int = 1) -> FloatArray:
    """Waits of given customers at ``servers`` equal servers with one queue, G/G/c, exactly.

    Source: Lindley 1952; Kiefer and Wolfowitz 1955.

    Parameters
    ----------
    arrival_s : ``(n,)`` ascending.
    service_s : ``(n,)``.
    """
    _servers(servers)
    arrivals = np.asarray(arrival_s, dtype=np.float64)
    services = np.asarray(service_s, dtype=np.float64)
    if arrivals.shape != services.shape or arrivals.ndim != 1:
        raise InputError(f"{arrivals.shape} arrivals and {services.shape} services, expected equal")
    free_s = [-math.inf] * servers
    waits = np.empty(len(arrivals))
    for i, (arrival, service) in enumerate(zip(arrivals.tolist(), services.tolist(), strict=True)):
        start = max(arrival, free_s[0])
        heapq.heapreplace(free_s, start + service)
        waits[i] = start - arrival
    return waits


# --- sizing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ServerSizing:
    """How many optimization servers, and what they give.

    Attributes
    ----------
    servers : the least number that keeps the target.
    arrival_rate_per_s : requests of all controllers together.
    utilisation : of each server.
    mean_wait_s, mean_response_s : of a request: in the queue; in queue and service.
    formula : where the wait comes from: ``"M/M/c"`` and ``"M/G/1"`` are exact, ``"M/G/c"`` is
        approximate (`ggc_mean_wait_s`).
    """

    servers: int
    arrival_rate_per_s: float
    utilisation: float
    mean_wait_s: float
    mean_response_s: float
    formula: str


def size_servers(
    controllers: int, arrival_rate_per_s: float, service: Law, target_delay_s: float
) -> ServerSizing:
    """Least number of optimization servers with a mean response time of at most the target.

    Parameters
    ----------
    controllers : ``K``, whole number >= 1.
    arrival_rate_per_s : requests per second of *one* controller; memoryless. The hierarchical
        paper's 20 controllers ask together twice every 450 s: 1/4500 per second each.
    service : law of the time that one decision takes on a server.
    target_delay_s : mean time from a controller's request to its answer, queue and service.

    Raises
    ------
    InputError
        The target is not above the mean service time, which no number of servers can beat.
    """
    if isinstance(controllers, bool) or controllers != int(controllers) or controllers < 1:
        raise InputError(f"controllers is {controllers}, expected a whole number >= 1")
    _positive(arrival_rate_per_s=arrival_rate_per_s, target_delay_s=target_delay_s)
    if target_delay_s <= service.mean:
        raise InputError(
            f"target delay is {target_delay_s:g} s, expected more than the mean service time of "
            f"{service.mean:g} s, which no number of servers can beat"
        )
    rate = controllers * arrival_rate_per_s
    load = _load(rate, service.mean)
    variability = (1 + service.cv2) / 2
    blocked = 1.0
    for servers in range(1, MOST_SERVERS + 1):
        blocked = load * blocked / (servers + load * blocked)
        if servers <= load:
            continue
        waits = blocked / (1 - load / servers * (1 - blocked))
        wait_s = waits * service.mean / (servers - load) * variability
        if wait_s + service.mean <= target_delay_s:
            formula = _wait_formula(service, servers)
            return ServerSizing(
                servers, rate, load / servers, wait_s, wait_s + service.mean, formula
            )
    raise InputError(f"{controllers} controllers need more than {MOST_SERVERS} servers")


def _wait_formula(service: Law, servers: int) -> str:
    if isinstance(service, HyperExponential) and len(service.means) == 1:
        return "M/M/c"
    return "M/G/1" if servers == 1 else "M/G/c"


# --- checks --------------------------------------------------------------------------------------


def _load(arrival_rate_per_s: float, mean_service_s: float) -> float:
    _positive(arrival_rate_per_s=arrival_rate_per_s, mean_service_s=mean_service_s)
    return arrival_rate_per_s * mean_service_s


def _stable(load: float, servers: int = 1) -> float:
    if not 0 <= load < servers:
        raise InputError(
            f"the queue is not stable: {load:g} erlang on {servers} server(s), expected less load "
            "than servers"
        )
    return load


def _servers(servers: int, least: int = 1) -> None:
    if isinstance(servers, bool) or servers != int(servers) or servers < least:
        raise InputError(f"servers is {servers}, expected a whole number >= {least}")


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name} is {value}, expected a positive number")


def _nonnegative(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise InputError(f"{name} is {value}, expected a number >= 0")


def _fraction(q: float) -> None:
    if not 0 < q < 1:
        raise InputError(f"quantile is {q}, expected between 0 and 1")
