"""Beyond the papers: foresight, the laboratory's own policy, against the papers' methods."""

from experiments.studies.foresight import claims, figures
from experiments.studies.foresight.page import PAGE

__all__ = ["PAGE", "claims", "figures"]
