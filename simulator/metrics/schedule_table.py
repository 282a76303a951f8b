"""Tables of places over time: who held which share of which node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulator.model.batch_size import BatchSize
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.schema import Derived, Schema, Values, arrow_array

if TYPE_CHECKING:
    import pyarrow as pa


class Names(NamedTuple):
    """Names of jobs and of node types, by index, as Arrow arrays."""

    jobs: pa.Array
    types: pa.Array

    @classmethod
    def of(cls, workload: Workload, cluster: Cluster) -> Names:
        """The names of a run."""
        import pyarrow as pa

        types = [t.name for t in cluster.node_types]
        return cls(arrow_array(workload.job_id, pa.string()), arrow_array(types, pa.string()))


class NodeShares(NamedTuple):
    """Shares of nodes as columns, with the names behind their indices; ``gpu_ids`` may be None."""

    columns: Mapping[str, Any]
    names: Names


def _taken(names: pa.Array, indices: Any) -> Values:
    import pyarrow as pa

    rows = arrow_array(np.asarray(indices, dtype=np.int64), pa.int64())
    found: Values = names.take(rows)
    return found


SCHEDULE: Schema[NodeShares] = Schema(
    "schedule",
    "a share of a node that a job held without a change, in order of the ends",
    (
        Derived("job_id", "", "name of the job", "text",
                values=lambda s: _taken(s.names.jobs, s.columns["job"])),
        Derived("node", "", "node, counted from 0", "integer", values=lambda s: s.columns["node"]),
        Derived("node_type", "", "type of the node", "text",
                values=lambda s: _taken(s.names.types, s.columns["node_type"])),
        Derived("gpus", "GPUs", "GPUs of this node", "number", values=lambda s: s.columns["gpus"]),
        Derived("cpus", "CPUs", "CPUs of this node", "number", values=lambda s: s.columns["cpus"]),
        Derived("memory_gb", "GB", "memory of this node", "number",
                values=lambda s: s.columns["memory_gb"]),
        Derived("start_s", "s", "from when", "number", values=lambda s: s.columns["start_s"]),
        Derived("end_s", "s", "until when", "number", values=lambda s: s.columns["end_s"]),
        Derived("gpu_ids", "", "numbers of its GPUs on this node, counted from 0, such as 0 3; empty: none were named",
                "text", when="jobs need, or the policy gives, parts of GPUs",
                values=lambda s: s.columns["gpu_ids"]),
    ),
    when="the schedule is recorded",
)  # fmt: skip


class Configured(NamedTuple):
    """Job, time (s) and batch size for each start and each change, with the names of the jobs."""

    rows: Sequence[tuple[int, float, BatchSize]]
    names: Names


CONFIGURATIONS: Schema[Configured] = Schema(
    "configurations",
    "a batch size that a job runs with from a time on, until its next row or the end of its stretch",
    (
        Derived("job_id", "", "name of the job", "text",
                values=lambda c: _taken(c.names.jobs, [job for job, _, _ in c.rows])),
        Derived("time_s", "s", "from when", "number", values=lambda c: [t for _, t, _ in c.rows]),
        Derived("local_batch_size", "samples", "samples of a GPU in one pass", "integer",
                values=lambda c: [size.local for _, _, size in c.rows]),
        Derived("accumulation_steps", "", "passes before the one that synchronises", "integer",
                values=lambda c: [size.accumulation for _, _, size in c.rows]),
    ),
    when="jobs have tables of goodput",
)  # fmt: skip
