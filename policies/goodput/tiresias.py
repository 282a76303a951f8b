"""Tiresias: two queues by attained service (Gu et al., NSDI 2019).

A job begins in the first queue and leaves it for the second when it has held its GPUs for a number of GPU-seconds.
The first queue comes before the second; within each, jobs come in the order in which they joined it.
Smaller jobs pass larger ones that do not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from policies.goodput.emptiest_nodes import placements
from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.job_array import first_that_fit
from policies.queues.running import RunningJobs
from policies.queues.unread import Unread
from policies.registry.registration import register
from simulator.errors import InputError
from simulator.model.cluster import IntArray
from simulator.model.contract import Decision, Placement, View
from simulator.model.tolerances import EQUAL, INSTANT_S

THRESHOLD_GPU_S = 57_600.0
"""16 GPU-hours, as in Pollux's simulator."""


@register("tiresias", requires=("servers", "stated-demand"), paper="Gu et al., NSDI 2019")
class Tiresias:
    """Two queues by attained GPU-seconds, jobs in the order in which they joined them (Tiresias).

    Parameters
    ----------
    threshold_gpu_s : GPU-seconds after which a job joins the second queue.

    Raises
    ------
    InputError
        A threshold that is not positive.
    """

    def __init__(self, threshold_gpu_s: float = THRESHOLD_GPU_S) -> None:
        if not threshold_gpu_s > 0:
            raise InputError(f"threshold_gpu_s is {threshold_gpu_s}, expected a number > 0")
        self._queues = TwoQueues(threshold_gpu_s)
        self._free: FreeCapacity | None = None
        self._nodes: IntArray | None = None
        self._total_gpus = 0

    def decide(self, view: View) -> Decision:
        """Run the first jobs of the queues that fit, taken in order; those that do not fit are passed over."""
        if self._nodes is not view.nodes:
            self._nodes = view.nodes
            self._total_gpus = sum(int(view.cluster.type_of[n].gpus) for n in view.nodes.tolist())
        queues = self._queues
        jobs = queues.refresh(view)
        runs = queues.runs[jobs]
        chosen = first_that_fit(view.workload.num_gpus[jobs], self._total_gpus)
        stopped = sorted(jobs[runs & ~chosen].tolist(), key=queues.running.number.__getitem__)
        self._free = free = free_now(view, self._free)
        for job in stopped:
            free.add(view.running[job], -1)
        new: dict[int, tuple[Placement, ...]] = {}
        for job in jobs[chosen & ~runs].tolist():
            nodes = free.emptiest(view.workload.num_gpus_list[job])
            shares = tuple(placements({job: nodes}, view.cluster))
            if shares and view.can_run(job, shares):
                new[job] = shares
                free.add(shares)
        queues.started = new
        if view.in_full:
            going_on = {j: own for j, own in view.running.items() if j not in stopped}
            return Decision(going_on | new)
        return Decision(new, keep_running=True, stopped=stopped)


class TwoQueues:
    """The active jobs of one controller in two queues, kept from decision to decision.

    Attributes
    ----------
    running : the jobs that run.
    runs : ``(J,)`` whether a job runs.
    started : jobs that the last decision has started; who decides writes it.
    """

    def __init__(self, threshold_gpu_s: float) -> None:
        self.running = RunningJobs()
        self.runs: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.started: Iterable[int] = ()
        self._least_gpu_s = threshold_gpu_s * (1 - EQUAL)
        self._first: IntArray = np.empty(0, dtype=np.int64)
        self._second: IntArray = self._first
        self._active: set[int] = set()
        """The jobs of both queues."""
        self._demoted: dict[int, None] = {}
        """Jobs that have left the first queue, in this order; some are over."""
        self._due: list[tuple[float, int]] = []
        """When jobs may have to leave it, s; some no longer run."""
        self._unread = Unread()

    def refresh(self, view: View) -> IntArray:
        """``(n,)`` the active jobs now, in order."""
        running, active, joined = self.running, view.active, self._unread.of(view.queue_changes)
        running.refresh(view)
        if running.is_anew:
            self.runs = np.zeros(len(view.rows), dtype=np.bool_)
        self.runs[[*running.over]] = False
        self.runs[[*running.began]] = True
        demoted = self._demote(view)
        gone = {job for job in running.over if job not in active}
        new = {job for job in joined or () if job in active and job not in self._active}
        self._active.difference_update(gone)
        self._active.update(new)
        if joined is None or len(self._active) != len(active):
            self._active = {*active}
            self._first = np.array(sorted(self._active - self._demoted.keys()), dtype=np.int64)
            self._second = np.array([j for j in self._demoted if j in active], dtype=np.int64)
        elif gone or new or demoted:
            self._first = _without(self._first, gone.union(demoted))
            first = np.array(sorted(new - self._demoted.keys()), dtype=np.int64)
            self._first = np.insert(self._first, np.searchsorted(self._first, first), first)
            self._second = np.append(
                _without(self._second, gone), np.array(demoted, dtype=np.int64)
            )
        return np.concatenate((self._first, self._second))

    def _demote(self, view: View) -> list[int]:
        """Let jobs that have held enough leave the first queue, in order of submission; which these are."""
        running, due, states = self.running, self._due, view.states
        asked = {*self.started, *running.over}
        if running.is_anew:
            due.clear()
            asked.update(view.active)
        while due and due[0][0] <= view.now_s + INSTANT_S:
            asked.add(heappop(due)[1])
        asked.update(running.began)
        demoted = []
        for job in sorted(asked):
            if job in self._demoted or job not in view.active:
                continue
            left_gpu_s = self._least_gpu_s - view.attained_gpu_s_of(job)
            if left_gpu_s <= 0:
                self._demoted[job] = None
                demoted.append(job)
            elif job in running.held:
                heappush(due, (view.now_s + left_gpu_s / states.gpus[job], job))
        return demoted


def _without(jobs: IntArray, some: Collection[int]) -> IntArray:
    """Jobs without some of them."""
    return jobs[np.isin(jobs, [*some], invert=True)] if some else jobs
