"""Jobs from a plain CSV file, of which most columns may be left out."""

from __future__ import annotations

from typing import Literal

import numpy as np

from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.workloads.tables import InputColumn
from simulator.workloads.trace import Trace


class CsvJobs(Trace):
    """Jobs of fixed demand; rows that are not in order of submission are sorted, with a note."""

    kind: Literal["csv"] = "csv"

    columns = (
        InputColumn("job_id", "", "name of the job", "text", unique=True, gives="job_id"),
        InputColumn("submit_time_s", "s", "time of submission", "number", at_least=0, gives="submit_s"),
        InputColumn("duration_s", "s", "time on its GPUs", "number", more_than=0, gives="duration_s"),
        InputColumn("num_gpus", "", "GPUs, all at once and wherever they are", "integer",
                    at_least=1, gives="num_gpus"),
        InputColumn("num_cpus", "", "CPUs of the whole job; empty: none are counted", "number",
                    required=False, empty=np.nan, at_least=0, gives="num_cpus"),
        InputColumn("memory_gb", "GB", "memory of the whole job; empty: none is counted", "number",
                    required=False, empty=np.nan, at_least=0, gives="memory_gb"),
        InputColumn("model", "", "trained network, for models of sensitivity and rate", "text",
                    required=False, empty="", gives="model"),
        InputColumn("due_s", "s", "due date, on the clock of submit_time_s; empty: none", "number",
                    required=False, empty=np.inf, at_least=0, not_before="submit_time_s", gives="due_s"),
        InputColumn("tardiness_weight_per_h", "currency/h", "cost of an hour of tardiness", "number",
                    required=False, empty=0.0, at_least=0, gives="weight_per_s", per=SECONDS_PER_HOUR),
        InputColumn("requested_s", "s", "time asked for; empty: not known", "number",
                    required=False, empty=np.nan, more_than=0, gives="requested_s"),
        InputColumn("priority", "", "priority, the highest first", "number",
                    required=False, empty=0.0, gives="priority"),
        InputColumn("user", "", "owner of the job", "text", required=False, empty="", gives="user"),
        InputColumn("vc", "", "virtual cluster", "text", required=False, empty="",
                    aliases=("virtual_cluster", "partition"), gives="vc"),
        InputColumn("qos", "", "quality of service", "text", required=False, empty="", gives="qos"),
        InputColumn("gpu_type", "", "GPUs that the duration was taken on", "text", required=False,
                    empty="", gives="gpu_type"),
    )  # fmt: skip
    example = """\
job_id,submit_time_s,duration_s,num_gpus,model,due_s
a,0,3600,2,resnet50,7200
"""
    is_log = False
