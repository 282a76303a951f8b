"""Alibaba's GPU traces of 2025 and 2026 (alibaba/clusterdata: cluster-trace-gpu-v2025, cluster-trace-v2026-spot-gpu)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace

GB_PER_GIB = 2**30 / 1e9


class DlrmInstances(Trace):
    """Instances of services with GPUs (2025, Yang et al., NSDI 2025), each from scheduled to deleted.

    Those that were there before the trace begins, or stay until it ends, have no whole run: they are left out
    and counted, as are those on CPU nodes.
    """

    kind: Literal["alibaba-2025"] = "alibaba-2025"

    reads = (
        InputColumn("instance_sn", "", "name of the instance", "text", gives="job_id"),
        InputColumn("app_name", "", "service", "text", empty="", gives="user"),
        InputColumn("cpu_request", "", "CPUs", "number", at_least=0, gives="num_cpus"),
        InputColumn("gpu_request", "", "GPUs, parts as well", "number", empty=0.0, at_least=0,
                    gives="num_gpus"),
        InputColumn("memory_request", "GiB", "memory", "number", at_least=0, gives="memory_gb",
                    per=1 / GB_PER_GIB),
        InputColumn("creation_time", "s", "time of submission; empty: before the trace", "number",
                    empty=np.nan, at_least=0, gives="submit_s"),
        InputColumn("scheduled_time", "s", "start; empty: before the trace", "number",
                    empty=np.nan, at_least=0, gives="start_s"),
        InputColumn("deletion_time", "s", "end; empty: after the trace", "number", empty=np.nan,
                    at_least=0, not_before="scheduled_time", gives="end_s"),
    )  # fmt: skip
    written = "Alibaba's list of instances of 2025"
    example = """\
instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,deletion_time
instance_7,HN,app_0,12,1,120.0,100.0,110.0,9000.0
"""
    a_job = "instance"

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Why an instance has no whole run, the first reason that holds."""
        return {
            "hold no GPU": table.numbers("gpu_request") == 0,
            "were there before the trace": np.isnan(
                table.numbers("creation_time") + table.numbers("scheduled_time")
            ),
            "stay until its end": np.isnan(table.numbers("deletion_time")),
        }


class SpotJobs(Trace):
    """Jobs on spot GPUs and of high priority (2026, Duan et al., ASPLOS 2026), on the GPUs of all their workers.

    The organization is the user, the kind of job (HP or Spot) the QOS.
    """

    kind: Literal["alibaba-2026-spot"] = "alibaba-2026-spot"

    reads = (
        InputColumn("job_name", "", "name of the job", "text", gives="job_id"),
        InputColumn("organization", "", "owner", "text", empty="", gives="user"),
        InputColumn("gpu_model", "", "GPUs that it asks for", "text", empty="", gives="gpu_types"),
        InputColumn("cpu_request", "", "CPUs of a worker", "number", empty=0.0, at_least=0),
        InputColumn("gpu_request", "", "GPUs of a worker", "number", empty=0.0, at_least=0),
        InputColumn("worker_num", "", "workers", "number", empty=1.0, at_least=0),
        InputColumn("submit_time", "s", "time of submission", "number", gives="submit_s"),
        InputColumn("duration", "s", "time that it ran", "number", empty=np.nan, at_least=0,
                    gives="duration_s"),
        InputColumn("job_type", "", "HP or Spot", "text", empty="", gives="qos"),
    )  # fmt: skip
    written = "Alibaba's list of jobs of 2026"
    example = """\
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
7,13,A10,8,1,16,0,3600,Spot
"""

    def parse(self, table: Table) -> dict[str, Any]:
        """Demands of all workers."""
        workers = table.numbers("worker_num")
        return super().parse(table) | {
            "num_gpus": workers * table.numbers("gpu_request"),
            "num_cpus": workers * table.numbers("cpu_request"),
        }
