"""Number of optimization servers for a target delay."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.arguments import positive, whole
from simulator.errors import InputError
from simulator.laws import HyperExponential, Law, require_law
from simulator.theory.checks import load_of

MOST_SERVERS = 1_000_000
"""`size_servers` gives up here."""


@dataclass(frozen=True)
class ServerSizing:
    """Number of optimization servers, and their delays.

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

    Raises InputError: the target is not above the mean service time, which no number of servers can
    beat.
    """
    whole(1, controllers=controllers)
    require_law("service", service)
    positive(arrival_rate_per_s=arrival_rate_per_s, target_delay_s=target_delay_s)
    if target_delay_s <= service.mean:
        raise InputError(
            f"target delay is {target_delay_s:g} s, expected more than the mean service time of "
            f"{service.mean:g} s, which no number of servers can beat"
        )
    rate = controllers * arrival_rate_per_s
    load = load_of(rate, service.mean)
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
