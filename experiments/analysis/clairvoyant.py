"""A schedule that knows all jobs beforehand: an upper bound beside the lower ones.

Long local search over whole schedules, begun from the run of a policy. A step takes a few jobs out
and puts them back one by one, each along its cheapest way through what is there
(`experiments.analysis.insertion`). What costs less is kept; what costs a little more is kept for a while
(simulated annealing). The result is a schedule, not a bound: the least possible cost lies between the
best bound and it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from experiments.analysis.bounds import options_of, useful
from experiments.analysis.insertion import cost_of_rows, insert
from policies import make_policy
from policies.queues.selection import node_price_per_hour
from simulator import simulate
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.workload import Workload

TAKEN = 6
"""Jobs that one step takes out at most."""

HOPEFUL = 0.3
"""Chance that a job that opens a node pays for its share of it only."""

WARMTH = 0.005
"""First temperature of the annealing over the mean cost of a job."""

TOLERANCE = 1e-7
"""Of the work that a schedule must do for each job, and of instants relative to its length."""

Stretch = tuple[int, int, int, int, float, float]


@dataclass(frozen=True, eq=False)
class ClairvoyantSchedule:
    """A whole schedule.

    Attributes
    ----------
    stretches : ``(S, 6)`` job, node, node type, GPUs, start and end in s.
    cost : leasing, energy and tardiness; the accounts of `cost_of`, not those of the search.
    begun_at : cost of the schedule that the search began from.
    """

    stretches: FloatArray
    cost: float
    begun_at: float


def clairvoyant(
    workload: Workload,
    cluster: Cluster,
    steps: int = 2000,
    policy: str = "foresight",
    seed: int = 1,
) -> ClairvoyantSchedule:
    """The cheapest schedule that a local search finds.

    Parameters
    ----------
    steps : of the search; 50 jobs on 5 nodes take some milliseconds each.
    policy : whose run the search begins from.

    Raises
    ------
    InputError
        As `experiments.analysis.bounds.options_of`.
    """
    problem = _Problem.of(workload, cluster)
    run = simulate(workload, cluster, make_policy(policy), seed=seed)
    first = _rows(run.schedule_table(), workload, cluster)
    begun_at = cost_of(first, workload, cluster)
    best = _search(problem, first, steps, np.random.default_rng(seed))
    cost = cost_of(best, workload, cluster)
    return (
        ClairvoyantSchedule(best, cost, begun_at)
        if cost < begun_at
        else ClairvoyantSchedule(first, begun_at, begun_at)
    )


def cost_of(stretches: FloatArray, workload: Workload, cluster: Cluster) -> float:
    """Cost of a schedule, after it has been checked from end to end.

    Raises
    ------
    ValueError
        Work left undone, a job before its submission or twice at a time, a node over its GPUs or of
        two types at a time.
    """
    times_s = workload.performance.table_s(np.arange(len(workload)), cluster)
    price = node_price_per_hour(cluster) / SECONDS_PER_HOUR
    rows: list[Stretch] = [
        (int(j), int(n), int(v), int(g), float(a), float(b)) for j, n, v, g, a, b in stretches
    ]
    slack = TOLERANCE * max((row[5] for row in rows), default=1.0)
    total = 0.0
    for job in range(len(workload)):
        mine = sorted((r for r in rows if r[0] == job), key=lambda r: r[4])
        done = sum((b - a) / float(times_s[job, v, g]) for _, _, v, g, a, b in mine)
        if abs(done - 1.0) > TOLERANCE:
            raise ValueError(f"job {job}: {done} of its work done, expected 1")
        if mine[0][4] < workload.submit_s[job] - slack:
            raise ValueError(f"job {job} runs before its submission")
        if any(y[4] < x[5] - slack for x, y in itertools.pairwise(mine)):
            raise ValueError(f"job {job} runs twice at a time")
        late = max(0.0, mine[-1][5] - float(workload.due_s[job]))
        total += float(workload.weight_per_s[job]) * late if late else 0.0
    span = float(workload.submit_s[0]), max(row[5] for row in rows)
    fixed = cluster.node_type_of
    for node in range(cluster.num_nodes):
        mine = [row for row in rows if row[1] == node]
        total += _node_cost(node, mine, price, fixed[node] if fixed else None, span, slack, cluster)
    return total


def _node_cost(
    node: int,
    rows: list[Stretch],
    price: FloatArray,
    fixed: int | None,
    span: tuple[float, float],
    slack: float,
    cluster: Cluster,
) -> float:
    """Lease and energy of one node; a fixed node that is empty draws its idle power from the first
    submission to the last end."""
    instants = sorted({*span, *(r[4] for r in rows), *(r[5] for r in rows)})
    total = 0.0
    for a, b in itertools.pairwise(instants):
        here = [r for r in rows if r[4] < (a + b) / 2 < r[5]]
        types = {r[2] for r in here} | ({fixed} if fixed is not None else set())
        used = sum(r[3] for r in here)
        if b - a > slack and len(types) > 1:
            raise ValueError(f"node {node} has two types at {a} s")
        if b - a > slack and types and used > cluster.node_types[max(types)].gpus:
            raise ValueError(f"node {node} has {used} GPUs in use at {a} s")
        if types:
            v = max(types)
            total += (b - a) * float(price[v, min(used, int(cluster.node_types[v].gpus))])
    return total


def _rows(table, workload: Workload, cluster: Cluster) -> FloatArray:  # type: ignore[no-untyped-def]
    """``(S, 6)`` of a run's schedule."""
    job = {name: j for j, name in enumerate(workload.job_id)}
    kind = {spec.name: v for v, spec in enumerate(cluster.node_types)}
    return np.column_stack(
        [
            table["job_id"].map(job),
            table["node"],
            table["node_type"].astype(str).map(kind),
            table["gpus"],
            table["start_s"],
            table["end_s"],
        ]
    ).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Jobs and machines as the kernels read them.

    Attributes
    ----------
    speed, config : of each job, ``(K,)`` and ``(K, 2)``.
    fixed, gpus, price : see `experiments.analysis.insertion.insert`.
    """

    workload: Workload
    speed: list[FloatArray]
    config: list[IntArray]
    fixed: IntArray
    gpus: IntArray
    price: FloatArray
    idle_per_s: float

    @classmethod
    def of(cls, workload: Workload, cluster: Cluster) -> _Problem:
        options = [useful(o) for o in options_of(workload, cluster)]
        fixed = np.full(cluster.num_nodes, -1, dtype=np.int64)
        price = node_price_per_hour(cluster) / SECONDS_PER_HOUR
        idle = 0.0
        if cluster.node_type_of is not None:
            fixed = np.array(cluster.node_type_of, dtype=np.int64)
            idle = float(price[fixed, 0].sum())
        return cls(
            workload,
            [1.0 / o.time_s for o in options],
            [np.stack([o.node_type, o.gpus], axis=1).astype(np.int64) for o in options],
            fixed,
            np.array([int(t.gpus) for t in cluster.node_types], dtype=np.int64),
            np.where(np.isfinite(price), price, 0.0),
            idle,
        )

    def insert(self, job: int, others: FloatArray, hope: float) -> FloatArray:
        """A job's cheapest stretches beside the others'."""
        w = self.workload
        rows, _ = insert(
            job, float(w.submit_s[job]), float(min(w.due_s[job], 1e12)),
            float(w.weight_per_s[job]), self.speed[job], self.config[job],
            others, self.fixed, self.gpus, self.price, hope,
        )  # fmt: skip
        return np.asarray(rows)


def _search(
    problem: _Problem, first: FloatArray, steps: int, rng: np.random.Generator
) -> FloatArray:
    """Take out, put back, keep or not."""
    w = problem.workload
    weight, due = np.asarray(w.weight_per_s), np.asarray(np.minimum(w.due_s, 1e12))

    def cost(rows: FloatArray) -> float:
        return float(
            cost_of_rows(rows, weight, due, problem.fixed, problem.price, problem.idle_per_s)
        )

    here, now = first, cost(first)
    best, least = here, now
    for step in range(steps):
        out = _neighbours(here, len(w), rng)
        kept = here[~np.isin(here[:, 0], out)]
        hope = float(rng.random() < HOPEFUL)
        for job in rng.permutation(out).tolist():
            kept = np.concatenate([kept, problem.insert(int(job), kept, hope)])
        found = cost(kept)
        warmth = WARMTH * (now / len(w)) * (1.0 - step / steps) ** 2
        if found <= now + warmth * rng.exponential():
            here, now = kept, found
        if found < least:
            best, least = kept, found
    return best


def _neighbours(rows: FloatArray, jobs: int, rng: np.random.Generator) -> IntArray:
    """A job, and some of those that run at the same time as it does."""
    job = int(rng.integers(jobs))
    mine = rows[rows[:, 0] == job]
    begin, end = mine[:, 4].min(), mine[:, 5].max()
    near = np.unique(rows[(rows[:, 4] < end) & (rows[:, 5] > begin), 0]).astype(np.int64)
    near = near[near != job]
    more = min(int(rng.integers(TAKEN)), len(near))
    return np.append(rng.choice(near, more, replace=False), job).astype(np.int64)
