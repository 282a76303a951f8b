"""Jobs from a plain CSV file, of which most columns may be left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.logs import by_submission
from simulator.workloads.tables import InputColumn, Table

COLUMNS = (
    InputColumn("job_id", "", "name of the job", "text", unique=True),
    InputColumn("submit_time_s", "s", "time of submission", "number", at_least=0),
    InputColumn("duration_s", "s", "time on its GPUs", "number", more_than=0),
    InputColumn("num_gpus", "", "GPUs, all at once and wherever they are", "integer", at_least=1),
    InputColumn("num_cpus", "", "CPUs of the whole job; empty: none are counted", "number",
                required=False, empty=np.nan, at_least=0),
    InputColumn("memory_gb", "GB", "memory of the whole job; empty: none is counted", "number",
                required=False, empty=np.nan, at_least=0),
    InputColumn("model", "", "trained network, for models of sensitivity and rate", "text",
                required=False, empty=""),
    InputColumn("due_s", "s", "due date, on the clock of submit_time_s; empty: none", "number",
                required=False, empty=np.inf, at_least=0, not_before="submit_time_s"),
    InputColumn("tardiness_weight_per_h", "currency/h", "cost of an hour of tardiness", "number",
                required=False, empty=0.0, at_least=0),
    InputColumn("user", "", "owner of the job", "text", required=False, empty=""),
    InputColumn("vc", "", "virtual cluster", "text", required=False, empty="",
                aliases=("virtual_cluster",)),
)  # fmt: skip

EXAMPLE = """\
job_id,submit_time_s,duration_s,num_gpus,model,due_s
a,0,3600,2,resnet50,7200
"""


def read_csv_jobs(path: str | Path) -> Workload:
    """Jobs of fixed demand; rows that are not in order of submission are sorted, with a note.

    Raises InputError: the first thing wrong with the file: one line with file, line, column, value and
    what was expected.
    """
    table = Table.read(path, COLUMNS)
    names, submit_s = table.texts("job_id"), table.numbers("submit_time_s")
    duration_s, gpus = table.numbers("duration_s"), table.whole_numbers("num_gpus")
    jobs = by_submission(
        table.path,
        "submit_time_s",
        submit_s,
        FixedDuration(duration_s, gpus),
        job_id=names,
        due_s=table.numbers("due_s"),
        weight_per_s=table.numbers("tardiness_weight_per_h") / SECONDS_PER_HOUR,
        num_cpus=table.numbers("num_cpus"),
        memory_gb=table.numbers("memory_gb"),
        model=table.texts("model"),
        user=table.texts("user"),
        vc=table.texts("vc"),
    )
    if not table.ignored:
        return jobs
    return jobs.noted(f"{table.path}: columns not used: {', '.join(table.ignored)}")
