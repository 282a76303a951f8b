"""Number of nodes under which a log's waits come out, fitted on its first half and judged on the second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.comparison.entrants import Entrant
from experiments.comparison.size import border
from experiments.validation.agreement import ratio_of_means
from experiments.validation.simulating import Failed, Sides, Simulations
from simulator.errors import InputError
from simulator.statistics import Estimate
from simulator.workloads.machines import ServerGroup

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario

MOST_TIMES = 4
"""So many times the nodes that the log's machine has are tried at most."""


@dataclass(frozen=True)
class HeldOut:
    """A number of nodes that was fitted on one half of the jobs, judged on the other.

    Attributes
    ----------
    nodes, of : fitted, and as documented.
    settings : ``KEY=VALUE`` each, which make a scenario the fitted one.
    fit : simulated mean wait of the first half over the recorded one.
    simulated_s, recorded_s : mean waits of the second half.
    ratio : of these, with its interval.
    """

    nodes: int
    of: int
    settings: tuple[str, ...]
    fit: float
    simulated_s: float
    recorded_s: float
    ratio: Estimate


def held_out(entrant: Entrant, sides: Sides, simulations: Simulations) -> HeldOut | None:
    """The fitted number of nodes, judged on the jobs of the second half; None where the machine is not one of nodes.

    Parameters
    ----------
    sides : the log and its simulation with the documented nodes.

    Raises
    ------
    InputError
        A run failed.
    """
    groups = _groups(entrant.scenario)
    half = len(sides.job_id) // 2
    if not groups or half < 2:
        return None
    of = sum(groups.values())
    first, second = np.arange(half), np.arange(half, len(sides.job_id))
    recorded_s = float(np.nanmean(sides.recorded.take(first).wait_s))

    def mean_s(nodes: int) -> float:
        if nodes == of:  # known: what comes later hardly moves the first half
            return float(np.nanmean(sides.simulated.take(first).wait_s))
        scenario = _first_jobs(_sized(entrant.scenario, groups, nodes), half)
        what = f"{nodes} of {of} nodes on the first half of the jobs"
        return float(np.nanmean(_run(entrant, scenario, simulations, what).simulated.wait_s))

    nodes, fit_s = fitted(mean_s, recorded_s, of, _fewest(sides, first, of, len(groups)))
    scenario = _sized(entrant.scenario, groups, nodes)
    judged = _run(entrant, scenario, simulations, f"{nodes} of {of} nodes on all jobs")
    one, other = judged.recorded.take(second), judged.simulated.take(second)
    known = np.isfinite(one.wait_s) & np.isfinite(other.wait_s)
    one, other = one.take(known), other.take(known)
    return HeldOut(
        nodes, of, tuple(f"{key}={n}" for key, n in _shared(groups, nodes).items()),
        fit_s / recorded_s if recorded_s > 0 else float("nan"),
        float(other.wait_s.mean()), float(one.wait_s.mean()), ratio_of_means(one, other),
    )  # fmt: skip


def fitted(mean_s: Callable[[int], float], wanted_s: float, of: int, few: int) -> tuple[int, float]:
    """The number of nodes whose mean wait is nearest to a wanted one, by its logarithm, and that wait.

    Parameters
    ----------
    mean_s : falls with the number of nodes; is asked of few of them, beginning with ``of``.
    few : the least that is tried; the most are `MOST_TIMES` ``of``.
    """
    known: dict[int, float] = {}

    def at(nodes: int) -> float:
        if nodes not in known:
            known[nodes] = mean_s(nodes)
        return known[nodes]

    most = MOST_TIMES * of
    least = border(lambda nodes: at(nodes) <= wanted_s, few, of, most, near=True)
    tried = [nodes for nodes in (least - 1, least) if few <= nodes <= most]
    # One second more, so that waits of 0 have a distance as well.
    nearest = min(tried, key=lambda nodes: abs(np.log((at(nodes) + 1) / (wanted_s + 1))))
    return nearest, at(nearest)


def _fewest(sides: Sides, jobs: np.ndarray, of: int, groups: int) -> int:
    """As many nodes as the work of these jobs fills: with fewer, the queue grows to the end of the log."""
    side = sides.simulated.take(jobs)
    work = float(np.nansum((side.end_s - side.start_s) * side.gpus))
    span_s = float(np.ptp(side.submit_s))
    share = work / (span_s * sides.total_gpus) if span_s > 0 else 0.0
    return min(of, max(groups, int(share * of)))


def _groups(scenario: Scenario) -> dict[str, int]:
    """Numbers of nodes by their key."""
    by_key = getattr(scenario.cluster, "groups_by_key", None)
    found: dict[str, ServerGroup] = {} if by_key is None else by_key()
    return {f"{key}.num_nodes": group.num_nodes for key, group in found.items()}


def _shared(groups: dict[str, int], nodes: int) -> dict[str, int]:
    """So many nodes in the proportions of the groups, each at least one."""
    of = sum(groups.values())
    return {key: max(1, round(count * nodes / of)) for key, count in groups.items()}


def _sized(scenario: Scenario, groups: dict[str, int], nodes: int) -> Scenario:
    """The scenario with so many nodes; jobs that are larger than all of them get all."""
    from experiments.scenario.options import with_settings

    settings = [f"{key}={count}" for key, count in _shared(groups, nodes).items()]
    jobs = scenario.workload
    if getattr(jobs, "oversized", None) == "refuse":
        settings.append("workload.oversized=clip")
    return with_settings(scenario, settings)


def _first_jobs(scenario: Scenario, count: int) -> Scenario:
    jobs = scenario.workload.model_copy(update={"max_jobs": count})
    return scenario.model_copy(update={"workload": jobs})


def _run(entrant: Entrant, scenario: Scenario, simulations: Simulations, what: str) -> Sides:
    (found,) = simulations.of([replace(entrant, scenario=scenario)], what)
    if isinstance(found, Failed):
        raise InputError(found.reason)
    return found
