"""The log of SenseTime's Helios (Hu et al., SC 2021), and of Acme (Hu et al., NSDI 2024): a CSV file."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from simulator.workloads.table import AskedPlaces
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace


class HeliosJobs(Trace):
    """Jobs of Helios with GPUs that ran; the others are left out and counted in `Workload.notes`.

    Where the duration is not that from start to end, start and end count, with a note (Acme's Kalos
    counts from submission).
    """

    kind: Literal["helios"] = "helios"

    nodes: AskedPlaces = "any"
    """whether jobs lie on as many nodes as in the log (node_num), in equal parts"""

    reads = (
        InputColumn("job_id", "", "name of the job", "text", gives="job_id"),
        InputColumn("user", "", "owner", "text", empty="", gives="user"),
        InputColumn("vc", "", "virtual cluster", "text", required=False, empty="", gives="vc"),
        InputColumn("gpu_num", "", "GPUs", "integer", at_least=0, gives="num_gpus"),
        InputColumn("node_num", "", "nodes, read with nodes = as-asked", "integer", required=False,
                    empty=0.0, at_least=0),
        InputColumn("submit_time", "", "time of submission", "date", empty=np.nan, gives="submit_s"),
        InputColumn("duration", "s", "time that it ran", "number",
                    empty=np.nan, at_least=0, gives="duration_s"),
        InputColumn("start_time", "", "begin of the run", "date", required=False, empty=np.nan,
                    gives="start_s"),
        InputColumn("end_time", "", "end of the run", "date", required=False, empty=np.nan,
                    gives="end_s"),
        InputColumn("state", "", "how it ended", "text", required=False, empty="", gives="state"),
    )  # fmt: skip
    written = "a log of Helios or Acme"
    example = """\
job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue
a,u1,vc1,8,32,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:10:05,2020-04-01 01:10:05,3600,5
"""

    def parse(self, table: Table) -> dict[str, Any]:
        """Nodes count where they divide the GPUs."""
        found, nodes = super().parse(table), table.whole_numbers("node_num")
        divides = (self.nodes == "as-asked") & (found["num_gpus"] % np.maximum(nodes, 1) == 0)
        return found | {"num_nodes": np.where(divides, nodes, 0)}
