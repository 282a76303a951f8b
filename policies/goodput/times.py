"""Times of whole jobs by GPUs, from tables of goodput or of times."""

from __future__ import annotations

import numpy as np

from simulator.model.cluster import FloatArray
from simulator.model.contract import View
from simulator.model.goodput import Goodput, packed

ELASTIC = ("servers", "one-type", "speeds")
"""Requirements of the policies that divide GPUs one by one."""
BY_TYPE = ("servers", "types-known", "speeds")
"""Requirements of those that also run on several types."""


def whole_times_s(view: View, total: int, per_node: int) -> FloatArray:
    """``(n, total + 1)`` seconds of each whole job by GPUs, on as few nodes as possible.

    Infinite on no GPU, and beyond one node where the performance model knows times on one node only.
    """
    model, jobs = view.workload.performance, view.jobs
    times_s = np.full((len(jobs), total + 1), np.inf)
    if isinstance(model, Goodput):
        for k, job in enumerate(jobs.tolist()):
            most = min(total, int(model.batch_size[job]) // model.application(job).smallest_local)
            for g in range(1, most + 1):
                times_s[k, g] = model.whole_s(job, packed(g, per_node))
    else:
        one_node = model.table_s(jobs, view.cluster)[:, node_type_of(view), :]
        width = min(total + 1, one_node.shape[1])
        times_s[:, :width] = one_node[:, :width]
    return times_s


def node_type_of(view: View) -> int:
    """Index of the type that the nodes of this controller have."""
    fixed = view.cluster.node_type_of
    assert fixed is not None
    return int(fixed[view.nodes[0]])
