"""Contract of policies: the view and the decision (`simulator.model.feasibility` checks the answer).

    class Mine:
        def decide(self, view: View) -> Decision: ...

A policy is an object with that one method, or a plain function. It is called at decision points
(arrivals, completions, every period, or rounds), one object per controller. It may keep state;
it never touches the clock or the nodes, and takes random numbers from ``view.rng`` alone.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import numpy as np

from simulator.model import tolerances
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.placement import FIXED as FIXED
from simulator.model.placement import Placement as Placement
from simulator.model.so_far import Thing, whole_of
from simulator.model.workload import Workload

LEAST_AGAIN_S = 1e-3
"""`Decision.again_s` is at least this; clocks below `simulator.model.workload.LATEST_S` resolve it."""


Configuration = Any
"""What a job runs with beside its GPUs, for example batch size and accumulation steps."""
Choose = Callable[[int, Sequence[Placement], float], Configuration]
"""From a job, its placements and the fraction of its work that is left."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Placements of all jobs from now on.

    Attributes
    ----------
    placements : shares of nodes, as a list of them, or for each job a tuple of its own. An active job
        without one waits; one that ran is preempted.
    keep_running : the placements are changes only: every running job that is neither named nor ``stopped`` goes
        on as it is. This is all that a policy without preemption needs, and it is cheap.
    info : facts about the decision for the record (solver, objective, bound, gap, ..), scalars.
    relaxed : shares may be fractions of a GPU that nobody names: a bound, which no cluster can carry out.
    gpus_of : where shares are parts of GPUs: which GPUs of its node each placed job uses, by number
        from 0. The check then covers every single GPU. A job of all GPUs of its nodes need not be named.
    configuration_of : what jobs run with beside their GPUs, for example batch size and accumulation steps,
        for performance models that know it (`simulator.features.changing_rates`).
    choose : how jobs in ``configuration_of`` choose it anew where their progress changes their rate before the
        next decision; None: they keep it.
    again_s : ask this controller again so many seconds after the decision comes into force, if no
        newer decision is made before; None: no wake-up. At least `LEAST_AGAIN_S`.

        A controller has one wake-up at the most: a newer decision cancels the one before it. A
        cluster that decides in rounds only does not carry it out (`DecisionPoints.round_s`).
    stopped : with ``keep_running``, jobs that run and are preempted, in the order in which they queue again.
    """

    placements: Sequence[Placement] | Mapping[int, tuple[Placement, ...]] = ()
    keep_running: bool = False
    info: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    relaxed: bool = False
    gpus_of: Mapping[int, tuple[int, ...]] | None = None
    configuration_of: Mapping[int, Configuration] | None = None
    again_s: float | None = None
    choose: Choose | None = None
    stopped: Collection[int] = ()

    def shares(self) -> Sequence[Placement]:
        """All placements, in their order."""
        placements = self.placements
        if isinstance(placements, list) or not isinstance(placements, Mapping):
            return placements
        return [share for shares in placements.values() for share in shares]


NO_CHANGE = Decision(keep_running=True)
"""Everything goes on as it is."""


class Changes:
    """Log of changes, one number each, in order: a reader need not look at all that stayed the same.

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


_UNSTEADY = (
    "checkpoint", "delay_s", "next_change", "noticed_after_s", "rate", "shown_work", "slowdown",
)  # fmt: skip
"""Methods by which a feature may change how long a job that runs still takes."""


class _Instead:
    """A controller, some of whose attributes have other values."""

    def __init__(self, controller: Any, instead: Mapping[str, Any]) -> None:
        self.__dict__.update(instead)
        self._controller = controller

    def __getattr__(self, name: str) -> Any:
        return getattr(self._controller, name)


class View:
    """State of one controller at a decision point, to be read before the decision is made.

    It reads through to its controller; arrays are copies or read-only. ``n >= 1`` jobs are active
    (submitted and unfinished); arrays of shape ``(n,)`` follow `jobs`.

    What features of the cluster add stands under their names: ``view.faults``, ``view.network``,
    ``view.tenants``, ``view.colocation``, ``view.reconfiguration`` (s); ``getattr(view, "network", None)``
    where there may be none.

    Attributes
    ----------
    now_s : time of the decision, s.
    changed : whether a job came or finished here since this controller's last decision.
    """

    __slots__ = ("_controller", "_jobs", "_remaining", "changed", "now_s")

    def __init__(self, controller: Any, now_s: float, changed: bool) -> None:
        self._controller = controller
        self.now_s = now_s
        self.changed = changed
        self._jobs: IntArray | None = None
        self._remaining: FloatArray | None = None

    def __getattr__(self, name: str) -> Any:
        seen = object.__getattribute__(self, "_controller").seen
        if name in seen:
            return seen[name]
        raise AttributeError(f"view.{name}: this cluster has no such feature")

    def showing(self, **instead: Any) -> View:
        """The same view with other values of some attributes, for wrappers: ``running``, ``shares``, ..

        ``jobs`` are other states of the jobs (`states`).
        """
        if "jobs" in instead:
            instead["states"] = instead["jobs"]
        controller: Any = _Instead(self._controller, instead)
        return View(controller, self.now_s, self.changed)

    # -- the cluster and the queue -----------------------------------------------------------

    @property
    def controller(self) -> int:
        """Index of the controller that asks."""
        return self._controller.index

    @property
    def cluster(self) -> Cluster:
        """The machines."""
        return self._controller.cluster

    @property
    def workload(self) -> Workload:
        """The jobs so far: its arrays and lists end with the last job that was submitted, here or elsewhere.

        Times are predicted ones where policies see predictions. A later index is an error; a mean is that of what has come.
        """
        return self._controller.workload

    @property
    def all_jobs(self) -> Workload:
        """All jobs of the scenario, those to come too; whoever reads it, its run is marked as *informed*."""
        self._controller.simulation.informed = True
        return self._controller.rows

    @property
    def rows(self) -> Workload:
        """All jobs, of which policies of this project make tables with a row a job, once.

        What they decide depends on rows of jobs that have come (tests/core/test_jobs_to_come.py). Nobody tests that of other code,
        whose run is marked as with `all_jobs`.
        """
        self._mark(sys._getframe(1))
        return self._controller.rows

    def rows_of(self, seen: Thing) -> Thing:
        """The same of another thing of the view with a row a job: ``view.rows_of(view.colocation.spec)``."""
        self._mark(sys._getframe(1))
        return whole_of(seen)

    def _mark(self, asks: FrameType) -> None:
        """Mark the run as informed, unless a policy of this project asks."""
        if not asks.f_globals.get("__name__", "").startswith("policies."):
            self._controller.simulation.informed = True

    def so_far(self, thing: Thing) -> Thing:
        """Of a thing with rows of jobs, such as a copy of `rows` with other times, those of the jobs so far."""
        return self._controller.simulation.so_far.of(thing)

    @property
    def nodes(self) -> IntArray:
        """``(N/K,)`` the nodes of this controller that are up."""
        return self._controller.nodes

    @property
    def down(self) -> Set[int]:
        """The nodes of this controller that are down."""
        return self._controller.down

    @property
    def active(self) -> Mapping[int, None]:
        """The active jobs as keys, in the order in which they came here."""
        return self._controller.active

    @property
    def waiting(self) -> Mapping[int, None]:
        """Jobs that wait, as keys, the longest in the queue first.

        A preempted job queues again at the end. The first is ``next(iter(view.waiting))``.
        """
        return self._controller.waiting

    @property
    def running(self) -> Mapping[int, tuple[Placement, ...]]:
        """Placements of the jobs that run now, by job."""
        return self._controller.running

    @property
    def shares(self) -> Sequence[Mapping[int, Placement]]:
        """For each node of the cluster, the placements on it now, by job."""
        return self._controller.shares

    @property
    def free_gpus(self) -> FloatArray:
        """``(N,)`` GPUs not in use; true of this controller's nodes, where node types are fixed."""
        return self._controller.free_gpus

    @property
    def free_gpus_total(self) -> float:
        """Sum of `free_gpus` over this controller's nodes."""
        return self._controller.free_gpus_total

    @property
    def gpus_of(self) -> Mapping[int, tuple[int, ...]]:
        """Numbers of the GPUs of its node that each running job has, where a decision named them."""
        return self._controller.gpus_of

    @property
    def configuration_of(self) -> Mapping[int, Any]:
        """Configuration of each running job (such as its batch size), where the policy or its model chose it."""
        return self._controller.configuration_of

    @property
    def node_changes(self) -> Changes:
        """Nodes of this controller whose shares changed, for policies that keep an index."""
        return self._controller.node_changes

    @property
    def queue_changes(self) -> Changes:
        """Jobs that joined `waiting`, in that order, for policies that keep an index."""
        return self._controller.queue_changes

    @property
    def rng(self) -> np.random.Generator:
        """The policy's own stream of random numbers."""
        return self._controller.rng

    @property
    def in_full(self) -> bool:
        """Whether decisions have to name all jobs that run, not changes only.

        They are carried out later, on a state that may be another, or a wrapper arranges them anew.
        """
        return self._controller.in_full

    @property
    def is_steady(self) -> bool:
        """Whether jobs work at one rate from their start to their end: no feature delays, slows or saves them."""
        return not any(map(self._controller.simulation.hooks.get, _UNSTEADY))

    # -- the active jobs ---------------------------------------------------------------------

    @property
    def states(self) -> Any:
        """State of the jobs so far (`simulator.core.jobs.JobStates`)."""
        return self._controller.states

    @property
    def jobs(self) -> IntArray:
        """``(n,)`` active jobs, ascending (order of submission)."""
        if self._jobs is None:
            active = self._controller.active
            self._jobs = np.fromiter(active, dtype=np.int64, count=len(active))
            self._jobs.sort()
        return self._jobs

    @property
    def num_active(self) -> int:
        """``n``, without building an array."""
        return len(self._controller.active)

    @property
    def submit_s(self) -> FloatArray:
        """``(n,)`` submission times, s."""
        return self.workload.submit_s[self.jobs]

    @property
    def due_s(self) -> FloatArray:
        """``(n,)`` due dates, s on the clock (not relative to now)."""
        return self.workload.due_s[self.jobs]

    @property
    def weight_per_s(self) -> FloatArray:
        """``(n,)`` cost of a second of tardiness."""
        return self.workload.weight_per_s[self.jobs]

    @property
    def num_gpus(self) -> IntArray:
        """``(n,)`` GPUs demanded, 0 where the policy chooses."""
        return self.workload.num_gpus[self.jobs]

    @property
    def remaining(self) -> FloatArray:
        """``(n,)`` fractions of the work left, above 0.

        Where speeds are learned, in units of the predicted work: it may then exceed 1.
        """
        if self._remaining is None:
            left = self._controller.jobs.all_remaining_at(self.jobs, self.now_s)
            for factor in self._controller.simulation.hooks["shown_work"]:
                left = left * factor(self.jobs)
            self._remaining = np.maximum(left, tolerances.LEAST_WORK_LEFT)
        return self._remaining

    def remaining_of(self, job: int) -> float:
        """Fraction of one job's work that is left now."""
        left: float = self._controller.jobs.remaining_at(job, self.now_s)
        for factor in self._controller.simulation.hooks["shown_work"]:
            left *= float(factor(job))
        return left

    @property
    def attained_gpu_s(self) -> FloatArray:
        """``(n,)`` GPU-seconds held so far."""
        state, jobs = self._controller.jobs, self.jobs
        held_s = self.now_s - np.frombuffer(state.held_since_s)[jobs]
        held = np.frombuffer(state.gpus)[jobs] * held_s
        return np.asarray(np.frombuffer(state.attained_gpu_s)[jobs] + held)

    def attained_gpu_s_of(self, job: int) -> float:
        """GPU-seconds that one job has held until now."""
        held: float = self._controller.jobs.attained_at(job, self.now_s)
        return held

    @property
    def has_started(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """``(n,)`` whether the job has ever run."""
        return ~np.isnan(np.frombuffer(self._controller.jobs.first_start_s)[self.jobs])

    def time_s_of(self, job: int, shares: Sequence[Placement]) -> float:
        """Seconds of the whole job on these shares, as the engine computes them."""
        controller = self._controller
        left = controller.jobs.remaining_at(job, self.now_s)
        configuration = controller.configuration_of.get(job)
        time_s: float = controller.simulation.time_on_s(
            controller.workload, job, shares, configuration, left
        )
        return time_s

    def can_run(self, job: int, shares: Sequence[Placement]) -> bool:
        """Whether the job has a time on these shares, with what it would choose to run with there."""
        controller = self._controller
        left, workload = controller.jobs.remaining_at(job, self.now_s), controller.workload
        chosen = workload.performance.configuration(job, shares, left)
        time_s: float = controller.simulation.time_on_s(workload, job, shares, chosen, left)
        return time_s < math.inf

    @property
    def times_s(self) -> FloatArray:
        """``(n, V, G + 1)`` *residual* execution times by node type and GPUs, s."""
        table = self.workload.performance.table_s(self.jobs, self.cluster)
        return table * self.remaining[:, None, None]


class Policy(Protocol):
    """Anything that decides.

    One that gives parts of GPUs (`Decision.gpus_of`) may say so by ``fractional_gpus = True``: quotas then
    count the part that a job asks for, otherwise whole GPUs.
    """

    def decide(self, view: View) -> Decision:
        """Placements of all jobs from now on."""


PolicyLike = Policy | Callable[[View], Decision]
