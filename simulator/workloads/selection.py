"""Jobs of a file that are asked for: by time of submission, virtual cluster, user and number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field, create_model

from simulator.errors import meant
from simulator.files.keys import KeyedError, PositiveInt
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.workload import Workload
from simulator.workloads.table import WorkloadTable

Instant = Annotated[
    float | str | None,
    BeforeValidator(lambda value: str(value) if isinstance(value, date) else value),
]
Names = str | list[str] | None

if TYPE_CHECKING:
    _From = WorkloadTable
else:  # a name that Python keeps for itself
    _From = create_model(
        "_From",
        __base__=WorkloadTable,
        __module__=__name__,
        **{
            "from": (
                Instant,
                Field(
                    default=None,
                    examples=["2026-01-05", 3600],
                    description="only the jobs submitted from then on: a date and time, or seconds after the first job",
                ),
            )
        },
    )


class Selected(_From):
    """Keys that take some of the jobs of a file; times of submission stay as they are."""

    skip: bool = False
    """whether rows that cannot be read are left out, with a count by reason"""
    oversized: Literal["refuse", "leave-out", "clip"] = "refuse"
    """jobs that do not fit on the machines: refused, left out, or clipped to what the machines have"""
    until: Instant = Field(default=None, examples=["2026-02-01 12:00", 86_400])
    """only the jobs submitted before: a date and time, or seconds after the first job"""
    vc: Names = Field(default=None, examples=["gpu", ["gpu", "debug"]])
    """only the jobs of this virtual cluster, partition or queue, or of these"""
    partition: Names = Field(default=None, examples=["gpu"])
    """the same as vc, as Slurm calls it"""
    user: Names = Field(default=None, examples=["ann"])
    """only the jobs of this user, or of these"""
    max_jobs: PositiveInt | None = Field(default=None, examples=[1000])
    """only so many jobs: the first of those that the other keys keep"""

    def selected(self, jobs: Workload, origin_s: float = math.nan) -> Workload:
        """The jobs that are asked for.

        Parameters
        ----------
        origin_s : time 0 of the jobs, s since 1970; NaN where the file has no dates.

        Raises KeyedError: no job is left, a date where the file has none, both vc and partition.
        """
        rows = self.rows_asked_for(jobs.submit_s, jobs.vc, jobs.user, origin_s)
        return jobs if len(rows) == len(jobs) else replace(jobs, **jobs.rows(rows))

    def rows_asked_for(
        self,
        submit_s: FloatArray,
        vc: Sequence[str] = (),
        user: Sequence[str] = (),
        origin_s: float = math.nan,
    ) -> IntArray:
        """Rows of the jobs that are asked for, of jobs in order of submission; see `selected`."""
        if self.vc is not None and self.partition is not None:
            raise KeyedError("workload.partition", "given with vc, expected one of them")
        start_s = _seconds("from", getattr(self, "from"), submit_s, origin_s)
        end_s = _seconds("until", self.until, submit_s, origin_s)
        chosen = np.ones(len(submit_s), dtype=np.bool_)
        if start_s is not None or end_s is not None:
            chosen = (submit_s >= (start_s or -math.inf)) & (
                submit_s < (math.inf if end_s is None else end_s)
            )
            if not chosen.any():
                raise KeyedError(
                    "workload.until" if start_s is None else "workload.from",
                    f"no job is submitted then, expected some of the {_range(submit_s, origin_s)}",
                )
        for key, names, column in (
            ("vc", self.vc, vc),
            ("partition", self.partition, vc),
            ("user", self.user, user),
        ):
            if names is not None:
                wanted = [names] if isinstance(names, str) else names
                known = sorted({*column} - {""})
                for name in wanted:
                    if name not in known:
                        what = meant(name, known) if known else "the file names none"
                        raise KeyedError(f"workload.{key}", f"got {name!r}, {what}")
                chosen = chosen & np.isin(np.array(column, dtype=object), wanted)
        if not chosen.any():
            raise KeyedError("workload", "no job is left of those that its keys ask for")
        return np.flatnonzero(chosen)[: self.max_jobs]


def _seconds(
    key: str, value: float | str | None, submit_s: FloatArray, origin_s: float
) -> float | None:
    """A time on the clock of the jobs."""
    if value is None:
        return None
    if not isinstance(value, str):
        return float(submit_s[0]) + value
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise KeyedError(
            f"workload.{key}", f"got {value!r}, expected a date and time, or a number of seconds"
        ) from None
    if math.isnan(origin_s):
        raise KeyedError(
            f"workload.{key}",
            f"got {value!r}, expected a number of seconds after the first job: the file has no dates",
        )
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() - origin_s


def _range(submit_s: FloatArray, origin_s: float) -> str:
    """First and last submission, in words."""
    first_s, last_s = float(submit_s.min()), float(submit_s.max())
    if math.isnan(origin_s):
        return f"{last_s - first_s:g} s after the first job"
    days = [str(datetime.fromtimestamp(origin_s + at_s, UTC))[:19] for at_s in (first_s, last_s)]
    return f"time from {days[0]} to {days[1]}"
