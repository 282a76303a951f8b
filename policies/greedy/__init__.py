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

greedy = GreedyPolicy
randomised_greedy = RandomisedGreedyPolicy
local_search = LocalSearchPolicy
path_relinking = PathRelinkingPolicy

__all__ = [
    "GreedyPolicy",
    "LocalSearchPolicy",
    "PathRelinkingPolicy",
    "RandomisedGreedyPolicy",
    "greedy",
    "local_search",
    "path_relinking",
    "randomised_greedy",
]
