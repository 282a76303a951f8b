"""All tables of a run by name, and the columns that features add to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulator import features
from simulator.columns import Column
from simulator.logs import DecisionLog
from simulator.metrics.decision_table import (
    DECISIONS,
    TIMING,
    Decisions,
    decisions_table,
    note_types,
    timing_table,
)
from simulator.metrics.job_table import JOBS
from simulator.metrics.record import RunRecord
from simulator.metrics.schedule_table import (
    CONFIGURATIONS,
    OUTAGES,
    SCHEDULE,
    Configured,
    Names,
    Shares,
)
from simulator.metrics.tables import Schema
from simulator.metrics.tenant_tables import SHARES, TENANTS, TenantRecord, shares_by_name
from simulator.metrics.timeline import TIMELINE, timeline
from simulator.model.goodput import BatchSize

if TYPE_CHECKING:
    import pyarrow as pa


class RunTable(NamedTuple):
    """A table of a run: its schema, and the function that makes it; None where the run has no such table."""

    schema: Schema[Any]
    make: Callable[[RunRecord], pa.Table | None]


def _jobs(record: RunRecord) -> pa.Table:
    return JOBS.table(record, record.extra)


def _decisions(record: RunRecord) -> pa.Table | None:
    if record.streamed_to is not None:
        return None
    log = record.decisions
    return decisions_table(_columns(log), log.info, note_types(log.info.values()))


def _timing(record: RunRecord) -> pa.Table | None:
    if record.streamed_to is not None:
        return None
    log = record.decisions
    return timing_table(_columns(log), log.info, note_types(log.info.values()))


def _columns(log: DecisionLog) -> Decisions:
    count = len(log)
    again_s = [log.again_s.get(row) for row in range(count)] if log.again_s else None
    cpu_s = np.array(log.cpu_s) if log.cpu_s else np.full(count, np.nan)
    return Decisions(
        np.array(log.time_s), np.array(log.controller), np.array(log.active), again_s, cpu_s
    )


def _schedule(record: RunRecord) -> pa.Table | None:
    shares = record.shares()
    if shares is None:
        return None
    return SCHEDULE.table(Shares(shares, Names.of(record.workload, record.cluster)))


def _configurations(record: RunRecord) -> pa.Table | None:
    rows = record.configurations
    if not rows or not all(isinstance(each, BatchSize) for _, _, each in rows):
        return None
    return CONFIGURATIONS.table(Configured(rows, Names.of(record.workload, record.cluster)))


def _timeline(record: RunRecord) -> pa.Table | None:
    found = timeline(record)
    return None if found is None else TIMELINE.table(found)


def _outages(record: RunRecord) -> pa.Table | None:
    return None if record.damage is None else OUTAGES.table(record.damage)


def _tenants(record: RunRecord) -> pa.Table | None:
    workload = record.workload
    if record.tenants is None and not any(workload.vc) and not any(workload.user):
        return None
    return TENANTS.table(TenantRecord(record))


def _shares(record: RunRecord) -> pa.Table | None:
    if record.tenants is None:
        return None
    found = TenantRecord(record).over_time
    return (
        None if found is None else SHARES.table(found, shares_by_name(found, record.tenants.names))
    )


TABLES: Mapping[str, RunTable] = {
    table.schema.name: table
    for table in (
        RunTable(JOBS, _jobs),
        RunTable(DECISIONS, _decisions),
        RunTable(SCHEDULE, _schedule),
        RunTable(CONFIGURATIONS, _configurations),
        RunTable(TIMELINE, _timeline),
        RunTable(OUTAGES, _outages),
        RunTable(TENANTS, _tenants),
        RunTable(SHARES, _shares),
        RunTable(TIMING, _timing),
    )
}

STREAMED = ("jobs", "decisions", "schedule", "timing")
"""Tables that a streamed run leaves as Parquet files (`simulator.metrics.streaming`)."""


def feature_columns() -> list[Column]:
    """Columns that the features of `simulator.features` may add to the table of jobs (their ``COLUMNS``)."""
    names = sorted(module.name for module in iter_modules(features.__path__, "simulator.features."))
    return [column for name in names for column in getattr(import_module(name), "COLUMNS", ())]
