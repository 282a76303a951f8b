"""The runs behind the figures: elastic jobs on a rental pool under one policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.pages import Outcome, Scale, Task
from policies.rental import (
    Autoscaler,
    Equi,
    HeSrpt,
    JobType,
    Srpt,
    equal_widths,
    fixed_width,
    mixed_width,
    optimal_widths,
    whole_gpu_widths,
    width_by_size,
    widths_by_size,
)
from simulator import Cluster, Decision, DecisionPoints, Placement, View, simulate
from simulator.laws import Bimodal, BoundedPareto, Deterministic, Exponential, Law
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.model.speedup import Amdahl, Power, WholeGpus
from simulator.statistics import Streams
from simulator.workloads.elastic import elastic_jobs

if TYPE_CHECKING:
    from simulator import Policy, Result, Workload

HERE = "experiments.papers.rental.runs"
SOURCES = ("simulator", "policies.rental")

FIGURE_1 = (JobType("amdahl", 0.4, 1.0, Amdahl(0.8)), JobType("root", 0.4, 1.0, Power(0.5)))
"""The paper's two types."""

SIZES: dict[str, Law] = {
    "deterministic": Deterministic(1.0),
    "exponential": Exponential(1.0),
    "bimodal": Bimodal.with_mean(1.0, 0.1, 20.0),
    "bounded Pareto": BoundedPareto.with_mean(1.0, 1.5, 1000.0),
}
"""Laws of the sizes, hours on one GPU, all of mean 1."""

ARRIVALS = ("poisson", "deterministic", "mmpp")
BUDGETS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
RIVAL_BUDGETS = (1.5, 3.0, 5.0, 10.0)
RIVALS = (
    "whole-gpus",
    "equal-widths",
    "small-wider",
    "large-wider",
    "redrawn",
    "equi",
    "srpt",
    "hesrpt",
    "autoscaler",
)
BOOT_S = 180.0
"""Of the autoscaler's GPUs."""
KEEP_S = 360.0
"""Time for which it keeps spare ones."""
AUTOSCALER_PLAN = 0.6
"""It runs the optimal widths of this part of the budget: idle and booting GPUs take the rest."""
AUTOSCALER_BUDGETS = {1.5: 2.11, 3.0: 3.92, 5.0: 6.03, 10.0: 10.42}
"""Budgets it has to be given to pay for these in the end (measured over four seeds)."""
WARM_UP = 0.05
"""Part of the time that the time-average of rented GPUs leaves out."""

JOBS: dict[Scale, int] = {"quick": 500, "paper": 10_000}
SEEDS: dict[Scale, tuple[int, ...]] = {"quick": tuple(range(1, 6)), "paper": tuple(range(1, 21))}


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper but those of the bridge."""
    seeds = SEEDS[scale]
    few = seeds[:2] if scale == "quick" else seeds
    insensitivity = [(size, arrivals) for size in SIZES for arrivals in ARRIVALS]
    return [
        *(_task(scale, seed, "frontier", "optimal", b) for b in BUDGETS for seed in seeds),
        # Each setting has random numbers of its own: with the same arrivals, all four laws would err together.
        *(
            _task(
                scale, OTHER_SEEDS * (number + 1) + seed, "insensitivity", "optimal", 5.0, *setting
            )
            for number, setting in enumerate(insensitivity)
            for seed in seeds
        ),
        *(
            _task(scale, seed, "rivals", policy, b)
            for policy in RIVALS
            for b in RIVAL_BUDGETS
            for seed in few
        ),
    ]


OTHER_SEEDS = 100
"""Seeds of a setting of the insensitivity, apart from those of the next."""


def _task(
    scale: Scale,
    seed: int,
    study: str,
    policy: str,
    budget: float,
    size: str = "exponential",
    arrivals: str = "poisson",
) -> Task:
    cost_s = {"autoscaler": 1.1e-3, "redrawn": 3.7e-4}.get(policy, 1.1e-4) * JOBS[scale]
    given = AUTOSCALER_BUDGETS.get(budget, budget) if policy == "autoscaler" else budget
    config: dict[str, float | int | str | None] = {
        "policy": policy,
        "budget_gpus": given,
        "size": size,
        "arrivals": arrivals,
        "jobs": JOBS[scale],
        "seed": seed,
    }
    labels = {"study": study, **config, "budget_gpus": budget}
    return Task(f"{HERE}:run_pool", config, labels=labels, cost_s=cost_s, sources=SOURCES)


# -- task function ---------------------------------------------------------------------------


def run_pool(config: dict[str, Any]) -> Outcome:
    """Jobs of Figure 1's types on a rental pool under one policy.

    Scalars: ``mean_response_time_h`` over all jobs and by type; ``paid_gpus``, GPUs paid for on
    average over time; ``work_gpus``, the same by Lemma 2's count, GPU-hours of all jobs over the
    time in which they came; ``least_h``, the least mean response time that *any* schedule of these
    very jobs can have with the GPU-hours that this one used (Lemma 3 on this sample path).
    """
    size = SIZES[config["size"]]
    workload = figure_1_jobs(config["jobs"], Streams(config["seed"]), size, config["arrivals"])
    policy = make_policy(config["policy"], config["budget_gpus"], size)
    periodic = config["policy"] == "autoscaler"
    result = simulate(
        workload,
        Cluster.rental_pool(),
        policy,
        seed=config["seed"],
        decision_points=DecisionPoints(period_s=BOOT_S / 3 if periodic else None),
    )
    response_h = result.jct_s / SECONDS_PER_HOUR
    kind = workload.performance.curve_of  # type: ignore[attr-defined]
    scalars: dict[str, float | int | str | bool | None] = {
        "mean_response_time_h": float(response_h.mean()),
        "paid_gpus": paid_gpus(result),
        "work_gpus": float(result.gpu_seconds.sum() / workload.submit_s[-1]),
        "least_h": least_response_time_h(result),
    }
    for i, job_type in enumerate(FIGURE_1):
        scalars[f"mean_response_time_{job_type.name}_h"] = float(response_h[kind == i].mean())
    return Outcome(scalars)


def figure_1_jobs(num_jobs: int, streams: Streams, size: Law, arrivals: str) -> Workload:
    """Jobs of Figure 1's types; sizes of mean 1 hour on one GPU."""
    return elastic_jobs(
        num_jobs,
        streams,
        names=[t.name for t in FIGURE_1],
        arrival_rates_per_h=[t.arrival_rate_per_h for t in FIGURE_1],
        sizes_h=[size] * len(FIGURE_1),
        speedups=[t.speedup for t in FIGURE_1],
        arrivals=arrivals,
    )


def make_policy(name: str, budget_gpus: float, size: Law) -> Policy:
    """A policy of this budget, on average over time, for Figure 1's types."""
    if name == "optimal":
        return fixed_width(optimal_widths(FIGURE_1, budget_gpus).widths_gpus)
    if name == "equal-widths":
        return fixed_width(equal_widths(FIGURE_1, budget_gpus).widths_gpus)
    if name == "whole-gpus":
        plan = whole_gpu_widths(FIGURE_1, budget_gpus)
        pairs = zip(plan.types, plan.widths_gpus.tolist(), strict=True)
        return mixed_width([t.speedup.mix(k) for t, k in pairs if isinstance(t.speedup, WholeGpus)])
    if name in ("small-wider", "large-wider"):
        exponent = 0.5 if name == "small-wider" else -0.5
        rule = widths_by_size(FIGURE_1, size, exponent, budget_gpus)
        return width_by_size(rule, np.array([t.mean_size_h for t in FIGURE_1]))
    if name == "autoscaler":
        plan = optimal_widths(FIGURE_1, max(0.8, AUTOSCALER_PLAN * budget_gpus))
        return Autoscaler(plan.widths_gpus, BOOT_S, KEEP_S)
    if name == "redrawn":
        return RedrawnWidths(optimal_widths(FIGURE_1, budget_gpus).widths_gpus)
    always: dict[str, Callable[[float], Policy]] = {"equi": Equi, "srpt": Srpt, "hesrpt": HeSrpt}
    return always[name](budget_gpus)


class RedrawnWidths:
    """Every job's width is drawn anew at every arrival and completion, around the optimal one."""

    name = "redrawn"

    def __init__(self, widths_gpus: FloatArray) -> None:
        self.widths_gpus = widths_gpus

    def decide(self, view: View) -> Decision:
        """Uniform between 1 and twice the optimal width."""
        kind = view.workload.performance.curve_of[view.jobs]  # type: ignore[attr-defined]
        widths = 1 + view.rng.random(len(kind)) * 2 * (self.widths_gpus[kind] - 1)
        pairs = zip(view.jobs.tolist(), widths.tolist(), strict=True)
        return Decision([Placement(job, 0, width) for job, width in pairs])


def paid_gpus(result: Result) -> float:
    """GPUs paid for on average over time, from the end of the warm-up to the last arrival.

    What the policy reports that it rents, if it does; else what its jobs hold.
    """
    end_s = float(result.workload.submit_s[-1])
    begin_s = WARM_UP * end_s
    decisions = result.decisions_table()
    if "rented_gpus" in decisions:
        times = np.clip(np.append(decisions["time_s"].to_numpy(), end_s), begin_s, end_s)
        empty = decisions["active"] == 0
        rented = decisions["rented_gpus"].where(~empty, decisions["rented_empty_gpus"].ffill())
        return float(rented.to_numpy() @ np.diff(times)) / (end_s - begin_s)
    table = result.schedule_table()
    overlap = table["end_s"].clip(begin_s, end_s) - table["start_s"].clip(begin_s, end_s)
    return float((table["gpus"] * overlap).sum() / (end_s - begin_s))


def least_response_time_h(result: Result) -> float:
    """Least mean response time of any schedule of these jobs with the same GPU-hours.

    A finite sample path is its own well-behaved one: rates and mean sizes are those realised.
    """
    curves = result.workload.performance
    hours = float(result.workload.submit_s[-1]) / SECONDS_PER_HOUR
    size_h = curves.duration_s / SECONDS_PER_HOUR  # type: ignore[attr-defined]
    kind = curves.curve_of  # type: ignore[attr-defined]
    types = [
        JobType(
            t.name, float((kind == i).sum()) / hours, float(size_h[kind == i].mean()), t.speedup
        )
        for i, t in enumerate(FIGURE_1)
    ]
    used = float(result.gpu_seconds.sum()) / SECONDS_PER_HOUR / hours
    return optimal_widths(types, used * (1 + 1e-9)).mean_response_time_h
