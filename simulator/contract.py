"""What a policy sees, what it answers, and the check that the answer can be carried out.

    class Mine:
        def decide(self, view: View) -> Decision: ...

A policy is an object with that one method, or a plain function. It is called at decision points
(arrivals, completions, every period, or rounds), one object per controller. It may keep state;
it never touches the clock or the nodes, and takes random numbers from ``view.rng`` alone.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from simulator import tolerances
from simulator.catalog import Cluster, FloatArray, IntArray, NodeType
from simulator.errors import InfeasibleDecision
from simulator.workload import Workload

FIXED = -1
"""`Placement.node_type` on a node whose type is fixed."""

LEAST_AGAIN_S = 1e-3
"""`Decision.again_s` is at least this; clocks below `simulator.workload.LATEST_S` resolve it."""


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
    again_s : ask this controller again so many seconds after the decision comes into force, if no
        newer decision is made before; None: no wake-up. At least `LEAST_AGAIN_S`.

        A controller has one wake-up at the most: a newer decision cancels the one before it. A
        cluster that decides in rounds only does not carry it out (`DecisionPoints.on_request`).
    """

    placements: Sequence[Placement] = ()
    keep_running: bool = False
    info: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    fractional: bool = False
    again_s: float | None = None


NO_CHANGE = Decision(keep_running=True)
"""Everything goes on as it is."""


class JobLog(NamedTuple):
    """The engine's columns of job state, ``(J,)`` each; policies see copies through `View`.

    ``remaining`` is the fraction of work left at ``since_s``, from when the job runs at ``rate``
    (1/s); ``since_s`` lies in the future while a reconfiguration is under way. ``gpus`` have been
    held since ``held_since_s``, and ``attained_gpu_s`` counts what was held before that.
    """

    remaining: list[float]
    rate: list[float]
    since_s: list[float]
    gpus: list[float]
    held_since_s: list[float]
    attained_gpu_s: list[float]
    first_start_s: list[float]

    @classmethod
    def of_size(cls, count: int) -> JobLog:
        """All jobs whole, waiting, never started."""
        zeros = [0.0] * count
        return cls(
            [1.0] * count, zeros[:], zeros[:], zeros[:], zeros[:], zeros[:], [math.nan] * count
        )

    def remaining_at(self, job: int, now_s: float) -> float:
        """Fraction of the job's work that is left."""
        elapsed = now_s - self.since_s[job]
        left = self.remaining[job]
        return max(0.0, left - self.rate[job] * elapsed) if elapsed > 0 else left

    def attained_at(self, job: int, now_s: float) -> float:
        """GPU-seconds that the job has held."""
        return self.attained_gpu_s[job] + self.gpus[job] * (now_s - self.held_since_s[job])


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
    waiting : jobs that wait, the longest in the queue first (a preempted job queues again at its
        end).
    free_gpus : ``(N,)`` GPUs not in use, by node; true of this controller's nodes, and where node
        types are fixed.
    free_gpus_total : their sum over this controller's nodes.
    changed : whether a job came or finished here since this controller's last decision.
    rng : the policy's own stream of random numbers.
    """

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
        log: JobLog,
        rng: np.random.Generator,
    ) -> None:
        self.now_s = now_s
        self.controller = controller
        self.cluster = cluster
        self.workload = workload
        self.nodes = nodes
        self.running = running
        self.waiting = waiting
        self.shares = shares
        self.free_gpus = free_gpus
        self.free_gpus_total = free_gpus_total
        self.changed = changed
        self.rng = rng
        self.active = active
        self._log = log

    @cached_property
    def jobs(self) -> IntArray:
        """``(n,)`` active jobs, ascending (order of submission)."""
        jobs = np.fromiter(self.active, dtype=np.int64, count=len(self.active))
        jobs.sort()
        return jobs

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

    @cached_property
    def remaining(self) -> FloatArray:
        """``(n,)`` fractions of the work left, in (0, 1]."""
        left, now = self._log.remaining_at, self.now_s
        return np.array([max(left(j, now), tolerances.LEAST_WORK_LEFT) for j in self.jobs.tolist()])

    @cached_property
    def attained_gpu_s(self) -> FloatArray:
        """``(n,)`` GPU-seconds held so far."""
        attained, now = self._log.attained_at, self.now_s
        return np.array([attained(j, now) for j in self.jobs.tolist()])

    @cached_property
    def has_started(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """``(n,)`` whether the job has ever run."""
        first = self._log.first_start_s
        return np.array([not math.isnan(first[j]) for j in self.jobs.tolist()], dtype=bool)

    @cached_property
    def times_s(self) -> FloatArray:
        """``(n, V, G + 1)`` *residual* execution times by node type and GPUs, s."""
        table = self.workload.performance.table_s(self.jobs, self.cluster)
        return table * self.remaining[:, None, None]


class Policy(Protocol):
    """Anything that decides."""

    def decide(self, view: View) -> Decision:
        """What runs where from now on."""


PolicyLike = Policy | Callable[[View], Decision]


def by_job(decision: Decision, where: _Where) -> dict[int, tuple[Placement, ...]]:
    """The placements of a decision, by job, in the order in which jobs are first named.

    Numbers of NumPy become Python's own: sums of its 32-bit ones would lose digits.
    """
    shares: dict[int, tuple[Placement, ...]] = {}
    for placement in decision.placements:
        job = placement.job
        _, node, gpus, v, cpus, memory_gb = placement
        if not (
            type(job) is type(node) is type(v) is int
            and (type(gpus) is int or type(gpus) is float)
            and type(cpus) in _PLAIN
            and type(memory_gb) in _PLAIN
        ):
            placement = _in_plain_numbers(placement, where)
            job = placement.job
        before = shares.get(job)
        shares[job] = (placement,) if before is None else (*before, placement)
    return shares


def placements_of(decision: object, view: View, policy: str) -> dict[int, tuple[Placement, ...]]:
    """`by_job` of what a policy answered.

    Raises
    ------
    InfeasibleDecision
        No `Decision`, or one that is not made of `Placement` and a mapping; one line.
    """
    where = _Where(policy, view)
    if not isinstance(decision, Decision):
        raise where.error(f"answered with {type(decision).__name__}, expected a Decision")
    if decision.info and not isinstance(decision.info, Mapping):
        raise where.error(f"has {type(decision.info).__name__} as info, expected a mapping")
    try:
        return by_job(decision, where)
    except (AttributeError, TypeError) as error:
        found: Any = decision.placements
        if not isinstance(found, Sequence) or isinstance(found, Placement):
            what = f"has one {type(found).__name__} as placements, expected a sequence of them"
        elif others := [type(p).__name__ for p in found if not isinstance(p, Placement)]:
            what = f"has a {others[0]} among its placements, expected a Placement"
        else:
            what = f"has placements that cannot be read ({error})"
        raise where.error(what) from error


def wake_up_of(decision: Decision, view: View, policy: str) -> float | None:
    """`Decision.again_s`, checked.

    Raises
    ------
    InfeasibleDecision
        No finite number of seconds from `LEAST_AGAIN_S` on; one line.
    """
    again_s: Any = decision.again_s  # whatever the policy put there
    if again_s is None:
        return None
    real = isinstance(again_s, numbers.Real) and not isinstance(again_s, bool)
    if not (real and LEAST_AGAIN_S <= again_s < math.inf):
        raise _Where(policy, view).error(
            f"has again_s {again_s!r}, expected at least {LEAST_AGAIN_S:g} seconds, or None"
        )
    return float(again_s)


def check_decision(
    shares_of: Mapping[int, tuple[Placement, ...]],
    keep_running: bool,
    view: View,
    policy: str,
    fractional: bool = False,
) -> None:
    """Check that a decision, as `by_job` gives it, can be carried out.

    Checked: jobs are active here, nodes are this controller's, one type a node, no node over its
    GPUs, CPUs or memory, positive whole GPUs (real ones on a pool, or where the decision says
    ``fractional``), one share a job and node.

    Raises
    ------
    InfeasibleDecision
        One line with policy, time, node and resource.
    """
    where = _Where(policy, view)
    uses: dict[int, _Use] = {}
    active = view.active
    for job, shares in shares_of.items():
        if job not in active:
            raise where.error(f"places job {job}, which is not active here")
        if len(shares) > 1 and len({p.node for p in shares}) < len(shares):
            raise where.error(f"gives job {job} two shares of one node")
        for placement in shares:
            _add(uses, placement, view.cluster, where, fractional)
    if keep_running:
        for node, use in tuple(uses.items()):
            if _is_unlimited(view.cluster.node_types[int(use[0])]):
                continue  # a pool: thousands of shares, and no limit that they could exceed
            for job, placement in view.shares[node].items():
                if job not in shares_of:
                    _add(uses, placement, view.cluster, where, fractional)
    for node, use in uses.items():
        _check_node(node, use, where, tolerances.FRACTIONS if fractional else tolerances.CAPACITY)


def has_room(
    job: int,
    shares: Sequence[Placement],
    on_node: Sequence[Mapping[int, Placement]],
    cluster: Cluster,
) -> bool:
    """Whether a job's shares, as `check_decision` let them pass, fit beside what runs now.

    Parameters
    ----------
    on_node : for each node of the cluster, the placements on it, by job; those of this job, which
        would leave them, do not count.
    """
    fixed = cluster.node_type_of
    for share in shares:
        v = share.node_type if fixed is None else fixed[share.node]
        spec = cluster.node_types[v]
        if _is_unlimited(spec):
            continue
        others = [p for j, p in on_node[share.node].items() if j != job]
        if fixed is None and any(p.node_type != v for p in others):
            return False
        for resource in ("gpus", "cpus", "memory_gb"):
            used = sum(getattr(p, resource) for p in (share, *others))
            if used > getattr(spec, resource) * (1 + tolerances.CAPACITY):
                return False
    return True


_Use = list[float]
"""What a decision takes of one node: its type, GPUs, CPUs, GB of memory."""


_PLAIN = frozenset((int, float))


def _add(
    uses: dict[int, _Use],
    placement: Placement,
    cluster: Cluster,
    where: _Where,
    fractional: bool,
) -> None:
    """Add one share to what its node gives."""
    job, node, gpus, v, cpus, memory_gb = placement
    if not 0 <= node < cluster.num_nodes:
        raise where.error(f"uses node {node}, which does not exist")
    fixed = cluster.node_type_of
    if fixed is not None:
        if v != FIXED and v != fixed[node]:
            raise where.error(f"configures node {node}, whose type is fixed")
        v = fixed[node]
    elif not 0 <= v < len(cluster.node_types):
        raise where.error(f"configures node {node} as type {v}, which does not exist")
    if not (0 < gpus < math.inf and 0 <= cpus < math.inf and 0 <= memory_gb < math.inf):
        raise where.error(
            f"gives job {job} {gpus} GPUs, {cpus} CPUs and {memory_gb} GB on node {node}"
        )
    if gpus != int(gpus) and not fractional and cluster.node_types[v].gpus < math.inf:
        raise where.error(f"gives job {job} {gpus} GPUs of node {node}, not a whole number")
    use = uses.get(node)
    if use is None:
        uses[node] = [v, gpus, cpus, memory_gb]
        return
    if use[0] != v:
        names = [cluster.node_types[int(w)].name for w in (use[0], v)]
        raise where.error(f"configures node {node} as {names[0]} and as {names[1]}")
    use[1] += gpus
    use[2] += cpus
    use[3] += memory_gb


def _in_plain_numbers(placement: Placement, where: _Where) -> Placement:
    """The same in Python's own numbers; 0.0 is no index, and a text or an array no amount."""
    for name in ("job", "node", "node_type"):
        value = getattr(placement, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise where.error(f"has a placement with {name} {value!r}, expected a whole number")
    for name in ("gpus", "cpus", "memory_gb"):
        value = getattr(placement, name)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise where.error(f"has a placement with {name} {value!r}, expected a number")
    job, node, gpus, v, cpus, memory_gb = placement
    return Placement(int(job), int(node), float(gpus), int(v), float(cpus), float(memory_gb))


def _is_unlimited(spec: NodeType) -> bool:
    return spec.gpus == spec.cpus == spec.memory_gb == math.inf


def _check_node(node: int, use: _Use, where: _Where, slack: float) -> None:
    """A node is this controller's, and not over its capacities."""
    view = where.view
    if node % view.cluster.num_controllers != view.controller:
        raise where.error(f"uses node {node}, which is not of controller {view.controller}")
    v, gpus, cpus, memory_gb = use
    spec = view.cluster.node_types[int(v)]
    if gpus > spec.gpus * (1 + slack):
        raise where.over(node, "GPUs", gpus, spec.gpus)
    if cpus > spec.cpus * (1 + slack):
        raise where.over(node, "CPUs", cpus, spec.cpus)
    if memory_gb > spec.memory_gb * (1 + slack):
        raise where.over(node, "GB of memory", memory_gb, spec.memory_gb)


class _Where(NamedTuple):
    """Who decided when, for the error's one line."""

    policy: str
    view: View

    def error(self, what: str) -> InfeasibleDecision:
        return InfeasibleDecision(f"policy {self.policy} at {self.view.now_s:.6g} s: {what}")

    def over(self, node: int, resource: str, used: float, capacity: float) -> InfeasibleDecision:
        return self.error(f"node {node}: {used:g} {resource} used of {capacity:g}")
