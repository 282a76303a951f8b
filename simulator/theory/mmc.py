"""Little's law, Erlang's formulas, M/M/c, and M/M/c whose customers leave (Erlang A)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import inside, nonnegative, positive, whole
from simulator.errors import InputError
from simulator.laws import FloatArray
from simulator.theory.checks import (
    load_of,
    numbers,
    real,
    require_stable,
)


def littles_law(arrival_rate_per_s: float, mean_time_s: float) -> float:
    """Mean number in a system in which each spends ``mean_time_s`` on average.

    Source: Little, Operations Research 9, 1961 (K I, chapter 2).
    """
    positive(arrival_rate_per_s=arrival_rate_per_s)
    nonnegative(mean_time_s=mean_time_s)
    return arrival_rate_per_s * mean_time_s


def erlang_b(load: float, servers: int) -> float:
    """Probability that an arrival finds all servers busy, where it is then lost (M/G/c/c).

    Source: Erlang 1917; recursion over the servers, stable for any load (HB, chapter 14).

    Parameters
    ----------
    load : erlang, any number >= 0.
    servers : whole number >= 0.
    """
    whole(0, servers=servers)
    nonnegative(load=load)
    blocked = 1.0
    for c in range(1, servers + 1):
        blocked = load * blocked / (c + load * blocked)
    return blocked


def erlang_c(load: float, servers: int) -> float:
    """Probability that an arrival has to wait (M/M/c), load below the number of servers.

    Source: Erlang 1917, from `erlang_b` (HB, chapter 14).
    """
    whole(1, servers=servers)
    require_stable(load, servers)
    blocked = erlang_b(load, servers)
    return blocked / (1 - load / servers * (1 - blocked))


def mmc_mean_wait_s(arrival_rate_per_s: float, mean_service_s: float, servers: int) -> float:
    """Mean time in the queue, M/M/c. Source: HB, chapter 14."""
    load = load_of(arrival_rate_per_s, mean_service_s)
    return erlang_c(load, servers) * mean_service_s / (servers - load)


def mmc_mean_response_s(arrival_rate_per_s: float, mean_service_s: float, servers: int) -> float:
    """Mean time in queue and service, M/M/c. Source: HB, chapter 14."""
    return mmc_mean_wait_s(arrival_rate_per_s, mean_service_s, servers) + mean_service_s


def mmc_wait_exceeds(
    arrival_rate_per_s: float, mean_service_s: float, servers: int, t_s: float
) -> float:
    """``P(wait > t)``, M/M/c. Source: HB, chapter 14."""
    load = load_of(arrival_rate_per_s, mean_service_s)
    whole(1, servers=servers)
    require_stable(load, servers)
    real(t_s=t_s)
    if t_s < 0:
        return 1.0
    return erlang_c(load, servers) * math.exp(-(servers - load) * t_s / mean_service_s)


def mmc_wait_quantile_s(
    arrival_rate_per_s: float, mean_service_s: float, servers: int, q: float
) -> float:
    """The wait that a fraction ``q`` does not exceed, M/M/c. The inverse of `mmc_wait_exceeds`."""
    inside(quantile=q)
    load = load_of(arrival_rate_per_s, mean_service_s)
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
    load_of(arrival_rate_per_s, mean_service_s)
    times = numbers("times_s", times_s)
    if times.ndim != 1 or not times.size or not ((times >= 0) & np.isfinite(times)).all():
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
    weights = scipy.special.pdtr(np.arange(jumps + 1), (pace * times)[:, None])
    weights[:, 1:] -= weights[:, :-1].copy()
    return np.asarray(weights @ means)


@dataclass(frozen=True)
class ErlangA:
    """Long-run metrics of M/M/c with patience.

    Attributes
    ----------
    waits : probability that an arrival finds all servers busy.
    abandons : part of the arrivals that leave before they are served.
    mean_wait_s : mean time in the queue, of those that leave as well.
    """

    waits: float
    abandons: float
    mean_wait_s: float


def erlang_a(
    arrival_rate_per_s: float, mean_service_s: float, servers: int, mean_patience_s: float
) -> ErlangA:
    """M/M/c where each waiting customer leaves after an exponential time; stable at any load.

    Source: Palm 1957; Garnett, Mandelbaum and Reiman, Manufacturing & Service Operations
    Management 4, 2002. The birth-death equations, solved in logarithms on as many states as matter.
    """
    whole(1, servers=servers)
    positive(mean_patience_s=mean_patience_s)
    load = load_of(arrival_rate_per_s, mean_service_s)
    in_queue = arrival_rate_per_s * mean_patience_s
    most = int(servers + load + in_queue + 40 * np.sqrt(in_queue + load + 1) + 100)
    n = np.arange(1, most + 1)
    leave = np.minimum(n, servers) / mean_service_s + np.maximum(n - servers, 0) / mean_patience_s
    log_p = np.concatenate([[0.0], np.cumsum(np.log(arrival_rate_per_s / leave))])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    queue = float(np.maximum(np.arange(most + 1) - servers, 0) @ p)
    return ErlangA(
        float(p[servers:].sum()),
        queue / (mean_patience_s * arrival_rate_per_s),
        queue / arrival_rate_per_s,
    )
