"""Length of a simulation of a queue, planned before it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from simulator.arguments import nonnegative, positive, whole
from simulator.laws import Exponential, FloatArray, Law, require_law
from simulator.theory.checks import load_of, require_stable

RELATIVE_HALF_WIDTH = 0.15
"""The widest relative precision that Law recommends to work with (Simulation Modeling and Analysis,
5th ed., 9.4.1)."""

RELAXATIONS = 420
"""21 parts of 20 relaxation times: the warm-up and 20 batches. Of an exponential decay, the means of
neighbouring batches then have a correlation of 1/38."""

MOST_STATES = 5_000_000


@dataclass(frozen=True)
class RunLength:
    """Facts that decide how many jobs a simulation of a queue needs, before it is run.

    A rule that looks at the run instead prefers runs that happen to have no long busy period.

    Attributes
    ----------
    relative_variance : variance of the mean of n jobs, over the squared mean, times n (n large).
    relaxation_jobs : arrivals during the time in which the queue forgets its state (by 1/e).
    """

    relative_variance: float
    relaxation_jobs: float

    def jobs(self, relative_half_width: float = RELATIVE_HALF_WIDTH, level: float = 0.95) -> int:
        """Jobs for an interval of this relative half width that can be trusted.

        Source: Whitt, Management Science 35, 1989; the relaxation times are for the batches.
        """
        positive(relative_half_width=relative_half_width)
        score = NormalDist().inv_cdf((1 + level) / 2) / relative_half_width
        return math.ceil(max(self.relative_variance * score**2, RELAXATIONS * self.relaxation_jobs))


def response_run_length(
    arrival_rate_per_s: float,
    service: Law,
    servers: int = 1,
    gaps_cv2: float = 1.0,
    *,
    first_come: bool = True,
) -> RunLength:
    """Of the mean response time; the variance is exact for M/M/c and M/G/1, first come first served.

    Elsewhere both numbers of M/M/c are scaled by a factor of variability. With first come first
    served it is what M/G/1 with this law has over M/M/1: the first four moments of the service count.
    Under processor sharing and SRPT a long job does not block the others, and the factor of heavy
    traffic is taken, the mean of the squared coefficients of variation.

    Parameters
    ----------
    gaps_cv2 : squared coefficient of variation of the gaps between arrivals.

    Sources: Whitt, Probability in the Engineering and Informational Sciences 6, 1992 (variance);
    Morse, J. Royal Stat. Soc. B 17, 1955, and van Doorn, Adv. Appl. Prob. 17, 1985 (relaxation);
    Whitt, Management Science 35, 1989 (heavy traffic).
    """
    require_law("service", service)
    whole(1, servers=servers)
    nonnegative(gaps_cv2=gaps_cv2)
    mean_service_s = service.mean
    load = require_stable(load_of(arrival_rate_per_s, mean_service_s), servers)
    factor = (gaps_cv2 + service.cv2) / 2
    if first_come:
        rate_per_s = arrival_rate_per_s / servers
        variable = _mg1_variance(rate_per_s, service)
        factor *= variable / _mg1_variance(rate_per_s, Exponential(mean_service_s))
        factor /= (1 + service.cv2) / 2
    most = int(min(servers + 50 * math.sqrt(load) + 50 / (1 - load / servers), MOST_STATES))
    number = np.arange(most + 1.0)
    births = np.full(most, arrival_rate_per_s)
    p, gain = _potential(births, np.minimum(number[1:], servers) / mean_service_s, number)
    response_s = float(number @ p) / arrival_rate_per_s
    moves = ((gain - response_s) ** 2 + gain**2) @ (births * p[:-1])
    gap = min((math.sqrt(servers) - math.sqrt(load)) ** 2, 1.0) / mean_service_s
    return RunLength(
        factor * float(moves) / (arrival_rate_per_s * response_s**2),
        factor * arrival_rate_per_s / gap,
    )


def _mg1_variance(rate_per_s: float, service: Law) -> float:
    """Relative variance of the mean response of M/G/1, first come first served, times n.

    With v the work that an arrival finds and b its service, Poisson's equation is solved by
    ``rate v^2 / (2 (1 - load))``. An arrival moves the sum of responses, less the mean r of each, by
    ``v + b - r + rate (2 v b + b^2) / (2 (1 - load))``; the mean square of that is the variance.
    """
    load = require_stable(load_of(rate_per_s, service.mean))
    b1, b2, b3, b4 = (service.moment(k) for k in (1, 2, 3, 4))
    v1 = rate_per_s * b2 / (2 * (1 - load))
    v2 = 2 * v1**2 + rate_per_s * b3 / (3 * (1 - load))
    a, r = rate_per_s / (1 - load), v1 + b1
    # (v + b - r + a v b + a b^2 / 2)^2, v and b independent
    square = (
        v2 + b2 + r**2 + a**2 * v2 * b2 + a**2 * b4 / 4
        + 2 * (v1 * b1 - r * v1 + a * v2 * b1 + a * v1 * b2 / 2)
        + 2 * (-r * b1 + a * v1 * b2 + a * b3 / 2)
        + 2 * (-r * a * v1 * b1 - r * a * b2 / 2)
        + a**2 * v1 * b3
    )  # fmt: skip
    return square / r**2


def lost_share_run_length(
    arrival_rate_per_s: float,
    mean_service_s: float,
    servers: int,
    mean_patience_s: float = 0.0,
    cv2: float = 1.0,
) -> RunLength:
    """Of the share of jobs that leave: Erlang B where the patience is 0, else Erlang A.

    Sources as in `response_run_length`; ``cv2`` is the mean of the squared coefficients of variation
    of gaps and services. The relaxation time is a bound, the longer of
    service and patience.
    """
    whole(1, servers=servers)
    nonnegative(cv2=cv2, mean_patience_s=mean_patience_s)
    load = load_of(arrival_rate_per_s, mean_service_s)
    in_queue = arrival_rate_per_s * mean_patience_s
    room = int(load + in_queue + 40 * math.sqrt(in_queue + load + 1) + 100) if in_queue else 0
    number = np.arange(servers + room + 1.0)
    births = np.full(len(number) - 1, arrival_rate_per_s)
    served = np.minimum(number, servers) / mean_service_s
    leaves = (
        np.maximum(number - servers, 0) / mean_patience_s if in_queue else np.zeros_like(number)
    )
    # Who finds the last state full is turned away, all the others join.
    turned = np.where(number == servers, arrival_rate_per_s, 0.0) if not in_queue else 0 * number
    p, gain = _potential(births, (served + leaves)[1:], leaves + turned)
    share = float((leaves + turned) @ p) / arrival_rate_per_s
    moves = (gain - share) ** 2 @ (births * p[:-1])
    moves += (gain**2 * served[1:] + (1 - gain) ** 2 * leaves[1:]) @ p[1:]
    moves += (1 - share) ** 2 * turned @ p
    longest_s = max(mean_service_s, mean_patience_s)
    return RunLength(
        cv2 * float(moves) / (arrival_rate_per_s * share**2), cv2 * arrival_rate_per_s * longest_s
    )


def _potential(
    birth: FloatArray, death: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Stationary law of a birth-death process, and what one more customer adds to a sum over time.

    The gains solve Poisson's equation: with them, a sum of ``value`` over time, less its mean, is a
    martingale plus an end effect, and the martingale's jumps give the variance (Whitt 1992,
    section 2; Asmussen, Applied Probability and Queues, 2003, II.4).

    Parameters
    ----------
    birth, death : ``(n,)`` rates of i -> i + 1 and of i + 1 -> i.
    value : ``(n + 1,)`` a function of the state, not decreasing.

    Returns
    -------
    ``(n + 1,)`` probabilities and ``(n,)`` gains of i -> i + 1.
    """
    log_p = np.concatenate([[0.0], np.cumsum(np.log(birth / death))])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = float(value @ p)
    excess = (mean - value) * p
    # Sums of the first states, and of the last, each from its own end: nothing cancels.
    below, above = np.cumsum(excess)[:-1], -np.cumsum(excess[::-1])[::-1][1:]
    sums = np.where(value[:-1] < mean, below, above)
    flow = birth * p[:-1]
    return p, np.divide(sums, flow, out=np.zeros_like(flow), where=flow > 1e-300)
