"""Shares of time by GPU type, carried out in rounds: the family of Gavel."""

from policies.shares.gandiva import gandiva_fair
from policies.shares.hierarchical import hierarchical_fairness
from policies.shares.optimal import (
    finish_time_fairness,
    max_min_fairness,
    max_throughput,
    min_cost,
    min_makespan,
)
from policies.shares.problem import Active, Shares
from policies.shares.rounds import Chosen, RoundRules, ShareRounds

__all__ = [
    "Active",
    "Chosen",
    "RoundRules",
    "ShareRounds",
    "Shares",
    "finish_time_fairness",
    "gandiva_fair",
    "hierarchical_fairness",
    "max_min_fairness",
    "max_throughput",
    "min_cost",
    "min_makespan",
]
