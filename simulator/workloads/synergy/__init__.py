"""The jobs of the Synergy paper: traces made of the networks of `simulator.workloads.networks`.

A workload of Synergy gives each job a network (`Workload.model`), GPUs, and its duration at the
GPU-proportional share of the server; `with_sensitivity` then lets its rate depend on what it gets.
"""

from simulator.workloads.synergy.draw import models_by_deficit, released_draw
from simulator.workloads.synergy.jobs import SynergyJobs
from simulator.workloads.synergy.traces import deployment_trace, derived_trace
from simulator.workloads.synergy.window import PhillyWindowJobs

__all__ = [
    "PhillyWindowJobs",
    "SynergyJobs",
    "deployment_trace",
    "derived_trace",
    "models_by_deficit",
    "released_draw",
]
