"""Jobs of a run in the formats of other tools: SWF, and the file of jobs that Batsim writes."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.files import expect_writable, write_whole
from experiments.pictures.lanes import lanes_of
from experiments.scenario.reading import RunTables, read_run
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

BATSIM = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources",
    "requested_time", "success", "final_state", "starting_time", "execution_time", "finish_time",
    "waiting_time", "turnaround_time", "stretch", "allocated_resources", "consumed_energy", "metadata",
)  # fmt: skip
"""Columns of Batsim's ``_jobs.csv``."""
STATES = {
    "done": ("COMPLETED_SUCCESSFULLY", 1), "killed": ("COMPLETED_KILLED", 0),
    "failed": ("COMPLETED_FAILED", 0), "abandoned": ("COMPLETED_FAILED", 0),
    "left": ("REJECTED", 5), "rejected": ("REJECTED", 5),
}  # fmt: skip
"""By status of a job: its state in Batsim, and its status in SWF."""


def write_jobs(folder: Path, out: Path, where: Mapping[str, str] | None = None) -> Path:
    """Write the jobs of a run as ``.swf``, or as ``.csv`` in Batsim's columns; returns the path.

    Parameters
    ----------
    where : of a sweep's folder, the labels of the run.

    Raises
    ------
    InputError
        Another ending, no such run, a table of the run in this place, or it cannot be written.
    """
    made = {".swf": _swf, ".csv": _batsim}.get(out.suffix.lower())
    if made is None:
        raise InputError(
            f"--out {out}: ends in {out.suffix!r}, expected .swf, or .csv for Batsim's columns"
        )
    expect_writable(out, [folder / name for name in ("jobs.csv", "schedule.csv")])
    run = read_run(folder, where=where)
    for name in ("first_start_s", "gpus"):
        if name not in run.jobs:
            raise InputError(f"{folder / 'jobs.csv'}: column {name!r} is missing, expected it")
    try:
        write_whole(out, made(run))
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from None
    return out


def _statuses(jobs: DataFrame) -> list[str]:
    return jobs["status"].tolist() if "status" in jobs else ["done"] * len(jobs)


def _state(status: str) -> tuple[str, int]:
    return STATES.get(status, STATES["failed"])


def _swf(run: RunTables) -> str:
    """Whole seconds, as the format has them; what the tables do not tell is -1."""
    import numpy as np
    import pandas as pd

    jobs = run.jobs
    started = jobs["first_start_s"].notna()
    submit_s, start_s, end_s = (
        np.round(times).astype(int)
        for times in (
            jobs["arrival_s"],
            jobs["first_start_s"].fillna(jobs["completion_s"]),
            jobs["completion_s"],
        )
    )
    gpus = np.ceil(jobs["gpus"].fillna(-1)).astype(int)
    fields: dict[str, Any] = {
        "job": np.arange(1, len(jobs) + 1), "submit": submit_s, "wait": start_s - submit_s,
        "run": (end_s - start_s).where(started, -1), "processors": gpus.where(started, -1),
        "cpu_time": -1, "memory": -1, "requested": gpus, "requested_time": -1, "requested_memory": -1,
        "status": [_state(status)[1] for status in _statuses(jobs)], "user": _numbered(jobs, "user"),
        "group": -1, "executable": -1, "queue": _numbered(jobs, "vc"), "partition": -1,
        "preceding_job": -1, "think_time": -1,
    }  # fmt: skip
    head = ["Version: 2.2", f"MaxJobs: {len(jobs)}", "UnixStartTime: 0"]
    if run.machines is not None:
        head += [f"MaxNodes: {run.machines['num_nodes']}", f"MaxProcs: {sum(_gpus_of(run))}"]
    head += ["Note: jobs of schedlab, processors are GPUs"]
    lines = pd.DataFrame(fields).astype(str).agg(" ".join, axis=1)
    return "\n".join([*(f"; {line}" for line in head), *lines]) + "\n"


def _numbered(jobs: DataFrame, column: str) -> Any:
    """Names as numbers from 1, in order of their first job; -1 without a name."""
    if column not in jobs:
        return -1
    names = [name for name in dict.fromkeys(jobs[column].fillna("").tolist()) if name]
    return (
        jobs[column].map({name: i for i, name in enumerate(names, start=1)}).fillna(-1).astype(int)
    )


def _gpus_of(run: RunTables) -> list[int]:
    """GPUs of each node, without a file of machines the most that were in use."""
    if run.machines is None:
        most: Series = run.schedule.groupby("node")["gpus"].max()
        return [int(most.get(node, 0)) for node in range(int(run.schedule["node"].max()) + 1)]
    kinds = run.machines["node_types"]
    most_of_any = max(int(kind["gpus"] or 0) for kind in kinds)
    of_node = run.machines.get("type_of")
    return (
        [int(kinds[t]["gpus"] or 0) for t in of_node]
        if of_node
        else [most_of_any] * run.machines["num_nodes"]
    )


def _batsim(run: RunTables) -> str:
    places = _resources(run)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(BATSIM)
    for job, status in zip(run.jobs.to_dict("records"), _statuses(run.jobs), strict=True):
        submit_s, start_s, end_s = (job[n] for n in ("arrival_s", "first_start_s", "completion_s"))
        state, _ = _state(status)
        times = ("", "", end_s, "", end_s - submit_s, "")
        if start_s == start_s:  # it started
            ran_s, all_s = end_s - start_s, end_s - submit_s
            times = (
                start_s,
                ran_s,
                end_s,
                start_s - submit_s,
                all_s,
                all_s / ran_s if ran_s else "",
            )
        writer.writerow(
            (job["job_id"], "schedlab", job["job_id"], submit_s, f"{job['gpus']:g}", -1, int(status == "done"),
             state, *times, places.get(job["job_id"], ""), -1, "")
        )  # fmt: skip
    return text.getvalue()


def _resources(run: RunTables) -> dict[str, str]:
    """By job, the GPUs that it held as intervals, "0-3 8"; GPUs count from the first node on."""
    import numpy as np

    pieces: dict[str, set[int]] = {}
    offset = 0
    by_node = dict(tuple(run.schedule.sort_values("start_s", kind="stable").groupby("node")))
    for node, gpus in enumerate(_gpus_of(run)):
        if node in by_node:
            own = by_node[node]
            counts = np.ceil(own["gpus"]).astype(int).tolist()
            found, needed = lanes_of(own["start_s"].tolist(), own["end_s"].tolist(), counts)
            for job, of_share in zip(own["job_id"], found, strict=True):
                for first, many in of_share:
                    pieces.setdefault(job, set()).update(
                        range(offset + first, offset + first + many)
                    )
            gpus = max(gpus, needed)
        offset += gpus
    return {job: _intervals(sorted(held)) for job, held in pieces.items()}


def _intervals(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)
