"""The log of SenseTime's Helios (Hu et al., SC 2021): a CSV file."""

from __future__ import annotations

from pathlib import Path

from simulator.model.workload import Workload
from simulator.workloads.logs import jobs_that_ran
from simulator.workloads.tables import InputColumn, Table

COLUMNS = (
    InputColumn("job_id", "", "name of the job", "text", unique=True),
    InputColumn("user", "", "owner", "text", empty=""),
    InputColumn("vc", "", "virtual cluster", "text", empty=""),
    InputColumn("gpu_num", "", "GPUs", "integer", at_least=0),
    InputColumn("submit_time", "", "time of submission", "date"),
    InputColumn("duration", "s", "time that it ran", "number", empty=0.0, at_least=0),
)

EXAMPLE = """\
job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue
a,u1,vc1,8,32,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:10:05,2020-04-01 01:10:05,3600,5
"""


def read_helios(path: str | Path) -> Workload:
    """Jobs of Helios with GPUs that ran; the others are left out and counted in `Workload.notes`.

    Raises InputError: the first thing wrong with the file: line, column, value, what was expected.
    """
    table = Table.read(path, COLUMNS)
    gpus, duration_s = table.whole_numbers("gpu_num"), table.numbers("duration")
    submit_s, names = table.dates("submit_time"), table.texts("job_id")
    user, vc = table.texts("user"), table.texts("vc")
    return jobs_that_ran(Path(path), names, submit_s, duration_s, gpus, user=user, vc=vc)
