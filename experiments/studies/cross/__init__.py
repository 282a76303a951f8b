"""Every policy on every workload, and studies of what the papers left open.

`comparison` runs all policies on eight workloads at several loads, on the same jobs; `studies` are
sweeps, each with a figure, a row of claims and a paragraph.
"""

from experiments.studies.cross import claims, figures, figures_of_studies, lower_bounds, texts
from experiments.studies.cross.page import PAGE

__all__ = ["PAGE", "claims", "figures", "figures_of_studies", "lower_bounds", "texts"]
