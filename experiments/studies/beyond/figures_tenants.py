"""Effect of each policy between tenants: waiting of each, envy, and the job that is worst off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.pictures.plots import canvas, draw_line, intervals, legend_below
from experiments.report.experiment import Drawn
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import TENANT_POLICIES, TENANTS
from experiments.sweep.results import Results, kept

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.model.cluster import FloatArray


@kept
def _by_tenant(results: Results) -> pd.DataFrame:
    """Mean time without GPUs and GPU-hours of each tenant's jobs (``vc``), by policy and seed."""
    jobs = results.where("run_scenario", study="tenants").table("jobs")
    hours = jobs.assign(wait_h=jobs["total_wait_s"] / 3600, gpu_h=jobs["gpu_seconds"] / 3600)
    of_tenant = hours.groupby(["policy", "seed", "vc"])
    found: pd.DataFrame = of_tenant.agg({"wait_h": "mean", "gpu_h": "sum"}).reset_index()
    return found


def _envy_percent(runs: pd.DataFrame, tenants: pd.DataFrame) -> FloatArray:
    """GPU-hours of envy in each run, in % of those that its jobs used."""
    used = tenants.groupby(["policy", "seed"])["gpu_h"].sum()
    own = pd.MultiIndex.from_frame(runs[["policy", "seed"]])
    envy = runs["envy_gpu_h"].to_numpy(dtype=float)
    return np.asarray(100 * envy / used.reindex(own).to_numpy())


def _from_zero(ax: Axes, table: pd.DataFrame) -> None:
    """Limits of the y axis with room for all intervals, and for 0."""
    top = float(np.nanmax(table[["mean", "high"]]))
    ax.set_ylim(min(-0.04 * top, 1.1 * float(np.nanmin(table[["mean", "low"]]))), 1.06 * top)


@PAGE.figure(
    "tenants",
    "Three tenants: who waits, and who envies whom",
    "Tenants of equal weight and a quota of 20 of 64 GPUs each submit 60, 30 and 10 % of the jobs; their "
    "jobs ask for 110 % of the cluster while they come. A tenant envies another for the GPUs that it could have used itself. "
    "Right: completion time over that alone on one n-th of the cluster, n the jobs meanwhile, of the job that is "
    "worst off; above 1 is worse than fair. themis is Themis's auction (NSDI 2020), with fewer seeds. "
    "capacity, finish-time-fair and themis preempt, the others do not.",
)
def tenants_figure(results: Results) -> Drawn:
    """Mean wait by tenant and policy; GPU-hours of envy over those used; the largest finish-time fairness."""
    runs = results.runs("run_scenario", study="tenants")
    tenants = _by_tenant(results)
    runs["envy"] = _envy_percent(runs, tenants)
    figure, axes = canvas(1, 3, width=4.4, height=4.2)
    points = intervals(tenants, ["policy", "vc"], "wait_h")
    names = [name for name in TENANT_POLICIES if name in set(runs["policy"])]
    place = np.arange(len(names))
    for k, tenant in enumerate(TENANTS):
        part = points[points["vc"] == tenant].set_index("policy").loc[names]
        label = f"{tenant}: {100 * TENANTS[tenant]:.0f} % of the jobs"
        draw_line(axes[0], place + 0.15 * (k - 1), part, label, k, linestyle="none")
    envy, worst = (
        intervals(runs, ["policy"], value).set_index("policy").loc[names]
        for value in ("envy", "max_finish_time_fairness")
    )
    for ax, table in zip(axes[1:], (envy, worst), strict=True):
        draw_line(ax, place, table, "", 3, linestyle="none")
    for ax in axes:
        ax.set_xticks(place, names, rotation=25)
        ax.set_xlabel("policy")
        ax.set_xlim(-0.5, len(place) - 0.5)
    axes[0].set(ylabel="mean time without GPUs, h")
    axes[1].set(ylabel="envy, % of all GPU-hours")
    axes[2].set(ylabel="largest finish-time fairness of a job")
    for ax, table in zip(axes, (points, envy, worst), strict=True):
        _from_zero(ax, table)
    legend_below(figure, axes[0], 3)
    both = pd.concat(
        [
            points.assign(quantity="wait_h"),
            envy.reset_index().assign(quantity="envy_percent"),
            worst.reset_index().assign(quantity="max_finish_time_fairness"),
        ]
    )
    return Drawn(figure, both)
