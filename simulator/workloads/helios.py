"""The log of SenseTime's Helios (Hu et al., SC 2021), and of Acme (Hu et al., NSDI 2024): a CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.model.cluster import FloatArray
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace


class HeliosJobs(Trace):
    """Jobs of Helios with GPUs that ran; the others are left out and counted in `Workload.notes`.

    Where the duration is not that from start to end, start and end count, with a note (Acme's Kalos
    counts from submission).
    """

    kind: Literal["helios"] = "helios"

    reads = (
        InputColumn("job_id", "", "name of the job", "text", unique=True, gives="job_id"),
        InputColumn("user", "", "owner", "text", empty="", gives="user"),
        InputColumn("vc", "", "virtual cluster", "text", required=False, empty="", gives="vc"),
        InputColumn("gpu_num", "", "GPUs", "integer", at_least=0, gives="num_gpus"),
        InputColumn("submit_time", "", "time of submission", "date", gives="submit_s"),
        InputColumn("duration", "s", "time that it ran", "number",
                    empty=0.0, at_least=0, gives="duration_s"),
        InputColumn("start_time", "", "begin of the run", "date", required=False, empty=np.nan),
        InputColumn("end_time", "", "end of the run", "date", required=False, empty=np.nan),
    )  # fmt: skip
    example = """\
job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue
a,u1,vc1,8,32,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:10:05,2020-04-01 01:10:05,3600,5
"""

    def parse(self, table: Table) -> dict[str, Any]:
        """A job runs from start to end where both are known."""
        columns = super().parse(table)
        duration_s, ran_s = columns["duration_s"], self._ran_s(table)
        return columns | {"duration_s": np.where(_differs(duration_s, ran_s), ran_s, duration_s)}

    def notes(self, table: Table, kept: npt.NDArray[np.bool_]) -> Mapping[str, int]:
        """Jobs whose duration is another in the log."""
        differs = _differs(table.numbers("duration"), self._ran_s(table))
        what = "jobs whose duration is not end_time - start_time, which counts"
        return {what: int((kept & differs).sum())}

    @staticmethod
    def _ran_s(table: Table) -> FloatArray:
        return table.known_dates("end_time") - table.known_dates("start_time")


def _differs(duration_s: FloatArray, ran_s: FloatArray) -> npt.NDArray[np.bool_]:
    """Where both are known and more than the rounding of a second apart."""
    return (ran_s > 0) & (np.abs(duration_s - ran_s) > 1)
