"""Ten networks whose speeds are known: their names, with CPUs and memory, on each type of GPU, and on several GPUs.

named.py has the networks and the servers on which they were measured, sensitivity.py their speeds with CPUs and
memory, speeds.py those on other types and numbers of GPUs.
"""

from simulator.workloads.networks.named import (
    SERVER,
    TASKS,
    DnnModel,
    cluster,
    dnn_model_name,
    dnn_models,
    dnn_models_of,
    models_of_split,
    read_sensitivity,
    sensitivity_matrices,
    server,
)
from simulator.workloads.networks.sensitivity import (
    WholeIterations,
    iteration_s,
    with_durations_of,
    with_sensitive_table,
    with_sensitivity,
)

__all__ = [
    "SERVER",
    "TASKS",
    "DnnModel",
    "WholeIterations",
    "cluster",
    "dnn_model_name",
    "dnn_models",
    "dnn_models_of",
    "iteration_s",
    "models_of_split",
    "read_sensitivity",
    "sensitivity_matrices",
    "server",
    "with_durations_of",
    "with_sensitive_table",
    "with_sensitivity",
]
