"""Microsoft's Philly trace: the public job log ``cluster_job_log`` of msr-fiddle/philly-traces, JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from simulator.errors import InputError, shortened
from simulator.files.inputs import read_json
from simulator.model.cluster import FloatArray, IntArray
from simulator.workloads.bad_rows import TOLD, Bad, BadRows
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
    """``(A,)`` index of the job, start and end of each attempt, NaN where they are not known, and its GPUs."""

    job: IntArray
    start_s: FloatArray
    end_s: FloatArray
    gpus: IntArray


class PhillyJobs(Trace):
    """Jobs of Philly's public job log, a list of objects in JSON.

    A job has the GPUs of its longest attempt, and its duration is the time that its attempts ran together, one on
    other GPUs in proportion, so that its GPU-seconds are those of the log. An attempt without a start, an end or
    GPUs, or that ends before it starts (the log's clocks go back), is an error of the log and does not count; only
    where the last one has no end, the job still runs. With ``attempts`` each attempt but the last ends in a
    failure after its own duration (`Workload.fails_at`), and the log's ``status`` is kept (`Workload.outcome`).
    Jobs without a whole run are left out and counted in `Workload.notes`. Times start with the first job that is
    kept.
    """

    kind: Literal["philly"] = "philly"
    attempts: bool = False
    """jobs fail where they failed in the log, and run again"""

    reads = COLUMNS
    example = """\
[{"jobid": "application_1", "submitted_time": "2017-10-01 10:00:00", "status": "Pass",
  "vc": "vc1", "user": "u1", "attempts": [
    {"start_time": "2017-10-01 10:00:10", "end_time": "2017-10-01 11:00:10",
     "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}]}]
"""

    @classmethod
    def likeness(cls, text: str) -> float:
        """A list of jobs with attempts."""
        return float(text[:1] == "[" and '"attempts"' in text)

    def raw(self) -> Table:
        """The entries of the list."""
        import pandas as pd

        entries = read_json(self.path, "Philly's job log in JSON")
        if not isinstance(entries, list) or not entries:
            raise InputError(f"{self.path}: no list of jobs, expected Philly's job log in JSON")
        frame = pd.DataFrame({"entry": pd.Series(entries, dtype=object)})
        return Table(Path(self.path), COLUMNS, frame, np.arange(1, len(entries) + 1), row="entry")

    def table(self, raw: Table) -> Table:
        """The jobs, without their attempts."""
        import pandas as pd

        jobs = _jobs(raw)
        table = _table(raw.path, COLUMNS, jobs, raw.lines)
        runs = _runs(len(jobs), _attempts(table, [job.attempts for job in jobs]))
        for name, values in runs.items():
            table.frame[name] = pd.Series(values, dtype=object if name == "fails_at" else None)
        return table

    def parse(self, table: Table) -> dict[str, Any]:
        """GPUs and durations follow from the attempts."""
        found = super().parse(table) | {
            name: table.frame[name].to_numpy()
            for name in ("duration_s", "num_gpus", "first_start_s", "last_end_s")
        }
        found["state"] = table.frame["status"].tolist()
        if self.attempts:
            found["fails_at"] = table.frame["fails_at"].tolist()
            found["outcome"] = [OUTCOMES[status] for status in table.texts("status")]
        return found

    def left_out(self, table: Table) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Why a job has no whole run, the first reason that holds."""
        frame = table.frame
        return {
            "never started": ~frame["started"].to_numpy(dtype=bool),
            "still run: their last attempt has no end": frame["runs"].to_numpy(dtype=bool),
            "held no GPU": ~frame["held"].to_numpy(dtype=bool),
            "have no whole run": (frame["duration_s"] == 0).to_numpy(dtype=bool),
        }

    def notes(self, table: Table, kept: npt.NDArray[np.bool_]) -> Mapping[str, int]:
        """Attempts that do not count, and those on other GPUs."""
        errors, others = (table.frame[name].to_numpy()[kept].sum() for name in ("errors", "others"))
        return {
            "attempts without a start, an end or GPUs, or that end before they start, do not count": int(
                errors
            ),
            "attempts ran on other GPUs than the longest of their job, their GPU-seconds count": int(
                others
            ),
        }


def _jobs(raw: Table) -> list[_Job]:
    """The entries as jobs; raises `BadRows` where some are none."""
    try:
        return TypeAdapter(list[_Job]).validate_python(raw.frame["entry"].tolist())
    except ValidationError as error:
        first = {int(each["loc"][0]): each for each in reversed(error.errors())}
        bad = np.array(sorted(first))
        messages = [
            f"{raw.path}, entry {raw.lines[k]}: {_problem(first[k])}" for k in bad[:TOLD].tolist()
        ]
        raise BadRows(
            Bad(raw.path, "expected Philly's job log", "entry", raw.lines[bad], messages)
        ) from None


def _problem(problem: ErrorDetails) -> str:
    key = ".".join(map(str, problem["loc"][1:]))
    if problem["type"] == "missing":
        return f"{key} is missing, expected it in Philly's job log"
    expected = problem["msg"].replace("Input should be a valid ", "a ").split(" or ")[0]
    return f"{key or 'job'} is {shortened(repr(problem['input'])[:201])}, expected {expected}"


def _table(
    path: Path, columns: tuple[InputColumn, ...], rows: list[Any], entries: IntArray
) -> Table:
    """Attributes of the rows as texts; "None" stands for a text that is not there."""
    texts = {c.name: [getattr(row, c.name) or "" for row in rows] for c in columns}
    import pandas as pd

    frame = pd.DataFrame(texts, dtype=object).replace("None", "")
    return Table(path, columns, frame, entries, row="entry")


def _attempts(jobs: Table, attempts: list[list[_Attempt]]) -> _Attempts:
    owner = np.repeat(np.arange(len(attempts)), [len(of_job) for of_job in attempts])
    rows = [one for of_job in attempts for one in of_job]
    table = _table(jobs.path, ATTEMPTS, rows, jobs.lines[owner])
    gpus = [sum(len(machine.gpus) for machine in row.detail or ()) for row in rows]
    return _Attempts(
        owner, table.dates("start_time"), table.dates("end_time"), np.array(gpus, np.int64)
    )


def _runs(count: int, tries: _Attempts) -> dict[str, Any]:
    """Runs that the attempts of ``count`` jobs come to, a value a job."""
    job, ran_s = tries.job, tries.end_s - tries.start_s
    whole = (ran_s >= 0) & (tries.gpus > 0)
    num_gpus, runs = np.zeros(count, np.int64), np.zeros(count, bool)
    shortest_first = np.argsort(ran_s, kind="stable")
    shortest_first = shortest_first[whole[shortest_first]]
    num_gpus[job[shortest_first]] = tries.gpus[shortest_first]  # of equal indices, the last counts
    others = whole & (tries.gpus != num_gpus[job])
    alike_s = np.where(whole, ran_s * tries.gpus / np.maximum(num_gpus[job], 1), 0.0)
    runs[job] = np.isnan(tries.end_s)  # of the last attempt
    duration_s = np.bincount(job, alike_s, count).astype(np.float64)
    duration_s[runs] = 0.0

    first_s, last_s = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(first_s, job[whole], tries.start_s[whole])
    np.maximum.at(last_s, job[whole], tries.end_s[whole])

    def number(of: npt.NDArray[np.bool_]) -> IntArray:
        return np.bincount(job[of], minlength=count).astype(np.int64)

    return {
        "num_gpus": num_gpus, "duration_s": duration_s, "runs": runs,
        "first_start_s": first_s, "last_end_s": last_s,
        "started": number(np.isfinite(tries.start_s)) > 0, "errors": number(~whole),
        "held": number(tries.gpus > 0) > 0, "others": number(others), "fails_at": _fails_at(count, job, alike_s),
    }  # fmt: skip


def _fails_at(count: int, job: IntArray, ran_s: FloatArray) -> list[tuple[float, ...]]:
    """By job, the parts of its time at which an attempt ended and another one followed."""
    of_job: list[list[float]] = [[] for _ in range(count)]
    for owner, seconds in zip(job.tolist(), ran_s.tolist(), strict=True):
        if seconds > 0:  # others did not run
            of_job[owner].append(seconds)
    ends = [np.cumsum(parts) for parts in of_job]
    return [tuple((e[:-1] / e[-1]).tolist()) if len(e) else () for e in ends]
