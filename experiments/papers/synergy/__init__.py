"""Synergy (Mohan et al., 2022): CPUs and memory by what each job gains from them.

Figures 1, 2a, 3, 5 to 13 and Table 5, the time of a round over cluster size, what the monitored
window makes of the paper's 3.4x, and Philly's hours over the load.
"""

from experiments.papers.synergy import (
    claims,
    figures_basics,
    figures_loads,
    figures_mechanisms,
)
from experiments.papers.synergy.runs import PAGE

__all__ = ["PAGE", "claims", "figures_basics", "figures_loads", "figures_mechanisms"]
