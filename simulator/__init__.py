"""The world of schedlab: jobs, machines, time and money. It knows no policy and no paper.

from simulator import simulate
result = simulate(workload, cluster, policy, seed=1)
result.summary()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.core.triggers import DecisionPoints
    from simulator.errors import InfeasibleDecision, InputError
    from simulator.metrics.result import Result
    from simulator.model.cluster import Cluster, NodeType
    from simulator.model.contract import FIXED, NO_CHANGE, Decision, Placement, Policy, View
    from simulator.model.performance import (
        FixedDuration,
        Performance,
        Sensitivity,
        SensitivityMatrix,
        SpeedupCurve,
        TimeTable,
    )
    from simulator.model.server_spec import ServerSpec
    from simulator.model.workload import ELASTIC, Workload
    from simulator.simulation import simulate

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
    "Cluster": "simulator.model.cluster",
    "Decision": "simulator.model.contract",
    "DecisionPoints": "simulator.core.triggers",
    "ELASTIC": "simulator.model.workload",
    "FIXED": "simulator.model.contract",
    "FixedDuration": "simulator.model.performance",
    "InfeasibleDecision": "simulator.errors",
    "InputError": "simulator.errors",
    "NO_CHANGE": "simulator.model.contract",
    "NodeType": "simulator.model.cluster",
    "Performance": "simulator.model.performance",
    "Placement": "simulator.model.contract",
    "Policy": "simulator.model.contract",
    "Result": "simulator.metrics.result",
    "Sensitivity": "simulator.model.performance",
    "SensitivityMatrix": "simulator.model.performance",
    "ServerSpec": "simulator.model.server_spec",
    "SpeedupCurve": "simulator.model.performance",
    "TimeTable": "simulator.model.performance",
    "View": "simulator.model.contract",
    "Workload": "simulator.model.workload",
    "simulate": "simulator.simulation",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts without NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
