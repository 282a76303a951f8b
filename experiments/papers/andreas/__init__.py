"""ANDREAS (Filippini et al., 2021): energy against tardiness on fixed heterogeneous nodes.

Figures 2 and 3 (energy cost, total cost, time to finish, time of a call), the replay of the
validation on ARMIDA (Table III, Figures 4 and 5); beside them the exact optimum of the proxy
objective at each decision and over whole runs, and how far every method is from the lower bound.
"""

from experiments.papers.andreas import claims, figures
from experiments.papers.andreas.runs import PAGE

__all__ = ["PAGE", "claims", "figures"]
