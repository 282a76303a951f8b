"""What a policy sees, and what it answers (`simulator.model.feasibility` checks the answer).

    class Mine:
        def decide(self, view: View) -> Decision: ...

A policy is an object with that one method, or a plain function. It is called at decision points
(arrivals, completions, every period, or rounds), one object per controller. It may keep state;
it never touches the clock or the nodes, and takes random numbers from ``view.rng`` alone.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np

from simulator.model import tolerances
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.workload import Workload

if TYPE_CHECKING:
    from simulator.features.colocation import Neighbours
    from simulator.features.network import Network
    from simulator.features.tenants import Tenants

_BLANK = object.__new__

FIXED = -1
"""`Placement.node_type` on a node whose type is fixed."""

LEAST_AGAIN_S = 1e-3
"""`Decision.again_s` is at least this; clocks below `simulator.model.workload.LATEST_S` resolve it."""


class Placement(NamedTuple):
    """One share of a node for one job. A job over several nodes has several placements.

    Attributes
    ----------
    job : index of the job in the workload.
    node : index of the node in the cluster.
    gpus : GPUs of that node; a whole number on nodes, any real number on a rental pool.
    node_type : index of the type to configure the node as; `FIXED` where nodes have their type.
    cpus, memory_gb : beside the GPUs; 0 where they are not modelled.
    """

    job: int
    node: int
    gpus: float
    node_type: int = FIXED
    cpus: float = 0.0
    memory_gb: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What runs where from now on.

    Attributes
    ----------
    placements : shares of nodes. An active job without one waits; one that ran is preempted.
    keep_running : the placements are changes only: every running job that is not named goes on
        as it is. This is all that a policy without preemption needs, and it is cheap.
    info : facts about the decision for the record (solver, objective, bound, gap, ..), scalars.
    fractional : shares may be fractions of a GPU: a bound, which no cluster can carry out.
    gpus_of : where shares are parts of GPUs (``fractional``): which GPUs of its node each placed job
        uses, by number from 0. The check then covers every single GPU, and a cluster can do it.
    again_s : ask this controller again so many seconds after the decision comes into force, if no
        newer decision is made before; None: no wake-up. At least `LEAST_AGAIN_S`.

        A controller has one wake-up at the most: a newer decision cancels the one before it. A
        cluster that decides in rounds only does not carry it out (`DecisionPoints.on_request`).
    """

    placements: Sequence[Placement] = ()
    keep_running: bool = False
    info: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    fractional: bool = False
    gpus_of: Mapping[int, tuple[int, ...]] | None = None
    again_s: float | None = None


NO_CHANGE = Decision(keep_running=True)
"""Everything goes on as it is."""


Column: TypeAlias = "array[float]"
"""Plain numbers in a row, eight bytes each; NumPy can look at them (`numpy.frombuffer`).

Made by `column_of`, they are a `memoryview`. All that is done with one can be done with an array.
"""


def column_of(numbers: Sequence[float], times: int = 1) -> Column:
    """A column of these numbers, so many times over.

    To write a number to a `memoryview` takes half of the time that it takes in an `array.array`.
    """
    column: Any = memoryview(array("d", numbers) * times)
    return cast("Column", column)


@dataclass(slots=True)
class JobLog:
    """The engine's columns of job state, ``(J,)`` each; policies see copies through `View`.

    ``remaining`` is the fraction of work left at ``since_s``, from when the job runs at ``rate``
    (1/s); ``since_s`` lies in the future while a reconfiguration is under way. ``gpus`` have been
    held since ``held_since_s``, and ``attained_gpu_s`` counts what was held before that.

    They are `Column`, not lists: eight bytes a number, and NumPy can look at them as they are.
    """

    remaining: Column
    rate: Column
    since_s: Column
    gpus: Column
    held_since_s: Column
    attained_gpu_s: Column
    first_start_s: Column

    @classmethod
    def of_size(cls, count: int) -> JobLog:
        """All jobs whole, waiting, never started."""
        start = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, math.nan)
        return cls(*(column_of([number], count) for number in start))

    def remaining_at(self, job: int, now_s: float) -> float:
        """Fraction of the job's work that is left."""
        elapsed = now_s - self.since_s[job]
        left = self.remaining[job]
        return max(0.0, left - self.rate[job] * elapsed) if elapsed > 0 else left

    def all_remaining_at(self, jobs: IntArray, now_s: float) -> FloatArray:
        """`remaining_at` of several jobs."""
        elapsed = now_s - np.frombuffer(self.since_s)[jobs]
        left = np.frombuffer(self.remaining)[jobs]
        now_left = np.maximum(left - np.frombuffer(self.rate)[jobs] * elapsed, 0.0)
        return np.where(elapsed > 0, now_left, left)

    def attained_at(self, job: int, now_s: float) -> float:
        """GPU-seconds that the job has held."""
        return self.attained_gpu_s[job] + self.gpus[job] * (now_s - self.held_since_s[job])


class Changes:
    """What changed, one number each, in order: a reader need not look at all that stayed the same.

    A reader keeps how many there had been when it last read, and asks `since` that.

    Parameters
    ----------
    kept : so many entries are remembered at least.
    """

    __slots__ = ("_forgotten", "_kept", "items")

    def __init__(self, kept: int) -> None:
        self.items: list[int] = []
        self._forgotten = 0
        self._kept = kept

    def since(self, mark: int) -> tuple[list[int] | None, int]:
        """The entries after the first ``mark``, and how many there have been in all.

        None instead of the entries: some of them are forgotten, look at all.
        """
        items, forgotten = self.items, self._forgotten
        return items[mark - forgotten :] if mark >= forgotten else None, forgotten + len(items)

    def trim(self) -> None:
        """Forget the older half, where there are many."""
        if len(self.items) > 2 * self._kept:
            del self.items[: self._kept]
            self._forgotten += self._kept


class NodeHealth:
    """Which nodes are up, and how reliable they are; nothing of what is to come.

    Parameters
    ----------
    away : ``(N,)`` causes for which each node is away now.
    outages : ``(N,)`` how often each has gone so far.
    rate_per_s : ``(N,)`` failures per second that each is known for.
    leaving_s : ``(N,)`` when each node goes, as far as notice was given; infinite: none was.
    """

    def __init__(
        self,
        away: Sequence[int],
        outages: Sequence[int],
        rate_per_s: Sequence[float],
        leaving_s: Sequence[float],
    ) -> None:
        self._away, self._outages, self._rate_per_s = away, outages, rate_per_s
        self._leaving_s = leaving_s

    @property
    def leaving_s(self) -> FloatArray:
        """``(N,)`` when each node goes, where policies are given notice of it; infinite: not known."""
        return np.array(self._leaving_s, dtype=np.float64)

    @property
    def is_up(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """``(N,)`` whether each node of the cluster is up."""
        return np.equal(self._away, 0)

    @property
    def outages(self) -> IntArray:
        """``(N,)`` how often each node has gone so far."""
        return np.array(self._outages, dtype=np.int64)

    @property
    def mean_up_s(self) -> FloatArray:
        """``(N,)`` mean time between failures, as the operator knows it; infinite: never."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.array(self._rate_per_s, dtype=np.float64))


class View:
    """What one controller sees at a decision point, to be read before the decision is made.

    Arrays are copies or read-only; the mappings are the engine's own, and change with it.

    ``n >= 1`` jobs are active (submitted and unfinished); arrays of shape ``(n,)`` follow `jobs`.

    Attributes
    ----------
    now_s : time of the decision, s.
    controller : index of the controller that asks.
    cluster, workload : the static data of the scenario.
    nodes : ``(N/K,)`` the nodes of this controller.
    active : the active jobs as keys, in the order in which they came here.
    running : placements of the jobs that run now, by job.
    shares : for each node of the cluster, the placements on it now, by job.
    waiting : jobs that wait, as keys, the longest in the queue first (a preempted job queues again at
        its end). The first is ``next(iter(view.waiting))``; ``view.waiting[0]`` asks for job 0.
    free_gpus : ``(N,)`` GPUs not in use, by node; true of this controller's nodes, and where node
        types are fixed.
    free_gpus_total : their sum over this controller's nodes.
    changed : whether a job came or finished here since this controller's last decision.
    node_changes, queue_changes : the nodes of this controller whose shares changed, and the jobs that
        joined `waiting`, in that order, for policies that keep an index of them.
    rng : the policy's own stream of random numbers.
    reconfiguration_s : delay of a job that has run before and is started elsewhere or anew.
    health : which nodes are up, where something can fail; else None.
    tenants : whose jobs they are, with weights and quotas; None where the scenario has no tenants.
    neighbours : memory and slices of GPUs, and what jobs on one GPU do to each other; else None.
    gpus_of : the GPUs of its node that each running job has, where a decision named them.
    slices_of : where GPUs are sliced, by running job: node and GPU, and its slices of memory as bits.
    rate_alone : with `neighbours`: the rate (1/s) that each running job would have without neighbours.
    network : racks, and what being spread costs each job; None where the scenario has none.
    """

    health: NodeHealth | None = None
    tenants: Tenants | None = None
    network: Network | None = None
    neighbours: Neighbours | None = None
    gpus_of: Mapping[int, tuple[int, ...]] = {}
    slices_of: Mapping[int, tuple[tuple[tuple[int, int], int], ...]] = {}
    rate_alone: Mapping[int, float] | None = None
    _kind: type[View] | None = None
    _latest: Mapping[str, Any] = {}

    def __init__(
        self,
        *,
        now_s: float,
        controller: int,
        cluster: Cluster,
        workload: Workload,
        nodes: IntArray,
        active: Mapping[int, None],
        running: Mapping[int, tuple[Placement, ...]],
        waiting: Mapping[int, None],
        shares: Sequence[Mapping[int, Placement]],
        free_gpus: FloatArray,
        free_gpus_total: float,
        changed: bool,
        node_changes: Changes,
        queue_changes: Changes,
        log: JobLog,
        rng: np.random.Generator,
        reconfiguration_s: float = 0.0,
    ) -> None:
        self.reconfiguration_s = reconfiguration_s
        self.now_s = now_s
        self.controller = controller
        self.cluster = cluster
        self.workload = workload
        self.nodes = nodes
        self.active = active
        self.running = running
        self.waiting = waiting
        self.shares = shares
        self.free_gpus = free_gpus
        self.free_gpus_total = free_gpus_total
        self.changed = changed
        self.node_changes = node_changes
        self.queue_changes = queue_changes
        self.rng = rng
        self._log = log

    def at(self, now_s: float, free_gpus_total: float, changed: bool) -> View:
        """The view of the same controller at another time; the engine's, for each decision."""
        view = _BLANK(self._kind or self._make_kind())
        view.now_s = now_s
        view.free_gpus_total = free_gpus_total
        view.changed = changed
        if self._latest:
            view.__dict__.update(self._latest)
        return view

    def change(self, **attributes: Any) -> None:
        """Let the views to come have other attributes; the engine's, where nodes go away."""
        if self._kind is None:
            self.__dict__.update(attributes)
        else:  # a new class for each change would cost more than the change
            self._latest = {**self._latest, **attributes}

    def _make_kind(self) -> type[View]:
        """A class of its own for the views of a controller: all that they have in common.

        To copy twenty attributes for each decision took a tenth of a simulation.
        """
        common = {**self.__dict__, "__doc__": type(self).__doc__, "__module__": __name__}
        self._kind = type(type(self).__name__, (type(self),), common)
        return self._kind

    @cached_property
    def jobs(self) -> IntArray:
        """``(n,)`` active jobs, ascending (order of submission)."""
        jobs = np.fromiter(self.active, dtype=np.int64, count=len(self.active))
        jobs.sort()
        return jobs

    @property
    def rack_of(self) -> IntArray:
        """``(N,)`` rack of each node of the cluster; all in one where the scenario has no racks."""
        if self.network is None:
            return np.zeros(self.cluster.num_nodes, dtype=np.int64)
        return self.network.rack_of

    @property
    def num_active(self) -> int:
        """``n``, without building an array."""
        return len(self.active)

    @cached_property
    def submit_s(self) -> FloatArray:
        """``(n,)`` submission times, s."""
        return self.workload.submit_s[self.jobs]

    @cached_property
    def due_s(self) -> FloatArray:
        """``(n,)`` due dates, s on the clock (not relative to now)."""
        return self.workload.due_s[self.jobs]

    @cached_property
    def weight_per_s(self) -> FloatArray:
        """``(n,)`` cost of a second of tardiness."""
        return self.workload.weight_per_s[self.jobs]

    @cached_property
    def num_gpus(self) -> IntArray:
        """``(n,)`` GPUs demanded, 0 where the policy chooses."""
        return self.workload.num_gpus[self.jobs]

    def remaining_of(self, job: int) -> float:
        """Fraction of one job's work that is left now."""
        return self._log.remaining_at(job, self.now_s)

    def attained_gpu_s_of(self, job: int) -> float:
        """GPU-seconds that one job has held until now."""
        return self._log.attained_at(job, self.now_s)

    def time_s_of(self, job: int, shares: Sequence[Placement]) -> float:
        """Seconds of the whole job on these shares; over nodes of several types, as on the slowest."""
        performance, fixed = self.workload.performance, self.cluster.node_type_of
        gpus, cpus, memory_gb = (sum(s[i] for s in shares) for i in (2, 4, 5))
        slowest = max(
            performance.time_s(job, v, gpus, cpus, memory_gb)
            for v in {s.node_type if fixed is None else fixed[s.node] for s in shares}
        )
        if len(shares) == 1:
            return slowest
        if self.network is not None:  # in place of the performance model's, as in the engine
            return slowest * self.network.factor(job, [s.node for s in shares])
        return slowest * performance.network_penalty

    @cached_property
    def remaining(self) -> FloatArray:
        """``(n,)`` fractions of the work left, in (0, 1]."""
        left = self._log.all_remaining_at(self.jobs, self.now_s)
        return np.maximum(left, tolerances.LEAST_WORK_LEFT)

    @cached_property
    def attained_gpu_s(self) -> FloatArray:
        """``(n,)`` GPU-seconds held so far."""
        log, jobs = self._log, self.jobs
        held_s = self.now_s - np.frombuffer(log.held_since_s)[jobs]
        held = np.frombuffer(log.gpus)[jobs] * held_s
        return np.asarray(np.frombuffer(log.attained_gpu_s)[jobs] + held)

    @cached_property
    def has_started(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """``(n,)`` whether the job has ever run."""
        return ~np.isnan(np.frombuffer(self._log.first_start_s)[self.jobs])

    @cached_property
    def times_s(self) -> FloatArray:
        """``(n, V, G + 1)`` *residual* execution times by node type and GPUs, s."""
        table = self.workload.performance.table_s(self.jobs, self.cluster)
        return table * self.remaining[:, None, None]


class Policy(Protocol):
    """Anything that decides.

    One may also have ``cannot_start(workload, waiting, free_gpus_total) -> bool``: whether it would
    answer with `NO_CHANGE` to a view with these three, whatever else is in it. The engine asks this
    first, since a view costs more than the answer. A class that inherits this and has a `decide` of its
    own is not asked.

    And one that gives parts of GPUs (`Decision.gpus_of`) may say so by ``gives_parts = True``: quotas then
    count the part that a job asks for, otherwise whole GPUs.
    """

    def decide(self, view: View) -> Decision:
        """What runs where from now on."""


PolicyLike = Policy | Callable[[View], Decision]
