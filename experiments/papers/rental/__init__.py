"""Rental of GPUs on a budget (Li, Berg, Mukhopadhyay, Harchol-Balter, 2024).

Figure 1 with simulated points on its curves; Theorem 1 as an experiment; insensitivity to arrivals
and sizes; whole GPUs; and what the paper could not have: fixed widths on the jobs and prices of the
hierarchical paper, against that paper's policies.
"""

from experiments.papers.rental import claims, figures
from experiments.papers.rental.page import PAGE

__all__ = ["PAGE", "claims", "figures"]
