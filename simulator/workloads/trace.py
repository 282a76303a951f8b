"""Public traces: what all formats of files of jobs have in common. A format says how a row is read, and nothing else.

For example:

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
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from simulator.errors import InputError
from simulator.files.keys import InputFile, KeyedError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.fractional import SharedDuration
from simulator.model.performance import FixedDuration, JobTimes
from simulator.model.tolerances import PART_OF_A_GPU
from simulator.model.workload import Workload
from simulator.schema import taken
from simulator.workloads.cells import container_of
from simulator.workloads.following import resolved
from simulator.workloads.kinds import FORMATS
from simulator.workloads.networks.named import models_of_split
from simulator.workloads.plausible import doubles, doubts, with_first, without_zeros
from simulator.workloads.pods import whole_gpus
from simulator.workloads.recorded import recorded_by
from simulator.workloads.selection import Selected
from simulator.workloads.table import AskedPlaces, Modelled, Redrawn, Setting, Split
from simulator.workloads.tables import HEADER, InputColumn, Layout, MissingColumns, Table

RUN = ("duration_s", "start_s", "end_s", "state", "first_start_s", "last_end_s")
"""What `Trace.parse` may give of the run of each row; the last two of one with breaks, for the record alone."""


class Trace(Selected, Modelled, Redrawn):
    """A file of jobs of fixed demand.

    Attributes
    ----------
    reads : what is read of each job; with ``gives``, what it becomes.
    layout : how the file is written.
    example : a file with one job.
    is_log : whether the file tells what ran: times start with the first job that is kept. Else those that are
        no dates count from 0.
    duration_counts : whether the duration counts where start and end say another time; else these do.
    a_job : word for a row.
    written : what the file is, for messages.
    """

    path: InputFile = Field(examples=["jobs.csv"])
    """file of the trace"""
    columns: dict[str, str] = Field(default={}, examples=[{"submit": "Submit Time", "user": ""}])
    """titles in the file of columns that are not recognised; "": the file has no such column"""
    places: AskedPlaces = "as-asked"
    """whether jobs keep to the nodes and types of GPU that they ask for, where the machines have several types"""
    one_rack: bool = False
    """whether all jobs lie in one rack, whatever the file says"""
    kill_at_limit: bool = False
    """whether a job ends when it has run for the time that it asked for, its work done or not"""
    split: Split | None = Field(default=None, examples=[[20, 70, 10]])
    """shares of image, language and speech models, for speeds by CPUs and memory"""

    reads: ClassVar[tuple[InputColumn, ...]]
    layout: ClassVar[Layout] = HEADER
    example: ClassVar[str]
    is_log: ClassVar[bool] = True
    duration_counts: ClassVar[bool] = False
    a_job: ClassVar[str] = "job"
    written: ClassVar[str] = "a table of jobs"

    @classmethod
    def likeness(cls, text: str) -> float:
        """Likeness of a file to this format, from 0 to 1, by its first characters."""
        return cls.layout.likeness(text, cls.reads)

    def raw(self) -> Table:
        """The rows of the file."""
        try:
            return Table.of_file(self.path, self.reads, self.layout, self.columns)
        except MissingColumns as error:
            look, known = (
                container_of(Path(self.path), "jobs"),
                ", ".join(sorted({*FORMATS, *_formats(Trace)})),
            )
            whose = f"is this {self.written}?" if error.has else "no format of jobs is recognised."
            raise InputError(
                f"{error} ({look}): {whose} Wanted also: {', '.join(error.names)} "
                f"([workload.columns] names titles); formats: {known}"
            ) from None

    def table(self, raw: Table) -> Table:
        """The rows of jobs, of those that can be read."""
        return raw

    def parse(self, table: Table) -> dict[str, Any]:
        """Columns of `Workload`, a value a row; beside them those of `RUN`, and num_gpus, of which parts."""
        return {
            c.gives: table.values(c.name)
            for c in self.reads
            if c.gives and (c.required or c.empty is not None or c.name in table)
        }

    def notes(self, table: Table, kept: npt.NDArray[np.bool_]) -> Mapping[str, int]:
        """Further notes on the rows that are kept: words, and how many rows."""
        return {}

    def left_out(self, table: Table) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Why rows have no run on a GPU: words, and ``(R,)`` where they hold; a row counts once, at the first."""
        return {}

    def read(self) -> Workload:
        """The jobs of the file, as they are.

        Raises InputError: no such file, or rows that cannot be read: file, line, column, value, what was
        expected.
        """
        return self._read()[0]

    def _read(self) -> tuple[Workload, float]:
        """The jobs, and time 0 of them in s since 1970, NaN where the file has no dates."""
        raw = self.raw()
        for name, title in self.columns.items():
            if title and title not in raw.titles.values():
                raise KeyedError(
                    f"workload.columns.{name}",
                    f"got {title!r}, expected none: the columns of {self.kind!r} have no titles",
                )
        (table, columns), notes = raw.readable(self._parsed, self.skip)
        jobs, origin_s = self._that_ran(table, **columns)
        return jobs.noted(*notes), origin_s

    def _parsed(self, raw: Table) -> tuple[Table, dict[str, Any]]:
        """The rows of jobs, and their columns, their ``runs`` among them."""
        table = self.table(raw)
        columns = self.parse(table)
        return table, columns | {"runs": _runs(table, columns, self.reads, self.duration_counts)}

    def _that_ran(
        self, table: Table, *, runs: _Runs, submit_s: FloatArray, num_gpus: npt.NDArray[Any],
        **columns: Any,
    ) -> tuple[Workload, float]:  # fmt: skip
        duration_s, names = runs.duration_s, columns.get("job_id")
        reasons = {
            **doubles(table, names, submit_s, runs.start_s, runs.end_s),
            **self.left_out(table),
            "have no time of submission": np.isnan(submit_s),
            "hold no GPU": ~(num_gpus > 0),
            "never started, their start is 0": runs.unstarted,
            "have no duration": np.isnan(duration_s),
            "ended as they started": ~(duration_s > 0),
        }
        kept = ~np.logical_or.reduce([*reasons.values()])
        counts, rest = dict(table.dropped), ~kept
        for why, rows in reasons.items():
            if (rows & rest).any():
                what = with_first(table, rows & rest, f"{self.a_job}s {why}, left out")
                counts[what] = int((rows & rest).sum())
            rest &= ~rows
        jobs = np.flatnonzero(kept)
        if not len(jobs):
            told_of = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
            raise InputError(
                f"{self.path}: no {self.a_job} that ran on a GPU, expected one at least: {told_of}"
            )
        if not self.is_log:
            late = int(np.sum(np.diff(submit_s[jobs]) < 0))
            counts[f"rows before an earlier one, sorted by {self._title(table, 'submit_s')}"] = late
        jobs = jobs[np.argsort(submit_s[jobs], kind="stable")]
        names = [str(k + 1) for k in range(len(table))] if names is None else names
        columns["job_id"], again = told_apart(names, kept)
        counts["rows repeat the name of a job; they become separate jobs, NAME.again1, .."] = again
        if any(before := columns.pop("after", ())):
            here = np.flatnonzero(kept).tolist()
            given, taken_ = ([each[k] for k in here] for each in (names, columns["job_id"]))
            followed, missing = resolved([before[k] for k in here], given, taken_)
            columns["after"] = dict(zip(here, followed, strict=True))
            columns["after"] = [columns["after"].get(k, []) for k in range(len(table))]
            counts["dependencies on jobs that are not in the file count as fulfilled"] = missing
        counts |= self._of_runs(table, kept, runs)
        asked_s = np.asarray(columns.get("requested_s", np.full(len(table), np.nan)))
        counts |= doubts(table, self.a_job, kept, submit_s, runs.start_s, duration_s, asked_s)
        counts |= self.notes(table, kept)
        zero_s = self.zero_s(table)
        begin_s = float(submit_s[jobs[0]]) if self.is_log or not np.isnan(zero_s) else 0.0
        if "due_s" in columns:
            columns["due_s"] = columns["due_s"] - begin_s
        times, parts = _performance(duration_s[jobs], np.asarray(num_gpus[jobs], dtype=np.float64))
        notes = [f"{self.path}: {n} {what}" for what, n in (counts | parts).items() if n]
        if table.ignored and not self.is_log:
            notes.append(f"{self.path}: columns not used: {', '.join(table.ignored)}")
        origin_s = zero_s + begin_s
        workload = Workload(
            submit_s=submit_s[jobs] - begin_s,
            performance=times,
            notes=tuple(notes),
            **taken(columns, jobs),
        )
        state = [runs.state[k] for k in jobs.tolist()] if len(runs.state) else ()
        start_s, end_s = runs.start_s[jobs] - begin_s, runs.end_s[jobs] - begin_s
        held = np.asarray(num_gpus[jobs], dtype=np.float64)
        shown_s = origin_s + self.offset_s(table, origin_s)
        return recorded_by(workload, start_s, end_s, held, state, shown_s), origin_s

    def _of_runs(self, table: Table, kept: npt.NDArray[np.bool_], runs: _Runs) -> dict[str, int]:
        """A note on jobs whose duration is another time than that from start to end."""
        told = runs.differs & kept
        ran = " - ".join(self._title(table, name) for name in ("end_s", "start_s"))
        why = (
            " (suspended, or clocks were set); the duration" if self.duration_counts else ", which"
        )
        words = f"whose duration is not {ran}{why} counts"
        return {with_first(table, told, f"{self.a_job}s {words}"): int(told.sum())}

    def _title(self, table: Table, gives: str) -> str:
        """The file's name of a column."""
        name = next(
            (c.name for c in self.reads if c.gives == gives), gives.removesuffix("_s").title()
        )
        return table.titles.get(name, name)

    def zero_s(self, table: Table) -> float:
        """Time 0 of the file, s since 1970; NaN where its times are no dates."""
        column = next((c for c in self.reads if c.gives == "submit_s"), None)
        dated = column is not None and (column.type == "date" or table.is_dated(column.name))
        return 0.0 if dated else np.nan

    def offset_s(self, table: Table, origin_s: float) -> float:
        """Seconds that clocks of the site show more than the times of the file, which are ``origin_s`` at their beginning."""
        return 0.0

    def make(self, setting: Setting) -> Workload:
        """The jobs of the file that are asked for."""
        jobs = self.selected(*self._read())
        if self.places == "any":
            jobs = replace(jobs, num_nodes=np.zeros(len(jobs), np.int64), gpu_types=())
        if self.one_rack or self.places == "any":
            jobs = replace(jobs, one_rack=np.full(len(jobs), self.one_rack))
        if self.kill_at_limit:
            jobs = killed_at_limit(jobs)
        if self.split is not None:
            jobs = replace(jobs, model=models_of_split(len(jobs), self.split))
        return self.redrawn(jobs, setting)


def _formats(of: type[Trace]) -> list[str]:
    """Names of the formats that are loaded, those of packages among them."""
    found = [str(of.model_fields["kind"].default)] if "example" in vars(of) else []
    return found + [name for each in of.__subclasses__() for name in _formats(each)]


def told_apart(names: Sequence[str], kept: npt.NDArray[np.bool_]) -> tuple[list[str], int]:
    """Names of which none occurs twice among the rows that are kept, and how many of them are new.

    A job that ran again is ``NAME.again1``.
    """
    found, known, times, again = list(names), set(names), dict.fromkeys(names, -1), 0
    for k in np.flatnonzero(kept).tolist() if len(known) < len(found) else ():
        name = found[k]
        times[name] += 1
        if times[name]:
            while f"{name}.again{times[name]}" in known:
                times[name] += 1
            found[k], again = f"{name}.again{times[name]}", again + 1
    return found, again


class _Runs(NamedTuple):
    """Runs of ``R`` rows, on the clock of the file; NaN where they are not known.

    Attributes
    ----------
    duration_s : ``(R,)`` time that each ran.
    differs : ``(R,)`` whether start and end, which count, say another time than the duration.
    start_s, end_s : ``(R,)`` times that the file tells, or that follow from the duration.
    state : how each ended, in the file's words; empty: it does not say.
    unstarted : ``(R,)`` whether a start of 0 says that there was no run.
    """

    duration_s: FloatArray
    differs: npt.NDArray[np.bool_]
    start_s: FloatArray
    end_s: FloatArray
    state: Sequence[str]
    unstarted: npt.NDArray[np.bool_]


def _runs(
    table: Table, columns: dict[str, Any], reads: Sequence[InputColumn], duration_counts: bool
) -> _Runs:
    """The runs of the rows; takes the columns `RUN` away.

    Parameters
    ----------
    duration_counts : whether the duration counts where start and end say another time.
    """
    unknown = np.full(len(table), np.nan)
    given_s, told_s, end_s = (
        np.asarray(columns.pop(name, unknown), dtype=np.float64) for name in RUN[:3]
    )
    start_s, end_s = (without_zeros(each, columns["submit_s"]) for each in (told_s, end_s))
    ran_s = end_s - start_s
    end = next((c.name for c in reads if c.gives == "end_s"), "")
    if end in table:
        table.require(end, ~((ran_s < 0) & np.isnan(given_s)), "a time not before the start")
    # More than the rounding of a second apart; clocks that go back count for nothing.
    differs = (ran_s > 0) & (np.abs(given_s - ran_s) > 1)
    from_ends = np.isnan(given_s) | (differs & (not duration_counts))
    duration_s = np.where(from_ends, ran_s, given_s)
    unstarted = np.isnan(start_s) & ~np.isnan(told_s) & np.isnan(duration_s)
    first_s = np.where(np.isnan(start_s), end_s - duration_s, start_s)
    last_s = np.where(np.isnan(end_s), start_s + duration_s, end_s)
    first_s, last_s = columns.pop("first_start_s", first_s), columns.pop("last_end_s", last_s)
    return _Runs(duration_s, differs, first_s, last_s, columns.pop("state", ()), unstarted)


def _performance(duration_s: FloatArray, gpus: FloatArray) -> tuple[FixedDuration, dict[str, int]]:
    """Times of the jobs on their GPUs, or their part of one, and notes on parts."""
    whole = whole_gpus(gpus)
    part = gpus < 1 - PART_OF_A_GPU
    rounded = ~part & (np.abs(gpus - whole) > PART_OF_A_GPU)
    notes = {
        "jobs ask for a part of a GPU; policies that do not share GPUs give them a whole one": int(
            part.sum()
        ),
        "jobs ask for whole GPUs and a part of one; the part counts as a whole GPU": int(
            rounded.sum()
        ),
    }
    if not part.any():
        return FixedDuration(duration_s, whole), notes
    return SharedDuration(duration_s, whole, part=np.where(part, gpus, 1.0)), notes


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
    assert isinstance(jobs.performance, FixedDuration)
    times = replace(jobs.performance, duration_s=np.where(over, asked_s, duration_s))
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
