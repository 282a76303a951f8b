"""Every policy on every workload, and the questions that the papers left open.

`comparison` runs all policies on eight workloads at several loads, on the same jobs; `questions` are
sweeps, each with a figure, a row of claims and a paragraph.
"""

from experiments.papers.cross.claims import claims
from experiments.papers.cross.figures import figures
from experiments.papers.cross.runs import tasks
from experiments.papers.cross.texts import texts

__all__ = ["claims", "figures", "tasks", "texts"]
