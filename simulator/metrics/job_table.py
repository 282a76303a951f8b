"""Table of jobs: one row a job, in order of submission (``jobs.csv``, ``jobs.parquet``)."""

from __future__ import annotations

import numpy as np

from simulator.core.record import RunRecord
from simulator.model.cluster import FloatArray
from simulator.schema import Derived, Schema, Values

NEVER_STARTED = ("left", "rejected")
"""Statuses of jobs that ended before they started (`RunRecord.left`)."""


def statuses(record: RunRecord) -> list[str] | None:
    """Status of each job at its end; None where none can end but by completing its work.

    "done", or "left" (its patience was over), "rejected" (by admission control), "abandoned" (after too
    many failures), "killed" or "failed" (so the log says, when its last attempt ended).
    """
    marks = {} if record.left is None else {"left": record.left}
    for part in record.parts.values():
        marks |= part.statuses()
    if not (marks or record.workload.outcome):
        return None
    found = [o if o in ("killed", "failed") else "done" for o in record.workload.outcome]
    found = found or ["done"] * len(record.workload)
    for status, which in marks.items():
        for job in np.flatnonzero(which).tolist():
            found[job] = status
    return found


def _gpus(record: RunRecord) -> FloatArray:
    demand = record.workload.num_gpus
    if demand.all():
        return demand.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(demand > 0, demand, record.gpu_seconds / record.running_s)


def _slowdown(record: RunRecord) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return record.jct_s / record.ideal_s


def _due_s(record: RunRecord) -> FloatArray:
    due_s = record.workload.due_s
    return np.where(np.isfinite(due_s), due_s, np.nan)


def _given(values: FloatArray) -> FloatArray | None:
    return None if np.isnan(values).all() else values


def _named(texts: Values) -> Values | None:
    return texts if any(texts) else None


JOBS: Schema[RunRecord] = Schema(
    "jobs",
    "a job, in order of submission",
    (
        Derived("job_id", "", "name of the job", "text", values=lambda r: r.workload.job_id),
        Derived("arrival_s", "s", "submission; of a job that follows others, when it was submitted at last", "number", values=lambda r: r.submit_s),
        Derived("first_start_s", "s", "first start; empty for a job that never started", "number"),
        Derived("completion_s", "s", "end of the job, or the time at which it left", "number"),
        Derived("jct_s", "s", "job completion time: from submission to the end", "number"),
        Derived("gpu_seconds", "GPU-seconds", "GPUs held, integrated over time", "number"),
        Derived("preemptions", "", "times that it was stopped and sent back to wait", "integer"),
        Derived("tardiness_s", "s", "time after the due date; 0 if in time", "number"),
        Derived("status", "",
                "`done`, `left` (its patience was over), `rejected` (by admission control), `abandoned` (after "
                "too many failures), `killed` or `failed` (in the log that it comes from)", "text",
                when="a job can end without its work being done", values=statuses),
        Derived("gpus", "GPUs", "the demand, or the mean number held where the policy chooses", "number",
                values=_gpus),
        Derived("ideal_s", "s", "time alone on the fastest configuration of a node", "number"),
        Derived("slowdown", "", "completion time over the ideal time", "number", values=_slowdown),
        Derived("due_s", "s", "due date; empty for none", "number", values=_due_s),
        Derived("weight_per_s", "currency / s", "cost of a second of tardiness", "number",
                values=lambda r: r.workload.weight_per_s),
        Derived("model", "", "model or application; empty where unknown", "text",
                values=lambda r: r.workload.model),
        Derived("first_wait_s", "s", "time from submission to first start", "number",
                values=lambda r: r.wait_s),
        Derived("total_wait_s", "s", "all the time in the system without GPUs", "number"),
        Derived("requested_s", "s", "the time that the user asked for; empty where unknown", "number",
                when="jobs ask for a time", values=lambda r: _given(r.workload.requested_s)),
        Derived("user", "", "who submitted the job", "text",
                when="jobs name a user", values=lambda r: _named(r.workload.user)),
        Derived("vc", "", "virtual cluster of the job", "text",
                when="jobs name a virtual cluster", values=lambda r: _named(r.workload.vc)),
        Derived("gpu_types", "", "types of GPU, or groups of nodes (`@NAME`), that the job asks for, with bars between them", "text",
                when="jobs ask for types of GPU, or for partitions", values=lambda r: _named(r.workload.gpu_types)),
    ),
)  # fmt: skip
"""Columns of features follow (`RunRecord.extra`)."""
