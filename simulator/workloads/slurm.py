"""Jobs of Slurm's accounting, as ``sacct -P`` writes them (also ``--parsable``, ``--json``, or CSV)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from simulator.errors import InputError
from simulator.files.inputs import read_input
from simulator.model.cluster import FloatArray
from simulator.workloads.following import NOT_CARRIED_OUT, following
from simulator.workloads.plausible import with_first
from simulator.workloads.records import records_table
from simulator.workloads.slurm_json import slurm_rows
from simulator.workloads.slurm_text import (
    UNLIMITED,
    amount_of,
    epoch_date,
    gpu_type_of,
    gpu_types_in,
    gpus_of,
    has_slices,
    seconds_of,
)
from simulator.workloads.table import AskedPlaces
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = ("None", "Unknown", "N/A", "INVALID")
DATES = ("Submit", "Start", "End", "Eligible")
RUNNING = (
    "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT",
    "CONFIGURING",
)  # fmt: skip
"""States of jobs that have started and not ended."""


class SlurmJobs(Trace):
    """Jobs of ``sacct -P`` or ``sacct --json`` that ran on GPUs, from start to end; times are read in UTC without a zone.

    Steps (``1001.batch``) are no jobs. Jobs that never started, still run, held no GPU, or ended as they
    started are left out and counted in `Workload.notes`; in their rows, what is no date is not known.
    The rows of a requeued job (``-D``) are jobs of their own.
    """

    kind: Literal["slurm"] = "slurm"
    running: Literal["leave-out", "until-now"] = "leave-out"
    """jobs that still run: left out, or as long as until the last time in the file (censored)"""
    waits_from: Literal["submit", "eligible"] = "submit"
    """from when a job waits: from its submission, or from when it could start (Eligible)"""

    nodes: AskedPlaces = "any"
    """whether jobs lie on as many nodes as ReqTRES says (node=2), in equal parts"""

    reads = (
        InputColumn("JobID", "", "number of the job", "text", gives="job_id"),
        InputColumn("Submit", "", "time of submission", "date", empty=np.nan),
        InputColumn("Eligible", "", "from when it could start", "date", required=False, empty=np.nan),
        InputColumn("Start", "", "begin of the run", "date", empty=np.nan),
        InputColumn("End", "", "end of the run", "date", empty=np.nan),
        InputColumn("State", "", "how it ended", "text", required=False, empty=""),
        InputColumn("Timelimit", "", "time asked for: 1-02:00:00, or minutes", "text",
                    required=False, empty=""),
        InputColumn("TimelimitRaw", "min", "time asked for, where Timelimit is not there: minutes, or UNLIMITED",
                    "text", required=False, empty=""),
        InputColumn("ElapsedRaw", "s", "time that it ran, without suspensions: counts before End - Start",
                    "number", required=False, empty=np.nan, at_least=0),
        InputColumn("Elapsed", "", "the same as 1-02:00:00, where ElapsedRaw is not there", "text",
                    required=False, empty=""),
        InputColumn("Suspended", "", "how long it stood still, where no elapsed time is there", "text",
                    required=False, empty=""),
        InputColumn("AllocTRES", "", "what it held: gres/gpu=8,cpu=64,mem=512G", "text",
                    required=False, empty=""),
        InputColumn("ReqTRES", "", "what it asked for, where AllocTRES is empty", "text",
                    required=False, empty=""),
        InputColumn("AllocGPUS", "", "GPUs, where neither is there", "integer", required=False,
                    empty=0, at_least=0),
        InputColumn("AllocCPUS", "", "CPUs, where the lists of resources name none", "integer",
                    required=False, empty=0, at_least=0),
        InputColumn("User", "", "owner", "text", required=False, empty="", gives="user"),
        InputColumn("Account", "", "who pays for it", "text", required=False, empty="", gives="account"),
        InputColumn("Partition", "", "virtual cluster", "text", required=False, empty="", gives="vc"),
        InputColumn("Dependency", "", "jobs that it follows: afterok:7:8,afterany:9", "text",
                    required=False, empty=""),
        InputColumn("QOS", "", "quality of service", "text", required=False, empty="", gives="qos"),
    )  # fmt: skip
    written = "the output of sacct -P"
    duration_counts: ClassVar[bool] = True
    example = """\
JobID|Submit|Start|End|State|AllocTRES|User|Partition
7|2026-01-05T08:00:00|2026-01-05T08:00:10|2026-01-05T09:00:10|COMPLETED|cpu=8,gres/gpu=2,node=1|u1|gpu
"""

    @classmethod
    def likeness(cls, text: str) -> float:
        """A header of sacct, or what ``sacct --json`` says of a job."""
        if text.startswith("{"):
            return float('"jobs"' in text and '"tres"' in text and '"submission"' in text)
        header = text.partition("\n")[0].lower()
        return super().likeness(text) if re.search(r"(alloc|req)(tres|gpus)|\|", header) else 0.0

    def raw(self) -> Table:
        """The rows of the file."""
        path = Path(self.path)
        beginning = read_input(path, "the output of sacct").lstrip()
        if beginning[:1] == b"{" and b'"jobs"' in beginning[:100_000]:
            return records_table(path, self.reads, slurm_rows(path))
        return super().raw()

    def table(self, raw: Table) -> Table:
        """The rows of jobs, without those of their steps; what is unknown is empty."""
        if not {"AllocTRES", "ReqTRES", "AllocGPUS"} & set(raw.frame):
            raise InputError(
                f"{raw.path}: column 'AllocTRES' is missing, expected it (or ReqTRES, AllocGPUS)"
            )
        known = raw.frame.where(~raw.frame.isin(UNKNOWN), "")
        jobs = ~known["JobID"].str.contains(".", regex=False).to_numpy(dtype=bool)
        table = replace(raw, frame=known).keep(jobs, "rows of steps, which are no jobs")
        no_run = self._no_run(table)
        for name in DATES:
            if name in table:
                table.frame[name] = _dated(table.frame[name])
                bad = no_run & np.isnan(table.known_dates(name))
                table.frame[name] = table.frame[name].where(~bad, "")
        return table

    def parse(self, table: Table) -> dict[str, Any]:
        """A job runs from start to end on what AllocTRES says, else ReqTRES."""
        start_s, end_s, submit_s = table.dates("Start"), self._end_s(table), table.dates("Submit")
        no_run = self._no_run(table)
        table.require("End", ~(end_s < start_s) | no_run, "a time not before Start")
        if self.waits_from == "eligible":
            submit_s = np.fmax(submit_s, table.dates("Eligible"))
        held, asked, gpus = self._held(table), table.texts("ReqTRES"), self._gpus(table)
        nodes = np.nan_to_num(_each(asked, lambda text: amount_of(text, "node")))
        divides = (self.nodes == "as-asked") & (gpus % np.maximum(nodes, 1) == 0)
        return super().parse(table) | {
            "submit_s": submit_s, "start_s": start_s, "end_s": end_s, "num_gpus": gpus,
            "duration_s": self._elapsed_s(table),
            "state": [text.partition(" ")[0] for text in table.texts("State")],
            "num_nodes": np.where(divides, nodes, 0).astype(np.int64),
            "gpu_types": [gpu_types_in(text) for text in asked],
            "after": [following(text)[0] for text in table.texts("Dependency")],
            "requested_s": _limits_s(table, no_run),
            "num_cpus": _cpus(table, held),
            "memory_gb": _each(held, lambda text: amount_of(text, "mem") / 1e9),
            "gpu_type": [gpu_type_of(text) for text in held],
        }  # fmt: skip

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Why a job has no run, the first reason that holds."""
        return {
            "never started": np.isnan(table.dates("Start")),
            "still run, or their end is unknown": np.isnan(self._end_s(table)),
        }

    def notes(self, table: Table, kept: Any) -> Mapping[str, int]:
        """Jobs whose end is not known, and dependencies of other kinds."""
        open_ended = kept & np.isnan(table.dates("End"))
        others = np.array([following(text)[1] > 0 for text in table.texts("Dependency")])
        parts = np.array(["+" in name for name in table.texts("JobID")])
        sliced = np.array([has_slices(text) for text in self._held(table)])
        return {
            with_first(
                table,
                kept & parts,
                "rows are parts of heterogeneous jobs, read as jobs of their own",
            ): int((kept & parts).sum()),
            with_first(
                table,
                kept & sliced,
                "jobs hold slices of GPUs (MIG), which count as their part of a GPU",
            ): int((kept & sliced).sum()),
            "jobs still run, counted until the last time in the file": int(open_ended.sum()),
            NOT_CARRIED_OUT: int((kept & others).sum()),
        }

    def zero_s(self, table: Table) -> float:
        """Times are dates."""
        return 0.0

    def _elapsed_s(self, table: Table) -> FloatArray:
        """Time that each job ran, where the file tells it; of one that still runs it is not the whole."""
        raw_s = table.numbers("ElapsedRaw")
        elapsed_s = _each(table.texts("Elapsed"), seconds_of)
        elapsed_s = np.where(np.isnan(raw_s), elapsed_s, raw_s)
        ran_s = table.dates("End") - table.dates("Start")
        left_s = ran_s - _each(table.texts("Suspended"), seconds_of)
        elapsed_s = np.where(np.isnan(elapsed_s) & (left_s >= 0), left_s, elapsed_s)
        return np.where(np.isnan(ran_s), np.nan, elapsed_s)

    def _end_s(self, table: Table) -> FloatArray:
        end_s = table.dates("End")
        if self.running == "leave-out":
            return end_s
        times = np.concatenate([end_s, table.dates("Start"), table.dates("Submit"), [-np.inf]])
        return np.where(np.isnan(end_s) & _runs(table), np.nanmax(times), end_s)

    def _no_run(self, table: Table) -> Any:
        """Rows that are left out, whatever their other values are."""
        empty = {name: (table.frame[name] == "").to_numpy(dtype=bool) for name in DATES[:3]}
        if self.running == "until-now":
            empty["End"] = empty["End"] & ~_runs(table)
        return np.logical_or.reduce([*empty.values(), self._gpus(table) == 0])

    @staticmethod
    def _held(table: Table) -> list[str]:
        both = zip(table.texts("AllocTRES"), table.texts("ReqTRES"), strict=True)
        return [held or asked for held, asked in both]

    def _gpus(self, table: Table) -> Any:
        return (
            _each(self._held(table), gpus_of)
            if {"AllocTRES", "ReqTRES"} & set(table.frame)
            else table.whole_numbers("AllocGPUS")
        )


def _dated(texts: pd.Series[str]) -> pd.Series[str]:
    """Dates; seconds since 1970 (SLURM_TIME_FORMAT=%s) as dates, 0 as what is not known."""
    if not texts.str.fullmatch(r"\d{1,10}").any():
        return texts
    return texts.map(epoch_date)


def _cpus(table: Table, held: list[str]) -> FloatArray:
    """CPUs of the lists of resources, else of AllocCPUS."""
    listed, alloc = (
        _each(held, lambda text: amount_of(text, "cpu")),
        table.whole_numbers("AllocCPUS"),
    )
    return np.where(np.isnan(listed) & (alloc > 0), alloc, listed)


def _each(texts: list[str], read: Callable[[str], float]) -> FloatArray:
    """A number a text."""
    return np.array([read(text) for text in texts], dtype=np.float64)


def _runs(table: Table) -> Any:
    return np.array([text.partition(" ")[0] in RUNNING for text in table.texts("State")])


def _limits_s(table: Table, no_run: Any) -> FloatArray:
    name = "Timelimit" if "Timelimit" in table else "TimelimitRaw"
    texts = table.texts(name)
    limits_s = _each(texts, seconds_of)
    none = np.array([text.upper() in UNLIMITED for text in texts])
    if name in table:
        table.require(name, (limits_s >= 0) | none | no_run, "a time like 1-02:00:00, or UNLIMITED")
    return np.where(limits_s > 0, limits_s, np.nan)
