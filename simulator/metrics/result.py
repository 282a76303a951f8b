"""Result of a simulation: its record, with scalars and tables derived from it."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from simulator import __version__
from simulator.core.node import NodeMeters
from simulator.core.record import RunRecord
from simulator.metrics.job_metrics import fairness_summary, server_summary
from simulator.metrics.run_tables import STREAMED, TABLES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NodeMeters", "Result"]


class Result(RunRecord):
    """One simulation: times of every job, every decision, and costs (attributes: `RunRecord`).

    docs/files.md lists the columns of all tables.
    """

    views: ClassVar[list[Callable[[Result], str]]] = []
    """HTML for notebooks above the summary; `experiments.replay` adds its player."""

    def summary(self, window: Sequence[int] | None = None) -> dict[str, float | int | str | None]:
        """The scalars of ``summary.json``; times in s, costs in the currency.

        ``window`` ``(first, last)`` restricts waits and completion times to jobs first..last - 1
        in order of submission, so that the ramps up and down do not count. Jobs that left count in
        ``lost_jobs`` and ``lost_share`` only; the share is that of the window.

        ``mean_wait_s`` and its quantiles are until the first start, those of ``total_wait_s`` have all the
        time without GPUs; ``jobs_beyond_p99`` says on how many jobs a 99 % quantile rests.
        ``informed`` is there, and true, where the policy or the dispatcher asked for jobs that had not come.
        ``mean_decision_cpu_s`` is None unless `simulate` was asked to measure it. It differs from run to run; nothing else here does,
        unless the optimization server takes as long as was measured, or a solver stops at a limit
        of time.
        """
        first, last = window or (0, len(self.workload))
        served = self.served(window)
        jct_s = self.jct_s[served]
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
            "gpu_utilisation": self.gpu_utilisation,
            "policy": self.policy,
            "seed": self.seed,
            "version": __version__,
            "currency": self.cluster.currency,
            "energy_kwh": self.meters.energy_kwh,
            "carbon_kg": self.meters.energy_kwh * self.cluster.carbon_g_per_kwh / 1000,
            "cpu_utilisation": self.meters.cpu_seconds / open_cpu_s if open_cpu_s else None,
            "late_jobs": int((self.tardiness_s > 0).sum()),
            "preemptions": int(self.preemptions.sum()),
            "reconfigurations": int(self.reconfigurations.sum()),
        }
        if self.informed:
            summary["informed"] = True
        if self.left is not None:
            summary["lost_jobs"] = int(self.left.sum())
            summary["lost_share"] = float(self.left[first:last].mean())
        summary |= fairness_summary(self) | server_summary(self)
        for part in self.parts.values():
            summary |= part.scalars(self)
        return summary

    @property
    def gpu_utilisation(self) -> float | None:
        """GPU-seconds in use over those of open nodes (all, where their types are fixed); None on a rental pool."""
        open_gpu_s = self.meters.open_gpu_seconds
        return self.meters.gpu_seconds / open_gpu_s if 0 < open_gpu_s < np.inf else None

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables of `simulator.metrics.run_tables`, e.g. "jobs" or "timeline".

        Without rows where the run does not have this table: no schedule was recorded, nothing could fail, ..
        """
        import pandas as pd

        schema, make = TABLES[name]
        if self.streamed_to is not None and name in STREAMED:
            path = self.streamed_to / f"{name}.parquet"
            if path.exists():
                return pd.read_parquet(path)
        found = make(self)
        frame: pd.DataFrame = (schema.empty() if found is None else found).to_pandas()
        return frame

    def jobs_table(self) -> pd.DataFrame:
        """One row a job."""
        return self.table("jobs")

    def decisions_table(self) -> pd.DataFrame:
        """One row a decision, with the notes of the policy. Measured CPU times: `timing_table`."""
        return self.table("decisions")

    def timing_table(self) -> pd.DataFrame:
        """One row a decision: CPU seconds, empty unless `simulate` was asked to measure them."""
        return self.table("timing")

    def schedule_table(self) -> pd.DataFrame:
        """One row a share and stretch of time, as for a Gantt chart."""
        return self.table("schedule")

    def _repr_html_(self) -> str:
        """HTML for notebooks: the registered views, and the summary."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td>{html.escape(f'{value:,.6g}' if isinstance(value, float) else str(value))}</td></tr>"
            for name, value in self.summary().items()
        )
        table = f"<details><summary>{html.escape(self.policy)}: summary</summary><table>{rows}</table></details>"
        return "".join(view(self) for view in self.views) + table
