"""Synergy's jobs: ten networks, how CPUs and memory speed them up, and the traces made of them.

A workload of Synergy gives each job a network (`Workload.model`), GPUs, and its duration at the
GPU-proportional share of the server; `with_sensitivity` then lets its rate depend on what it gets.

dnn_models.py has the networks and servers, speeds.py the rates, traces.py and draw.py the jobs.
"""

from simulator.workloads.synergy.dnn_models import (
    SERVER,
    TASKS,
    DnnModel,
    cluster,
    dnn_model_name,
    dnn_models,
    dnn_models_of,
    read_sensitivity,
    sensitivity_matrices,
    server,
)
from simulator.workloads.synergy.draw import models_by_deficit, released_draw
from simulator.workloads.synergy.jobs import SynergyJobs
from simulator.workloads.synergy.speeds import (
    WholeIterations,
    iteration_s,
    with_durations_of,
    with_sensitive_table,
    with_sensitivity,
)
from simulator.workloads.synergy.traces import (
    PhillyLikeJobs,
    deployment_trace,
    derived_trace,
    gpu_demand_law,
    models_of_split,
)

__all__ = [
    "SERVER",
    "TASKS",
    "DnnModel",
    "PhillyLikeJobs",
    "SynergyJobs",
    "WholeIterations",
    "cluster",
    "deployment_trace",
    "derived_trace",
    "dnn_model_name",
    "dnn_models",
    "dnn_models_of",
    "gpu_demand_law",
    "iteration_s",
    "models_by_deficit",
    "models_of_split",
    "read_sensitivity",
    "released_draw",
    "sensitivity_matrices",
    "server",
    "with_durations_of",
    "with_sensitive_table",
    "with_sensitivity",
]
