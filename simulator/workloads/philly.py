"""Microsoft's Philly trace: the public job log (JSON), and its plain table.

``cluster_job_log`` of msr-fiddle/philly-traces is a list of jobs, each with ``jobid``, ``vc``,
``submitted_time`` and ``attempts``; an attempt has ``start_time``, ``end_time`` and, in
``detail``, the GPUs that it held on each machine. The plain table is a CSV file (gzip allowed)
``job_id,submit_time_s,duration_s,num_gpus,virtual_cluster``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simulator.errors import InputError
from simulator.inputs import read_json
from simulator.model.cluster import FloatArray
from simulator.model.workload import Workload
from simulator.workloads.logs import jobs_that_ran
from simulator.workloads.plain_csv import OPTIONAL, REQUIRED, workload_of
from simulator.workloads.tables import Table

OUTCOMES = {"Pass": "passed", "Killed": "killed", "Failed": "failed", "Running": ""}
"""How a job ended, by the log's ``status``."""

TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


def read_philly_table(path: str | Path, virtual_cluster: str | None = None) -> Workload:
    """Jobs of the plain table, all or those of one virtual cluster (times start at its first).

    Raises
    ------
    InputError
        The first thing wrong with the file, or a virtual cluster without jobs.
    """
    table = Table.read(path, REQUIRED, (*OPTIONAL, "virtual_cluster"))
    if virtual_cluster is None:
        return workload_of(table)
    if "virtual_cluster" not in table:
        raise InputError(f"{path}: column 'virtual_cluster' is missing, expected it to choose by")
    chosen = (table.frame["virtual_cluster"] == virtual_cluster).to_numpy(dtype=bool)
    if not chosen.any():
        known = ", ".join(sorted(set(table.frame["virtual_cluster"])))
        raise InputError(f"{path}: no job of {virtual_cluster!r}, expected one of {known}")
    table = table.keep(chosen)
    submit_s = table.numbers("submit_time_s", at_least=0)
    shift = float(submit_s.min())
    table.frame["submit_time_s"] = [repr(t) for t in (submit_s - shift).tolist()]
    if "due_s" in table:
        due = table.numbers("due_s", at_least=0, empty=np.inf) - shift
        table.frame["due_s"] = ["" if np.isinf(t) else repr(t) for t in due.tolist()]
    return workload_of(table)


def read_philly(path: str | Path, attempts: bool = False) -> Workload:
    """Jobs of the public job log.

    A job's GPUs are those of its first attempt, its duration is the time that its attempts ran
    together. With ``attempts`` each attempt but the last ends in a failure after its own duration
    (`Workload.fails_at`), and the log's ``status`` is kept (`Workload.outcome`). Jobs that never ran, held no GPU, or still ran when the log was taken are left out
    and counted in `Workload.notes`. Times start with the first job that is kept.

    Raises
    ------
    InputError
        Not such a log: the line of a syntax error, or the first entry that lacks something.
    """
    path = Path(path)
    entries = _load(path)
    submitted: list[str] = []
    gpus: list[int] = []
    names: list[str] = []
    owner: list[int] = []
    starts: list[str | None] = []
    ends: list[str | None] = []
    for i, entry in enumerate(entries):
        name, tries = _check(path, i, entry)
        names.append(name)
        submitted.append(entry["submitted_time"])
        gpus.append(_held(path, i, name, tries[0]) if tries else 0)
        for attempt in tries:
            owner.append(i)
            starts.append(attempt.get("start_time"))
            ends.append(attempt.get("end_time"))
    submit_s = _seconds(path, submitted, "submitted_time", names)
    owners = [names[i] for i in owner]
    ran = _seconds(path, ends, "end_time", owners) - _seconds(path, starts, "start_time", owners)
    open_end = np.zeros(len(names), dtype=bool)
    open_end[np.array(owner, dtype=np.int64)[np.isnan(ran)]] = True
    duration_s = np.zeros(len(names))
    np.add.at(duration_s, owner, np.nan_to_num(ran))
    if np.isnan(submit_s).any():
        lost = names[int(np.argmax(np.isnan(submit_s)))]
        raise InputError(f"{path}: job {lost!r}: submitted_time is empty, expected {TIME_FORMAT}")
    return jobs_that_ran(
        path,
        names,
        submit_s,
        np.where(open_end, 0.0, duration_s),
        np.array(gpus, dtype=np.int64),
        user=[str(entry.get("user") or "") for entry in entries],
        vc=[str(entry.get("vc") or "") for entry in entries],
        run="a whole run",
        fails_at=_fails_at(len(names), owner, ran) if attempts else (),
        outcome=[_outcome(path, i, entry) for i, entry in enumerate(entries)] if attempts else (),
    )


def _fails_at(count: int, owner: list[int], ran_s: FloatArray) -> list[tuple[float, ...]]:
    """By job, the parts of its time at which an attempt ended and another one followed."""
    of_job: list[list[float]] = [[] for _ in range(count)]
    for job, seconds in zip(owner, ran_s.tolist(), strict=True):
        if seconds > 0:  # others did not run; NaN: it still ran
            of_job[job].append(seconds)
    ends = [np.cumsum(parts) for parts in of_job]
    return [tuple((e[:-1] / e[-1]).tolist()) if len(e) else () for e in ends]


def _outcome(path: Path, i: int, entry: dict[str, Any]) -> str:
    status = entry.get("status")
    if not isinstance(status, str) or status not in OUTCOMES:
        raise InputError(
            f"{path}, entry {i + 1}: status is {_brief(status)}, expected one of {', '.join(OUTCOMES)}"
        )
    return OUTCOMES[status]


def _load(path: Path) -> list[Any]:
    entries = read_json(path, "Philly's job log in JSON")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: no list of jobs, expected Philly's job log in JSON")
    return entries


def _check(path: Path, i: int, entry: Any) -> tuple[str, list[dict[str, Any]]]:
    """Name and attempts of one entry."""
    where = f"{path}, entry {i + 1}"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: {_brief(entry)}, expected a job")
    for key, kind in (("jobid", str), ("submitted_time", str), ("attempts", list)):
        if not isinstance(entry.get(key), kind):
            raise InputError(
                f"{where}: {key} is {_brief(entry.get(key))}, expected a {kind.__name__}"
            )
    for attempt in entry["attempts"]:
        if not isinstance(attempt, dict):
            raise InputError(
                f"{where}: attempt {_brief(attempt)}, expected start_time and end_time"
            )
    return entry["jobid"], entry["attempts"]


def _held(path: Path, i: int, name: str, attempt: dict[str, Any]) -> int:
    """GPUs of one attempt."""
    detail = attempt.get("detail") or []
    lists = isinstance(detail, list) and all(
        isinstance(machine, dict) and isinstance(machine.get("gpus"), list) for machine in detail
    )
    if not lists:
        raise InputError(
            f"{path}, entry {i + 1}: job {name!r}: detail is {_brief(detail)}, "
            "expected the gpus of each machine, a list"
        )
    return sum(len(machine["gpus"]) for machine in detail)


def _brief(value: Any) -> str:
    """A value for a message; a long one cut."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}.."


def _seconds(path: Path, times: list[Any], key: str, names: list[str]) -> FloatArray:
    """Seconds since 1970, NaN where the log has none."""
    texts = pd.Series([None if t in (None, "None", "") else str(t) for t in times], dtype=object)
    # pandas takes "now" and "today" for times whatever the format says.
    shaped = texts.where(texts.str.fullmatch(r"(19|20|21)\d\d[\d :-]+").fillna(False).astype(bool))
    parsed = pd.to_datetime(shaped, format=TIME_FORMAT, errors="coerce")
    bad = (texts.notna() & parsed.isna()).to_numpy(dtype=bool)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"{path}: job {names[i]!r}: {key} is {times[i]!r}, expected {TIME_FORMAT}")
    seconds = (parsed - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
    return np.asarray(seconds, dtype=np.float64)
