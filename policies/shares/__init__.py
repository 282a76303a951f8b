"""Shares of time by GPU type, carried out in rounds: the family of Gavel."""

from policies.shares.gandiva import gandiva_fair
from policies.shares.leases import assign
from policies.shares.problem import Active, Shares
from policies.shares.replay import Replayed, Round, replay
from policies.shares.rounds import Chosen, RoundRules, ShareRounds

__all__ = [
    "Active",
    "Chosen",
    "Replayed",
    "Round",
    "RoundRules",
    "ShareRounds",
    "Shares",
    "assign",
    "gandiva_fair",
    "replay",
]
