"""The formula beside the simulation, where a run is a queue of the textbooks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from experiments.scenario.schema import Decisions, Nodes, PoissonJobs, Scenario
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S

if TYPE_CHECKING:
    from simulator import Result
    from simulator.laws import Law
    from simulator.model.cluster import FloatArray

BLIND = ("fifo", "fifo-strict", "fifo-backfill", "random-order")
"""Orders that neither look at sizes nor interrupt: they have the same mean wait."""


def formula_line(scenario: Scenario, result: Result) -> str:
    """One line: name of the formula, what it gives, and what this run gives; or nothing."""
    servers = _servers(scenario)
    if servers is None:
        return ""
    from simulator.laws import parse_law

    assert isinstance(scenario.workload, PoissonJobs)
    rate_per_s = scenario.workload.arrival_rate_per_h / HOUR_S
    law = parse_law(scenario.workload.duration_s)
    if scenario.workload.patience is not None:
        return _loss_line(scenario, result, rate_per_s, law, servers)
    if rate_per_s * law.mean >= servers:
        return (
            f"formula: none, the load is {rate_per_s * law.mean / servers:.3g} of each GPU, "
            "so the queue grows without end"
        )
    if scenario.policy == "ps":
        return (
            "formula: none for ps, which is priority scheduling by weight; "
            "for processor sharing take --policy processor-sharing"
        )
    found = _formula(scenario, rate_per_s, law, servers)
    if found is None:
        return ""
    name, response_s = found
    return (
        f"formula ({name}): mean completion time {response_s / HOUR_S:.4g} h; "
        f"this run {_measured(result)}"
    )


def _servers(scenario: Scenario) -> int | None:
    """GPUs of the queue; None where the run is no queue of one-GPU jobs at equal servers."""
    jobs, cluster, decisions = scenario.workload, scenario.cluster, scenario.decisions
    if not (isinstance(jobs, PoissonJobs) and isinstance(cluster, Nodes)):
        return None
    if set(jobs.num_gpus) != {1} or (cluster.num_controllers or 1) != 1 or scenario.server:
        return None
    if decisions != Decisions() or scenario.reconfiguration_s:
        return None
    return cluster.num_nodes * cluster.gpus_per_node


def _formula(
    scenario: Scenario, rate_per_s: float, law: Law, servers: int
) -> tuple[str, float] | None:
    from simulator import theory as queueing
    from simulator.laws import Exponential
    from simulator.workloads.poisson import gaps_cv2

    jobs = scenario.workload
    assert isinstance(jobs, PoissonJobs)
    memoryless = jobs.gaps == "exponential"
    if scenario.policy in BLIND:
        if not memoryless:
            cv2 = gaps_cv2(jobs.gaps)
            if cv2 is None:
                return None
            wait_s = queueing.ggc_mean_wait_s(rate_per_s, cv2, law.mean, law.cv2, servers)
            return "G/G/c, approximate: Allen and Cunneen", wait_s + law.mean
        if isinstance(law, Exponential):
            name = "M/M/1" if servers == 1 else f"M/M/{servers}, Erlang C"
            return name, queueing.mmc_mean_response_s(rate_per_s, law.mean, servers)
        if servers == 1:
            return "M/G/1, Pollaczek and Khinchine", queueing.mg1_mean_response_s(rate_per_s, law)
        wait_s = queueing.ggc_mean_wait_s(rate_per_s, 1.0, law.mean, law.cv2, servers)
        return f"M/G/{servers}, approximate: Lee and Longton", wait_s + law.mean
    if servers != 1 or not memoryless:
        return None
    if scenario.policy == "processor-sharing":
        return "M/G/1, processor sharing", queueing.mg1_ps_response_s(rate_per_s, law)
    if scenario.policy == "srpt":
        return "M/G/1, SRPT", queueing.mg1_srpt_response_s(rate_per_s, law)
    if scenario.policy == "las" and isinstance(law, Exponential):
        return "M/M/1, any order that does not know sizes", queueing.mg1_mean_response_s(
            rate_per_s, law
        )
    return None


def _measured(result: Result) -> str:
    """Mean of the run after its warm-up, with a 95 % interval where the run is long enough."""
    return _with_interval(result.jct_s / HOUR_S, " h")


def _with_interval(values: FloatArray, unit: str = "") -> str:
    from simulator.statistics import batch_means, mser5

    if len(values) < 1000:
        return f"{values.mean():.4g}{unit} (too short for an interval, 1000 jobs give one)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = batch_means(values[min(mser5(values), len(values) // 2) :])
    low, high = estimate.lower, estimate.upper
    return f"{estimate.mean:.4g}{unit}, 95 % interval {low:.4g} to {high:.4g}{unit}"


def _loss_line(
    scenario: Scenario, result: Result, rate_per_s: float, law: Law, servers: int
) -> str:
    """The share of jobs that leave, by Erlang B or Erlang A, and in this run."""
    import numpy as np

    share = loss_formula(scenario, rate_per_s, law, servers)
    if share is None or result.left is None:
        return ""
    name, lost = share
    measured = _with_interval(result.left.astype(np.float64))
    return f"formula ({name}): share of jobs that leave {lost:.4g}; this run {measured}"


def loss_formula(
    scenario: Scenario, rate_per_s: float, law: Law, servers: int
) -> tuple[str, float] | None:
    """Name of the formula and the share of jobs that leave; None where none holds.

    Erlang B holds for any law of the durations; Erlang A for exponential durations and patience.
    """
    from simulator import theory as queueing
    from simulator.laws import Exponential, parse_law

    jobs = scenario.workload
    assert isinstance(jobs, PoissonJobs)
    if jobs.gaps != "exponential" or scenario.policy not in BLIND:
        return None
    if jobs.patience == 0:
        name = f"M/{'M' if isinstance(law, Exponential) else 'G'}/{servers}/{servers}, Erlang B"
        return name, queueing.erlang_b(rate_per_s * law.mean, servers)
    patience = parse_law(jobs.patience) if isinstance(jobs.patience, str) else None
    if isinstance(law, Exponential) and isinstance(patience, Exponential):
        found = queueing.erlang_a(rate_per_s, law.mean, servers, patience.mean)
        return f"M/M/{servers}+M, Erlang A", found.abandons
    return None
