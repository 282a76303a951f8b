"""`schedlab size-server`: optimization servers needed, the formula and the simulated queue."""

from __future__ import annotations

from simulator import Cluster, NodeType, simulate
from simulator.catalog import SECONDS_PER_HOUR
from simulator.laws import Law, parse_law
from simulator.queueing import ServerSizing, mg1_mean_response_s, size_servers
from simulator.statistics import Estimate, Streams, student
from simulator.workloads.poisson import poisson_jobs

REPLICATIONS = 10
REQUESTS = 5000
WARM_UP = 500


def size_server(
    controllers: int, arrival_rate_per_s: float, service: str, target_delay_s: float, seed: int
) -> str:
    """The answer in a few lines: servers, utilisation, response time by both ways.

    Raises
    ------
    InputError
        An unknown law, or a target that no number of servers can meet.
    """
    law = parse_law(service)
    sizing = size_servers(controllers, arrival_rate_per_s, law, target_delay_s)
    simulated = simulated_response_s(sizing, law, seed)
    lines = [
        f"{sizing.servers} server{'s' if sizing.servers > 1 else ''} for {controllers} controllers, "
        f"{sizing.arrival_rate_per_s:.4g} requests/s in all, utilisation {sizing.utilisation:.1%}",
        f"mean response time by {sizing.formula}: {sizing.mean_response_s:.2f} s "
        f"(wait {sizing.mean_wait_s:.2f} s)",
        f"mean response time simulated: {simulated.mean:.2f} s "
        f"(95 % interval {simulated.lower:.2f} to {simulated.upper:.2f} s)",
    ]
    if sizing.servers == 1:
        exact = mg1_mean_response_s(sizing.arrival_rate_per_s, law)
        lines.append(f"mean response time by Pollaczek-Khinchine: {exact:.2f} s")
    return "\n".join(lines)


def simulated_response_s(sizing: ServerSizing, law: Law, seed: int) -> Estimate:
    """Mean response time of the queue with that many servers, from independent replications, s."""
    from policies import make_policy

    servers = Cluster.of_nodes(NodeType("servers", "server", sizing.servers), 1)
    means = []
    for replication in range(REPLICATIONS):
        requests = poisson_jobs(
            REQUESTS,
            Streams(seed + replication),
            arrival_rate_per_h=SECONDS_PER_HOUR * sizing.arrival_rate_per_s,
            duration_s=law,
        )
        result = simulate(requests, servers, make_policy("fifo-strict"), record_schedule=False)
        means.append(float(result.jct_s[WARM_UP:].mean()))
    return student(means)
