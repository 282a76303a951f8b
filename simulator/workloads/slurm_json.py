"""Slurm's accounting as ``sacct --json`` writes it: the rows that ``sacct -P`` has of the same jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.errors import InputError
from simulator.files.inputs import read_json
from simulator.workloads.cells import as_text
from simulator.workloads.records import at
from simulator.workloads.slurm_text import epoch_date


def slurm_rows(path: Path) -> list[dict[str, str]]:
    """A row a job, its fields by the names of ``sacct -P``; raises InputError where there are none."""
    found = at(read_json(path, "the output of sacct --json"), "jobs")
    if not isinstance(found, list) or not found:
        raise InputError(f"{path}: no list 'jobs' in it, expected the output of sacct --json")
    return [_row(job) for job in found]


def _row(job: Any) -> dict[str, str]:
    state, task = at(job, "state.current"), _number(at(job, "array.task_id"))
    of_array, limit_min = _number(at(job, "array.job_id")), _number(at(job, "time.limit"))
    still_s = _number(at(job, "time.suspended"))
    return {
        "JobID": f"{of_array}_{task}" if task and of_array not in ("", "0") else as_text(at(job, "job_id")),
        "Submit": _date(at(job, "time.submission")),
        "Eligible": _date(at(job, "time.eligible")),
        "Start": _date(at(job, "time.start")),
        "End": _date(at(job, "time.end")),
        "ElapsedRaw": _number(at(job, "time.elapsed")),
        "Suspended": f"0:0:{still_s}" if still_s else "",
        "State": as_text(state[0] if isinstance(state, list) and state else state),
        "Timelimit": limit_min,
        "AllocTRES": _resources(at(job, "tres.allocated")),
        "ReqTRES": _resources(at(job, "tres.requested")),
        "User": as_text(at(job, "user")) or as_text(at(job, "association.user")),
        "Account": as_text(at(job, "account")) or as_text(at(job, "association.account")),
        "Partition": as_text(at(job, "partition")),
        "QOS": as_text(at(job, "qos")),
        "Dependency": as_text(at(job, "dependency")),
    }  # fmt: skip


def _number(value: Any) -> str:
    """A number, which newer versions write as an object; "" where it is not set."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return as_text(value)


def _date(value: Any) -> str:
    """Seconds since 1970 as a date; 0 is not known."""
    return epoch_date(_number(value))


def _resources(value: Any) -> str:
    """A list of resources as AllocTRES has it; memory is in MB."""
    parts = []
    for each in value if isinstance(value, list) else ():
        kind, name, count = (as_text(at(each, key)) for key in ("type", "name", "count"))
        parts.append(f"{kind}{'/' * bool(name)}{name}={count}{'M' * (kind == 'mem')}")
    return ",".join(parts)
