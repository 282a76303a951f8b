"""The world of schedlab: jobs, machines, time and money. It knows no policy and no paper.

from simulator import simulate
result = simulate(workload, cluster, policy, seed=1)
result.summary()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "Cluster": "simulator.catalog",
    "Decision": "simulator.contract",
    "DecisionPoints": "simulator.processes.world",
    "ELASTIC": "simulator.workload",
    "FIXED": "simulator.contract",
    "FixedDuration": "simulator.performance",
    "InfeasibleDecision": "simulator.errors",
    "InputError": "simulator.errors",
    "NO_CHANGE": "simulator.contract",
    "NodeType": "simulator.catalog",
    "Performance": "simulator.performance",
    "Placement": "simulator.contract",
    "Policy": "simulator.contract",
    "Result": "simulator.accounting",
    "Sensitivity": "simulator.performance",
    "SensitivityMatrix": "simulator.performance",
    "ServerSpec": "simulator.processes.server",
    "SpeedupCurve": "simulator.performance",
    "TimeTable": "simulator.performance",
    "View": "simulator.contract",
    "Workload": "simulator.workload",
    "simulate": "simulator.simulation",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts without NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
