"""Check of a schedule against the jobs and machines that it is for, without the engine.

Nothing here runs a simulation: rows are sorted and summed. So a mistake of the engine shows, and a schedule that another
program made is held to the same rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from simulator.model.fractional import demanded_gpus
from simulator.model.workload import ELASTIC

if TYPE_CHECKING:
    import pandas as pd

    from simulator import Cluster, Workload

Row = dict[Any, Any]
COLUMNS = ("job_id", "node", "gpus", "start_s", "end_s")
"""What a schedule has to have, with ``cpus`` and ``memory_gb`` where machines have a limit of them; ``node_type`` may be there."""
AMOUNTS = ("cpus", "memory_gb")
Part = Literal["work", "demand", "stay"]
SECOND, SHARE = 2e-6, 1e-9
"""Two times are the same within so many seconds and so much of the later one; amounts within this part."""
MOST_FAULTS = 20


@dataclass(frozen=True)
class Fault:
    """Something that is wrong.

    Attributes
    ----------
    where : "row 7", "job a", "node 3" or "summary.json".
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Checked:
    """Result of a check.

    Attributes
    ----------
    faults : empty where the schedule is one.
    metrics : recomputed from the rows, by the names of ``summary.json``.
    """

    faults: tuple[Fault, ...]
    metrics: Mapping[str, float]


def check_schedule(
    schedule: pd.DataFrame,
    workload: Workload,
    cluster: Cluster,
    *,
    overhead: bool = False,
    rows_tell: Part = "work",
    claimed: Mapping[str, Any] | None = None,
) -> Checked:
    """Whether the rows serve every job whole, on machines that exist, and what they amount to.

    Parameters
    ----------
    schedule : a row for each share of a node that a job held without a change, with `COLUMNS`; nodes count from 0.
    overhead : starts, moves or failures take time, so a job may hold its GPUs for longer than its work takes.
    rows_tell : what rows tell of a job: "work", its GPUs and the work that is done; "demand", its GPUs; "stay", neither, since
        the policy chooses them and the work depends on more than GPUs.
    claimed : metrics that were claimed for the schedule.
    """
    wanted = (*COLUMNS, *cluster.limited_resources)
    missing = [name for name in wanted if name not in schedule]
    if missing:
        what = f"no column {', '.join(missing)}, expected {', '.join(wanted)} at least"
        return Checked((Fault("header", what),), {})
    rows: list[Row] = schedule.assign(job_id=schedule["job_id"].astype(str)).to_dict("records")
    faults = list(_rows(rows, workload, cluster))
    metrics: dict[str, float] = {}
    if not faults:
        of_job = _grouped(rows, "job_id")
        faults = [*_capacity(rows, cluster), *_jobs(of_job, workload, cluster, overhead, rows_tell)]
        metrics = {} if faults else metrics_of(of_job, workload, cluster)
    faults += _claims(metrics, claimed or {})
    return Checked(tuple(faults[:MOST_FAULTS]), metrics)


def _grouped(rows: list[Row], key: str) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _rows(rows: list[Row], workload: Workload, cluster: Cluster) -> Iterator[Fault]:
    """Faults of single rows: numbers, names, times."""
    known, types = set(workload.job_id), {t.name for t in cluster.node_types}
    submit = dict(zip(workload.job_id, workload.submit_s, strict=True))
    for at, row in enumerate(rows, 1):
        where, job = f"row {at}", row["job_id"]
        numbers = {name: _number(row[name]) for name in (*COLUMNS[1:], *AMOUNTS) if name in row}
        wrong = [name for name, value in numbers.items() if not math.isfinite(value)]
        node = numbers["node"]
        if job not in known:
            yield Fault(where, f"job {job} is none of the task's")
        elif wrong:
            yield Fault(where, f"job {job}: {wrong[0]} is {row[wrong[0]]!r}, expected a number")
        elif not (node.is_integer() and 0 <= node < cluster.num_nodes):
            yield Fault(
                where, f"job {job}: node {node:g}, expected 0 to {cluster.num_nodes - 1:.0f}"
            )
        elif numbers["gpus"] <= 0:
            yield Fault(where, f"job {job}: {numbers['gpus']:g} GPUs, expected a number > 0")
        elif negative := [name for name in AMOUNTS if numbers.get(name, 0.0) < 0]:
            yield Fault(
                where, f"job {job}: {negative[0]} is {numbers[negative[0]]:g}, expected >= 0"
            )
        elif numbers["end_s"] <= numbers["start_s"]:
            yield Fault(where, f"job {job}: ends at {row['end_s']} s, before or as it starts")
        elif _before(numbers["start_s"], submit[job]):
            yield Fault(
                where,
                f"job {job}: starts at {row['start_s']} s, is submitted at {submit[job]:.9g} s",
            )
        elif "node_type" in row and row["node_type"] not in types:
            yield Fault(where, f"job {job}: node type {row['node_type']!r} is none of the task's")
        elif "node_type" in row and cluster.node_type_of is not None:
            expected = cluster.node_types[cluster.node_type_of[int(node)]].name
            if row["node_type"] != expected:
                yield Fault(
                    where,
                    f"job {job}: node {node:g} is of type {row['node_type']}, expected {expected}",
                )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _slack(time_s: Any) -> Any:
    return SECOND + SHARE * abs(time_s)


def _before(time_s: float, other_s: float) -> bool:
    return time_s < other_s - float(_slack(other_s))


def _capacity(rows: list[Row], cluster: Cluster) -> Iterator[Fault]:
    """Faults of nodes: more in use than there is, or two types at a time."""
    for node, part in _grouped(rows, "node").items():
        of_type: dict[int, list[Row]] = {}
        for row in part:
            of_type.setdefault(_type_of(row, cluster), []).append(row)
        for kind, own in of_type.items():
            has = cluster.node_types[kind]
            for column in ("gpus", "cpus", "memory_gb"):
                most = getattr(has, column)
                if column in own[0] and most > 0:
                    at, used = _highest(own, column)
                    if used > most + SECOND:
                        what = f"{used:g} {column} in use at {at:.9g} s"
                        yield Fault(f"node {node}", f"{what}, {has.name} has {most:g}")
        busy_until, before = -math.inf, -1
        for row in sorted(part, key=lambda row: row["start_s"]) if len(of_type) > 1 else ():
            kind = _type_of(row, cluster)
            if kind != before and _before(row["start_s"], busy_until):
                yield Fault(f"node {node}", f"has two types at {row['start_s']:.9g} s")
                break
            busy_until, before = max(busy_until, row["end_s"]), kind


def _type_of(row: Row, cluster: Cluster) -> int:
    """Index of the node's type in a row."""
    if cluster.node_type_of is not None:
        return int(cluster.node_type_of[int(row["node"])])
    names = [t.name for t in cluster.node_types]
    return names.index(row["node_type"]) if "node_type" in row else 0


def _highest(rows: list[Row], column: str) -> tuple[float, float]:
    """When the most is in use at a time, and how much; ends come before starts at the same time."""
    start, end, amount = (
        np.array([row[key] for row in rows], float) for key in ("start_s", "end_s", column)
    )
    times = np.concatenate((np.maximum(end - _slack(end), start), start))
    order = np.lexsort((np.repeat([0, 1], len(rows)), times))
    level = np.cumsum(np.concatenate((-amount, amount))[order])
    highest = int(level.argmax())
    return float(times[order][highest]), float(level[highest])


def _jobs(
    of_job: Mapping[str, list[Row]],
    workload: Workload,
    cluster: Cluster,
    overhead: bool,
    rows_tell: Part,
) -> Iterator[Fault]:
    """Faults of jobs: not served, two at a time, a gang in parts, too little or too much work."""
    for job, name in enumerate(workload.job_id):
        if name not in of_job:
            yield Fault(f"job {name}", "is not in the schedule")
            continue
        stretches = list(_stretches(of_job[name]))
        demand, nodes = workload.num_gpus.item(job), workload.num_nodes.item(job)
        work = held_s = 0.0
        for start, end, held in stretches:
            gpus = sum(row["gpus"] for row in held)
            if nodes and len({row["node"] for row in held}) != nodes:
                yield Fault(
                    f"job {name}",
                    f"is on {len(held)} nodes from {start:.9g} s, asks for {nodes}",
                )
                break
            if rows_tell == "work":
                rate = _rate(job, gpus, held, workload, cluster)
            else:
                rate = float(gpus == demand or rows_tell == "stay")
            if not rate:
                asks = "what it can run on" if demand == ELASTIC else f"{demand}"
                what = f"holds {gpus:g} GPUs from {start:.9g} s, asks for {asks}"
                yield Fault(f"job {name}", what)
                break
            if lacking := _lacking(job, held, workload, cluster):
                yield Fault(f"job {name}", f"from {start:.9g} s holds {lacking}")
                break
            work += (end - start) * rate
            held_s += end - start
        else:
            if rows_tell != "work":
                continue
            apart_s = (work - 1) * held_s / work if work else -math.inf
            known_s = len(stretches) * float(_slack(stretches[-1][1])) if stretches else 0.0
            if apart_s < -known_s:
                yield Fault(f"job {name}", f"does {work:.6%} of its work")
            elif apart_s > known_s and not overhead:
                yield Fault(f"job {name}", f"holds GPUs for {work:.6%} of its work")


def _lacking(job: int, held: list[Row], workload: Workload, cluster: Cluster) -> str:
    """CPUs or memory that a job asks for and does not hold, where they are limited; empty: none."""
    asked = {"cpus": workload.num_cpus.item(job), "memory_gb": workload.memory_gb.item(job)}
    for name in cluster.limited_resources:
        amount = sum(row[name] for row in held)
        if amount < asked[name] - SECOND:
            return f"{amount:g} {name}, asks for {asked[name]:g}"
    return ""


def _stretches(found: list[Row]) -> Iterator[tuple[float, float, list[Row]]]:
    """Start, end and rows of each stretch of time in which a job holds the same shares."""
    times = sorted({row[key] for row in found for key in ("start_s", "end_s")})
    for start, end in itertools.pairwise(times):
        held = [row for row in found if row["start_s"] <= start and row["end_s"] >= end]
        if held and end - start > _slack(end):
            yield start, end, held


def _rate(job: int, gpus: float, held: list[Row], workload: Workload, cluster: Cluster) -> float:
    """Part of the job's work that is done in a second, by the performance model; 0 where it cannot run so."""
    rates = []
    for kind in dict.fromkeys(_type_of(row, cluster) for row in held):
        has = cluster.node_types[kind]
        share = gpus / has.gpus if has.gpus else 0.0
        cpus = sum(row.get("cpus", 0.0) for row in held) or share * has.cpus
        memory = sum(row.get("memory_gb", 0.0) for row in held) or share * has.memory_gb
        time_s = workload.performance.time_s(job, kind, gpus, cpus, memory)
        rates.append(1 / time_s if time_s > 0 and math.isfinite(time_s) else 0.0)
    return min(rates)


def metrics_of(
    of_job: Mapping[str, list[Row]], workload: Workload, cluster: Cluster
) -> dict[str, float]:
    """Metrics of a schedule, recomputed from its rows; names, units and definitions of ``summary.json``."""
    own = [of_job[name] for name in workload.job_id]
    first = np.array([min(row["start_s"] for row in part) for part in own])
    end = np.array([max(row["end_s"] for row in part) for part in own])
    held = np.array([sum(e - s for s, e, _ in _stretches(part)) for part in own])
    jct = end - workload.submit_s
    used = sum(row["gpus"] * (row["end_s"] - row["start_s"]) for part in own for row in part)
    found = {"jobs": float(len(own)), "mean_jct_s": float(jct.mean())}
    found |= {f"p{q}_jct_s": float(np.quantile(jct, q / 100)) for q in (50, 95, 99)}
    found["mean_total_wait_s"] = float((jct - held).mean())
    found |= {f"p{q}_total_wait_s": float(np.quantile(jct - held, q / 100)) for q in (95, 99)}
    found["makespan_s"] = float(end.max() - workload.submit_s.min())
    late_s = np.maximum(0.0, end - workload.due_s)
    late = np.isfinite(workload.due_s) & (late_s > _slack(workload.due_s))
    found |= {
        "late_jobs": float(late.sum()),
        "tardiness_cost": float(late_s @ workload.weight_per_s),
    }
    if cluster.is_configurable and not cluster.is_pool:
        found["total_cost"] = _leased(own, cluster) + found["tardiness_cost"]
    elif math.isfinite(cluster.total_gpus):
        ratio = used / (cluster.total_gpus * found["makespan_s"])
        found |= {"gpu_utilisation": ratio, "allocation_ratio": ratio}
    return found | _against_alone(first, end, workload, cluster)


def _leased(own: list[list[Row]], cluster: Cluster) -> float:
    """Leasing and energy of nodes for as long as jobs are on them."""
    cost = 0.0
    for node, rows in _grouped([row for part in own for row in part], "node").items():
        factor = cluster.leasing_factor(int(node))
        for start, end, held in _stretches(rows):
            rates = cluster.rates(_type_of(held[0], cluster), int(sum(row["gpus"] for row in held)))
            cost += (rates.leasing_per_hour * factor + rates.energy_per_hour) * (end - start) / 3600
    return cost


def _against_alone(first: Any, end: Any, workload: Workload, cluster: Cluster) -> dict[str, float]:
    """Metrics that compare jobs with themselves alone on the fastest configuration."""
    if cluster.is_pool:
        return {}
    alone = workload.performance.fixed_s
    if alone is None:
        alone = workload.performance.table_s(np.arange(len(workload)), cluster).min(axis=(1, 2))
    submit, gpus = workload.submit_s, demanded_gpus(workload, in_parts=True)
    stay = end - submit
    beside = np.maximum(0, np.minimum(end, end[:, None]) - np.maximum(submit, submit[:, None]))
    share = np.where(gpus > 0, gpus, cluster.max_gpus_per_node) / cluster.total_gpus
    with np.errstate(divide="ignore", invalid="ignore"):
        slow = stay / alone
        fair = slow / np.maximum(1, beside.sum(axis=1) / stay * share)
    found = {
        "mean_slowdown": slow.mean(),
        "mean_bounded_slowdown": np.maximum(1, stay / np.maximum(alone, 10)).mean(),
        "mean_finish_time_fairness": fair.mean(),
        "max_finish_time_fairness": fair.max(),
    }
    if workload.num_gpus.all():
        found["effective_training_ratio"] = gpus @ alone / (gpus @ (end - first))
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def _claims(found: Mapping[str, float], claimed: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of metrics that were claimed."""
    for name, value in found.items():
        said = claimed.get(name, value)
        if not isinstance(said, int | float) or math.isnan(said):
            yield Fault("summary.json", f"{name} is {said!r}, the rows give {value:.9g}")
        elif abs(said - value) > 1e-6 * max(1.0, abs(value)):
            yield Fault("summary.json", f"{name} is {said:.9g}, the rows give {value:.9g}")
