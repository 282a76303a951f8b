"""Policies for jobs whose goodput depends on GPUs, batch size and progress (`simulator.model.goodput`).

Tiresias and Optimus keep the user's GPUs or batch size; AFS divides GPUs by marginal speed; `EdfElastic` by due dates.
Pollux and Sia choose batch sizes as well. On jobs of known times all but the batch sizes stays the same.
"""

from policies.goodput.afs import Afs
from policies.goodput.edf import EdfElastic
from policies.goodput.optimus import Optimus
from policies.goodput.pollux import Pollux
from policies.goodput.sia import Sia
from policies.goodput.tiresias import Tiresias

__all__ = ["Afs", "EdfElastic", "Optimus", "Pollux", "Sia", "Tiresias"]
