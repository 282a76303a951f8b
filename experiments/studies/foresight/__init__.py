"""Beyond the papers: foresight, the laboratory's own policy, against the papers' methods."""

from experiments.studies.foresight import claims, figures  # noqa: F401
from experiments.studies.foresight.runs import PAGE

__all__ = ["PAGE"]
