"""Tables of tenants: one row a tenant (``tenants.csv``), and their GPUs over time (``shares.csv``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simulator.core.record import RunRecord
from simulator.features.tenants.fairness import (
    TenantShares,
    envy,
    finish_time_fairness,
    shares,
    tenants_in,
)
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray, IntArray
from simulator.schema import Column, ColumnData, Derived, RunTable, Schema

if TYPE_CHECKING:
    import pyarrow as pa


class ByTenant:
    """A run by tenant: those of the scenario, else the virtual clusters of the jobs, else their users."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        tenants, workload = tenants_in(record), record.workload
        self.tenants = tenants
        self.names: Sequence[str]
        if tenants is not None:
            self.names, of = tenants.names, tenants.of
        else:
            names = workload.vc if any(workload.vc) else workload.user
            found, of = np.unique(np.array(names, dtype=object), return_inverse=True)
            self.names = found.tolist()
        self._of = of
        parts = record.parts if tenants is not None else {}
        self.held_s: FloatArray | None = getattr(parts.get("tenants"), "held_s", None)
        self.rejected = getattr(parts.get("admission"), "rejected", None)
        self._index = np.zeros(len(workload), dtype=np.bool_)
        self._index[record.served()] = True

    @cached_property
    def over_time(self) -> TenantShares | None:
        """GPUs of tenants over time; None without tenants of the scenario or without a schedule."""
        return shares(self.record)

    def sums(self, values: npt.NDArray[Any]) -> FloatArray:
        """``(T,)`` sums of the values of all jobs of each tenant."""
        return np.asarray(np.bincount(self._of, values, len(self.names)), dtype=np.float64)

    @property
    def jobs(self) -> IntArray:
        """``(T,)`` number of jobs."""
        return np.bincount(self._of, minlength=len(self.names))

    @property
    def late_jobs(self) -> IntArray | None:
        """``(T,)`` served jobs that ended after their due date; None without tenants of the scenario."""
        late = self.served_sums(self.record.tardiness_s > 0).astype(np.int64)
        return None if self.tenants is None else late

    def served_sums(self, values: npt.NDArray[Any]) -> FloatArray:
        """``(T,)`` sums over the served jobs of each tenant."""
        chosen = self._index
        sums = np.bincount(self._of[chosen], values[chosen], len(self.names))
        return np.asarray(sums, dtype=np.float64)

    def means(self, values: npt.NDArray[Any]) -> FloatArray:
        """``(T,)`` means over the served jobs of each tenant; NaN without any."""
        with np.errstate(invalid="ignore"):
            return self.served_sums(values) / self.served_sums(np.ones(len(values)))

    def maxima(self, values: npt.NDArray[Any]) -> FloatArray:
        """``(T,)`` maxima over the served jobs of each tenant, at least 0."""
        found = np.zeros(len(self.names))
        np.maximum.at(found, self._of[self._index], values[self._index])
        return found

    @cached_property
    def fairness(self) -> FloatArray:
        """``(J,)`` Themis's rho of each job, on its tenant's own part of the cluster."""
        return finish_time_fairness(self.record)


def _gpu_h(t: ByTenant) -> FloatArray:
    return t.sums(t.record.gpu_seconds) / SECONDS_PER_HOUR


WITH_TENANTS = "the scenario has `[tenants]`"
WITH_QUOTAS = "the scenario has `[tenants]`, and quotas that are limits"
WITH_ADMISSION = "the scenario has `[tenants]` and `[admission]`"
WITH_SCHEDULE = "the scenario has `[tenants]`, and the schedule is recorded"

TENANTS: Schema[ByTenant] = Schema(
    "tenants",
    "a tenant: of the scenario, else a virtual cluster, else a user",
    (
        Derived("tenant", "", "name", "text", values=lambda t: t.names),
        Derived("jobs", "", "number of jobs", "integer"),
        Derived("gpu_h", "GPU-hours", "GPUs held, integrated over time", "number", values=_gpu_h),
        Derived("share", "", "part of the GPU-hours of all tenants", "number",
                values=lambda t: t.sums(t.record.gpu_seconds) / max(1e-12, float(t.record.gpu_seconds.sum()))),
        Derived("mean_wait_s", "s", "mean wait until the first start", "number",
                values=lambda t: t.means(t.record.wait_s)),
        Derived("mean_jct_s", "s", "mean completion time", "number",
                values=lambda t: t.means(t.record.jct_s)),
        Derived("mean_slowdown", "", "mean of the completion time over the ideal time", "number",
                values=lambda t: t.means(t.record.jct_s / t.record.ideal_s)),
        Derived("finish_time_fairness", "",
                "mean of the completion time over that on the tenant's own part of the cluster", "number",
                when=WITH_TENANTS, values=lambda t: None if t.tenants is None else t.means(t.fairness)),
        Derived("max_finish_time_fairness", "", "maximum of the same; 0 where no job was served", "number",
                when=WITH_TENANTS, values=lambda t: None if t.tenants is None else t.maxima(t.fairness)),
        Derived("weight", "", "weight", "number",
                when=WITH_TENANTS, values=lambda t: None if t.tenants is None else t.tenants.weight),
        Derived("quota", "GPUs", "quota", "number",
                when=WITH_TENANTS, values=lambda t: None if t.tenants is None else t.tenants.quota),
        Derived("max_jobs", "", "jobs that may run at once", "number",
                when="the scenario has `tenants.max_jobs`",
                values=lambda t: None if t.tenants is None else t.tenants.max_jobs),
        Derived("late_jobs", "", "served jobs that ended after their due date", "integer",
                when=WITH_TENANTS),
        Derived("held_s", "s", "mean time that served jobs waited before the queue", "number",
                when=WITH_QUOTAS, values=lambda t: None if t.held_s is None else t.means(t.held_s)),
        Derived("rejected", "", "jobs that admission control rejected", "integer",
                when=WITH_ADMISSION,
                values=lambda t: None if t.rejected is None else t.sums(t.rejected).astype(np.int64)),
        Derived("peak_gpus", "GPUs", "most GPUs held at once", "number",
                when=WITH_SCHEDULE, values=lambda t: None if t.over_time is None else t.over_time.held.max(axis=0)),
        Derived("fair_gpu_h", "GPU-hours",
                "what weighted max-min fairness would give at each instant, for the demand of that instant", "number",
                when=WITH_SCHEDULE,
                values=lambda t: None if t.over_time is None else t.over_time.integral(t.over_time.fair)),
        Derived("envy_gpu_h", "GPU-hours", "what the tenant would rather have had of another's GPUs", "number",
                when=WITH_SCHEDULE,
                values=lambda t: None if t.over_time is None or t.tenants is None else envy(t.tenants, t.over_time)),
    ),
    when="jobs name a virtual cluster or a user, or the scenario has `[tenants]`",
)  # fmt: skip

SHARES: Schema[TenantShares] = Schema(
    "shares",
    "an instant at which the share or the demand of a tenant changes",
    (Derived("time_s", "s", "the instant", "number"),),
    when="the scenario has `[tenants]`",
    named_by_run=(
        Column("*TENANT*", "GPUs", "GPUs that the tenant holds from then on", "number"),
        Column("*TENANT* asked", "GPUs", "GPUs that its jobs in the system ask for", "number"),
    ),
)


def shares_by_name(found: TenantShares, names: Sequence[str]) -> Iterator[ColumnData]:
    """Two columns a tenant: GPUs held, and GPUs asked for."""
    for t, name in enumerate(names):
        held, asked = SHARES.named_by_run
        yield ColumnData(Column(name, held.unit, held.meaning, "number"), found.held[:, t])
        yield ColumnData(
            Column(f"{name} asked", asked.unit, asked.meaning, "number"), found.demand[:, t]
        )


def _tenants(record: RunRecord) -> pa.Table | None:
    workload = record.workload
    if tenants_in(record) is None and not any(workload.vc) and not any(workload.user):
        return None
    return TENANTS.table(ByTenant(record))


def _shares(record: RunRecord) -> pa.Table | None:
    tenants, found = tenants_in(record), shares(record)
    if tenants is None or found is None:
        return None
    return SHARES.table(found, shares_by_name(found, tenants.names))


TABLES = (RunTable(TENANTS, _tenants), RunTable(SHARES, _shares))
