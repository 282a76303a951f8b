"""Public traces: what all formats of files of jobs have in common. A format says how a row is read, and nothing else.

class Mine(Trace):
    "Jobs of a log of mine."

    kind: Literal["mine"] = "mine"
    reads = (InputColumn("name", "", "name", "text", gives="job_id"), ..)
    example = "name,begun,ran_min,gpus\\na,0,60,2\\n"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from simulator.errors import InputError
from simulator.files.keys import InputFile, KeyedError, NonNegative, PositiveInt
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import FixedDuration, JobTimes
from simulator.model.workload import Workload
from simulator.schema import Values, taken
from simulator.workloads.synergy.traces import models_of_split
from simulator.workloads.table import Modelled, Redrawn, Setting, Split
from simulator.workloads.tables import HEADER, InputColumn, Layout, Table


class Trace(Modelled, Redrawn):
    """A file of jobs of fixed demand.

    Attributes
    ----------
    reads : what is read of each job; with ``gives``, what it becomes.
    layout : how the file is written.
    example : a file with one job.
    is_log : whether the file tells what ran: jobs without a duration or a GPU are then left out with a
        count, and times start with the first job that is kept. Else each row is a job to be run.
    a_job, a_run : words for a row, and for what those that are left out did not have.
    """

    path: InputFile = Field(examples=["jobs.csv"])
    """file of the trace"""
    between_h: list[NonNegative] | None = Field(
        default=None, min_length=2, max_length=2, examples=[[2400, 3000]]
    )
    """only the jobs submitted from so many to so many hours after the first"""
    max_jobs: PositiveInt | None = Field(default=None, examples=[1000])
    """the first so many jobs only"""
    kill_at_limit: bool = False
    """whether a job ends when it has run for the time that it asked for, its work done or not"""
    split: Split | None = Field(default=None, examples=[[20, 70, 10]])
    """shares of image, language and speech models, for speeds by CPUs and memory"""

    reads: ClassVar[tuple[InputColumn, ...]]
    layout: ClassVar[Layout] = HEADER
    example: ClassVar[str]
    is_log: ClassVar[bool] = True
    a_job: ClassVar[str] = "job"
    a_run: ClassVar[str] = "a run"

    @classmethod
    def likeness(cls, text: str) -> float:
        """Likeness of a file to this format, from 0 to 1, by its first characters."""
        return cls.layout.likeness(text, cls.reads)

    def table(self) -> Table:
        """The rows of the file."""
        return Table.read(self.path, self.reads, self.layout)

    def parse(self, table: Table) -> dict[str, Any]:
        """Columns of `Workload`, a value a row; duration_s and num_gpus among them."""
        return {c.gives: table.values(c.name) for c in self.reads if c.gives}

    def notes(self, table: Table, kept: npt.NDArray[np.bool_]) -> Mapping[str, int]:
        """Further notes on the rows that are kept: words, and how many rows."""
        return {}

    def left_out(self, table: Table) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Why rows have no run on a GPU: words, and ``(R,)`` where they hold; a row counts once, at the first."""
        return {}

    def read(self) -> Workload:
        """The jobs of the file, as they are.

        Raises InputError: no such file, or the first thing wrong in it: file, line, column, value, what was
        expected.
        """
        table = self.table()
        columns = self.parse(table)
        if self.is_log:
            return self._that_ran(table, **columns)
        key = next(c.name for c in self.reads if c.gives == "submit_s")
        times = FixedDuration(columns.pop("duration_s"), columns.pop("num_gpus"))
        jobs = by_submission(table.path, key, columns.pop("submit_s"), times, **columns)
        unused = ", ".join(table.ignored)
        return jobs.noted(f"{table.path}: columns not used: {unused}") if unused else jobs

    def _that_ran(
        self, table: Table, submit_s: FloatArray, duration_s: FloatArray, num_gpus: IntArray,
        **columns: Values,
    ) -> Workload:  # fmt: skip
        kept = (duration_s > 0) & (num_gpus > 0) & np.isfinite(submit_s)
        if not kept.any():
            raise InputError(
                f"{self.path}: no {self.a_job} that ran on a GPU, expected one at least"
            )
        jobs = np.flatnonzero(kept)
        jobs = jobs[np.argsort(submit_s[jobs], kind="stable")]
        counts = dict(table.dropped)
        rest = ~kept
        for why, rows in self.left_out(table).items():
            if (rows & rest).any():
                first = table.lines[int(np.argmax(rows & rest))]
                what = f"{self.a_job}s {why}, left out (the first in {table.row} {first})"
                counts[what] = int((rows & rest).sum())
            rest &= ~rows
        counts[f"{self.a_job}s without {self.a_run} on a GPU, left out"] = int(rest.sum())
        counts |= self.notes(table, kept)
        return Workload(
            submit_s=submit_s[jobs] - submit_s[jobs[0]],
            performance=FixedDuration(duration_s[jobs], num_gpus[jobs]),
            notes=tuple(f"{self.path}: {count} {what}" for what, count in counts.items() if count),
            **taken(columns, jobs),
        )

    def make(self, setting: Setting) -> Workload:
        """The jobs of the file that are asked for."""
        jobs = self.read()
        if self.between_h is not None:
            first, last = self.between_h
            after_h = (jobs.submit_s - jobs.submit_s.min()) / 3600
            chosen = np.flatnonzero((first <= after_h) & (after_h < last))
            if not len(chosen):
                raise KeyedError(
                    "workload.between_h",
                    f"no job is submitted {first:g} to {last:g} h after the first, expected some of the {after_h.max():g} h",
                )
            jobs = replace(jobs, **jobs.rows(chosen))
        if self.max_jobs is not None:
            jobs = jobs.head(self.max_jobs)
        if self.kill_at_limit:
            jobs = killed_at_limit(jobs)
        if self.split is not None:
            jobs = replace(jobs, model=models_of_split(len(jobs), self.split))
        return self.redrawn(jobs, setting)


def killed_at_limit(jobs: Workload) -> Workload:
    """The jobs, none longer than the time that it asked for; those that are cut short end as killed."""
    duration_s, asked_s = jobs.performance.fixed_s, jobs.requested_s
    if duration_s is None or np.isnan(asked_s).all():
        raise KeyedError(
            "workload.kill_at_limit",
            "the jobs state no time that they ask for, expected a column of it",
        )
    over = duration_s > asked_s
    outcome = np.array(jobs.outcome or ("",) * len(jobs), dtype=object)
    outcome[over] = "killed"
    times = FixedDuration(np.where(over, asked_s, duration_s), jobs.num_gpus)
    cut = replace(jobs, performance=times, outcome=outcome.tolist())
    return cut.noted(f"kill_at_limit: {over.sum()} of {len(jobs)} jobs are killed at their limit")


def by_submission(
    path: Path,
    key: str,
    submit_s: FloatArray,
    performance: JobTimes,
    notes: Sequence[str] = (),
    **columns: Sequence[Any] | FloatArray | IntArray,
) -> Workload:
    """The jobs of a table, with a note where its rows were in another order.

    Parameters
    ----------
    key : the table's name of the time of submission.
    columns : further columns of `Workload`, a value a row.
    """
    order = np.argsort(submit_s, kind="stable")
    if late := int(np.sum(np.diff(submit_s) < 0)):
        notes = (*notes, f"{path}: {late} rows before an earlier one, sorted by {key}")
    return Workload(
        submit_s=submit_s[order],
        performance=performance.take(order),
        notes=tuple(notes),
        **taken(columns, order),
    )
