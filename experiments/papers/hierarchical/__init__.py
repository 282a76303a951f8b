"""Hierarchical scheduling in on-demand GPU-as-a-Service systems (Filippini et al., 2020).

Figure 2 (solution time and model size), Figure 3 (cost against the best heuristic), the savings,
and the optimization server; beside them what the paper could not have: its own objective solved
to optimality, centrally and by controllers.
"""

from experiments.papers.hierarchical import claims, figures
from experiments.papers.hierarchical.runs import PAGE

__all__ = ["PAGE", "claims", "figures"]
