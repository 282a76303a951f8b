"""A placement: one share of a node for one job."""

from __future__ import annotations

from typing import NamedTuple

from simulator.model.cluster import NodeType, proportional_share

FIXED = -1
"""`Placement.node_type` on a node whose type is fixed."""


class Placement(NamedTuple):
    """One share of a node for one job. A job over several nodes has several placements.

    Attributes
    ----------
    job : index of the job in the workload.
    node : index of the node in the cluster.
    gpus : GPUs of that node; a whole number on nodes, any real number on a rental pool.
    node_type : index of the type to configure the node as; `FIXED` where nodes have their type.
    cpus, memory_gb : beside the GPUs; 0 where they are not modelled.
    """

    job: int
    node: int
    gpus: float
    node_type: int = FIXED
    cpus: float = 0.0
    memory_gb: float = 0.0


def in_proportion(
    job: int, node: int, gpus: float, spec: NodeType, node_type: int = FIXED
) -> Placement:
    """A share of a node of the type ``spec``, with CPUs and memory in proportion to its GPUs."""
    return Placement(job, node, gpus, node_type, *proportional_share(spec, gpus))
