"""Synergy (Mohan et al., 2022): CPUs and memory by what each job gains from them.

Figures 1, 2a, 3, 5 to 13 and Table 5, the time of a round over cluster size, and what the monitored
window makes of the paper's 3.4x.
"""

from experiments.papers.synergy.claims import claims
from experiments.papers.synergy.figures import figures
from experiments.papers.synergy.runs import tasks

__all__ = ["claims", "figures", "tasks"]
