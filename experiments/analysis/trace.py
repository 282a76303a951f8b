"""`schedlab show trace`: what a file of jobs holds, before anything is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.analysis.spans import span
from experiments.config import validated
from simulator.errors import InputError
from simulator.laws.fitting import FittedLaw, fits
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.workloads.table import Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator import Cluster, Workload


@dataclass(frozen=True)
class FileContents:
    """Contents of a file.

    Attributes
    ----------
    kind : the format that it was read as.
    gpus : ``(J,)`` GPUs that the jobs ask for; empty for elastic jobs.
    duration_s : ``(J,)`` at the job's own demand; of elastic jobs, of their fastest configuration.
    gaps_s : ``(J - 1,)`` between submissions.
    by_hour : ``(24,)`` jobs an hour by the hour since the first submission, modulo a day; NaN for an
        hour that the trace does not reach.
    load : work over what the cluster can do in the same time; None without a cluster.
    """

    workload: Workload
    kind: str
    gpus: IntArray
    duration_s: FloatArray
    gaps_s: FloatArray
    by_hour: FloatArray
    load: float | None
    cluster: Cluster | None

    @property
    def span_s(self) -> float:
        """From the first submission to the last, s."""
        return float(self.workload.submit_s[-1] - self.workload.submit_s[0])

    @property
    def gpu_hours(self) -> float:
        """Work of jobs of fixed demand: GPUs x duration, h; NaN for elastic jobs."""
        if not len(self.gpus):
            return float("nan")
        return float((self.gpus * self.duration_s).sum() / HOUR_S)


def read_trace(
    path: Path, kind: str | None = None, settings: Sequence[str] = ()
) -> tuple[Workload, Cluster | None, str]:
    """The jobs of a file, the machines that it brings, and its format.

    Parameters
    ----------
    settings : ``workload.KEY=VALUE`` each, as of `schedlab run`; not ``workload.path``.

    Raises
    ------
    InputError
        No such file, another format, or a mistake in it or in a setting; one line.
    """
    from experiments.scenario.options import set_key
    from simulator.workloads.registry import table_for

    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    table = table_for(path, kind)
    keys: dict[str, Any] = {"workload": {"path": str(path)}}
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if not key.startswith("workload.") or key == "workload.path":
            raise InputError(f"--set {setting!r}: expected workload.KEY=VALUE, of any key but path")
        set_key(keys, setting)
    if settings:
        table = validated(type(table), keys["workload"], str(path))
    made = table.make(Setting())
    return *(made if isinstance(made, tuple) else (made, None)), table.kind


def describe(
    workload: Workload, kind: str, own: Cluster | None = None, nodes: tuple[int, int] | None = None
) -> FileContents:
    """Properties of the jobs.

    Parameters
    ----------
    own : the machines that the file brings.
    nodes : number of nodes and GPUs of each, in place of these.
    """
    from simulator import Cluster, NodeType
    from simulator.workloads.load import offered_load

    cluster = own
    if nodes is not None:
        if workload.is_elastic:
            raise InputError("--nodes: these jobs are elastic, expected jobs of fixed demand")
        cluster = Cluster.of_nodes(NodeType("server", "GPU", nodes[1]), nodes[0])
    span_s = float(workload.submit_s[-1] - workload.submit_s[0])
    load = offered_load(workload, cluster).packed if cluster is not None and span_s > 0 else None
    gpus = np.zeros(0, dtype=np.int64) if workload.is_elastic else workload.num_gpus
    return FileContents(
        workload, kind, gpus, _durations(workload, own), np.diff(workload.submit_s),
        _by_hour(workload.submit_s), load, cluster,
    )  # fmt: skip


def _durations(workload: Workload, own: Cluster | None) -> FloatArray:
    from simulator.workloads.reshaping import fixed_times

    if not workload.is_elastic:
        return fixed_times(workload)
    assert own is not None
    jobs = np.arange(len(workload), dtype=np.int64)
    table: FloatArray = workload.performance.table_s(jobs, own).reshape(len(jobs), -1)
    return np.asarray(table.min(axis=1), dtype=np.float64)


def _by_hour(submit_s: FloatArray) -> FloatArray:
    """Jobs an hour, by the hour of the day; how often the trace reaches that hour counts."""
    since_s = submit_s - submit_s[0]
    hour = np.minimum((since_s / HOUR_S).astype(np.int64), int(since_s[-1] / HOUR_S))
    reached = np.bincount(np.arange(int(since_s[-1] / HOUR_S) + 1) % 24, minlength=24)
    counts = np.bincount(hour % 24, minlength=24).astype(np.float64)
    return np.where(reached > 0, counts / np.maximum(reached, 1), np.nan)


def lines(trace: FileContents) -> list[str]:
    """The description, one line each fact."""
    count, span_s = len(trace.workload), trace.span_s
    rate = f", {(count - 1) / span_s * HOUR_S:.3g} an hour" if span_s > 0 else ""
    told = [
        f"format     {trace.kind}",
        f"jobs       {count}, submitted over {span(span_s)}{rate}",
    ]
    if len(trace.gpus):
        told += [_demand(trace.gpus, trace.duration_s), f"work       {_amount(trace.gpu_hours)} GPU-hours"]  # fmt: skip
    told.append(_values("durations" if len(trace.gpus) else "fastest", trace.duration_s))
    told += _fit_lines(trace.duration_s)
    if count > 1:
        told.append(_values("gaps", trace.gaps_s) + f", correlation of neighbours {_lag(trace.gaps_s):.2f}")  # fmt: skip
        told += _fit_lines(trace.gaps_s)
    if span_s >= DAY_S:
        most, least = int(np.nanargmax(trace.by_hour)), int(np.nanargmin(trace.by_hour))
        told.append(
            f"day        most jobs {most} h after the first submission, modulo 24 h "
            f"({trace.by_hour[most]:.3g} an hour), fewest {least} h after ({trace.by_hour[least]:.3g})"
        )
    if trace.load is not None and trace.cluster is not None:
        told.append(
            f"load       {trace.load:.3g} of {trace.cluster.num_nodes} nodes{_beside(trace)}"
        )
    return told


def _beside(trace: FileContents) -> str:
    assert trace.cluster is not None
    types = trace.cluster.node_types
    name = f" with {types[0].gpus:g} GPUs each" if len(types) == 1 else ""
    return name + (": queues grow while jobs come" if trace.load is not None and trace.load >= 1 else "")  # fmt: skip


def _demand(gpus: IntArray, duration_s: FloatArray) -> str:
    work = gpus * duration_s
    shares = [
        f"{g} ({(gpus == g).mean():.0%} of the jobs, {work[gpus == g].sum() / work.sum():.0%} of the work)"
        for g in np.unique(gpus)[:8].tolist()
    ]
    more = "" if len(np.unique(gpus)) <= 8 else ", .."
    return f"GPUs       {', '.join(shares)}{more}; mean {gpus.mean():.3g}"


def _values(name: str, values: FloatArray) -> str:
    mean, middle, high = values.mean(), np.median(values), np.quantile(values, 0.95)
    cv2 = f", cv² {values.var() / mean**2:.3g}" if mean > 0 else ""
    return (
        f"{name:10} mean {span(mean)}, median {span(middle)}, 95 % at most {span(high)}, "
        f"longest {span(values.max())}{cv2}"
    )


def _fit_lines(values: FloatArray) -> list[str]:
    positive = values[values > 0]
    zeros = len(values) - len(positive)
    try:
        found: list[FittedLaw] = fits(positive)
    except InputError:
        return []
    note = f" ({zeros} values of 0 left out)" if zeros else ""
    best = found[0].aic
    return [
        f"  fit      {fit.law}: distance {fit.distance:.3f}"
        + (f", AIC {fit.aic - best:.1f} above the first" if k else f", best by AIC{note}")
        for k, fit in enumerate(found)
    ]


def _lag(values: FloatArray) -> float:
    """Correlation of each value with the next one; 0 where they do not vary."""
    if len(values) < 3 or values[:-1].std() == 0 or values[1:].std() == 0:
        return 0.0
    return float(np.corrcoef(values[:-1], values[1:])[0, 1])


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
