"""Failures that the states of a log tell: of nodes, and of jobs.

    for found in failures_of(record):
        print(found.words())

A simulation runs each job as long as the log says, on nodes that never fail, unless the scenario says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.text import counted
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.recorded import Recorded

NODE_FAILS = ("NODE_FAIL", "BOOT_FAIL", "NODELOST")
"""States of a job whose node failed, of Slurm and of Kubernetes, in capitals."""
JOB_FAILS = ("FAILED", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED")
"""States of a job that failed itself, or was put back into the queue."""
MANY = 0.05
"""Part of the jobs, or of their GPU-hours, from which on failed jobs are told."""
AT_ONCE = 3
"""So many jobs, of several users, that fail in one second have one cause."""


@dataclass(frozen=True)
class RecordedFailures:
    """Failures of one kind.

    Attributes
    ----------
    table : of a scenario, that has them: "outages" of nodes, "failures" of jobs.
    states : those of the jobs, in capitals.
    jobs, gpu_h : how many jobs ended so, and the GPU-hours of their runs.
    part : of all GPU-hours of the log.
    instants : seconds in which several users' jobs failed at once.
    """

    table: Literal["outages", "failures"]
    states: tuple[str, ...]
    jobs: int
    gpu_h: float
    part: float
    instants: int

    def words(self) -> str:
        """Number of jobs, their GPU-hours, and what to do."""
        hours = f"{self.gpu_h:,.0f}" if self.gpu_h >= 100 else f"{self.gpu_h:.3g}"
        told = (
            f"{counted(self.jobs, 'job')} ended as {' or '.join(self.states)} ({hours} GPU-hours, "
            f"{100 * self.part:.2g} % of all): "
        )
        if self.table == "outages":
            return (
                f"{told}nodes were away, and the simulation has all of them at all times. List the outages in a file, and "
                "name it: --set outages.path=FILE"
            )
        told += "where the site started them again, their waits hold runs that failed. [failures] simulates such failures"
        if self.instants:
            times = "Once" if self.instants == 1 else f"At {self.instants} times"
            told += (
                f". {times}, jobs of several users failed at once: nodes may have been away then, "
                "so list these times: --set outages.path=FILE"
            )
        return told


def states_of(record: Recorded) -> list[str]:
    """The state of each job in capitals, without what follows it ("NODE_FAIL by 0")."""
    return [(state.split() or [""])[0].upper() for state in record.state]


def failures_of(record: Recorded) -> Iterator[RecordedFailures]:
    """Failures of nodes, and of jobs where they are many."""
    states = np.array(states_of(record), dtype=object)
    run_s = np.nan_to_num(record.end_s - record.recorded_start_s)
    work_h = record.num_gpus * run_s / HOUR_S
    all_h = max(float(work_h.sum()), 1e-300)
    kinds: list[tuple[Literal["outages", "failures"], tuple[str, ...]]] = [
        ("outages", NODE_FAILS),
        ("failures", JOB_FAILS),
    ]
    for table, names in kinds:
        rows = np.flatnonzero(np.isin(states, names))
        gpu_h = float(work_h[rows].sum())
        few = len(rows) < MANY * len(record) and gpu_h < MANY * all_h
        if not len(rows) or (table == "failures" and few):
            continue
        those = tuple(name for name in names if name in set(states[rows].tolist()))
        yield RecordedFailures(
            table, those, len(rows), gpu_h, gpu_h / all_h, _at_once(record, rows)
        )


def _at_once(record: Recorded, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Seconds in which several of these jobs end, of several users."""
    users: dict[int, list[str]] = {}
    for row in rows[np.isfinite(record.end_s[rows])].tolist():
        users.setdefault(int(record.end_s[row]), []).append(record.user[row])
    return sum(len(each) >= AT_ONCE and len({*each}) > 1 for each in users.values())
