"""Construction, randomised construction, local search and path relinking.

Policies from `make_policy("greedy")`, ``"randomised-greedy"``, ``"local-search"`` and
``"path-relinking"``; their options are the fields of the classes here.
"""

from policies.greedy.policy import GreedyPolicy, RandomisedGreedyPolicy

greedy = GreedyPolicy
randomised_greedy = RandomisedGreedyPolicy

__all__ = ["GreedyPolicy", "RandomisedGreedyPolicy", "greedy", "randomised_greedy"]
