"""44 policies on eight workloads, and studies of what the papers left open.

`comparison` runs all policies on eight workloads at several loads, on the same jobs; `studies` are
sweeps, each with a figure, a row of claims and a paragraph.
"""

from experiments.studies.cross import (  # noqa: F401
    claims,
    figures,
    figures_of_studies,
    recommendations,
    texts_of_studies,
)
from experiments.studies.cross.page import PAGE

__all__ = ["PAGE"]
