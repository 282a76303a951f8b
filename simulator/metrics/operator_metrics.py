"""Scalars that operators of clusters read: allocation, fragmentation, effective training, wait by size of job."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from simulator.core.record import RunRecord
from simulator.metrics.limits import limits

SIZES = (0, 1, 4, 8, 32, 128, math.inf)
"""Limits of the classes of jobs, GPUs."""


def operator_summary(
    record: RunRecord, window: Sequence[int] | None = None
) -> dict[str, float | int]:
    """Ratios of a run on nodes of fixed types, for ``summary.json``; what cannot be known is not there.

    ``allocation_ratio``: GPU-seconds that jobs held, over all GPUs from the first submission to the last completion,
    also of nodes that were down. ``fragmentation_ratio``: the part of these that were free while jobs waited of which none
    fitted, though one at least asked for no more GPUs than were free. ``effective_training_ratio``: the work of
    the jobs over what their GPUs could have done from the first start to the completion; waits, restarts and lost
    work in between make it smaller. ``mean_total_wait_2_to_4_gpus_s`` and others of the kind: wait of jobs of that size.
    ``killed_jobs``: those that the log, or ``kill_at_limit``, ended.
    """
    jobs, cluster = record.workload, record.cluster
    found: dict[str, float | int] = {}
    if "killed" in jobs.outcome:
        found["killed_jobs"] = sum(outcome == "killed" for outcome in jobs.outcome)
    capacity_gpu_s = cluster.total_gpus * record.makespan_s
    if cluster.is_pool or cluster.node_type_of is None or not capacity_gpu_s > 0:
        return found
    found["allocation_ratio"] = float(record.gpu_seconds.sum()) / capacity_gpu_s
    lacking = limits(record)
    if lacking is not None:
        found["fragmentation_ratio"] = lacking.fragmented_gpu_s / capacity_gpu_s
    if not jobs.num_gpus.all():
        return found
    served = record.served(window)
    gpus, wait_s = jobs.num_gpus[served], record.total_wait_s[served]
    span_s = (record.completion_s - record.first_start_s)[served]
    work_s = record.ideal_s[served] * _completed(record)[served]
    if (gpus * span_s).sum() > 0:
        found["effective_training_ratio"] = float((gpus * work_s).sum() / (gpus * span_s).sum())
    for above, most in itertools.pairwise(SIZES):
        if len(of_size := wait_s[(gpus > above) & (gpus <= most)]):
            found[f"mean_total_wait_{size_name(above, most)}_s"] = float(of_size.mean())
    return found


def size_name(above: float, most: float) -> str:
    """A class of sizes in the name of a metric."""
    if most == 1:
        return "1_gpu"
    return f"over_{above}_gpus" if math.isinf(most) else f"{above + 1}_to_{most}_gpus"


def _completed(record: RunRecord) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """``(J,)`` jobs whose work was done, not abandoned."""
    done = np.ones(len(record.workload), dtype=np.bool_)
    for part in record.parts.values():
        for which in part.statuses().values():
            done &= np.asarray(which) == 0
    return done
