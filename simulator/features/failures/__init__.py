"""Faults of nodes and jobs, and checkpoints.

`Failures` is all that goes wrong in a run; `Outages` is one cause for which nodes go down. A node with several
causes is up again when the last is over; availability counts the time once.
"""

from simulator.features.failures.checkpoints import Checkpoints
from simulator.features.failures.listed import ListedOutages
from simulator.features.failures.outages import Cause, NodeFaults, Outages, racks_of
from simulator.features.failures.servers import Reliability
from simulator.features.failures.spec import Damage, Failures

__all__ = [
    "Cause",
    "Checkpoints",
    "Damage",
    "Failures",
    "ListedOutages",
    "NodeFaults",
    "Outages",
    "Reliability",
    "racks_of",
]
