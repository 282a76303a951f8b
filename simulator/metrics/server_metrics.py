"""Scalars of the optimization server, with the formula of its queue beside what was measured."""

from __future__ import annotations

from simulator.core.record import RunRecord
from simulator.laws import Law


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
    law = spec.service
    if isinstance(law, Law) and rate_per_s * law.mean < spec.servers:
        formula_s = law.mean + ggc_mean_wait_s(rate_per_s, 1.0, law.mean, law.cv2, spec.servers)
    return {
        "server_requests": len(wait_s),
        "server_utilisation": float(service_s.sum()) / (spec.servers * record.makespan_s),
        "mean_server_wait_s": float(wait_s.mean()),
        "mean_server_response_s": float(response_s.mean()),
        "server_formula_response_s": formula_s,
    }
