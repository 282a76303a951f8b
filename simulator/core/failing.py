"""Nodes that go away, and jobs on them that work and save in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simulator.core.partition import Partition
from simulator.core.world import World
from simulator.features.faults import running_s, saved_s, worked_s
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import JobLog, Placement

if TYPE_CHECKING:
    from simulator.core.failures import Trouble


@dataclass
class SavedLog(JobLog):
    """Job state where jobs work and save in turn.

    Attributes
    ----------
    interval_s, cost_s : ``(J,)`` of the checkpoints of each job, as it runs now.
    """

    interval_s: list[float] = field(default_factory=list)
    cost_s: list[float] = field(default_factory=list)

    def remaining_at(self, job: int, now_s: float) -> float:
        """Fraction of the job's work that is left, saved or not."""
        elapsed = now_s - self.since_s[job]
        left = self.remaining[job]
        if elapsed <= 0:
            return left
        done = worked_s(elapsed, self.interval_s[job], self.cost_s[job])
        return max(0.0, left - self.rate[job] * done)

    def all_remaining_at(self, jobs: IntArray, now_s: float) -> FloatArray:
        """`remaining_at` of several jobs."""
        return np.array([self.remaining_at(j, now_s) for j in jobs.tolist()], dtype=np.float64)


class FailingPartition(Partition):
    """Nodes that go away, and jobs that work and save in turn."""

    def __init__(self, world: World, index: int, finished: Callable[[int], None]) -> None:
        super().__init__(world, index, finished)
        self.all_nodes = self.nodes
        self._up = np.ones(len(self.nodes), dtype=np.bool_)
        self._first, self._step = index, world.cluster.num_controllers
        self.trouble: Trouble

    def start(self, job: int, shares: tuple[Placement, ...]) -> None:
        """Put a job on its nodes; it ends later by its checkpoints, and perhaps by a restart."""
        super().start(job, shares)
        trouble, world = self.trouble, self._world
        log, checkpoints = trouble.log, trouble.spec.checkpoints
        interval_s, cost_s = checkpoints.plan(
            world.workload.model[job],
            trouble.mean_up_s(p.node for p in shares),
            sum(p.gpus for p in shares),
        )
        log.interval_s[job], log.cost_s[job] = interval_s, cost_s
        if trouble.restarts[job]:
            log.since_s[job] += checkpoints.restart_s
            trouble.restarts[job] = 0
        time_s = 1 / log.rate[job]
        end_s = log.since_s[job] + running_s(log.remaining[job] * time_s, interval_s, cost_s)
        if world.points.period_s is not None:
            end_s = self._end_beside_ticks(end_s, time_s, world.points.period_s)
        leader = world.nodes[shares[0].node]
        assert leader is not None
        leader.lead(job, end_s)

    def release(self, job: int, is_done: bool = False) -> None:
        """Take a job off its nodes, its progress kept; what was not work is counted."""
        trouble, log, now = self.trouble, self.trouble.log, self._clock.now_s
        held_s, done_s = now - log.held_since_s[job], self._done_s(job)
        trouble.overhead_gpu_s[job] += log.gpus[job] * (held_s - done_s)
        if trouble.fails_at:
            before = trouble.attempt_gpu_s.get(job, 0.0)
            trouble.attempt_gpu_s[job] = before + log.gpus[job] * done_s
        super().release(job, is_done)

    def _done_s(self, job: int) -> float:
        """Seconds of work that a running job has done since it started here."""
        log = self.trouble.log
        elapsed = max(0.0, self._clock.now_s - log.since_s[job])
        done_s = worked_s(elapsed, log.interval_s[job], log.cost_s[job])
        return min(done_s, log.remaining[job] / log.rate[job])

    def throw_off(self, job: int, notice_s: float) -> None:
        """Take a job off its nodes: what it did since its last checkpoint is lost."""
        trouble, log = self.trouble, self.trouble.log
        gpus, done_s = log.gpus[job], self._done_s(job)
        elapsed = max(0.0, self._clock.now_s - self._began_s(job))
        kept_s = min(done_s, self._kept_s(job, elapsed, notice_s))
        left = self._left_after(job, kept_s)
        self.release(job)
        log.remaining[job] = left
        trouble.lost_gpu_s[job] += gpus * (done_s - kept_s)
        if trouble.fails_at:
            trouble.attempt_gpu_s[job] -= gpus * (done_s - kept_s)
        trouble.failures[job] += 1
        trouble.restarts[job] = 1

    def end_attempt(self, job: int, left: float) -> None:
        """Take a job off its nodes whose attempt has failed: all work of it is lost, the next begins."""
        trouble = self.trouble
        self.release(job)
        trouble.log.remaining[job] = left
        trouble.lost_gpu_s[job] += trouble.attempt_gpu_s.pop(job)
        trouble.attempt[job] += 1
        trouble.failures[job] += 1
        trouble.restarts[job] = 1

    def _began_s(self, job: int) -> float:
        """From when on a running job works and saves in turn."""
        return self.trouble.log.since_s[job]

    def _kept_s(self, job: int, elapsed: float, notice_s: float) -> float:
        """Seconds of work that checkpoints hold, the last of them made after notice."""
        log = self.trouble.log
        interval_s, cost_s = log.interval_s[job], log.cost_s[job]
        kept_s = saved_s(elapsed, interval_s, cost_s)
        if notice_s > 0 and notice_s >= cost_s:
            kept_s = max(kept_s, worked_s(max(0.0, elapsed - cost_s), interval_s, cost_s))
        return kept_s

    def _left_after(self, job: int, worked: float) -> float:
        """Fraction of a running job's work that was left after so many seconds of work here."""
        log = self.trouble.log
        return log.remaining[job] - log.rate[job] * worked

    def lose(self, nodes: Sequence[int]) -> None:
        """Nodes without jobs go away."""
        for n in nodes:
            (self._world.nodes[n] or self._make(n)).close()
            self._world.free_gpus[n] = 0.0
        self._count(nodes)

    def regain(self, nodes: Sequence[int]) -> None:
        """Nodes come back, empty."""
        cluster = self._world.cluster
        for n in nodes:
            v = None if cluster.node_type_of is None else cluster.node_type_of[n]
            node = self._world.nodes[n]
            assert node is not None
            node.reopen(v)
            self._world.free_gpus[n] = 0.0 if v is None else cluster.node_types[v].gpus
        self._count(nodes)

    def _count(self, changed: Sequence[int]) -> None:
        """Which nodes are up now."""
        away, first, step = self.trouble.away, self._first, self._step
        for n in changed:
            self._up[(n - first) // step] = not away[n]
        self.nodes = self.all_nodes[self._up]
        self.nodes.flags.writeable = False
        self.free_gpus_total = float(np.frombuffer(self._world.free_gpus)[self.nodes].sum())
        self.changes.items.extend(changed)
