"""Statistics of the jobs that a controller has seen; nothing of those to come."""

from __future__ import annotations

import numpy as np

from policies.foresight.due_dates import NEVER_S
from policies.foresight.machines import Machines
from policies.foresight.price import DEVIATIONS, SEEN, Demand
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import View

PRIOR = 0.125
"""Before the second arrival the mean gap is taken as this part of a job's shortest time."""

LONGEST = 4.0
"""A window is at most this many times a job's shortest time."""


class ArrivalStatistics:
    """The jobs seen, in order of submission, as columns.

    Attributes
    ----------
    times_s : ``(n, C)`` of the whole job on each configuration, s.
    weight_per_s, fastest_s, slack_s : ``(n,)``; slack: due date less submission.
    """

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._row: dict[int, int] = {}
        self._columns = np.empty((3, 0))
        self._times = np.empty((0, len(machines.config_type)))
        self._first_s = self.last_s = 0.0

    def __len__(self) -> int:
        return len(self._row)

    @property
    def times_s(self) -> FloatArray:
        """``(n, C)`` of the whole job, s."""
        return self._times[: len(self)]

    @property
    def weight_per_s(self) -> FloatArray:
        """``(n,)`` cost of a second of tardiness."""
        return self._columns[0, : len(self)]

    @property
    def fastest_s(self) -> FloatArray:
        """``(n,)`` shortest time of the whole job, s."""
        return self._columns[1, : len(self)]

    @property
    def slack_s(self) -> FloatArray:
        """``(n,)`` due date less submission, s."""
        return self._columns[2, : len(self)]

    def update(self, view: View) -> IntArray:
        """Take in the jobs that are new in a view; returns the rows of its active jobs.

        Raises InputError: a job that can run on no node of this controller.
        """
        jobs = view.jobs.tolist()
        row = self._row
        new = [job for job in jobs if job not in row]
        if new:
            self._add(view, np.array(new, dtype=np.int64))
        return np.fromiter((row[job] for job in jobs), dtype=np.int64, count=len(jobs))

    def _add(self, view: View, new: IntArray) -> None:
        machines, workload = self._machines, view.workload
        table = workload.performance.table_s(new, view.cluster)
        times = table[:, machines.config_type, machines.config_gpus]
        fastest = times.min(axis=1)
        if not np.isfinite(fastest).all():
            stuck = int(new[int(np.argmax(~np.isfinite(fastest)))])
            raise InputError(
                f"foresight: job {workload.job_id[stuck]!r} fits on no single node, "
                "expected jobs that do"
            )
        first, count = len(self._row), len(self._row) + len(new)
        if count > len(self._times):
            size = max(64, 2 * count)
            self._times = np.resize(self._times, (size, times.shape[1]))
            self._columns = np.concatenate(
                [self._columns, np.empty((3, size - self._columns.shape[1]))], axis=1
            )
        submit, due = workload.submit_s[new], workload.due_s[new]
        self._times[first:count] = times
        self._columns[0, first:count] = workload.weight_per_s[new]
        self._columns[1, first:count] = fastest
        self._columns[2, first:count] = np.minimum(due - submit, NEVER_S)
        if not first:
            self._first_s = float(submit[0])
        self.last_s = float(submit[-1])
        for job in new.tolist():
            self._row[job] = len(self._row)

    def mean_gap_s(self, now_s: float) -> float:
        """tau: observed mean time between arrivals, with one more gap of a guessed length."""
        prior = PRIOR * float(np.median(self.fastest_s))
        return (now_s - self._first_s + prior) / len(self)

    def demand(
        self,
        view: View,
        rows: IntArray,
        work_left: FloatArray,
        forecast: float,
        dispersion: float,
        weigh: bool = True,
    ) -> Demand:
        """Demand for node-time in the window to come: the active jobs, and jobs like the last ones.

        Parameters
        ----------
        rows : of the active jobs.
        work_left : ``(n,)`` fractions of their work, in units of the predicted work.
        forecast : phi, factor on the expected arrivals.
        dispersion : variance of the number of arrivals over its mean.
        weigh : active jobs count as far as they fall into the window.

        The window T is the median of the lives of the last jobs, from submission to due date, within
        one to four times their shortest time.
        """
        last = np.arange(max(0, len(self) - SEEN), len(self))
        fastest, slack = self.fastest_s[last], self.slack_s[last]
        window = float(np.median(np.clip(slack, fastest, LONGEST * fastest)))
        life = np.maximum(slack, fastest)
        # An arrival at a uniform instant of the window has only the rest of it.
        inside = np.where(window <= life, window / (2 * life), 1 - life / (2 * window))
        rate = 1.0 / max(self.mean_gap_s(view.now_s), view.now_s - self.last_s)
        expected = rate * window
        number = np.maximum(forecast * expected + np.sqrt(dispersion * expected) * DEVIATIONS, 0.0)
        arrivals = np.outer(number / len(last), inside)
        due_in = due_in_s(view)
        left = np.maximum(due_in, work_left * self.fastest_s[rows])
        part = np.minimum(1.0, window / left) if weigh else np.ones(len(rows))
        active = np.broadcast_to(part, (len(number), len(rows)))
        return Demand(
            rows=np.concatenate([rows, last]),
            work=np.concatenate([work_left, np.ones(len(last))]),
            due_in_s=np.concatenate([due_in, slack]),
            part=np.concatenate([active, arrivals], axis=1),
            window_s=window,
        )


def due_in_s(view: View) -> FloatArray:
    """``(n,)`` d, seconds to the due date; a very long time where there is none."""
    return np.minimum(view.due_s - view.now_s, NEVER_S)
