"""What users want to read off a result: more columns of a job, change points, tenants, fairness.

All of it is worked out from a finished `Result`; a simulation pays nothing for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from simulator.metrics.result import Result

ROWS_AT_ONCE = 4096
"""Jobs whose tables of times are looked at together."""


def _schedule(result: Result) -> dict[str, Any] | None:
    """The schedule as columns; None where it was not kept, or not in memory."""
    if result.schedule is None or result.streamed_to is not None:
        return None
    return result.schedule.table()


def ideal_s(result: Result) -> FloatArray:
    """``(J,)`` seconds of each job alone, on the fastest configuration of one node of the cluster.

    A job of fixed demand over several nodes: its duration. NaN on a rental pool, where there is no
    fastest one.
    """
    workload, cluster = result.workload, result.cluster
    count = len(workload)
    if cluster.is_pool:
        return np.full(count, np.nan)
    duration = getattr(workload.performance, "duration_s", None)
    if duration is not None and workload.num_gpus.all():
        return np.asarray(duration, dtype=np.float64)[:count]
    best = np.full(count, np.inf)
    for first in range(0, count, ROWS_AT_ONCE):
        jobs = np.arange(first, min(first + ROWS_AT_ONCE, count), dtype=np.int64)
        best[jobs] = workload.performance.table_s(jobs, cluster).min(axis=(1, 2))
    best[~np.isfinite(best)] = np.nan
    return best


def running_s(result: Result) -> FloatArray:
    """``(J,)`` seconds in which each job held GPUs; NaN where the schedule was not kept."""
    table = _schedule(result)
    if table is None:
        return np.full(len(result.workload), np.nan)
    total = np.zeros(len(result.workload))
    start, end, job = table["start_s"], table["end_s"], table["job"]
    order = np.lexsort((start, job))
    # The shares of a job over several nodes start and end together: one of them counts.
    again = np.zeros(len(order), dtype=bool)
    again[1:] = (np.diff(job[order]) == 0) & (np.diff(start[order]) == 0)
    kept = order[~again]
    np.add.at(total, job[kept], end[kept] - start[kept])
    return total


def job_facts(result: Result) -> dict[str, Any]:
    """Further columns of ``jobs.csv``, ``(J,)`` each.

    ``gpus`` is the demand, or the mean number held where the policy chooses. ``slowdown`` is the
    completion time over the ideal time. ``total_wait_s`` is all the time without GPUs. Users and
    virtual clusters are there where the workload has them; the columns of features come last.
    """
    workload = result.workload
    ideal, busy = ideal_s(result), running_s(result)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_gpus = result.gpu_seconds / busy
    gpus = np.where(workload.num_gpus > 0, workload.num_gpus, mean_gpus)
    facts: dict[str, Any] = {
        "gpus": gpus,
        "ideal_s": ideal,
        "slowdown": result.jct_s / ideal,
        "due_s": np.where(np.isfinite(workload.due_s), workload.due_s, np.nan),
        "weight_per_s": workload.weight_per_s,
        "model": list(workload.model),
        "first_wait_s": result.wait_s,
        "total_wait_s": np.maximum(0.0, result.jct_s - busy),
    }
    for name in ("user", "vc"):
        if any(getattr(workload, name)):
            facts[name] = list(getattr(workload, name))
    for column, values in result.extra:
        facts[column.name] = values
    return facts


def statuses(result: Result) -> list[str] | None:
    """How each job ended; None where none can end but by completing its work.

    "done", or "left" (its patience was over), "rejected" (by admission control), "given up" (after too
    many failures), "killed" or "failed" (so the log says, when its last attempt ended).
    """
    gate, damage = result.gate, result.damage
    gives_up = damage is not None and damage.gives_up
    can_reject = gate is not None and gate.can_reject
    if result.left is None and not (gives_up or can_reject or result.workload.outcome):
        return None
    found = [o if o in ("killed", "failed") else "done" for o in result.workload.outcome]
    found = found or ["done"] * len(result.workload)
    marks = [("given up", damage.killed if damage is not None else None), ("left", result.left)]
    marks.append(("rejected", gate.rejected if gate is not None else None))
    for status, which in marks:
        for job in np.flatnonzero(which).tolist() if which is not None else ():
            found[job] = status
    return found


def jain(values: FloatArray) -> float:
    """Jain's index: 1 where all are equal, 1/n where one has everything (Jain et al. 1984)."""
    good = values[np.isfinite(values)]
    square = float((good**2).sum())
    return float(good.sum()) ** 2 / (len(good) * square) if square else math.nan


def finish_time_fairness(result: Result) -> FloatArray:
    """``(J,)`` completion time over that alone on 1/n of the cluster; above 1 is worse than fair.

    ``n`` is the mean number of jobs in the system while the job was. Source: Mahajan et al., Themis,
    NSDI 2020, rho = T_shared / T_independent; a job that has 1/n of the cluster takes n times its
    ideal time.
    """
    submit, end = result.workload.submit_s, result.completion_s
    times = np.concatenate([submit, end])
    steps = np.concatenate([np.ones(len(submit)), -np.ones(len(end))])
    order = np.argsort(times, kind="stable")
    times, number = times[order], np.cumsum(steps[order])
    area = np.concatenate([[0.0], np.cumsum(number[:-1] * np.diff(times))])
    stay = end - submit
    inside = np.interp(end, times, area) - np.interp(submit, times, area)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(stay / (ideal_s(result) * np.maximum(1.0, inside / stay)))


def fairness_summary(result: Result) -> dict[str, float | None]:
    """Slowdown, tail of the wait and fairness, for ``summary.json``; None where there is no number."""
    served = result.served()
    slowdown = (result.jct_s / ideal_s(result))[served]
    rho, wait_s = finish_time_fairness(result)[served], result.wait_s[served]
    with np.errstate(divide="ignore"):  # a job may be shorter than the clock resolves
        speed = 1 / slowdown
    values = {
        "mean_slowdown": float(slowdown.mean()),
        "p95_slowdown": float(np.quantile(slowdown, 0.95)),
        "p99_slowdown": float(np.quantile(slowdown, 0.99)),
        "p95_wait_s": float(np.quantile(wait_s, 0.95)),
        "p99_wait_s": float(np.quantile(wait_s, 0.99)),
        "jain_slowdown": jain(speed),
        "mean_finish_time_fairness": float(rho.mean()),
        "max_finish_time_fairness": float(rho.max()),
    }
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def timeline_table(result: Result) -> pd.DataFrame:
    """One row an instant at which something changes: the columns of ``timeline.csv``.

    ``queue`` and ``running`` count jobs, ``gpus`` are in use, ``power_kw`` and ``cost_per_h`` are of
    all open nodes (leasing and energy); a node that is away costs nothing. Both are NaN where jobs share GPUs
    whose power was measured: the schedule does not say on which GPUs they are. Empty where the schedule
    was not kept.
    """
    import pandas as pd

    names = ("time_s", "queue", "running", "gpus", "power_kw", "cost_per_h")
    table = _schedule(result)
    if table is None:
        return pd.DataFrame(columns=names)
    events: list[tuple[float, int, int, int]] = []
    jobs, starts = table["job"].tolist(), table["start_s"].tolist()
    ends = table["end_s"].tolist()
    led = set()
    for i, (job, start) in enumerate(zip(jobs, starts, strict=True)):
        leads = int((job, start) not in led)
        led.add((job, start))
        events += [(ends[i], 0, i, leads), (start, 2, i, leads)]
    events += [(t, 1, j, 0) for j, t in enumerate(result.workload.submit_s.tolist())]
    events += [(t, 3, j, 0) for j, t in enumerate(result.completion_s.tolist())]
    if result.damage is not None and result.cluster.node_type_of is not None:
        for node, away_s, back_s in result.damage.away.tolist():
            events += [(away_s, 5, int(node), 0), (back_s, 4, int(node), 0)]
    events.sort()
    meter = _Meter(result, table)
    rows: list[tuple[float, int, int, float, float, float]] = []
    for k, (time_s, kind, i, leads) in enumerate(events):
        meter.take(kind, i, leads)
        if k + 1 == len(events) or events[k + 1][0] > time_s:
            rows.append((time_s, *meter.row()))
    found = pd.DataFrame(rows, columns=names)
    draws = any(spec.power_w for spec in result.cluster.node_types)
    if draws and (np.asarray(table["gpus"]) % 1).any():
        found[["power_kw", "cost_per_h"]] = np.nan
    return found


class _Meter:
    """What is in use while events are gone through in order."""

    def __init__(self, result: Result, table: dict[str, Any]) -> None:
        self.cluster = result.cluster
        self.node, self.type = table["node"].tolist(), table["node_type"].tolist()
        self.share = table["gpus"].tolist()
        self.used: dict[int, float] = {}
        self.hosted: dict[int, int] = {}
        self.away: set[int] = set()
        self.active = self.running = 0
        self.gpus = self.power_kw = self.cost_per_h = 0.0
        fixed = self.cluster.node_type_of
        if fixed is not None and not self.cluster.is_pool:
            for n, v in enumerate(fixed):
                self.used[n] = 0.0
                self._count(n, v, 1)

    def _count(self, node: int, node_type: int, sign: int) -> None:
        """Add (1) or take away (-1) what the node costs now, if it is open."""
        is_fixed = self.cluster.node_type_of is not None
        if node in self.away or not (is_fixed or self.hosted.get(node, 0) > 0):
            return
        rates = self.cluster.rates(node_type, max(0.0, self.used.get(node, 0.0)))
        self.power_kw += sign * rates.power_kw
        self.cost_per_h += sign * (
            rates.leasing_per_hour * self.cluster.leasing_factor(node) + rates.energy_per_hour
        )

    def take(self, kind: int, i: int, leads: int) -> None:
        """The end (0) or start (2) of share ``i``; job ``i`` is submitted (1) or gone (3); node ``i`` is back (4)
        or goes away (5).
        """
        if kind in (1, 3):
            self.active += 1 if kind == 1 else -1
            return
        if kind in (4, 5):
            self._move(i, is_away=kind == 5)
            return
        sign = 1 if kind == 2 else -1
        node, v, share = self.node[i], self.type[i], self.share[i]
        self._count(node, v, -1)
        self.used[node] = self.used.get(node, 0.0) + sign * share
        self.hosted[node] = self.hosted.get(node, 0) + sign
        self._count(node, v, 1)
        self.gpus += sign * share
        self.running += sign * leads

    def _move(self, node: int, *, is_away: bool) -> None:
        fixed = self.cluster.node_type_of
        assert fixed is not None
        self._count(node, fixed[node], -1)
        (self.away.add if is_away else self.away.discard)(node)
        self._count(node, fixed[node], 1)

    def row(self) -> tuple[int, int, float, float, float]:
        """Queue, running, GPUs, power and cost now; rounding errors of sums are cut off."""
        return (
            self.active - self.running,
            self.running,
            round(self.gpus, 9),
            round(self.power_kw, 9),
            round(self.cost_per_h, 9),
        )


def tenants_table(result: Result) -> pd.DataFrame:
    """One row a tenant (virtual cluster, else user): the columns of ``tenants.csv``.

    Jobs, GPU-hours and the share of all of them, mean wait, completion time and slowdown. Empty where
    the workload names neither.
    """
    import pandas as pd

    workload = result.workload
    who = workload.vc if any(workload.vc) else workload.user
    columns = ("tenant", "jobs", "gpu_h", "share", "mean_wait_s", "mean_jct_s", "mean_slowdown")
    if not any(who):
        return pd.DataFrame(columns=columns)
    table = pd.DataFrame(
        {
            "tenant": list(who),
            "gpu_h": result.gpu_seconds / SECONDS_PER_HOUR,
            "wait": result.wait_s,
            "jct": result.jct_s,
            "slowdown": result.jct_s / ideal_s(result),
        }
    )
    grouped = table.groupby("tenant", sort=True)
    made = pd.DataFrame(
        {
            "jobs": grouped.size(),
            "gpu_h": grouped["gpu_h"].sum(),
            "share": grouped["gpu_h"].sum() / table["gpu_h"].sum(),
            "mean_wait_s": grouped["wait"].mean(),
            "mean_jct_s": grouped["jct"].mean(),
            "mean_slowdown": grouped["slowdown"].mean(),
        }
    )
    return made.reset_index()[list(columns)]
