"""Metrics of tenants, derived from the record of a run: shares over time, fairness, envy, promises."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulator.core.record import RunRecord, present_beside
from simulator.features.tenants.tenants import Tenants, envy_rate, shares_over_time, water_filling
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.model.fractional import demanded_gpus
from simulator.statistics import jain


class TenantShares(NamedTuple):
    """GPUs by tenant from each change point to the next.

    Attributes
    ----------
    time_s : ``(n,)`` change points.
    held, demand, fair : ``(n, T)`` GPUs in use, asked for by jobs in the system, and the weighted
        max-min fair share of these.
    """

    time_s: FloatArray
    held: FloatArray
    demand: FloatArray
    fair: FloatArray

    def integral(self, rate: FloatArray) -> FloatArray:
        """``(T,)`` GPU-hours of a rate over time, ``(n, T)``."""
        return np.asarray(
            (rate[:-1] * np.diff(self.time_s)[:, None]).sum(axis=0) / SECONDS_PER_HOUR
        )


def tenants_in(record: RunRecord) -> Tenants | None:
    """The tenants of a run; None: a single one."""
    part = record.parts.get("tenants")
    return None if part is None else part.tenants


def shares(record: RunRecord) -> TenantShares | None:
    """Shares over time; None where the schedule was not kept.

    An elastic job asks for the GPUs of the largest node.
    """
    tenants, table = tenants_in(record), record.shares()
    if tenants is None or table is None:
        return None
    demand = _demand(record)
    if record.left is not None:
        demand[record.left] = 0.0
    time_s, held, asked = shares_over_time(
        tenants, table["job"], table["gpus"], table["start_s"], table["end_s"],
        record.submit_s, record.completion_s, demand,
    )  # fmt: skip
    total = float(record.cluster.total_gpus)
    known: dict[bytes, FloatArray] = {}
    fair = np.zeros_like(held)
    for i, row in enumerate(asked):
        key = row.tobytes()
        if key not in known:
            known[key] = water_filling(row, tenants.weight, total)
        fair[i] = known[key]
    return TenantShares(time_s, held, asked, fair)


def _demand(record: RunRecord) -> FloatArray:
    """``(J,)`` GPUs that each job asks for: a part of one, where the policy gave parts; elastic ones: a node's."""
    table = record.shares()
    gave = np.zeros(0) if table is None else table["gpus"]
    asked = demanded_gpus(record.workload, in_parts=bool((gave % 1).any()))
    return np.where(asked > 0, asked, float(record.cluster.max_gpus_per_node))


def envy(tenants: Tenants, found: TenantShares) -> FloatArray:
    """``(T,)`` GPU-hours that each tenant would rather have had."""
    rows = [envy_rate(h, a, tenants.weight) for h, a in zip(found.held, found.demand, strict=True)]
    return found.integral(np.array(rows))


def finish_time_fairness(record: RunRecord) -> FloatArray:
    """``(J,)`` completion time over that on the tenant's own part of the cluster; above 1: worse than fair.

    There, the tenant's jobs share its part: a job takes its ideal time, times what its tenant's jobs asked
    for meanwhile on average over that part, where they asked for more (Themis's rho, with tenants for
    its applications).
    """
    tenants, workload = tenants_in(record), record.workload
    assert tenants is not None
    demand = _demand(record)
    part = record.cluster.total_gpus * tenants.weight / tenants.weight.sum()
    start_s, end_s = record.submit_s, record.completion_s
    asked = np.zeros(len(workload))
    for t in range(len(tenants)):
        own = np.flatnonzero(tenants.of == t)
        if len(own):
            inside = present_beside(start_s[own], end_s[own], demand[own])
            asked[own] = inside / np.maximum(1e-12, end_s[own] - start_s[own])
    crowding = np.maximum(1.0, asked / part[tenants.of])
    return np.asarray(record.jct_s / (record.ideal_s * crowding))


def summary(record: RunRecord) -> dict[str, float | int | None]:
    """Scalars that tenants add to ``summary.json``.

    ``jain_tenants`` is Jain's index of GPU-hours over the fair ones; 1: all got the same part of what is
    fair.
    """
    tenants, over_time = tenants_in(record), shares(record)
    assert tenants is not None
    if over_time is None:
        return {"tenants": len(tenants)}
    fair = over_time.integral(over_time.fair)
    some = fair > 0
    part = over_time.integral(over_time.held)[some] / fair[some]
    return {
        "tenants": len(tenants),
        "jain_tenants": jain(part) if some.any() else None,
        "envy_gpu_h": float(envy(tenants, over_time).sum()),
    }
