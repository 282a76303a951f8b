"""Queues whose customers leave: M/M/c with exponential patience (Erlang A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arguments import positive, whole
from simulator.theory.checks import load_of


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
