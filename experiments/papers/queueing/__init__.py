"""The queueing laboratory: closed forms, and the simulator's values laid over them.

Every formula of `simulator.theory` is met by the engine with the policies that everybody uses, so
that each figure serves twice: as a lecture, and as a check of the simulator.
"""

from experiments.papers.queueing.claims import claims
from experiments.papers.queueing.figures import figures
from experiments.papers.queueing.runs import tasks

__all__ = ["claims", "figures", "tasks"]
