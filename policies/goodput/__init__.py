"""Policies for jobs whose goodput depends on GPUs, batch size and progress (`simulator.model.goodput`).

Tiresias and Optimus keep the user's batch size; Pollux and Sia choose it; AFS divides GPUs by marginal speed.
"""

from policies.goodput.optimus import Optimus, optimus
from policies.goodput.tiresias import Tiresias, tiresias

__all__ = ["Optimus", "Tiresias", "optimus", "tiresias"]
