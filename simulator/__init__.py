"""Jobs, machines, time and money: the engine, its features, workloads, laws and statistics; no policy.

from simulator import simulate
result = simulate(workload, cluster, policy, seed=1)
result.summary()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.entry import simulate as simulate
    from simulator.errors import InfeasibleDecision as InfeasibleDecision
    from simulator.errors import InputError as InputError
    from simulator.metrics.result import Result as Result
    from simulator.model.cluster import Cluster as Cluster
    from simulator.model.cluster import NodeType as NodeType
    from simulator.model.contract import FIXED as FIXED
    from simulator.model.contract import NO_CHANGE as NO_CHANGE
    from simulator.model.contract import Decision as Decision
    from simulator.model.contract import Placement as Placement
    from simulator.model.contract import Policy as Policy
    from simulator.model.contract import View as View
    from simulator.model.decision_points import DecisionPoints as DecisionPoints
    from simulator.model.decision_points import ServerSpec as ServerSpec
    from simulator.model.performance import FixedDuration as FixedDuration
    from simulator.model.performance import Performance as Performance
    from simulator.model.performance import Sensitivity as Sensitivity
    from simulator.model.performance import SensitivityMatrix as SensitivityMatrix
    from simulator.model.performance import SpeedupCurve as SpeedupCurve
    from simulator.model.performance import TimeTable as TimeTable
    from simulator.model.workload import ELASTIC as ELASTIC
    from simulator.model.workload import Workload as Workload

__version__ = "0.2.0"

_NAMES = {
    "simulator.errors": "InfeasibleDecision InputError",
    "simulator.metrics.result": "Result",
    "simulator.model.cluster": "Cluster NodeType",
    "simulator.model.contract": "FIXED NO_CHANGE Decision Placement Policy View",
    "simulator.model.performance": "FixedDuration Performance Sensitivity SensitivityMatrix "
    "SpeedupCurve TimeTable",
    "simulator.model.decision_points": "DecisionPoints ServerSpec",
    "simulator.model.workload": "ELASTIC Workload",
    "simulator.entry": "simulate",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts without NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
