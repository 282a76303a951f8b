"""The formula beside the simulation, where a run is a queue of the textbooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.scenario.schema import Scenario
from policies import queue_of, taken_for
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.decision_points import DecisionPoints
from simulator.workloads.machines import Nodes
from simulator.workloads.poisson import PoissonJobs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from simulator import Result
    from simulator.laws import Law
    from simulator.model.cluster import FloatArray
    from simulator.statistics import Estimate
    from simulator.theory import RunLength


def formula_line(scenario: Scenario, result: Result) -> str:
    """One line: name of the formula, what it gives, and what this run gives; or nothing."""
    servers = _servers(scenario)
    if servers is None:
        return ""
    from simulator import theory as queueing
    from simulator.laws import parse_law
    from simulator.workloads.poisson import gaps_cv2

    assert isinstance(scenario.workload, PoissonJobs)
    window = slice(*(scenario.window or (None,)))
    rate_per_s = scenario.workload.rate_per_h(scenario.setting) / HOUR_S
    law = parse_law(scenario.workload.duration_s)
    if scenario.workload.patience is not None:
        if result.left is None:
            return ""
        return _loss_line(scenario, result.left[window], rate_per_s, law, servers)
    if rate_per_s * law.mean >= servers:
        return (
            f"formula: none, the load is {rate_per_s * law.mean / servers:.3g} of each GPU, "
            "so the queue grows without end"
        )
    if taken_for(scenario.policy):
        return f"formula: none for {scenario.policy}{taken_for(scenario.policy)}"
    found = queue_formula(scenario, rate_per_s, law, servers)
    if found is None:
        return ""
    name, response_s = found
    length = queueing.response_run_length(
        rate_per_s,
        law,
        servers,
        gaps_cv2(scenario.workload.gaps) or 0.0,
        first_come=queue_of(scenario.policy) == "blind",
    )
    return (
        f"formula ({name}): mean completion time {response_s / HOUR_S:.4g} h; "
        f"this run {_measured(result.jct_s[window] / HOUR_S, length, ' h')}"
    )


def _servers(scenario: Scenario) -> int | None:
    """GPUs of the queue; None where the run is no queue of one-GPU jobs at equal servers."""
    jobs, cluster, decisions = scenario.workload, scenario.cluster, scenario.decisions
    if not (isinstance(jobs, PoissonJobs) and isinstance(cluster, Nodes)):
        return None
    if set(jobs.num_gpus) != {1} or (cluster.num_controllers or 1) != 1 or scenario.server:
        return None
    if decisions != DecisionPoints() or scenario.reconfiguration_s or scenario.features:
        return None
    return cluster.num_nodes * cluster.gpus_per_node


def queue_formula(
    scenario: Scenario, rate_per_s: float, law: Law, servers: int
) -> tuple[str, float] | None:
    """Name of the formula and the mean completion time, s, of a queue of one-GPU jobs; None where none holds."""
    from simulator import theory as queueing
    from simulator.laws import Exponential
    from simulator.workloads.poisson import are_exponential, gaps_cv2

    jobs = scenario.workload
    assert isinstance(jobs, PoissonJobs)
    memoryless, queue = are_exponential(jobs.gaps), queue_of(scenario.policy)
    if queue == "blind":
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
    if queue == "processor-sharing":
        return "M/G/1, processor sharing", queueing.mg1_ps_response_s(rate_per_s, law)
    if queue == "srpt":
        return "M/G/1, SRPT", queueing.mg1_srpt_response_s(rate_per_s, law)
    if queue == "least-attained":
        return "M/G/1, FB: least attained service", queueing.mg1_fb_response_s(rate_per_s, law)
    if queue == "shortest-job":
        preemptive = bool(scenario.policy_options.get("preemptive"))
        name = f"M/G/1, {'PSJF: preemptive ' * preemptive}shortest job first"
        return name, queueing.mg1_sjf_response_s(rate_per_s, law, preemptive)
    return None


def interval_of_run(values: FloatArray, length: RunLength) -> Estimate | None:
    """Mean after the warm-up with its 95 % interval; None where the run is too short for one."""
    from simulator.statistics import steady_state_mean

    if len(values) < fewest_jobs(length):
        return None
    return steady_state_mean(values, relaxation=length.relaxation_jobs).at_least(0.0)


def fewest_jobs(length: RunLength) -> int:
    """Jobs of the shortest run that has an interval."""
    from simulator.statistics import FEWEST

    return max(length.jobs(), FEWEST)


def _measured(values: FloatArray, length: RunLength, unit: str = "") -> str:
    """Mean of the run, with its interval or with the reason why there is none."""
    found = interval_of_run(values, length)
    if found is not None:
        low, high = f"{found.lower:.4g}", f"{found.upper:.4g}"
        return f"{found.mean:.4g}{unit}, 95 % interval {low} to {high}{unit}"
    return (
        f"{values.mean():.4g}{unit} (an interval takes {fewest_jobs(length):,} jobs at this "
        f"load, here are {len(values):,}; schedlab compare makes several runs)"
    )


def _loss_line(
    scenario: Scenario, left: npt.NDArray[np.bool_], rate_per_s: float, law: Law, servers: int
) -> str:
    """The share of jobs that leave, by Erlang B or Erlang A, and in this run."""
    from simulator import theory as queueing
    from simulator.laws import parse_law

    share = loss_formula(scenario, rate_per_s, law, servers)
    if share is None:
        return ""
    name, lost = share
    assert isinstance(scenario.workload, PoissonJobs)
    patience = scenario.workload.patience
    patience_s = parse_law(patience).mean if isinstance(patience, str) else 0.0
    length = queueing.lost_share_run_length(
        rate_per_s, law.mean, servers, patience_s, (1 + law.cv2) / 2
    )
    measured = _measured(left.astype(float), length)
    return f"formula ({name}): share of jobs that leave {lost:.4g}; this run {measured}"


def loss_formula(
    scenario: Scenario, rate_per_s: float, law: Law, servers: int
) -> tuple[str, float] | None:
    """Name of the formula and the share of jobs that leave; None where none holds.

    Erlang B holds for any law of the durations; Erlang A for exponential durations and patience.
    """
    from simulator import theory as queueing
    from simulator.laws import Exponential, parse_law
    from simulator.workloads.poisson import are_exponential

    jobs = scenario.workload
    assert isinstance(jobs, PoissonJobs)
    if not are_exponential(jobs.gaps) or queue_of(scenario.policy) != "blind":
        return None
    if jobs.patience == 0:
        name = f"M/{'M' if isinstance(law, Exponential) else 'G'}/{servers}/{servers}, Erlang B"
        return name, queueing.erlang_b(rate_per_s * law.mean, servers)
    patience = parse_law(jobs.patience) if isinstance(jobs.patience, str) else None
    if isinstance(law, Exponential) and isinstance(patience, Exponential):
        found = queueing.erlang_a(rate_per_s, law.mean, servers, patience.mean)
        return f"M/M/{servers}+M, Erlang A", found.abandons
    return None
