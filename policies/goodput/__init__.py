"""Policies for jobs whose goodput depends on GPUs, batch size and progress (`simulator.model.goodput`).

Tiresias and Optimus keep the user's GPUs or batch size; AFS divides GPUs by marginal speed; `edf_elastic` by due dates.
Pollux and Sia choose batch sizes as well.
"""

from policies.goodput.afs import Afs, afs
from policies.goodput.edf import EdfElastic, edf_elastic
from policies.goodput.optimus import Optimus, optimus
from policies.goodput.pollux import Pollux, pollux
from policies.goodput.sia import Sia, sia
from policies.goodput.tiresias import Tiresias, tiresias

__all__ = [
    "Afs", "EdfElastic", "Optimus", "Pollux", "Sia", "Tiresias",
    "afs", "edf_elastic", "optimus", "pollux", "sia", "tiresias",
]  # fmt: skip
