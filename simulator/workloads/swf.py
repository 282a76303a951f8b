"""Standard Workload Format of the Parallel Workloads Archive (Chapin et al. 1999)."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from simulator.model.cluster import FloatArray
from simulator.model.workload import Dependency
from simulator.workloads.tables import InputColumn, Layout, Table
from simulator.workloads.trace import Trace

COLUMNS = tuple(
    InputColumn(name, unit, meaning, "number")
    for name, unit, meaning in (
        ("job", "", "number of the job"),
        ("submit", "s", "time of submission"),
        ("wait", "s", "time from there to the start"),
        ("run", "s", "time that it ran"),
        ("processors", "", "processors that it held, read as GPUs"),
        ("cpu_time", "s", "not read"),
        ("memory", "KB", "not read"),
        ("requested", "", "processors asked for, where those held are unknown"),
        ("requested_time", "s", "time asked for"),
        ("requested_memory", "KB", "not read"),
        (
            "status",
            "",
            "0: failed, 1: completed, 5: cancelled; 2 to 4: a part of a checkpointed job",
        ),
        ("user", "", "owner"),
        ("group", "", "not read"),
        ("executable", "", "not read"),
        ("queue", "", "virtual cluster"),
        ("partition", "", "virtual cluster, where no job has a queue, or with vc_from"),
        ("preceding_job", "", "job that it follows"),
        ("think_time", "s", "time after the end of that job until it is submitted"),
    )
)
"""The 18 numbers of a line, in order; -1 stands for unknown."""
MORE = (
    InputColumn("nodes", "", "not read", "text", required=False, empty=""),
    InputColumn(
        "queue_name", "", "virtual cluster, where it is no number", "text", required=False, empty=""
    ),
    InputColumn("request", "", "not read", "text", required=False, empty=""),
)
"""Fields that some logs have behind these, for example that of MetaCentrum."""

SINCE_1970_S = 3e8
"""No log that counts from its own beginning lasts for so long, over nine years."""
LATEST_DATE_S = 4e9
"""No log is of after 2096."""
STATES = {0: "FAILED", 1: "COMPLETED", 5: "CANCELLED"}
"""How a job ended, by its status."""


class SwfJobs(Trace):
    """Jobs of an SWF file, each as long as it ran, on the processors that it held.

    The parts of a checkpointed job (status 2 to 4) are not jobs where it has a row of its own.
    Jobs without processors or without a run are left out and counted in `Workload.notes`. Times
    start with the first job that is kept.
    """

    kind: Literal["swf"] = "swf"

    vc_from: Literal["queue", "partition"] = "queue"
    """field that names the virtual cluster: the queue (field 20, else 15), or the partition (16)"""

    reads = (*COLUMNS, *MORE)
    layout = Layout(
        "18 numbers (SWF)", {18: [c.name for c in COLUMNS]}, separator=None, comment=";",
        more=[c.name for c in MORE],
    )  # fmt: skip
    example = """\
; a comment
1 100 5 60 4 -1 -1 4 60 -1 1 7 1 -1 2 -1 -1 -1
"""

    def table(self, raw: Table) -> Table:
        """The rows of jobs, without the parts of those that have a row for the whole."""
        job, part = raw.numbers("job"), np.isin(raw.numbers("status"), (2, 3, 4))
        return raw.keep(
            ~(part & np.isin(job, job[~part])),
            "rows of parts of checkpointed jobs, which count once",
        )

    def parse(self, table: Table) -> dict[str, Any]:
        """Numbers as names; what is negative is not known."""
        values = {c.name: table.numbers(c.name) for c in COLUMNS}
        gpus = np.where(values["processors"] > 0, values["processors"], values["requested"])
        names = [f"{job:.0f}" for job in values["job"]]
        user, queue, partition = (
            [f"{v:.0f}" if v >= 0 else "" for v in values[c]]
            for c in ("user", "queue", "partition")
        )
        named = table.texts("queue_name")
        if any(name and not name.lstrip("-").isdecimal() for name in named):
            queue = named
        vc = queue if self.vc_from == "queue" and any(queue) else partition
        asked_s, before = values["requested_time"], values["preceding_job"]
        if (
            len(before) > 2 and (before == before[0]).all()
        ):  # the same job before all, itself too: a constant
            before = np.full(len(before), -1.0)
        think_s = np.maximum(values["think_time"], 0)
        return {
            "requested_s": np.where(asked_s > 0, asked_s, np.nan),
            "job_id": names,
            "submit_s": _known(values["submit"]), "duration_s": _known(values["run"]),
            "start_s": _known(values["submit"]) + _known(values["wait"]),
            "state": [STATES.get(status, "") for status in values["status"].tolist()],
            "num_gpus": gpus, "user": user, "vc": vc,
            "after": [
                [Dependency(f"{job:.0f}", think)] if job > 0 else []
                for job, think in zip(before.tolist(), think_s.tolist(), strict=True)
            ],
        }  # fmt: skip

    def zero_s(self, table: Table) -> float:
        """UnixStartTime of the header; submissions may also be seconds since 1970 by themselves."""
        submit_s = table.numbers("submit")
        if SINCE_1970_S < submit_s.max() < LATEST_DATE_S:
            return 0.0
        start_s = _header(table, "UnixStartTime")
        given = re.fullmatch(r"[1-9]\d{0,9}", start_s, re.ASCII) is not None
        return float(start_s) if given and submit_s.max() < LATEST_DATE_S else np.nan

    def offset_s(self, table: Table, origin_s: float) -> float:
        """That of the header's TimeZoneString at the beginning; the seconds of a log go on evenly in summer and winter."""
        name = _header(table, "TimeZoneString")
        if not name or np.isnan(origin_s):
            return 0.0
        try:
            there = datetime.fromtimestamp(origin_s, ZoneInfo(name)).utcoffset()
        except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
            return 0.0
        return there.total_seconds() if there else 0.0


def _header(table: Table, key: str) -> str:
    """A value of the comments at the beginning; "" where it is not there."""
    found = (re.match(rf";\s*{key}:\s*(\S+)", line) for line in table.comments)
    return next((each[1] for each in found if each), "")


def _known(values: FloatArray) -> FloatArray:
    return np.where(values < 0, np.nan, values)
