"""The hierarchical paper's decision as a mixed-integer program, and who solves it.

`decide` and `solve_instance` answer one `DecisionInput`; `MilpPolicy` answers a simulation's views.
Formulations: `FORMULATIONS`. Back ends: HiGHS and Gurobi behind `solve`.
"""

from policies.milp.formulations import FORMULATIONS, decide, solve_instance
from policies.milp.policy import MilpCentralised2019, MilpLiteral, MilpPolicy
from policies.solving.decision import Answer
from policies.solving.instance import DecisionInput, JobOnNode, check_assignments, cost
from policies.solving.model import Model, Solution, SolverOptions
from policies.solving.solvers import solve

__all__ = [
    "FORMULATIONS",
    "Answer",
    "DecisionInput",
    "JobOnNode",
    "MilpCentralised2019",
    "MilpLiteral",
    "MilpPolicy",
    "Model",
    "Solution",
    "SolverOptions",
    "check_assignments",
    "cost",
    "decide",
    "solve",
    "solve_instance",
]
