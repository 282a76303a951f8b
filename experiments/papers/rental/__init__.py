"""How to rent GPUs on a budget (Li, Berg, Mukhopadhyay, Harchol-Balter, 2024).

Figure 1 with simulated points on its curves; Theorem 1 as an experiment; insensitivity to arrivals
and sizes; whole GPUs; and what the paper could not have: fixed widths on the jobs and prices of the
hierarchical paper, against that paper's policies.
"""

from experiments.papers.rental import bridge, runs
from experiments.papers.rental.claims import claims
from experiments.papers.rental.figures import figures
from experiments.report.contents import Scale
from experiments.sweep.task import Task

__all__ = ["claims", "figures", "tasks"]


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper."""
    return [*runs.tasks(scale), *bridge.tasks(scale)]
