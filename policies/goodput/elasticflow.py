"""ElasticFlow: each job its least share of GPUs, so that it is on time, then GPUs where they speed up most.

Gu et al., ElasticFlow, ASPLOS 2023, Section 4, here in continuous time. It follows the plan that admission control
has found (`simulator.features.admission.elastic`). Every promised due date is met where there is one controller, nothing
fails, times are known exactly, and moving a job takes no time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

from policies.queues.free_gpus import FreeGpus, Nodes
from policies.registry.registration import register
from simulator.errors import InputError
from simulator.features.admission.elastic import Ask, Piece, packed, shares_in_turn, within
from simulator.model.cluster import FloatArray
from simulator.model.contract import LEAST_AGAIN_S, NO_CHANGE, Decision, Placement, View
from simulator.model.placement import in_proportion
from simulator.model.ranks import Levels, less
from simulator.model.tolerances import EQUAL, INSTANT_S


@register(
    "elasticflow",
    requires=("servers", "one-type", "elastic", "due"),
    paper="Gu et al. (ElasticFlow), ASPLOS 2023",
)
class ElasticFlow:
    """Least share that meets each due date, then GPUs where they speed up most (ElasticFlow).

    At each decision the plan is made anew, since jobs that had more than their share have less to do. Where
    it then fails for some job (it need not do so only where GPUs are short: the filling is greedy), the
    plan before goes on, as long as all jobs are on time in it. A job that cannot be on time, one that is late, and
    one without a due date run on what the others leave free.

    What is free goes, step by step, to the job whose speed grows most for each GPU, where speed is counted
    in GPUs at the job's best efficiency. So a waiting job gets one GPU before another gets its second, if
    speed-ups are less than linear.
    """

    name = "elasticflow"

    def __init__(self) -> None:
        self._plan: dict[int, list[Piece]] = {}
        """Of each job that is on time, in seconds on the clock."""
        self._num_nodes = 0

    def decide(self, view: View) -> Decision:
        """GPUs of each job from now on, and the next change of the plan."""
        v, now_s = _node_type(view), view.now_s
        spec = view.cluster.node_types[v]
        gpus = int(spec.gpus)
        times_s = view.times_s[:, v, : gpus + 1].copy()
        times_s[:, 0] = math.inf
        left_s = within(times_s, packed(gpus, len(view.nodes)))
        jobs = view.jobs.tolist()
        if _about_to_end(view, times_s):
            return NO_CHANGE
        times = dict(zip(jobs, left_s.tolist(), strict=True))
        asks = [
            Ask(due_s - now_s, job, times[job])
            for job, due_s in zip(jobs, view.due_s.tolist(), strict=True)
            if now_s <= due_s < math.inf
        ]
        num_nodes = len(view.nodes)
        total = gpus * num_nodes
        self._plan = self._planned(asks, total, num_nodes, now_s)
        has = dict.fromkeys(jobs, 0)
        for job, pieces in self._plan.items():
            has[job] = _gpus_at(pieces, now_s)
        spread(has, times, total - sum(has.values()))
        used = {
            job: int(row[: has[job] + 1].argmin()) for job, row in zip(jobs, times_s, strict=True)
        }
        ends = [t for pieces in self._plan.values() for p in pieces for t in (p.begin_s, p.end_s)]
        next_s = min((t for t in ends if t > now_s + INSTANT_S), default=None)
        again_s = None if next_s is None else max(LEAST_AGAIN_S, next_s - now_s)
        return Decision(placed(view, has, used), again_s=again_s)

    def _planned(
        self, asks: Sequence[Ask], total: int, num_nodes: int, now_s: float
    ) -> dict[int, list[Piece]]:
        """The plan of those that can be on time: a new one, or the one before where it does for more."""
        before, self._num_nodes = self._num_nodes, num_nodes
        new = shares_in_turn(asks, total)
        # With fewer nodes it cannot go on, and one for a single node holds numbers that need not fit on more.
        goes_on = before == num_nodes or 1 < before < num_nodes
        old = self._plan if goes_on else {}
        if len(new) < len(asks) and all(_on_time(old.get(a.job), a, now_s) for a in asks):
            return {ask.job: old[ask.job] for ask in asks}
        return {
            job: [Piece(p.begin_s + now_s, p.end_s + now_s, p.gpus) for p in pieces]
            for job, pieces in new.items()
        }


def _on_time(pieces: Sequence[Piece] | None, ask: Ask, now_s: float) -> bool:
    """True where a job does all its work in what is left of its plan, by its due date."""
    if pieces is None:
        return False
    due_s = now_s + ask.due_in_s
    done = 0.0
    for begin_s, end_s, gpus in pieces:
        for_s = min(end_s, due_s) - max(begin_s, now_s)
        done += max(0.0, for_s) / ask.left_s[gpus]
    return done >= 1 - EQUAL


def _about_to_end(view: View, times_s: FloatArray) -> bool:
    """True where a running job ends at this instant but for rounding: the next decision comes then."""
    running = view.running
    return any(
        row[int(running[job][0].gpus)] <= INSTANT_S
        for job, row in zip(view.jobs.tolist(), times_s, strict=True)
        if job in running
    )


def _gpus_at(pieces: Sequence[Piece], now_s: float) -> int:
    """Shares that a plan gives from now on."""
    return next((p.gpus for p in pieces if p.begin_s <= now_s + INSTANT_S < p.end_s), 0)


def _node_type(view: View) -> int:
    """The type of the nodes; all are equal."""
    fixed = view.cluster.node_type_of
    if fixed is None or len(set(fixed)) > 1:
        raise InputError("elasticflow: expected equal nodes of a fixed type")
    if view.workload.num_gpus.any():
        raise InputError("elasticflow: expected jobs that choose their GPUs, got a fixed demand")
    return fixed[0]


def spread(has: dict[int, int], left_s: Mapping[int, Sequence[float]], free: int) -> None:
    """Give free GPUs away, each time the step that brings most speed for each GPU.

    Parameters
    ----------
    has : GPUs of each job; changed.
    left_s : of each job, seconds left on 0, 1, 2, .. GPUs; infinite: it cannot run.
    free : GPUs to give away.
    """
    level = Levels(None).of
    heap: list[tuple[float, int, int]] = []

    def push(job: int) -> None:
        step = _step(has[job], left_s[job], free)
        if step is not None:
            heapq.heappush(heap, (level(-step[0]), job, step[1]))

    for job in has:
        push(job)
    while heap and free > 0:
        _, job, gpus = heapq.heappop(heap)
        if gpus - has[job] <= free:
            free -= gpus - has[job]
            has[job] = gpus
        push(job)


def _step(gpus: int, left_s: Sequence[float], free: int) -> tuple[float, int] | None:
    """The best step of a job, the shortest of equals: the gain, and its GPUs then; None: no more of use."""
    unit_s = min(g * t for g, t in enumerate(left_s) if g)  # of work, by one GPU at best
    best: tuple[float, int] | None = None
    for more in range(gpus + 1, min(gpus + free, len(left_s) - 1) + 1):
        gain = unit_s * (1 / left_s[more] - 1 / left_s[gpus]) / (more - gpus)
        if gain > 0 and (best is None or less(best[0], gain)):
            best = (gain, more)
    return best


def placed(view: View, has: Mapping[int, int], used: Mapping[int, int]) -> list[Placement]:
    """One node for each job: the one that it has if its GPUs stay, else the fullest that holds it.

    Where some job does not fit so, all are placed anew, the largest first. That always succeeds with
    the numbers of GPUs of `simulator.features.admission.elastic.packed`.

    Parameters
    ----------
    has, used : GPUs kept for each job, and those of them on which it is fastest.
    """
    some = {job: gpus for job, gpus in has.items() if gpus}
    stay: dict[int, Nodes] = {
        job: ((shares[0].node, some[job]),)
        for job, shares in view.running.items()
        if job in some and used[job] == shares[0].gpus
    }
    spec = view.cluster.node_types[_node_type(view)]
    wanted = sorted(some.items(), key=lambda each: (-each[1], each[0]))

    def laid(stay: Mapping[int, Nodes]) -> dict[int, Nodes]:
        free = FreeGpus(dict.fromkeys(view.nodes.tolist(), spec.gpus))
        return free.settle(wanted, stay, lambda job, gpus: free.fullest(gpus))

    plan = laid(stay)
    if len(plan) < len(some):
        plan = laid({})
    return [in_proportion(job, node, used[job], spec) for job, ((node, _),) in plan.items()]
