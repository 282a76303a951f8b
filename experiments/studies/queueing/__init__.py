"""The queueing laboratory: closed forms, and the simulator's values laid over them.

Every formula of `simulator.theory` is met by the engine with the policies that everybody uses, so
that each figure serves twice: as a lecture, and as a check of the simulator.
"""

from experiments.studies.queueing import claims, many_servers, one_server, over_time  # noqa: F401
from experiments.studies.queueing.runs import PAGE

__all__ = ["PAGE"]
