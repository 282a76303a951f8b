"""Beyond the papers: foresight, the laboratory's own policy, against the papers' methods."""

from experiments.papers.foresight.claims import claims
from experiments.papers.foresight.figures import figures
from experiments.papers.foresight.runs import tasks

__all__ = ["claims", "figures", "tasks"]
