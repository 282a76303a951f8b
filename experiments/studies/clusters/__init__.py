"""Comparisons over failures, spot VMs, tenants, predictions and delays: what real clusters do.

questions.toml declares them; each is one of `schedlab compare` on the scenario of its name in this folder.
"""

from experiments.studies.clusters import contents
from experiments.studies.clusters.questions import PAGE

__all__ = ["PAGE", "contents"]
