"""Admission control: which jobs can be promised their due date.

`promises` has the test for jobs of a fixed number of GPUs, `elastic` that for jobs that choose their GPUs.
"""

from simulator.features.admission.control import Admission
from simulator.features.admission.elastic import Ask, Piece, packed, shares_in_turn, within
from simulator.features.admission.promises import SHARE, Promise, all_on_time, in_units

__all__ = [
    "SHARE",
    "Admission",
    "Ask",
    "Piece",
    "Promise",
    "all_on_time",
    "in_units",
    "packed",
    "shares_in_turn",
    "within",
]
