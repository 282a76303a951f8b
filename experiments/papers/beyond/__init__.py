"""Beyond the papers: failures and checkpoints, spot VMs, shared GPUs.

What real clusters do and the five papers leave out. Each figure stands beside a closed form or the
published figure of the paper that it comes from.
"""

from experiments.papers.beyond.claims import claims
from experiments.papers.beyond.figures import figures
from experiments.papers.beyond.runs import tasks

__all__ = ["claims", "figures", "tasks"]
