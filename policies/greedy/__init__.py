"""Construction, randomised construction, local search and path relinking.

Policies from `make_policy("greedy")`, ``"randomised-greedy"``, ``"local-search"`` and
``"path-relinking"``; their options are the fields of the classes here.
"""

from policies.greedy.policy import (
    GreedyPolicy,
    LocalSearchPolicy,
    PathRelinkingPolicy,
    RandomisedGreedyPolicy,
)

__all__ = [
    "GreedyPolicy",
    "LocalSearchPolicy",
    "PathRelinkingPolicy",
    "RandomisedGreedyPolicy",
]
