"""The public interface of schedlab; docs/extending.md says what each name is, and what is stable.

import schedlab
result = schedlab.simulate(workload, cluster, policy, seed=1)
"""

import experiments

if not hasattr(experiments, "FOLDER"):
    raise ImportError(
        f"{experiments.__file__} is in the way of schedlab's package 'experiments': rename it, or start in another folder"
    )

from experiments.comparison.answer import Comparison
from experiments.comparison.comparing import compare
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario, read_scenario
from policies import Wrapper, make_policy, policy_names, register
from policies.queues.free_capacity import FreeCapacity
from policies.queues.serving import serve
from policies.queues.waiting import Order
from simulator import (
    ELASTIC,
    FIXED,
    NO_CHANGE,
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    Policy,
    Result,
    Sensitivity,
    ServerSpec,
    SpeedupCurve,
    TimeTable,
    View,
    Workload,
    simulate,
    theory,
)
from simulator.core.feature import Feature
from simulator.laws import parse_law
from simulator.statistics import Streams
from simulator.workloads.authors import read_instance
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.poisson import poisson_jobs
from simulator.workloads.registry import read_jobs

__all__ = [
    "ELASTIC",
    "FIXED",
    "NO_CHANGE",
    "Cluster",
    "Comparison",
    "Decision",
    "DecisionPoints",
    "Feature",
    "FixedDuration",
    "FreeCapacity",
    "InfeasibleDecision",
    "InputError",
    "NodeType",
    "Order",
    "Placement",
    "Policy",
    "Result",
    "Scenario",
    "Sensitivity",
    "ServerSpec",
    "SpeedupCurve",
    "Streams",
    "TimeTable",
    "View",
    "Workload",
    "Wrapper",
    "compare",
    "make_policy",
    "parse_law",
    "poisson_jobs",
    "policy_names",
    "read_catalog",
    "read_instance",
    "read_jobs",
    "read_scenario",
    "register",
    "run",
    "serve",
    "simulate",
    "theory",
]
