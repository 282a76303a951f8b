"""What stands before the queues: quotas that are limits, and admission control.

An arriving job passes the gate before the dispatcher. Admission control may reject or downgrade it. A
quota may hold it back until jobs of its tenant have ended. Policies see jobs that have passed, so
that each of them, whatever it knows, keeps to the quotas. A simulation without tenants and admission has no
gate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.core.controller import Controller
from simulator.core.world import World
from simulator.errors import InputError
from simulator.features.admission import SHARE, Admission, Promise, all_on_time, in_units
from simulator.features.elastic_admission import Ask, least_shares, packed, within
from simulator.features.fractional import gpus_asked
from simulator.features.tenants import Tenants, check_limits
from simulator.model.cluster import FloatArray
from simulator.model.tolerances import PART_OF_A_GPU

Submit = Callable[[int], None]


@dataclass(frozen=True)
class GateRecord:
    """What the gate did.

    Attributes
    ----------
    rejected, downgraded, promised : ``(J,)`` jobs that left at once, that lost their due date, and that
        were promised it.
    held_s : ``(J,)`` seconds for which a quota kept each job from the queue.
    can_reject : whether a job can be rejected.
    """

    rejected: np.ndarray[tuple[int], np.dtype[np.bool_]]
    downgraded: np.ndarray[tuple[int], np.dtype[np.bool_]]
    promised: np.ndarray[tuple[int], np.dtype[np.bool_]]
    held_s: FloatArray
    can_reject: bool = False


class Gate:
    """Admission control and quotas, in this order.

    Parameters
    ----------
    tenants : their quotas hold where they are limits; None: no quotas.
    admission : None: every job is admitted.
    left : called with each job that leaves from here: it is rejected, or its patience is over.
    in_parts : whether the policy gives parts of GPUs: a quota then counts parts.
    """

    def __init__(
        self,
        world: World,
        tenants: Tenants | None,
        admission: Admission | None,
        left: Callable[[int], None],
        in_parts: bool = False,
    ) -> None:
        count = len(world.workload)
        self._world = world
        self._tenants = tenants if tenants is not None and tenants.is_limited else None
        self._admission = admission
        self._left = left
        self._submit: Submit
        self._used = [0.0] * (0 if tenants is None else len(tenants))
        self._held: list[list[int]] = [[] for _ in self._used]
        self._promised: dict[int, float] = {}
        self._downgraded: list[int] = []
        self._rejected: list[int] = []
        self._was_promised: list[int] = []
        self._held_s = np.zeros(count)
        asked = gpus_asked(world.workload, in_parts)
        if self._tenants is not None:
            check_limits(self._tenants, world.workload)
            self._gpus = asked.tolist()
        if admission is not None:
            self._begin_admission(world, asked)

    def _begin_admission(self, world: World, asked: FloatArray) -> None:
        """Read how long jobs take, as far as policies know it: predicted times where there are any."""
        if world.cluster.is_pool:
            raise InputError("admission: expected nodes to run jobs on, got a rental pool")
        if world.cluster.node_type_of is None:
            raise InputError("admission: expected nodes of fixed types, got VMs")
        duration_s = getattr(world.shown.performance, "duration_s", None)
        is_fixed = duration_s is not None and world.workload.num_gpus.all()
        if not is_fixed and world.workload.num_gpus.any():
            raise InputError(
                "admission: expected jobs of fixed demand and duration, or jobs that choose their GPUs"
            )
        if not is_fixed and len(set(world.cluster.node_type_of)) > 1:
            raise InputError("admission: expected equal nodes where jobs choose their GPUs")
        if not np.isfinite(world.workload.due_s).any():
            raise InputError("admission: no job has a due date, expected one at least")
        self._duration_s: FloatArray = np.empty(0) if duration_s is None else duration_s
        self._keeps = self._keeps_fixed if is_fixed else self._keeps_elastic
        self._total_gpus = float(world.cluster.total_gpus)
        self._units = in_units(asked)
        if (asked % 1).any():
            self._total_gpus *= SHARE
        if not is_fixed:
            node = world.cluster.node_types[world.cluster.node_type_of[0]]
            self._columns = packed(int(node.gpus), world.cluster.num_nodes)

    def attach(self, dispatch: Callable[[int], Controller]) -> None:
        """Where jobs go that pass."""
        self._submit = lambda job: dispatch(job).submit(job)

    def arrive(self, job: int) -> None:
        """A job comes."""
        if self._admission is not None and not self._admit(self._admission, job):
            return
        self._pass(job)

    def _admit(self, admission: Admission, job: int) -> bool:
        """Whether a job may stay."""
        world = self._world
        due_s, now_s = float(world.workload.due_s[job]), world.clock.now_s
        if due_s == math.inf:
            return True
        if self._keeps([*self._promised.items(), (job, due_s)], now_s):
            self._promised[job] = due_s
            self._was_promised.append(job)
            return True
        if admission.rule == "downgrade":
            self._downgraded.append(job)
            _forget_due_date(world, job)
            return True
        self._rejected.append(job)
        world.left[job] = None
        world.completion_s[job] = now_s
        self._left(job)
        return False

    def _keeps_fixed(self, due: Sequence[tuple[int, float]], now_s: float) -> bool:
        """Whether all these jobs of fixed demand can be on time: job and due date, s, of each."""
        promises = [
            Promise(due_s - now_s, j, self._units[j], self._left_s(j, now_s)) for j, due_s in due
        ]
        return all_on_time(promises, self._total_gpus)

    def _keeps_elastic(self, due: Sequence[tuple[int, float]], now_s: float) -> bool:
        """The same of jobs that run on any number of GPUs of a node."""
        world = self._world
        assert world.cluster.node_type_of is not None
        v = world.cluster.node_type_of[0]
        jobs = np.array([j for j, _ in due], dtype=np.int64)
        left = np.array([world.log.remaining_at(j, now_s) for j, _ in due])
        table_s = world.shown.performance.table_s(jobs, world.cluster)[:, v, : len(self._columns)]
        left_s = np.where(np.isfinite(table_s), table_s, 1.0) * left[:, None]  # no 0 times infinity
        left_s[~np.isfinite(table_s)] = np.inf
        left_s = within(left_s, self._columns)
        asks = [
            Ask(due_s - now_s, j, row) for (j, due_s), row in zip(due, left_s.tolist(), strict=True)
        ]
        return least_shares(asks, int(self._total_gpus)) is not None

    def _left_s(self, job: int, now_s: float) -> float:
        return self._world.log.remaining_at(job, now_s) * float(self._duration_s[job])

    def _pass(self, job: int) -> None:
        """Hand a job over, or hold it back while its tenant's quota is used up."""
        tenants = self._tenants
        if tenants is None:
            self._submit(job)
            return
        t = int(tenants.of[job])
        gpus = self._gpus[job]
        if self._used[t] + gpus > tenants.quota[t] + PART_OF_A_GPU:
            self._held[t].append(job)
            return
        self._used[t] += gpus
        self._submit(job)

    def ended(self, job: int) -> None:
        """A job is over: its tenant may use its GPUs again, the first that fits before the others."""
        self._promised.pop(job, None)
        tenants = self._tenants
        if tenants is None:
            return
        t = int(tenants.of[job])
        world = self._world
        self._used[t] -= self._gpus[job]
        self._forget_impatient(t)
        for other in list(self._held[t]):
            if self._used[t] >= tenants.quota[t]:
                break
            gpus = self._gpus[other]
            if self._used[t] + gpus <= tenants.quota[t] + PART_OF_A_GPU:
                self._held[t].remove(other)
                self._held_s[other] = world.clock.now_s - float(world.workload.submit_s[other])
                self._used[t] += gpus
                self._submit(other)

    def _forget_impatient(self, t: int) -> None:
        """Jobs of a tenant that were held for longer than their patience have left by now."""
        world = self._world
        patience_s = world.workload.patience_s
        if patience_s is None:
            return
        for job in list(self._held[t]):
            leaves_s = float(world.workload.submit_s[job] + patience_s[job])
            if leaves_s < world.clock.now_s:
                self._held[t].remove(job)
                self._promised.pop(job, None)
                self._held_s[job] = float(patience_s[job])
                world.left[job] = None
                world.completion_s[job] = leaves_s
                self._left(job)

    def record(self) -> GateRecord:
        """What it did, at the end."""
        count = len(self._world.workload)
        lists = (self._rejected, self._downgraded, self._was_promised)
        marks = [np.zeros(count, dtype=np.bool_) for _ in lists]
        for mark, jobs in zip(marks, lists, strict=True):
            mark[jobs] = True
        can_reject = self._admission is not None and self._admission.rule == "reject"
        return GateRecord(marks[0], marks[1], marks[2], self._held_s, can_reject)


def _forget_due_date(world: World, job: int) -> None:
    """Policies see the job without a due date; what is counted at the end keeps it."""
    shown = world.shown
    for column, value in ((shown.due_s, math.inf), (shown.weight_per_s, 0.0)):
        column.flags.writeable = True
        column[job] = value
        column.flags.writeable = False


def gated(kind: type[Controller], gate: Gate) -> type[Controller]:
    """A kind of controller that reports the jobs that are over to the gate."""

    def finish(self: Controller, job: int) -> None:
        kind.finish(self, job)
        gate.ended(job)

    def gone(name: str) -> Callable[[Controller, int], None]:
        before = getattr(kind, name)

        def call(self: Controller, job: int) -> None:
            was_here = job in self.active  # a timer of patience may outlive its job
            before(self, job)
            if was_here and job not in self.active:
                gate.ended(job)

        return call

    methods = {name: gone(name) for name in ("_fail", "_leave") if hasattr(kind, name)}
    return type(f"Gated{kind.__name__}", (kind,), {"finish": finish, **methods})
