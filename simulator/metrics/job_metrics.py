"""Scalars derived from the record of a run: slowdown and fairness of jobs, and the optimization server with its formula."""

from __future__ import annotations

import math

import numpy as np

from simulator.core.record import RunRecord, present_beside
from simulator.laws import Law
from simulator.model.cluster import FloatArray
from simulator.model.fractional import demanded_gpus
from simulator.statistics import jain


def finish_time_fairness(record: RunRecord) -> FloatArray:
    """``(J,)`` completion time over that on an equal share of the cluster; above 1 is worse than fair.

    ``n`` is the mean number of jobs in the system while the job was. A job of ``g`` of the cluster's ``C`` GPUs takes
    ``max(1, n g / C)`` times its ideal time on an equal share, ``C / n`` GPUs; ``g`` of a job that chooses its GPUs is
    those of the largest node. Source: Mahajan et al., Themis, NSDI 2020, rho = T_shared / T_independent.
    """
    submit, end = record.submit_s, record.completion_s
    stay, inside = end - submit, present_beside(submit, end, np.ones(len(submit)))
    gpus = demanded_gpus(record.workload, in_parts=True)
    gpus = np.where(gpus > 0, gpus, float(record.cluster.max_gpus_per_node))
    with np.errstate(divide="ignore", invalid="ignore"):
        crowding = np.maximum(1.0, inside / stay * gpus / record.cluster.total_gpus)
        return np.asarray(stay / (record.ideal_s * crowding))


SHORTEST_S = 10.0
"""Shorter jobs count as so long in the bounded slowdown (Feitelson and Rudolph, JSSPP 1998)."""


def beyond(q: float, count: int) -> int:
    """Number of jobs, of so many, that lie at or beyond their ``q``-quantile (`numpy.quantile`): on these it rests."""
    return count - math.ceil(q * (count - 1))


def fairness_summary(record: RunRecord) -> dict[str, float | int | None]:
    """Slowdown, tail of the wait and fairness, for ``summary.json``; None where there is no number."""
    served = record.served()
    slowdown = (record.jct_s / record.ideal_s)[served]
    bounded = np.maximum(record.jct_s / np.maximum(record.ideal_s, SHORTEST_S), 1.0)[served]
    rho, wait_s = finish_time_fairness(record)[served], record.wait_s[served]
    total_wait_s = record.total_wait_s[served]
    with np.errstate(divide="ignore"):  # a job may be shorter than the clock resolves
        speed = 1 / slowdown
    values = {
        "mean_slowdown": float(slowdown.mean()),
        "mean_bounded_slowdown": float(bounded.mean()),
        "p95_slowdown": float(np.quantile(slowdown, 0.95)),
        "p99_slowdown": float(np.quantile(slowdown, 0.99)),
        "p95_wait_s": float(np.quantile(wait_s, 0.95)),
        "p99_wait_s": float(np.quantile(wait_s, 0.99)),
        "mean_total_wait_s": float(total_wait_s.mean()),
        "p95_total_wait_s": float(np.quantile(total_wait_s, 0.95)),
        "p99_total_wait_s": float(np.quantile(total_wait_s, 0.99)),
        "jain_slowdown": jain(speed),
        "jobs_beyond_p95": beyond(0.95, len(wait_s)),
        "jobs_beyond_p99": beyond(0.99, len(wait_s)),
        "mean_finish_time_fairness": float(rho.mean()),
        "max_finish_time_fairness": float(rho.max()),
    }
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def server_summary(record: RunRecord) -> dict[str, float | int | None]:
    """Requests, utilisation, wait and response of a run with an optimization server, for ``summary.json``.

    ``server_formula_response_s`` is that of a queue with Poisson requests at the mean rate of the run: M/G/1
    (Pollaczek and Khinchine), with several servers approximate (Lee and Longton). None where the rate is too
    high, or the service follows no law.
    """
    spec, wait_s, response_s = record.server, record.server_wait_s, record.server_response_s
    if spec is None or not len(wait_s):
        return {}
    from simulator.theory import ggc_mean_wait_s

    service_s = response_s - wait_s
    rate_per_s = len(wait_s) / record.makespan_s
    formula_s = None
    law = spec.law
    if isinstance(law, Law) and rate_per_s * law.mean < spec.servers:
        formula_s = law.mean + ggc_mean_wait_s(rate_per_s, 1.0, law.mean, law.cv2, spec.servers)
    return {
        "server_requests": len(wait_s),
        "server_utilisation": float(service_s.sum()) / (spec.servers * record.makespan_s),
        "mean_server_wait_s": float(wait_s.mean()),
        "mean_server_response_s": float(response_s.mean()),
        "server_formula_response_s": formula_s,
    }
