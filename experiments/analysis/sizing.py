"""`schedlab theory size-server`: optimization servers needed, by the formula and by simulated queues."""

from __future__ import annotations

import math

from simulator import Cluster, NodeType, simulate
from simulator.errors import InputError
from simulator.laws import Law, parse_law
from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.statistics import Estimate, Streams, replicate, replicate_until_precise
from simulator.theory import ServerSizing, mg1_mean_response_s, size_servers
from simulator.workloads.poisson import poisson_jobs

REPLICATIONS = 10
"""At least; with a precision as many as it asks for."""

MOST_REPLICATIONS = 1000
REQUESTS = 4500
"""Counted in a replication, at least."""

WARM_UP = 500
"""Left out at the start of a replication, at least."""

BEYOND = 3
"""Servers more than the formula says that are looked at: beyond them waits are nothing."""

MOST_WARM_UP = 20_000
"""Queues that take longer to forget their empty start are not simulated."""


def parse_rate(text: str) -> float:
    """``"2.2e-4"`` or ``"1/4500"``, per second."""
    above, slash, below = text.partition("/")
    try:
        rate = float(above) / (float(below) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        rate = math.nan
    if not 0 < rate < math.inf:
        raise InputError(
            f"--arrival-rate: got {text!r}, expected requests per second, e.g. 1/4500 or 2.2e-4"
        )
    return rate


def size_server(
    controllers: int,
    arrival_rate_per_s: float,
    service: str,
    target_delay_s: float,
    seed: int,
    precision: float | None = None,
) -> str:
    """The answer in a few lines: servers, utilisation and response time, both ways.

    Parameters
    ----------
    precision : relative half width to which simulated means are replicated; None: 10 replications.

    Raises
    ------
    InputError
        An unknown law, or a target that no number of servers can meet.
    """
    law = parse_law(service)
    sizing = size_servers(controllers, arrival_rate_per_s, law, target_delay_s)
    kind = "approximately" if sizing.formula == "M/G/c" else "exactly"
    lines = [
        f"K = {controllers}: {sizing.arrival_rate_per_s:.4g} requests/s in all, "
        f"{law.mean:.4g} s each on average; target: answers within {target_delay_s:g} s on average",
        f"theory ({sizing.formula}, {kind}): {_count(sizing.servers)}, "
        f"utilisation {sizing.utilisation:.1%}, mean response time {sizing.mean_response_s:.4g} s "
        f"(wait {sizing.mean_wait_s:.3g} s)",
    ]
    if sizing.servers == 1 and sizing.formula != "M/G/1":
        exact = mg1_mean_response_s(sizing.arrival_rate_per_s, law)
        lines.append(f"theory (Pollaczek-Khinchine, exactly): mean response time {exact:.4g} s")
    return "\n".join([*lines, *_by_simulation(sizing, law, target_delay_s, seed, precision)])


def _count(servers: int) -> str:
    return f"{servers} server{'s' if servers > 1 else ''}"


def _by_simulation(
    sizing: ServerSizing, law: Law, target_s: float, seed: int, precision: float | None
) -> list[str]:
    """The least number of servers whose simulated mean keeps the target, and those looked at."""
    rate, tried = sizing.arrival_rate_per_s, dict[int, Estimate | None]()

    def keeps(servers: int) -> bool:
        if servers <= rate * law.mean:
            return False
        if servers not in tried:
            tried[servers] = simulated_response_s(servers, rate, law, seed, precision)
        found = tried[servers]
        return found is not None and found.mean <= target_s

    servers = sizing.servers
    while not keeps(servers) and tried[servers] is not None and servers < sizing.servers + BEYOND:
        servers += 1
    while tried[servers] is not None and keeps(servers - 1):
        servers -= 1
    lines = [f"simulation: {_count(servers)}"] if keeps(servers) else []
    if not lines and tried[servers] is not None:
        lines = [
            f"simulation: cannot tell, the target is too close to the mean service time of "
            f"{law.mean:.4g} s; --precision narrows the intervals"
        ]
    for count, found in sorted(tried.items()):
        said = f"simulation with {_count(count)}: "
        if found is None:
            said += (
                f"left out, at utilisation {rate * law.mean / count:.1%} a queue takes about "
                f"{warm_up_requests(count, rate, law):.2g} requests to forget its empty start"
            )
        else:
            near = ", target inside" if found.contains(target_s) else ""
            said += (
                f"mean response time {found.mean:.4g} s "
                f"(95 % interval {found.lower:.4g} to {found.upper:.4g} s{near})"
            )
        lines.append(said)
    return lines


def warm_up_requests(servers: int, rate_per_s: float, law: Law) -> float:
    """Requests in three relaxation times of the queue, which forgets its empty start by then.

    Source: of M/M/1 (Morse, Operations Research 3, 1955), with the pace of all servers for theirs;
    for other laws times the mean of the two cv2, as waits are.
    """
    pace = (math.sqrt(servers / law.mean) - math.sqrt(rate_per_s)) ** 2
    return 3 * rate_per_s * (law.mean + (1 + law.cv2) / 2 / pace)


def simulated_response_s(
    servers: int, rate_per_s: float, law: Law, seed: int, precision: float | None = None
) -> Estimate | None:
    """Mean response time of the queue with that many servers, from independent replications, s.

    None where the queue would take more than `MOST_WARM_UP` requests to forget its empty start.
    """
    from policies import make_policy

    forgotten = warm_up_requests(servers, rate_per_s, law)
    if forgotten > MOST_WARM_UP:
        return None
    warm_up = max(WARM_UP, math.ceil(forgotten))
    cluster = Cluster.of_nodes(NodeType("servers", "server", servers), 1)

    def run(streams: Streams) -> float:
        requests = poisson_jobs(
            max(REQUESTS, 2 * warm_up) + warm_up,
            streams,
            arrival_rate_per_h=SECONDS_PER_HOUR * rate_per_s,
            duration_s=law,
        )
        result = simulate(requests, cluster, make_policy("fifo-strict"), record_schedule=False)
        return float(result.jct_s[warm_up:].mean())

    if precision is None:
        return replicate(run, seed, REPLICATIONS)
    return replicate_until_precise(run, seed, precision, first=REPLICATIONS, most=MOST_REPLICATIONS)
