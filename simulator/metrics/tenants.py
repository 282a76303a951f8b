"""What users read off a run with tenants: shares over time, who got what, envy, promises.

All of it is worked out from a finished `Result`; a simulation pays nothing for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.features.fractional import gpus_asked
from simulator.features.tenants import Tenants, envy_rate, shares_over_time, water_filling
from simulator.metrics import readout
from simulator.model import tolerances
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from simulator.metrics.result import Result


class Shares(NamedTuple):
    """GPUs by tenant from each change point to the next.

    Attributes
    ----------
    time_s : ``(n,)`` change points.
    held, asked, fair : ``(n, T)`` GPUs in use, asked for by jobs in the system, and the weighted
        max-min fair share of these.
    """

    time_s: FloatArray
    held: FloatArray
    asked: FloatArray
    fair: FloatArray

    def integral(self, rate: FloatArray) -> FloatArray:
        """``(T,)`` GPU-hours of a rate over time, ``(n, T)``."""
        return np.asarray(
            (rate[:-1] * np.diff(self.time_s)[:, None]).sum(axis=0) / SECONDS_PER_HOUR
        )


def shares(result: Result) -> Shares | None:
    """Shares over time; None where the schedule was not kept.

    An elastic job asks for the GPUs of the largest node.
    """
    tenants, workload = result.tenants, result.workload
    schedule = result.schedule
    if tenants is None or schedule is None or result.streamed_to is not None:
        return None
    table = schedule.table()
    demand = _asked(result)
    if result.left is not None:
        demand[result.left] = 0.0
    time_s, held, asked = shares_over_time(
        tenants, table["job"], table["gpus"], table["start_s"], table["end_s"],
        workload.submit_s, result.completion_s, demand,
    )  # fmt: skip
    total = float(result.cluster.total_gpus)
    known: dict[bytes, FloatArray] = {}
    fair = np.zeros_like(held)
    for i, row in enumerate(asked):
        key = row.tobytes()
        if key not in known:
            known[key] = water_filling(row, tenants.weight, total)
        fair[i] = known[key]
    return Shares(time_s, held, asked, fair)


def _asked(result: Result) -> FloatArray:
    """``(J,)`` GPUs that each job asks for: a part of one, where the policy gave parts; elastic ones: a node's."""
    schedule = result.schedule
    kept = schedule is not None and result.streamed_to is None
    gave = np.asarray(schedule.table()["gpus"]) if kept and schedule is not None else np.zeros(0)
    asked = gpus_asked(result.workload, in_parts=bool((gave % 1).any()))
    return np.where(asked > 0, asked, float(result.cluster.max_gpus_per_node))


def _envy(tenants: Tenants, found: Shares) -> FloatArray:
    """``(T,)`` GPU-hours that each tenant would rather have had."""
    rows = [envy_rate(h, a, tenants.weight) for h, a in zip(found.held, found.asked, strict=True)]
    return found.integral(np.array(rows))


def finish_time_fairness(result: Result) -> FloatArray:
    """``(J,)`` completion time over that on the tenant's own part of the cluster; above 1: worse than fair.

    There, the tenant's jobs share its part: a job takes its ideal time, times what its tenant's jobs asked
    for meanwhile on average over that part, where they asked for more (Themis's rho, with tenants for
    its applications).
    """
    tenants, workload = result.tenants, result.workload
    assert tenants is not None
    demand = _asked(result)
    part = result.cluster.total_gpus * tenants.weight / tenants.weight.sum()
    start_s, end_s = workload.submit_s, result.completion_s
    asked = np.zeros(len(workload))
    for t in range(len(tenants)):
        own = np.flatnonzero(tenants.of == t)
        times = np.concatenate([start_s[own], end_s[own]])
        order = np.argsort(times, kind="stable")
        rate = np.concatenate([demand[own], -demand[own]])[order].cumsum()
        times = times[order]
        area = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(times))]) if len(own) else times
        if len(own):
            inside = np.interp(end_s[own], times, area) - np.interp(start_s[own], times, area)
            asked[own] = inside / np.maximum(1e-12, end_s[own] - start_s[own])
    crowding = np.maximum(1.0, asked / part[tenants.of])
    return np.asarray(result.jct_s / (readout.ideal_s(result) * crowding))


def table(result: Result) -> pd.DataFrame:
    """One row a tenant: the columns of ``tenants.csv`` where the scenario has tenants.

    ``fair_gpu_h`` is what weighted max-min fairness would give at each instant, for the demand of that
    instant. ``envy_gpu_h`` is what a tenant would rather have had of another's GPUs.
    """
    import pandas as pd

    tenants = result.tenants
    assert tenants is not None
    served = np.zeros(len(result.workload), dtype=np.bool_)
    served[result.served()] = True
    slowdown = result.jct_s / readout.ideal_s(result)
    rho = finish_time_fairness(result)
    rows = []
    for t, name in enumerate(tenants.names):
        own = tenants.of == t
        mine = own & served
        gpu_h = float(result.gpu_seconds[own].sum()) / SECONDS_PER_HOUR
        row = {
            "tenant": name,
            "jobs": int(own.sum()),
            "gpu_h": gpu_h,
            "share": gpu_h * SECONDS_PER_HOUR / max(1e-12, float(result.gpu_seconds.sum())),
            "mean_wait_s": _mean(result.wait_s[mine]),
            "mean_jct_s": _mean(result.jct_s[mine]),
            "mean_slowdown": _mean(slowdown[mine]),
            "finish_time_fairness": _mean(rho[mine]),
            "max_finish_time_fairness": float(rho[mine].max(initial=0.0)),
            "weight": float(tenants.weight[t]),
            "quota": float(tenants.quota[t]),
            "late_jobs": int((result.tardiness_s[mine] > 0).sum()),
        }
        if result.gate is not None:
            row["held_s"] = _mean(result.gate.held_s[mine])
            row["rejected"] = int(result.gate.rejected[own].sum())
        rows.append(row)
    frame = pd.DataFrame(rows)
    found = shares(result)
    if found is not None:
        frame["peak_gpus"] = found.held.max(axis=0)
        frame["fair_gpu_h"] = found.integral(found.fair)
        frame["envy_gpu_h"] = _envy(tenants, found)
    return frame


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def shares_table(result: Result) -> pd.DataFrame:
    """Change points, and the GPUs that each tenant held from then on: the columns of ``shares.csv``."""
    import pandas as pd

    found = shares(result)
    if found is None or result.tenants is None:
        return pd.DataFrame(columns=["time_s"])
    columns = {"time_s": found.time_s}
    for t, name in enumerate(result.tenants.names):
        columns[name] = found.held[:, t]
        columns[f"{name} asked"] = found.asked[:, t]
    return pd.DataFrame(columns)


def summary(result: Result) -> dict[str, float | int | str | None]:
    """What tenants and the gate add to ``summary.json``.

    ``jain_tenants`` is Jain's index of GPU-hours over the fair ones; 1: all got the same part of what is
    fair.
    """
    found: dict[str, float | int | str | None] = {}
    tenants, gate = result.tenants, result.gate
    over_time = shares(result)
    if tenants is not None:
        found["tenants"] = len(tenants)
    if tenants is not None and over_time is not None:
        fair = over_time.integral(over_time.fair)
        some = fair > 0
        part = over_time.integral(over_time.held)[some] / fair[some]
        found["jain_tenants"] = readout.jain(part) if some.any() else None
        found["envy_gpu_h"] = float(_envy(tenants, over_time).sum())
    if gate is not None:
        rounding_s = tolerances.SUMS * np.maximum(1.0, result.completion_s)
        late = (result.tardiness_s > rounding_s) & gate.promised
        found |= {
            "held_jobs": int((gate.held_s > 0).sum()),
            "rejected_jobs": int(gate.rejected.sum()),
            "downgraded_jobs": int(gate.downgraded.sum()),
            "promised_jobs": int(gate.promised.sum()),
            "broken_promises": int(late.sum()),
        }
    return found
