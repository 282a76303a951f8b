"""The check of a schedule: what each module finds, in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.bench.check.capacity import capacity_faults
from experiments.bench.check.changes import changes_of
from experiments.bench.check.decisions import decision_faults
from experiments.bench.check.demands import demand_faults
from experiments.bench.check.metrics import claim_faults, metrics_of
from experiments.bench.check.outages import outage_faults, stopped_by
from experiments.bench.check.reading import read_shares
from experiments.bench.check.rounds import round_faults
from experiments.bench.check.rows import row_faults
from experiments.bench.check.rules import TaskRules
from experiments.bench.check.stretches import Stretches, rates_of, stretches_of
from experiments.bench.check.verdict import Checked
from experiments.bench.check.work import work_faults
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

EVERYTHING = TaskRules()


def check_schedule(
    schedule: Path | pd.DataFrame,
    workload: Workload,
    cluster: Cluster,
    rules: TaskRules = EVERYTHING,
    *,
    claimed: Mapping[str, Any] | None = None,
) -> Checked:
    """Whether the rows serve every job whole, on machines that exist, and what they amount to.

    Parameters
    ----------
    schedule : a CSV file, or a table: a row for each share of a node that a job held without a change.
    rules : what holds beside jobs and machines; where nothing is given, starts and moves are free, at any time.
    claimed : metrics that were claimed for the schedule.

    Raises
    ------
    InputError
        The file cannot be read, or a value is none; one line.
    """
    shares = read_shares(schedule, workload, cluster)
    faults = list(row_faults(shares, workload, cluster))
    if faults:
        return Checked(tuple(faults), {}, rules.unchecked)
    changes = changes_of(shares)
    stretches = stretches_of(changes, cluster)
    outages = rules.outages(float(shares.end_s.max()))
    failed = stopped_by(changes, outages)
    rates = _rates(stretches, workload, rules)
    faults += capacity_faults(changes, cluster)
    faults += outage_faults(changes, outages)
    faults += demand_faults(changes, stretches, rates, workload, cluster)
    if rules.tells != "rounds":
        faults += decision_faults(changes, failed, workload, rules)
    if rules.tells == "work":
        faults += work_faults(stretches, rates, failed, workload, rules)
    if rules.tells == "rounds" and rules.round_s is not None and not faults:
        faults += round_faults(stretches, workload, rules.round_s)
    metrics: dict[str, float] = {}
    if not faults:
        metrics = metrics_of(changes, stretches, workload, cluster)
        faults += claim_faults(metrics, claimed or {})
    return Checked(tuple(faults), metrics, rules.unchecked)


def _rates(stretches: Stretches, workload: Workload, rules: TaskRules) -> FloatArray:
    """``(S,)`` the rate of each stretch; where rows do not tell the work, 1 where the job may run so, else 0."""
    if rules.tells == "work":
        return rates_of(stretches, workload)
    asked = workload.num_gpus[stretches.job]
    may = np.ones(len(asked), bool) if rules.tells == "stay" else stretches.gpus == asked
    return may.astype(np.float64)
