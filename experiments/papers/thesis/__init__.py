"""The thesis of L. M. Kiros: greedy, randomised greedy and local search, central and hierarchical.

Figures 4.2 to 4.6 and the times of Section 4.4; beside them path relinking, local search, the
share of configurations that the randomised greedy draws from, and the lower bound.
"""

from experiments.papers.thesis import claims, figures
from experiments.papers.thesis.runs import PAGE

__all__ = ["PAGE", "claims", "figures"]
