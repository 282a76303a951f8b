"""All tables of a run by name, with those of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from simulator.core.logs import DecisionLog
from simulator.core.record import RunRecord
from simulator.features.registry import RUN_TABLES
from simulator.metrics.decision_table import (
    DECISIONS,
    TIMING,
    Decisions,
    decisions_table,
    note_types,
    timing_table,
)
from simulator.metrics.job_table import JOBS
from simulator.metrics.schedule_table import CONFIGURATIONS, SCHEDULE, Configured, Names, NodeShares
from simulator.metrics.timeline import TIMELINE, timeline
from simulator.model.batch_size import BatchSize
from simulator.schema import RunTable

if TYPE_CHECKING:
    import pyarrow as pa


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
    shares, schedule = record.shares(), record.schedule
    if shares is None or schedule is None:
        return None
    columns = shares | {"gpu_ids": schedule.gpu_ids()}
    return SCHEDULE.table(NodeShares(columns, Names.of(record.workload, record.cluster)))


def _configurations(record: RunRecord) -> pa.Table | None:
    rows = record.configurations
    if not rows or not all(isinstance(each, BatchSize) for _, _, each in rows):
        return None
    return CONFIGURATIONS.table(Configured(rows, Names.of(record.workload, record.cluster)))


def _timeline(record: RunRecord) -> pa.Table | None:
    found = timeline(record)
    return None if found is None else TIMELINE.table(found)


TABLES: Mapping[str, RunTable] = {
    table.schema.name: table
    for table in (
        RunTable(JOBS, _jobs),
        RunTable(DECISIONS, _decisions),
        RunTable(SCHEDULE, _schedule),
        RunTable(CONFIGURATIONS, _configurations),
        RunTable(TIMELINE, _timeline),
        *RUN_TABLES,
        RunTable(TIMING, _timing),
    )
}

STREAMED = ("jobs", "decisions", "schedule", "timing")
"""Tables that a streamed run leaves as Parquet files (`simulator.metrics.streaming`)."""
