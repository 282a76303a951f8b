"""Gap between a heuristic's decision and the exact optimum of the same proxy objective.

The optimum is that of the pattern form (`policies.solving.patterns`) over node classes, for VMs and
for ANDREAS's fixed nodes alike; none of the papers could compute it at their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from policies.greedy.policy import GreedyPolicy
from policies.greedy.problem import (
    LIMIT,
    PAPER,
    Jobs,
    NodeAssignment,
    NodeChoices,
    Settings,
    TimeProfile,
)
from policies.solving.decision import Answer, solve_decision
from policies.solving.instance import DecisionInput, JobOnNode, cost
from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.model.contract import View

SOLVED = 1e-6
"""Relative precision of the exact solver: a smaller excess is none."""
LEAST = 1e-12
"""Instead of an optimum of zero, by which a gap would divide."""


class Gap(NamedTuple):
    """One method at one decision.

    Attributes
    ----------
    proxy : the method's objective.
    optimum, bound : of the exact solution, and what the solver proved.
    gap : (proxy - optimum) / (optimum - constant), without the part of the objective that no
        decision changes; 0 where both are 0. Below 0 only where the method leaves nodes closed
        that constraint (P1n) of the papers' model opens.
    same_nodes_gap : against the optimum over plans that open as many nodes; never below 0.
    open_nodes, forced_nodes : nodes that the method uses; min(N, J) of (P1n).
    """

    proxy: float
    optimum: float
    bound: float
    gap: float
    same_nodes_gap: float
    open_nodes: int
    forced_nodes: int


def milp_instance(jobs: Jobs, profile: TimeProfile, m: NodeChoices, s: Settings) -> DecisionInput:
    """The same decision for the exact solver. Raises `InputError` for a released objective."""
    if s.objective != PAPER:
        raise InputError("optimality gap: only the objective 'paper' has an exact optimum")
    times_s = profile.times_s[jobs.row] * jobs.remaining[:, None, None]
    price = np.where(np.isfinite(m.price_per_s), m.price_per_s, 0.0) * SECONDS_PER_HOUR
    return DecisionInput(
        times_s,
        jobs.due_in_s,
        jobs.weight_per_s,
        price,
        m.gpus,
        m.num_nodes,
        None if m.configurable else m.families[:, LIMIT],
        rho=s.rho,
        mu=s.mu,
        horizon_s=s.horizon_s,
    )


def assignments_of(solution: NodeAssignment, m: NodeChoices) -> list[JobOnNode]:
    """A heuristic's solution in the exact solver's terms."""
    first = np.cumsum(m.families[:, LIMIT]) - m.families[:, LIMIT]
    used = np.zeros(len(m.families), dtype=np.int64)
    result: list[JobOnNode] = []
    for node, v in enumerate(solution.node_type.tolist()):
        index = node if m.configurable else int(first[v] + used[v])
        used[m.family_of[v]] += 1
        for a in range(int(solution.num_jobs[node])):
            job, gpus = int(solution.jobs[node, a]), int(solution.gpus[node, a])
            result.append(JobOnNode(job, index, v, gpus))
    return result


def gaps(
    jobs: Jobs,
    profile: TimeProfile,
    machines: NodeChoices,
    methods: Mapping[str, GreedyPolicy],
    seed: int,
) -> dict[str, Gap]:
    """The gap of each method on one decision; all methods share rho, H and mu."""
    from policies.solving.compiling import first_call

    settings = next(iter(methods.values())).settings
    instance = milp_instance(jobs, profile, machines, settings)
    forced = instance.nodes_in_use
    exact: dict[int, Answer] = {}

    def optimum(open_nodes: int) -> Answer:
        if open_nodes not in exact:
            forced_to = replace(instance, open_nodes=open_nodes)
            exact[open_nodes] = solve_decision(forced_to, solver="highs")
        return exact[open_nodes]

    result = {}
    for name, method in methods.items():
        with first_call(method.name):
            solution, _ = method.solve(jobs, profile, machines, seed)
        proxy = cost(instance, assignments_of(solution, machines))
        opened = len(solution.node_type)
        best = optimum(forced)
        same = optimum(opened) if opened else best
        result[name] = Gap(
            proxy,
            best.objective,
            best.bound,
            _relative(proxy, best.objective, instance.constant),
            _relative(proxy, same.objective, instance.constant),
            opened,
            forced,
        )
    return result


def _relative(proxy: float, optimum: float, constant: float) -> float:
    excess = proxy - optimum
    if abs(excess) <= SOLVED * max(1.0, abs(proxy)):
        return 0.0
    return excess / max(optimum - constant, LEAST)


def gaps_at(view: View, methods: Mapping[str, GreedyPolicy], seed: int) -> dict[str, Gap]:
    """The gap of each method at one decision of a run."""
    first = next(iter(methods.values()))
    jobs, profile, machines = first.arrays(view)
    return gaps(jobs, profile, machines, methods, seed)
