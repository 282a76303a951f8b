"""Implausible rows of a log, for all formats of files of jobs: a line each, a count and the first row.

Rows that stand there twice are read once; starts and ends of 0 are not known. All else is read as it is, and told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import FloatArray
from simulator.workloads.recorded import CLOCKS_S
from simulator.workloads.tables import UNITS, Table

BoolArray = npt.NDArray[np.bool_]

YEAR_S = 365 * DAY_S
FEW = 3
"""Fewer rows tell no unit."""
OVER_S = 60.0
"""Slurm looks at its limits once a minute."""


def with_first(table: Table, rows: BoolArray, words: str) -> str:
    """The words of a note, with the first of the rows that it counts."""
    return f"{words} (the first in {table.row} {table.lines[int(np.argmax(rows))]})"


def without_zeros(times_s: FloatArray, submit_s: FloatArray) -> FloatArray:
    """Starts or ends, without those of 0 (or in the first day of 1970, by dates) of jobs that are submitted later."""
    zero = (times_s <= 0) | ((times_s < DAY_S) & (submit_s > YEAR_S))
    return np.where(zero & (submit_s > 0), np.nan, times_s)


def doubles(
    table: Table,
    names: Sequence[str] | None,
    submit_s: FloatArray,
    start_s: FloatArray,
    end_s: FloatArray,
) -> Mapping[str, BoolArray]:
    """Rows of a job that another row tells as well: words, and ``(R,)`` where they hold.

    Rows are the same, or tell of the same name, submission and start; then the one with the last end counts.
    """
    import pandas as pd

    none = np.zeros(len(table), dtype=np.bool_)
    if names is None or len({*names}) == len(names):
        return {}
    again = pd.Series(names).duplicated(keep=False).to_numpy(dtype=bool)
    rows = np.flatnonzero(again)
    same = none.copy()
    same[rows] = table.frame.iloc[rows].astype(str).duplicated().to_numpy(dtype=bool)
    rows = rows[np.isfinite(start_s[rows]) & ~same[rows]]
    runs = pd.DataFrame(
        {
            "name": [names[k] for k in rows.tolist()],
            "submit_s": submit_s[rows],
            "start_s": start_s[rows],
            "end_s": np.nan_to_num(end_s[rows], nan=-np.inf),
        },
        index=rows,
    )
    runs = runs.sort_values("end_s", kind="stable")
    early = runs.duplicated(["name", "submit_s", "start_s"], keep="last")
    before = none.copy()
    before[early.index[early]] = True
    return {
        "stand there twice with the same row": same,
        "stand there again with a later end": before,
    }


def in_minutes(table: Table, limit: str) -> Table:
    """The rows, the numbers of a column of limits read as minutes where its title names no unit and they can be no seconds.

    Most jobs run for longer than so many seconds, and hardly any for longer than so many minutes.
    """
    title = re.findall("[a-z]+", table.titles.get(limit, limit).lower())
    if (title and title[-1] in UNITS["s"]) or limit in table.units:
        return table
    ran_s, limit_s = table.numbers("duration_s"), table.numbers(limit)
    if "start_time_s" in table and "end_time_s" in table:
        from_ends_s = table.times("end_time_s") - table.times("start_time_s")
        ran_s = np.where(np.isnan(ran_s), from_ends_s, ran_s)
    known = (ran_s > 0) & (limit_s > 0)
    over, over_min = (known & (ran_s > unit * limit_s + OVER_S) for unit in (1, 60))
    if over.sum() <= known.sum() / 2 or over_min.sum() > known.sum() / 100 or known.sum() < FEW:
        return table
    words = f"jobs run for longer than {table.titles[limit]} in seconds, which is read as minutes"
    dropped = {**table.dropped, with_first(table, over, words): int(over.sum())}
    return replace(table, units={**table.units, limit: 60.0}, dropped=dropped)


def doubts(
    table: Table,
    a_job: str,
    kept: BoolArray,
    submit_s: FloatArray,
    start_s: FloatArray,
    duration_s: FloatArray,
    requested_s: FloatArray,
) -> dict[str, int]:
    """Notes on the rows that are kept: words, and how many rows."""
    early = kept & (start_s < submit_s - CLOCKS_S)
    over = kept & (duration_s > requested_s + OVER_S)
    limited = int((kept & ~np.isnan(requested_s)).sum())
    years = kept & (duration_s > YEAR_S)
    found = {
        f"{a_job}s start before their submission, so their waits are unknown": early,
        f"{a_job}s run for more than a year": years,
    }
    if over.sum() > limited / 2:
        found[
            f"of {limited} {a_job}s with a limit run for longer than it: one of the two columns may be in another unit"
        ] = over
    return {with_first(table, rows, words): int(rows.sum()) for words, rows in found.items()}
