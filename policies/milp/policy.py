"""The MILP as a policy: from a view to an instance, and from an answer to placements."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from policies.milp.formulations import check_formulation, decide
from policies.queues.selection import node_price_per_hour, require_configurations
from policies.registry.registration import register
from policies.solving.decision import Answer
from policies.solving.instance import DecisionInput
from policies.solving.model import SolverOptions
from policies.solving.nodes_of_solution import placements_of_assignments
from policies.solving.solvers import SolverName, check_solver
from simulator.arguments import nonnegative
from simulator.errors import InputError
from simulator.model.contract import Decision, View
from simulator.model.workload import Workload


@register("milp", requires=("nodes", "one-node", "objective"), paper="Filippini et al., 2020")
@dataclass
class MilpPolicy:
    """The hierarchical paper's objective to optimality, in the exact pattern form.

    With one controller it is that objective solved centrally; with nodes of fixed types and energy
    prices it is ANDREAS's (there mu = 0).

    Parameters
    ----------
    formulation : "patterns" (exact and fast), "literal" (P2 as printed), "centralised-2019" (the
        authors' earlier objective), "centralised-2019-literal", "second-model" and "third-model" (of
        Section IV, which count earliness).
    solver : "auto" (Gurobi with a full licence, else HiGHS), "highs", "gurobi".
    mip_gap : relative gap at which to stop, of the objective without its constant part.
    time_limit_s : seconds of wall time a decision; then the best solution found serves, or a
        greedy one. Where it is reached, the run depends on the machine; 0 for no limit.
    rho : factor on the worst-case tardiness of a postponed job.
    mu : cost of an idle GPU on a node in use.
    horizon_s : H, its wait until the next decision, s.
    start : give the solver a greedy solution to begin from. The literal formulations can then end at
        another of equal optima; the others begin at their relaxation, and decide the same.
    gap_of_total : stop at ``mip_gap`` of the whole objective, as the papers' 5 % did.
    """

    name: ClassVar[str] = "milp"
    plans_anew: ClassVar[bool] = True

    formulation: str = "patterns"
    solver: str = "auto"
    mip_gap: float = 1e-6
    time_limit_s: float = 60.0
    rho: float = 100.0
    mu: float = 1.0
    horizon_s: float = 3600.0
    start: bool = False
    gap_of_total: bool = False

    def __post_init__(self) -> None:
        check_formulation(self.formulation)
        check_solver(self.solver)
        limit = self.time_limit_s if self.time_limit_s else None
        self._checked: Workload | None = None
        self._options = SolverOptions(self.mip_gap, limit, gap_of_total=self.gap_of_total)
        nonnegative("milp", rho=self.rho, mu=self.mu, horizon_s=self.horizon_s)

    def decide(self, view: View) -> Decision:
        """Plan all nodes of this controller anew."""
        instance = instance_of(view, self.rho, self.mu, self.horizon_s)
        if self._checked is not view.workload:
            everyone = np.arange(len(view.rows), dtype=np.int64)
            times_s = view.rows.performance.table_s(everyone, view.cluster)
            require_configurations(self.name, times_s, view.rows, view.cluster)
            self._checked = view.workload
        solver = cast(SolverName, self.solver)
        answer = decide(instance, self.formulation, solver, self._options, self.start)
        return Decision(placements_of_assignments(answer.assignments, view), info=_info(answer))


@register("milp-literal", paper="Filippini et al., 2020")
@dataclass
class MilpLiteral(MilpPolicy):
    """(P2) of the hierarchical paper as printed: the same optimum as `milp`, slowly."""

    formulation: str = field(default="literal", init=False)
    start: bool = True


@register("milp-centralised-2019", paper="Filippini et al., 2020, Sections IV and V")
@dataclass
class MilpCentralised2019(MilpPolicy):
    """The authors' objective of 2019: GPUs priced linearly, all running jobs counted."""

    formulation: str = field(default="centralised-2019", init=False)


def instance_of(view: View, rho: float, mu: float, horizon_s: float) -> DecisionInput:
    """Input of a view's decision. Job ``i`` of the instance is ``view.jobs[i]``.

    Raises InputError: nodes without a limit on their GPUs.
    """
    cluster = view.cluster
    for node_type in cluster.node_types:
        if not math.isfinite(node_type.gpus):
            raise InputError(
                f"milp: node type {node_type.name!r} has unlimited GPUs, expected whole nodes"
            )
    fixed = cluster.node_type_of
    types = None
    if fixed is not None:
        mine = np.asarray(fixed)[view.nodes]
        types = np.bincount(mine, minlength=len(cluster.node_types))
    return DecisionInput(
        times_s=view.times_s,
        due_s=view.due_s - view.now_s,
        weight_per_s=view.weight_per_s,
        price_per_hour=node_price_per_hour(cluster),
        gpus=np.array([int(t.gpus) for t in cluster.node_types]),
        num_nodes=len(view.nodes),
        nodes_of_type=types,
        rho=rho,
        mu=mu,
        horizon_s=horizon_s,
    )


def _info(answer: Answer) -> dict[str, float | int | str | bool]:
    info = answer.info()
    info["fallback"] = bool(answer.fallback)
    return info
