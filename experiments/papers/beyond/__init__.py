"""Beyond the papers: failures, spot VMs, shared GPUs, tenants, admission control, racks.

What real clusters do and the five papers leave out. Where there is a closed form or a published
figure, it is drawn beside ours.
"""

from experiments.papers.beyond.claims import claims
from experiments.papers.beyond.figures import figures
from experiments.papers.beyond.runs import tasks

__all__ = ["claims", "figures", "tasks"]
