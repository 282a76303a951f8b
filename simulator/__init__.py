"""The world of schedlab: jobs, machines, time and money. It knows no policy and no paper.

from simulator import simulate
result = simulate(workload, cluster, policy, seed=1)
result.summary()
"""

from simulator.accounting import Result
from simulator.catalog import Cluster, NodeType
from simulator.contract import FIXED, NO_CHANGE, Decision, Placement, Policy, View
from simulator.errors import InfeasibleDecision, InputError
from simulator.performance import (
    FixedDuration,
    Performance,
    Sensitivity,
    SensitivityMatrix,
    SpeedupCurve,
    TimeTable,
)
from simulator.processes.server import ServerSpec
from simulator.processes.world import DecisionPoints
from simulator.simulation import simulate
from simulator.workload import ELASTIC, Workload

__all__ = [
    "ELASTIC",
    "FIXED",
    "NO_CHANGE",
    "Cluster",
    "Decision",
    "DecisionPoints",
    "FixedDuration",
    "InfeasibleDecision",
    "InputError",
    "NodeType",
    "Performance",
    "Placement",
    "Policy",
    "Result",
    "Sensitivity",
    "SensitivityMatrix",
    "ServerSpec",
    "SpeedupCurve",
    "TimeTable",
    "View",
    "Workload",
    "simulate",
]
