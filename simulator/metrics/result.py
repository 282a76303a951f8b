"""What a simulation leaves behind: the tables, and the figures drawn from them.

Costs: leasing is the price of every open node over its open time; energy the power of every open
node over time; tardiness the weight of every job times the seconds that it ends after its due
date. All in the cluster's currency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simulator.columns import ColumnData
from simulator.core.gate import GateRecord
from simulator.core.node import Node
from simulator.core.records import DecisionLog, ScheduleLog
from simulator.errors import InputError
from simulator.features.faults import Damage
from simulator.features.tenants import Tenants
from simulator.metrics import readout
from simulator.metrics import tenants as between_tenants
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

VERSION = "0.1.0"
"""Version of the simulator, recorded with every result."""


@dataclass(frozen=True)
class NodeMeters:
    """Sums over all nodes: costs in the currency, energy in kWh, uses in seconds."""

    leasing_cost: float
    energy_cost: float
    energy_kwh: float
    gpu_seconds: float
    open_gpu_seconds: float
    cpu_seconds: float
    open_cpu_seconds: float

    @classmethod
    def of(cls, nodes: Sequence[Node | None], cluster: Cluster, span_s: float) -> NodeMeters:
        """Read the meters at the end of a simulation.

        Parameters
        ----------
        nodes : ``(N,)``, None for each that was never used.
        span_s : seconds for which nodes of fixed types were open.
        """
        leasing = energy = kwh = open_gpu_s = open_cpu_s = 0.0
        fixed = cluster.node_type_of
        idle: list[Mapping[tuple[int, int], float]] = [
            {(v, 0): span_s} if span_s > 0 else {} for v in range(len(cluster.node_types))
        ]
        for n, node in enumerate(nodes):
            if node is not None:
                use_s: Mapping[tuple[int, int], float] = node.use_s
            elif fixed is not None:
                use_s = idle[fixed[n]]
            else:
                continue
            factor = cluster.leasing_factor(n)
            for (v, gpus), seconds in use_s.items():
                spec, rates = cluster.node_types[v], cluster.rates(v, gpus)
                hours = seconds / SECONDS_PER_HOUR
                leasing += rates.leasing_per_hour * factor * hours
                energy += rates.energy_per_hour * hours
                kwh += rates.power_kw * hours
                open_gpu_s += spec.gpus * seconds
                open_cpu_s += spec.cpus * seconds if spec.cpus < math.inf else 0.0
        gpu_s = float(sum(n.gpu_seconds for n in nodes if n is not None))
        cpu_s = float(sum(n.cpu_seconds for n in nodes if n is not None))
        if cluster.is_pool:
            leasing = cluster.node_types[0].price_per_gpu_hour * gpu_s / SECONDS_PER_HOUR
        return cls(leasing, energy, kwh, gpu_s, open_gpu_s, cpu_s, open_cpu_s)


@dataclass(frozen=True)
class Result:
    """One simulation: what happened to every job, every decision, and what it cost.

    Attributes
    ----------
    workload, cluster : what was simulated.
    policy, seed : by which policy, on which random numbers.
    first_start_s, completion_s, gpu_seconds : ``(J,)`` s, s, GPU-seconds held.
    preemptions : ``(J,)`` how often a running job was sent back to wait.
    reconfigurations : ``(J,)`` how often its placement was changed while it ran.
    meters : costs and use of the nodes.
    decisions : one row a decision, in order.
    schedule : one record a share and stretch of time, or None if not recorded.
    server_wait_s, server_response_s : one value a request to the optimization server, s.
    damage : what went wrong; None where nothing could.
    left : ``(J,)`` jobs that left before they started, at their ``completion_s``; None: none can.
    tenants : whose jobs they were; None where nobody asked.
    gate : what admission control and quotas did; None where there were none.
    extra : columns that features add to the table of jobs, ``(J,)`` values each.
    streamed_to : the folder of the Parquet files that hold decisions and schedule (`simulate`,
        ``stream_to``); None: they are in memory.
    """

    workload: Workload
    cluster: Cluster
    policy: str
    seed: int
    first_start_s: FloatArray
    completion_s: FloatArray
    gpu_seconds: FloatArray
    preemptions: IntArray
    reconfigurations: IntArray
    meters: NodeMeters
    decisions: DecisionLog
    schedule: ScheduleLog | None
    server_wait_s: FloatArray
    server_response_s: FloatArray
    damage: Damage | None = None
    streamed_to: Path | None = None
    left: npt.NDArray[np.bool_] | None = None
    tenants: Tenants | None = None
    gate: GateRecord | None = None
    extra: tuple[ColumnData, ...] = ()

    @cached_property
    def wait_s(self) -> FloatArray:
        """``(J,)`` from submission to first start."""
        return self.first_start_s - self.workload.submit_s

    @cached_property
    def jct_s(self) -> FloatArray:
        """``(J,)`` job completion time: from submission to completion; NaN for a job that left."""
        stay_s = self.completion_s - self.workload.submit_s
        return stay_s if self.left is None else np.where(self.left, np.nan, stay_s)

    @cached_property
    def tardiness_s(self) -> FloatArray:
        """``(J,)`` seconds after the due date, 0 for a job in time and for one that left."""
        late_s = np.maximum(0.0, self.completion_s - self.workload.due_s)
        return late_s if self.left is None else np.where(self.left, 0.0, late_s)

    @property
    def tardiness_cost(self) -> float:
        """Weighted tardiness of all jobs."""
        return float(self.tardiness_s @ self.workload.weight_per_s)

    @property
    def total_cost(self) -> float:
        """Leasing, energy and tardiness."""
        return self.meters.leasing_cost + self.meters.energy_cost + self.tardiness_cost

    @property
    def makespan_s(self) -> float:
        """From the first submission to the last completion."""
        end_s = self.completion_s if self.left is None else self.completion_s[~self.left]
        return float(end_s.max() - self.workload.submit_s[0])

    def served(self, window: Sequence[int] | None = None) -> slice | IntArray:
        """Index of the jobs of a window, in order of submission, without those that left.

        Raises
        ------
        InputError
            All jobs of the window left.
        """
        first, last = window or (0, len(self.workload))
        if self.left is None:
            return slice(first, last)
        found = first + np.flatnonzero(~self.left[first:last])
        if not len(found):
            raise InputError(f"window {first}:{last}: all its jobs left, expected one that started")
        return found

    def summary(self, window: Sequence[int] | None = None) -> dict[str, float | int | str | None]:
        """The scalars of ``summary.json``; times in s, costs in the currency.

        ``window`` ``(first, last)`` restricts waits and completion times to jobs first..last - 1
        in order of submission, so that the ramps up and down do not count. Jobs that left count in
        ``lost_jobs`` and ``lost_share`` only; the share is that of the window.

        ``gpu_utilisation`` is GPU-seconds in use over GPU-seconds of open nodes (all nodes, where
        their types are fixed); None on a rental pool. ``mean_decision_cpu_s`` is None unless
        `simulate` was asked to measure it. It differs from run to run; nothing else here does,
        unless the optimization server takes as long as was measured, or a solver stops at a limit
        of time.
        """
        first, last = window or (0, len(self.workload))
        served = self.served(window)
        jct_s = self.jct_s[served]
        open_gpu_s = self.meters.open_gpu_seconds
        open_cpu_s = self.meters.open_cpu_seconds
        summary: dict[str, float | int | str | None] = {
            "jobs": len(self.workload),
            "mean_wait_s": float(self.wait_s[served].mean()),
            "mean_jct_s": float(jct_s.mean()),
            "p99_jct_s": float(np.quantile(jct_s, 0.99)),
            "makespan_s": self.makespan_s,
            "leasing_cost": self.meters.leasing_cost,
            "energy_cost": self.meters.energy_cost,
            "tardiness_cost": self.tardiness_cost,
            "total_cost": self.total_cost,
            "decisions": len(self.decisions),
            "mean_decision_cpu_s": self.decisions.mean_cpu_s(),
            "gpu_utilisation": (
                self.meters.gpu_seconds / open_gpu_s if 0 < open_gpu_s < np.inf else None
            ),
            "policy": self.policy,
            "seed": self.seed,
            "version": VERSION,
            "currency": self.cluster.currency,
            "energy_kwh": self.meters.energy_kwh,
            "carbon_kg": self.meters.energy_kwh * self.cluster.carbon_g_per_kwh / 1000,
            "cpu_utilisation": self.meters.cpu_seconds / open_cpu_s if open_cpu_s else None,
            "late_jobs": int((self.tardiness_s > 0).sum()),
            "preemptions": int(self.preemptions.sum()),
            "reconfigurations": int(self.reconfigurations.sum()),
        }
        if self.left is not None:
            summary["lost_jobs"] = int(self.left.sum())
            summary["lost_share"] = float(self.left[first:last].mean())
        summary |= readout.fairness_summary(self) | self._damage_summary()
        if self.tenants is not None or self.gate is not None:
            summary |= between_tenants.summary(self)
        return summary

    def _damage_summary(self) -> dict[str, float | int | str | None]:
        """What went wrong, as scalars; nothing where nothing could.

        ``goodput`` is the part of the GPU-seconds held by jobs that was work and was not lost.
        ``availability`` is the part of the node-seconds, from the first submission to the last
        completion, in which a node was up.
        """
        damage = self.damage
        if damage is None:
            return {}
        lost, overhead = float(damage.lost_gpu_s.sum()), float(damage.overhead_gpu_s.sum())
        held, span_s = float(self.gpu_seconds.sum()), self.makespan_s * self.cluster.num_nodes
        return {
            "outages": int(damage.outages.sum()),
            "job_failures": int(damage.failures.sum()),
            "killed_jobs": int(damage.killed.sum()),
            "lost_gpu_h": lost / SECONDS_PER_HOUR,
            "overhead_gpu_h": overhead / SECONDS_PER_HOUR,
            "goodput": 1 - (lost + overhead) / held if held else None,
            "availability": 1 - float(damage.down_s.sum()) / span_s if span_s else None,
        }

    def jobs_table(self) -> pd.DataFrame:
        """One row a job: the columns of ``jobs.csv`` (docs/scenarios.md lists them)."""
        import pandas as pd

        facts = readout.job_facts(self)
        return pd.DataFrame({"job_id": self.workload.job_id, **self.job_columns(), **facts})

    def timeline_table(self) -> pd.DataFrame:
        """One row an instant at which something changes: the columns of ``timeline.csv``."""
        return readout.timeline_table(self)

    def tenants_table(self) -> pd.DataFrame:
        """One row a tenant: the columns of ``tenants.csv``; empty where jobs name none."""
        if self.tenants is not None:
            return between_tenants.table(self)
        return readout.tenants_table(self)

    def outages_table(self) -> pd.DataFrame:
        """One row a stretch of time that a node was away (``outages.csv``); empty where nothing can fail."""
        import pandas as pd

        away = np.empty((0, 3)) if self.damage is None else self.damage.away
        columns = {"node": away[:, 0].astype(np.int64), "start_s": away[:, 1], "end_s": away[:, 2]}
        return pd.DataFrame(columns).sort_values(["start_s", "node"], ignore_index=True)

    def shares_table(self) -> pd.DataFrame:
        """One row an instant: the GPUs of each tenant (``shares.csv``); empty without tenants."""
        return between_tenants.shares_table(self)

    def job_columns(self) -> dict[str, FloatArray | IntArray | list[str]]:
        """What the simulation itself says of each job, ``(J,)`` each; ``left`` where jobs can leave.

        ``status`` is there where a job can end without its work being done (`readout.statuses`).
        """
        columns: dict[str, FloatArray | IntArray | list[str]] = {
            "arrival_s": self.workload.submit_s,
            "first_start_s": self.first_start_s,
            "completion_s": self.completion_s,
            "gpu_seconds": self.gpu_seconds,
            "preemptions": self.preemptions,
            "tardiness_s": self.tardiness_s,
        }
        if self.left is not None:
            columns["left"] = self.left.astype(np.int64)
        statuses = readout.statuses(self)
        if statuses is not None:
            columns["status"] = statuses
        return columns

    def decisions_table(self) -> pd.DataFrame:
        """One row a decision: time, controller, active jobs, CPU seconds, and its facts.

        Where a policy asked for a wake-up, ``again_s`` says after how many seconds.

        CPU seconds differ from run to run, also those among the facts; they are empty unless
        `simulate` was asked to measure them. A fact that is named like one of these columns has
        ``_told`` after its name.
        """
        import pandas as pd

        if self.streamed_to is not None:
            return pd.read_parquet(self.streamed_to / "decisions.parquet")
        log = self.decisions
        table = pd.DataFrame(
            {
                "time_s": np.array(log.time_s),
                "controller": np.array(log.controller),
                "active": np.array(log.active),
                "cpu_s": np.array(log.cpu_s) if log.cpu_s else np.nan,
            }
        )
        if log.again_s:
            table["again_s"] = pd.Series(log.again_s, dtype=np.float64)
        facts = pd.DataFrame.from_dict(dict(log.info), orient="index")
        return table.join(facts.rename(columns={name: f"{name}_told" for name in table}))

    def schedule_table(self) -> pd.DataFrame:
        """One row a share and stretch of time, as for a Gantt chart."""
        import pandas as pd

        if self.streamed_to is not None and self.schedule is not None:
            return pd.read_parquet(self.streamed_to / "schedule.parquet")
        table = pd.DataFrame((self.schedule or ScheduleLog()).table())
        table["node_type"] = [self.cluster.node_types[v].name for v in table["node_type"]]
        table.insert(0, "job_id", [self.workload.job_id[j] for j in table.pop("job")])
        return table

    def replay(self, path: str | Path, title: str = "") -> Path:
        """Write the run as a page to watch: one HTML file that needs nothing else.

        Raises
        ------
        InputError
            The run did not keep its schedule, or the file cannot be written.
        """
        written: Path = _player().replay(self, path, title)
        return written

    def _repr_html_(self) -> str:
        """What a notebook shows: the summary, and the run to play."""
        import html

        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td>{html.escape(f'{value:,.6g}' if isinstance(value, float) else str(value))}</td></tr>"
            for name, value in self.summary().items()
        )
        table = f"<details><summary>{html.escape(self.policy)}: summary</summary><table>{rows}</table></details>"
        return str(_player().embedded_html(self)) + table


def _player() -> ModuleType:
    """The player of runs, on the floor above: opened by name, and only when it is asked for."""
    return import_module("experiments.replay")
