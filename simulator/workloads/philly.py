"""Microsoft's Philly trace: the public job log ``cluster_job_log`` of msr-fiddle/philly-traces, JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from simulator.errors import InputError
from simulator.files.inputs import read_json
from simulator.model.cluster import FloatArray, IntArray
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace

OUTCOMES = {"Pass": "passed", "Killed": "killed", "Failed": "failed", "Running": ""}
"""End of a job, by the log's ``status``."""

COLUMNS = (
    InputColumn("jobid", "", "name of the job", "text", gives="job_id"),
    InputColumn("submitted_time", "", "time of submission", "date", gives="submit_s"),
    InputColumn("status", "", "end of the job, read with attempts = true", "text",
                required=False, choices=tuple(OUTCOMES)),
    InputColumn("vc", "", "virtual cluster", "text", required=False, empty="", gives="vc"),
    InputColumn("user", "", "owner of the job", "text", required=False, empty="", gives="user"),
)  # fmt: skip
"""Keys of a job; ``attempts`` is a list of `ATTEMPTS`."""

ATTEMPTS = (
    InputColumn("start_time", "", "start of the attempt", "date", empty=np.nan),
    InputColumn("end_time", "", "end of the attempt; none: it still runs", "date", empty=np.nan),
)
"""Keys of an attempt; ``detail`` is a list of machines, each with a list ``gpus``."""


class _Machine(BaseModel):
    gpus: list[Any]


class _Attempt(BaseModel):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[_Machine] | None = None


class _Job(BaseModel):
    jobid: str
    submitted_time: str
    attempts: list[_Attempt]
    status: str = ""
    vc: str | None = None
    user: str | None = None


class _Attempts(NamedTuple):
    """``(A,)`` index of the job, and seconds that each attempt ran, NaN while it still runs."""

    job: IntArray
    ran_s: FloatArray


class PhillyJobs(Trace):
    """Jobs of Philly's public job log, a list of objects in JSON.

    A job's GPUs are those of its first attempt, its duration is the time that its attempts ran
    together. With ``attempts`` each attempt but the last ends in a failure after its own duration
    (`Workload.fails_at`), and the log's ``status`` is kept (`Workload.outcome`). Jobs that never ran,
    held no GPU, or still ran when the log was taken are left out and counted in `Workload.notes`.
    Times start with the first job that is kept.
    """

    kind: Literal["philly"] = "philly"
    attempts: bool = False
    """jobs fail where they failed in the log, and run again"""

    columns = COLUMNS
    example = """\
[{"jobid": "application_1", "submitted_time": "2017-10-01 10:00:00", "status": "Pass",
  "vc": "vc1", "user": "u1", "attempts": [
    {"start_time": "2017-10-01 10:00:10", "end_time": "2017-10-01 11:00:10",
     "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}]}]
"""
    a_run = "a whole run"

    @classmethod
    def likeness(cls, text: str) -> float:
        """A list of jobs with attempts; in doubt, any JSON."""
        return 0.5 * (text[:1] in ("[", "{")) + 0.5 * (text[:1] == "[" and '"attempts"' in text)

    def table(self) -> Table:
        """The jobs, without their attempts."""
        import pandas as pd

        jobs = _load(Path(self.path))
        table = _table(Path(self.path), COLUMNS, jobs, np.arange(len(jobs)))
        table.frame["attempts"] = pd.Series([job.attempts for job in jobs], dtype=object)
        return table

    def parse(self, table: Table) -> dict[str, Any]:
        """GPUs and durations follow from the attempts."""
        attempts = table.frame["attempts"].tolist()
        tries = _attempts(table.path, attempts)
        duration_s = np.bincount(tries.job, np.nan_to_num(tries.ran_s), len(table)).astype(
            np.float64
        )
        duration_s[tries.job[np.isnan(tries.ran_s)]] = 0.0  # it still runs
        firsts = [of_job[0].detail or () if of_job else () for of_job in attempts]
        found = super().parse(table) | {
            "duration_s": duration_s,
            "num_gpus": np.array([sum(len(m.gpus) for m in first) for first in firsts], np.int64),
        }
        if self.attempts:
            found["fails_at"] = _fails_at(len(table), tries)
            found["outcome"] = [OUTCOMES[status] for status in table.texts("status")]
        return found


def _load(path: Path) -> list[_Job]:
    entries = read_json(path, "Philly's job log in JSON")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: no list of jobs, expected Philly's job log in JSON")
    try:
        return TypeAdapter(list[_Job]).validate_python(entries)
    except ValidationError as error:
        problem = error.errors()[0]
        entry, *keys = problem["loc"]
        where = f"{path}, entry {int(entry) + 1}"
        key = ".".join(map(str, keys))
        if problem["type"] == "missing":
            raise InputError(
                f"{where}: {key} is missing, expected it in Philly's job log"
            ) from None
        shown = repr(problem["input"])
        value = shown if len(shown) <= 200 else f"{shown[:200]}.."
        expected = problem["msg"].replace("Input should be a valid ", "a ").split(" or ")[0]
        raise InputError(f"{where}: {key or 'job'} is {value}, expected {expected}") from None


def _table(
    path: Path, columns: tuple[InputColumn, ...], rows: list[Any], entries: IntArray
) -> Table:
    """Attributes of the rows as texts; "None" stands for a text that is not there."""
    texts = {c.name: [getattr(row, c.name) or "" for row in rows] for c in columns}
    import pandas as pd

    frame = pd.DataFrame(texts, dtype=object).replace("None", "")
    return Table(path, columns, frame, entries + 1, row="entry")


def _attempts(path: Path, attempts: list[list[_Attempt]]) -> _Attempts:
    owner = np.repeat(np.arange(len(attempts)), [len(of_job) for of_job in attempts])
    table = _table(path, ATTEMPTS, [one for of_job in attempts for one in of_job], owner)
    return _Attempts(owner, table.dates("end_time") - table.dates("start_time"))


def _fails_at(count: int, tries: _Attempts) -> list[tuple[float, ...]]:
    """By job, the parts of its time at which an attempt ended and another one followed."""
    of_job: list[list[float]] = [[] for _ in range(count)]
    for job, seconds in zip(tries.job.tolist(), tries.ran_s.tolist(), strict=True):
        if seconds > 0:  # others did not run; NaN: it still ran
            of_job[job].append(seconds)
    ends = [np.cumsum(parts) for parts in of_job]
    return [tuple((e[:-1] / e[-1]).tolist()) if len(e) else () for e in ends]
