"""One job's history, from the tables of a finished run: when it waited, who passed it, where it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.analysis.shortage import MOST_NAMED, Shortages, span_text, tenant_column
from experiments.scenario.reading import read_run, read_run_table
from simulator.errors import InputError
from simulator.metrics.decision_table import RESERVED
from simulator.metrics.job_table import NEVER_STARTED

ENDINGS = {
    "left": "leaves before it starts; its patience is over",
    "rejected": "is rejected; admission control cannot promise its due date",
    "abandoned": "is abandoned, since it failed too often",
    "killed": "is killed, as the log says",
    "failed": "fails for the last time, as the log says",
}
"""End of a job in words, by its status, where it does not simply end."""

FORMER = {"given up": "abandoned"}
"""Statuses in files of format 1."""


def explain(folder: Path, job_id: str, where: Mapping[str, str] | None = None) -> list[str]:
    """The history, one sentence a line; of a sweep, in the run with the labels ``where``.

    Raises
    ------
    InputError
        No such folder, table, column or job.
    """
    run = read_run(folder, where=where)
    _, jobs, shares, machines = run
    names = jobs["job_id"]
    found = jobs[names == job_id]
    if found.empty:
        raise InputError(
            f"{folder / 'jobs.csv'}: no job {job_id!r}, expected one such as {names[0]!r}"
        )
    job = found.iloc[0]
    arrival = float(job["arrival_s"])
    own = shares[shares["job_id"] == job_id].sort_values(["start_s", "node"])
    short = Shortages.of(folder, job, own, run)
    noted = _Noted.of(folder, int(own["node"].iloc[0]) if len(own) else None, machines)
    lines = [f"{_time(arrival)}: submitted."]
    since, last, by = arrival, own.head(0), tenant_column(folder, job)
    for _, part in own.groupby("start_s"):
        begin, end = float(part["start_s"].iloc[0]), float(part["end_s"].max())
        if begin > since:
            if since > arrival:
                lines += _taken(since, last, shares)
            lines.append(_wait(job_id, since, begin, jobs, shares))
            lines += [] if by is None else _tenants(job, by, since, jobs, shares)
            lines += short.lines(since, begin) if short is not None else []
            lines += noted.passing(since, begin)
        places = ", ".join(
            f"{row.gpus:g} GPU{'' if row.gpus == 1 else 's'} of node {row.node}"
            for row in part.itertuples(index=False)
        )
        lines.append(f"{_time(begin)}: starts on {places}, for {span_text(end - begin)}.")
        lines += noted.starting(begin)
        since, last = end, part
    done = float(job["completion_s"])
    status = str(job.get("status", "done"))
    status = FORMER.get(status, status)
    if status in NEVER_STARTED:
        if done > arrival:
            lines.append(_wait(job_id, arrival, done, jobs, shares))
            lines += short.lines(arrival, done) if short is not None else []
        return [*lines, f"{_time(done)}: {ENDINGS[status]}."]
    after = f"{span_text(done - arrival)} after its submission"
    lines.append(f"{_time(done)}: {ENDINGS.get(status, 'ends')}, {after}.")
    lines += _failures(job)
    if status == "abandoned":
        return lines
    if "slowdown" in job and pd.notna(job["slowdown"]):
        lines.append(f"Alone it would have taken {span_text(float(job['ideal_s']))}: "
                     f"it was slowed down {float(job['slowdown']):.3g} times.")  # fmt: skip
    return lines


def _failures(job: pd.Series[float]) -> list[str]:
    """Number of failures of the job and their cost; nothing where it never was."""
    count = job.get("failures", 0)
    if not (pd.notna(count) and count > 0):
        return []
    times = "once" if count == 1 else f"{int(count)} times"
    text = f"A failure of its node, or of its own, stopped it {times}"
    lost = job.get("lost_gpu_s", 0.0)
    return [f"{text}; {lost / 3600:.2f} GPU-hours of its work were lost."]


@dataclass(frozen=True)
class _Noted:
    """The decisions of the job's controller, with what the policy noted of them (`Decision.info`).

    Attributes
    ----------
    table : rows of decisions.csv in order of time; empty where there is none, or nothing was noted.
    facts : the columns that the policy filled.
    """

    table: pd.DataFrame
    facts: Sequence[str]

    @classmethod
    def of(cls, folder: Path, node: int | None, machines: dict[str, Any] | None) -> _Noted:
        path = folder / "decisions.csv"
        if node is None or not path.exists():
            return cls(pd.DataFrame(), ())
        columns = ("time_s", "controller", "active")
        table = read_run_table(path, columns, columns, may_be_empty=True)
        # They own every K-th node. A run of an earlier version does not say how many there are: as many as decided.
        count = (machines or {}).get("num_controllers")
        count = count or (int(table["controller"].max()) + 1 if len(table) else 1)
        own = table[table["controller"] == node % count].sort_values("time_s", kind="stable")
        return cls(own, [str(name) for name in own if name not in RESERVED])

    def starting(self, at_s: float) -> list[str]:
        """Facts recorded when the job was started."""
        return self._line("  The decision", self._until(at_s).tail(1))

    def passing(self, since_s: float, until_s: float) -> list[str]:
        """Facts recorded when the job was first passed over, and the number of times."""
        rows = self._until(until_s)
        rows = rows[(rows["time_s"] >= since_s) & (rows["time_s"] < until_s)] if len(rows) else rows
        times = "" if len(rows) < 2 else f", the first of {len(rows)} that let it wait,"
        return self._line(f"  The decision{times}", rows.head(1))

    def _until(self, at_s: float) -> pd.DataFrame:
        return self.table[self.table["time_s"] <= at_s] if self.facts else self.table.head(0)

    def _line(self, begin: str, rows: pd.DataFrame) -> list[str]:
        if not len(rows):
            return []
        row = rows.iloc[0]
        facts = [f"{name} {_fact(row[name])}" for name in self.facts if pd.notna(row[name])]
        if not facts:
            return []
        when = f"{_time(float(row['time_s']))}, {_jobs(int(row['active']))} there"
        return [f"{begin} ({when}) noted: {', '.join(facts)}."]


def _jobs(count: int, verb: str = "") -> str:
    """ "1 job starts", "2 jobs start"."""
    if not verb:
        return f"{count} job{'' if count == 1 else 's'}"
    return f"1 job {verb}s" if count == 1 else f"{count} jobs {verb}"


def _fact(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _wait(job_id: str, since: float, until: float, jobs: pd.DataFrame, shares: pd.DataFrame) -> str:
    """Events on the nodes while the job waited, and who waited before it."""
    place = {name: row for row, name in enumerate(jobs["job_id"])}
    arrival = jobs["arrival_s"].iloc[place[job_id]]
    begun = shares[(shares["start_s"] >= since) & (shares["start_s"] < until)]
    others = [name for name in dict.fromkeys(begun["job_id"]) if name != job_id]
    passed = [name for name in others if jobs["arrival_s"].iloc[place[name]] > arrival]
    text = (
        f"{_time(since)}: waits {span_text(until - since)}; {_jobs(len(others), 'start')} meanwhile"
    )
    if passed:
        text += f", of which {len(passed)} came later: {_named(passed)}"
    if "first_start_s" in jobs:
        earlier = jobs.iloc[: place[job_id]]
        before = earlier["job_id"][earlier["first_start_s"] > since].tolist()
        if before:
            text += f"; {_jobs(len(before))} waited before it: {_named(before)}"
    return text + "."


def _taken(at_s: float, own: pd.DataFrame, shares: pd.DataFrame) -> list[str]:
    """Jobs that start on the nodes that a job leaves, at the same time."""
    begun = shares[(shares["start_s"] == at_s) & shares["node"].isin(own["node"])]
    held = (
        begun[begun["job_id"] != own["job_id"].iloc[0]].groupby("job_id", sort=False)["gpus"].sum()
    )
    if held.empty:
        return []
    named = [f"{name} ({gpus:g} GPU{'' if gpus == 1 else 's'})" for name, gpus in held.items()]
    return [f"{_time(at_s)}: stops; on its nodes {_jobs(len(named), 'start')}: {_named(named)}."]


def _tenants(
    job: pd.Series[Any], by: str, at_s: float, jobs: pd.DataFrame, shares: pd.DataFrame
) -> list[str]:
    """GPUs of each tenant when a wait begins, where there are several."""
    now = shares[(shares["start_s"] <= at_s) & (shares["end_s"] > at_s)]
    held = now["gpus"].groupby(now["job_id"].map(jobs.set_index("job_id")[by])).sum()
    own, others = str(job[by]), [str(name) for name in jobs[by].unique() if name != job[by]]
    if not others:
        return []
    rest = _named([f"{name} {held.get(name, 0):g}" for name in others])
    return [f"  Its tenant {own} holds {held.get(job[by], 0):g} GPUs then, {rest}."]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s"
