"""Policies of shares on the engine: an allocation, carried out in rounds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policies.registry.registration import register
from policies.shares import gandiva, optimal
from policies.shares.allox import allox, check_queue, in_order
from policies.shares.hierarchical import check_within, hierarchical_fairness
from policies.shares.one_type import check_solution
from policies.shares.problem import Active, Pairs, Shares
from policies.shares.rounds import Chosen, RoundRules, ShareRounds, Unit, jobs_of, place
from simulator import Decision, InputError, View
from simulator.arguments import one_of
from simulator.model.cluster import FloatArray, proportional_share
from simulator.model.contract import LEAST_AGAIN_S, Changes
from simulator.model.rounds import Progress

NEEDS = ("servers", "fixed-demand", "one-kind")
"""Requirements of all these policies."""


@dataclass(eq=False)
class SharePolicy(RoundRules):
    """Jobs of fixed demand take turns on GPUs of several types, by shares of time.

    A round begins when the last one is over, or when none of its jobs runs any more. Within a round
    nothing starts, so GPUs that become free stay idle until its end. Shares are computed at most every
    ``reset_s`` seconds, when jobs have come or gone, and recorded with the decision (``least_share``,
    ``mean_share``).

    Attributes
    ----------
    weighted : whether the jobs' weights (`Workload.weight_per_s`) count, where the policy has weights.
    record_shares : record all shares with the decision: ``shares``, in JSON by job, one number a type.
    """

    name = "shares"

    weighted: bool = False
    record_shares: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rounds: ShareRounds | None = None
        self._types: list[int] = []
        self._all: tuple[int, ...] = ()
        self._type_of: dict[int, int] = {}
        self._nodes_of: dict[int, list[int]] = {}
        self._rates: dict[int, list[float]] = {}
        self._runs: dict[Unit, int] = {}
        self._pairs: list[tuple[int, int]] = []
        self._begin_s = -math.inf
        self._changes: Changes | None = None
        self._mark = 0

    @property
    def _jobs(self) -> list[int]:
        """The active jobs, in order of submission."""
        assert self._rounds is not None
        return list(self._rounds.gpus_of)

    def allocate(self, view: View, active: Active) -> Shares:
        """``(n, K)`` shares of the active jobs; after them those of pairs, which are then named in ``_pairs``."""
        raise NotImplementedError

    def choose(self, rounds: ShareRounds) -> list[Chosen]:
        """Jobs of the next round, those of most GPUs first."""
        return rounds.choose()

    def decide(self, view: View) -> Decision:
        """Begin a round where one is over; else only say when to ask again."""
        rounds = self._rounds or self._begin(view)
        end_s = self._begin_s + self.round_s
        own = not hasattr(view, "rounds")  # else the cluster says when a round is over
        if own and view.now_s < end_s - LEAST_AGAIN_S and view.running:
            return Decision(keep_running=True, again_s=max(LEAST_AGAIN_S, end_s - view.now_s))
        for unit, k in self._runs.items():
            worked_s = max(self._received_s(view, job) for job in jobs_of(unit))
            rounds.received(unit, k, worked_s)
        rounds.capacity = self._capacity(view, view.nodes.tolist())
        self._update(view, rounds)
        self._end_pairs(view, rounds)
        info: dict[str, float | str] = {}
        if rounds.wants_shares(view.now_s):
            info = self._reset(view, rounds)
        chosen = [
            each._replace(gpu_type=self._types[each.gpu_type]) for each in self.choose(rounds)
        ]
        placements = place(view, chosen, self._nodes_of)
        placed = {p.job for p in placements}
        self._runs = {
            each.unit: self._types.index(each.gpu_type)
            for each in chosen
            if jobs_of(each.unit)[0] in placed
        }
        gpus_of = {job: (0,) for unit in self._runs if isinstance(unit, tuple) for job in unit}
        self._begin_s = view.now_s
        return Decision(placements, info=info, again_s=self.round_s, gpus_of=gpus_of or None)

    def _end_pairs(self, view: View, rounds: ShareRounds) -> None:
        """Pairs that do not fit on a GPU any more, since their batches have grown."""
        for pair in list(rounds.pairs):
            types = [
                k for k, share in zip(self._types, rounds.share_of(pair), strict=True) if share
            ]
            speeds = [view.rounds.progress.speeds_beside(pair, k) for k in types]
            if any(speed[0, 1] == 0 or speed[1, 0] == 0 for speed in speeds):
                rounds.forget(pair)

    def _received_s(self, view: View, job: int) -> float:
        """Seconds that a job worked in the round that is over."""
        worked_s: float | None = view.rounds.received_s(job) if hasattr(view, "rounds") else None
        if worked_s is not None:
            return worked_s
        since_s = view.states.held_since_s[job]
        if job in view.running:
            worked_s = view.now_s - max(self._begin_s, since_s)
        else:  # until it ended, or its node failed
            worked_s = max(0.0, since_s - self._begin_s)
        return min(worked_s, self.round_s)

    def _begin(self, view: View) -> ShareRounds:
        """The rounds, at the first decision."""
        fixed = view.cluster.node_type_of
        if fixed is None:
            raise InputError(f"{self.name}: this policy needs nodes of fixed types")
        own = range(view.controller, view.cluster.num_nodes, view.cluster.num_controllers)
        self._type_of = {node: int(fixed[node]) for node in own}
        self._types = sorted(set(self._type_of.values()))
        self._all = self._capacity(view, own)
        self._rounds = ShareRounds(self._all, self)
        return self._rounds

    def _capacity(self, view: View, nodes: Sequence[int]) -> tuple[int, ...]:
        """``(K,)`` GPUs of each type on these nodes, which are those of the round."""
        self._nodes_of = {k: [n for n in nodes if self._type_of[n] == k] for k in self._types}
        gpus = [int(view.cluster.node_types[k].gpus) for k in self._types]
        return tuple(g * len(self._nodes_of[k]) for g, k in zip(gpus, self._types, strict=True))

    def _update(self, view: View, rounds: ShareRounds) -> None:
        """Jobs that have come and gone since the last round."""
        changes, here = view.queue_changes, rounds.gpus_of
        joined, self._mark = changes.since(self._mark if changes is self._changes else -1)
        self._changes = changes
        came = sorted({job for job in joined or () if job in view.active and job not in here})
        gone = [j for unit in self._runs for j in jobs_of(unit) if j not in view.active]
        if joined is None or len(here) + len(came) - len(gone) != view.num_active:
            came = [job for job in view.jobs.tolist() if job not in here]
            gone = [job for job in here if job not in view.active]  # also jobs that left the queue
        for job in gone:
            rounds.remove(job)
        for job in came:
            self._rates[job] = self._rates_of(view, job)
            runs_on = [rate > 0 for rate in self._rates[job]]
            rounds.submit(job, int(view.workload.num_gpus[job]), runs_on)

    def _rates_of(self, view: View, job: int) -> list[float]:
        """Parts of the job's work that are done in a second, on each type."""
        gpus, rates = int(view.workload.num_gpus[job]), []
        if not gpus:
            raise InputError(f"{self.name}: this policy needs jobs of fixed demand")
        progress = _progress(view)
        for k, capacity in zip(self._types, self._all, strict=True):
            cpus, memory_gb = proportional_share(view.cluster.node_types[k], gpus)
            if progress is None:
                time_s = view.workload.performance.time_s(job, k, gpus, cpus, memory_gb)
            else:
                time_s = progress.time_s(job, k)
            rates.append(1 / time_s if gpus <= capacity else 0.0)
        if not any(rates):
            raise InputError(
                f"{self.name}: job {view.workload.job_id[job]!r} runs on no type of GPU by itself, "
                "expected one with enough GPUs"
            )
        return rates

    def _steps(self, view: View) -> FloatArray:
        """``(n,)`` steps of each whole job as it runs now; 1 where the performance model does not count steps."""
        progress = _progress(view)
        return np.array([1.0 if progress is None else progress.steps(job) for job in self._jobs])

    def _reset(self, view: View, rounds: ShareRounds) -> dict[str, float | str]:
        """New shares, of the cluster as it is when no node is down."""
        jobs = self._jobs
        if _progress(view) is not None:  # batch sizes change
            self._rates |= {job: self._rates_of(view, job) for job in jobs}
        rows = np.searchsorted(view.jobs, jobs)
        weight = view.weight_per_s[rows] if self.weighted else np.ones(len(jobs))
        active = Active(
            np.array([self._rates[job] for job in jobs]),
            view.num_gpus[rows],
            np.array(self._all),
            view.remaining[rows],
            weight,
            view.now_s - view.submit_s[rows],
        )
        shares = self.allocate(view, active)
        units: list[Unit] = [*jobs, *self._pairs]
        by_unit = dict(zip(units, shares.tolist(), strict=True))
        rounds.reset(view.now_s, by_unit)
        time = shares[: len(jobs)].sum(axis=1)
        for pair, row in zip(self._pairs, shares[len(jobs) :], strict=True):
            time[[jobs.index(job) for job in pair]] += row.sum()
        facts: dict[str, float | str] = {
            "least_share": float(time.min()),
            "mean_share": float(time.mean()),
        }
        if self.record_shares:
            names = view.workload.job_id
            by_name = {"+".join(names[j] for j in jobs_of(u)): row for u, row in by_unit.items()}
            facts["shares"] = json.dumps(by_name)
        return facts


def _progress(view: View) -> Progress | None:
    """Progress of jobs that the performance model counts by itself; None: it does not, or rounds are the policy's."""
    progress: Progress | None = view.rounds.progress if hasattr(view, "rounds") else None
    return progress


@register("gandiva-fair", requires=NEEDS, paper="Chaudhary et al., EuroSys 2020")
@dataclass(eq=False)
class GandivaFair(SharePolicy):
    """Equal shares of time or of GPU time, in rounds; no optimisation.

    Attributes
    ----------
    of : equal time for all "jobs", or equal GPU time ("gpus").
    """

    name = "gandiva-fair"
    of: str = "jobs"

    def __post_init__(self) -> None:
        super().__post_init__()
        gandiva.check_of(self.of)

    def allocate(self, view: View, active: Active) -> Shares:
        """Equal shares."""
        return gandiva.gandiva_fair(active, self.of)


@dataclass(eq=False)
class MaxMinPolicy(SharePolicy):
    """Policies that maximise a least value.

    Attributes
    ----------
    solution : of several optima the "lexicographic" one, or the "centre" of all.
    """

    solution: str = "lexicographic"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solution(self.solution)


@register("max-min-fairness", requires=NEEDS, paper="Narayanan et al. (Gavel), OSDI 2020")
@dataclass(eq=False)
class MaxMinFairness(MaxMinPolicy):
    """The least normalised throughput is maximised (Gavel's least attained service), in rounds.

    Attributes
    ----------
    aware : whether speeds of types count; False: all types are as fast.
    packing : two jobs of one GPU may share it, at the rates that the table of throughputs has for pairs.
    """

    name = "max-min-fairness"
    aware: bool = True
    packing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.packing and self.solution != "lexicographic":
            raise InputError(
                f"{self.name}: solution is {self.solution!r} with packing, expected lexicographic"
            )

    def allocate(self, view: View, active: Active) -> Shares:
        """Max-min throughputs, of speeds where ``aware``."""
        if not self.packing:
            return optimal.max_min_fairness(active, self.aware, solution=self.solution)
        jobs = self._jobs
        pairs = self._pairs_of(view, jobs, active).useful()
        shares = optimal.max_min_fairness(active, self.aware, pairs=pairs)
        used = shares[len(jobs) :].any(axis=1)
        self._pairs = [(jobs[a], jobs[b]) for a, b in pairs.members[used].tolist()]
        return np.concatenate([shares[: len(jobs)], shares[len(jobs) :][used]])

    def _pairs_of(self, view: View, jobs: Sequence[int], active: Active) -> Pairs:
        """All pairs of jobs of one GPU."""
        progress = _progress(view)
        if progress is None or any(view.cluster.node_types[k].gpus != 1 for k in self._types):
            raise InputError(
                f"{self.name}: packing needs rates of pairs on servers of one GPU, expected jobs of kind "
                "'training' with round_ends = 'last-finisher' and gpus_per_node = 1"
            )
        single = np.flatnonzero(active.gpus == 1)
        first, second = np.triu_indices(len(single), 1)
        names = [jobs[j] for j in single.tolist()]
        beside = np.stack([progress.speeds_beside(names, k) for k in self._types], axis=-1)
        speed = np.stack([beside[first, second], beside[second, first]], axis=1)
        return Pairs(np.stack([single[first], single[second]], axis=1), speed)


@register("min-makespan", requires=NEEDS, paper="Narayanan et al. (Gavel), OSDI 2020")
class MinMakespan(MaxMinPolicy):
    """The last job ends as soon as possible (Gavel), in rounds."""

    name = "min-makespan"

    def allocate(self, view: View, active: Active) -> Shares:
        """Throughputs in proportion to the work that is left."""
        return optimal.min_makespan(active, solution=self.solution)


@register("max-throughput", requires=NEEDS, paper="Narayanan et al. (Gavel), OSDI 2020")
@dataclass(eq=False)
class MaxThroughput(SharePolicy):
    """The sum of throughputs is maximised (Gavel), in rounds.

    Attributes
    ----------
    relative : throughputs relative to the job's fastest type; False: in steps/s.
    """

    name = "max-throughput"
    fill_idle: bool = True
    relative: bool = True

    def allocate(self, view: View, active: Active) -> Shares:
        """The most throughput."""
        if self.relative:
            return optimal.max_throughput(active)
        return optimal.most(active, active.rate * self._steps(view)[:, None])


@register("min-cost", requires=(*NEEDS, "prices"), paper="Narayanan et al. (Gavel), OSDI 2020")
@dataclass(eq=False)
class MinCost(SharePolicy):
    """The most throughput for the money (Gavel), in rounds.

    Where no server has a price, all cost the same.

    Attributes
    ----------
    due : due dates that can be met are met, in order of submission.
    """

    name = "min-cost"
    due: bool = False

    def allocate(self, view: View, active: Active) -> Shares:
        """The best ratio of throughput to cost."""
        types = [view.cluster.node_types[k] for k in self._types]
        price = np.array([t.price_per_hour / t.gpus + t.price_per_gpu_hour for t in types])
        price = price if price.any() else np.ones(len(types))
        if not self.due:
            return optimal.min_cost(active, price)
        due_s = view.workload.due_s[self._jobs]
        return optimal.min_cost(active, price, due_s - view.now_s)


@register("allox", requires=NEEDS, paper="Le et al., EuroSys 2020")
@dataclass(eq=False)
class AlloX(SharePolicy):
    """A matching of jobs to GPUs and places in their queues (AlloX); running jobs are not preempted.

    Attributes
    ----------
    queue : "matching"; or "submission": as many jobs as there are GPUs have a share, in order of submission.
    """

    name = "allox"
    reset_s: float = 0.0
    queue: str = "matching"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_queue(self.queue)
        self._holders: set[int] = set()

    def allocate(self, view: View, active: Active) -> Shares:
        """Shares of the jobs that run."""
        jobs = self._jobs
        if self.queue == "submission":
            holds = np.array([job in self._holders for job in jobs])
            shares = in_order(active, holds)
            self._holders = {j for j, row in zip(jobs, shares, strict=True) if row.any()}
            return shares
        if self.fill_idle:  # a job may run where it has no share
            return allox(active, np.array([self._share_of(job) for job in jobs]))
        return allox(active, np.array([self._runs.get(job, -1) for job in jobs]))

    def _share_of(self, job: int) -> int:
        """Type on which a job has a share, wherever it runs; -1: none."""
        assert self._rounds is not None
        shares = self._rounds.share_of(job)
        return shares.index(1.0) if 1.0 in shares else -1


@register("finish-time-fairness", requires=NEEDS, paper="Gavel, OSDI 2020, after Themis, NSDI 2020")
@dataclass(eq=False)
class FinishTimeFairness(MaxMinPolicy):
    """The largest finish time, relative to that on an n-th of the cluster, is minimised, in rounds.

    Attributes
    ----------
    past : time that a job would have spent on an n-th so far: its "age", what its "progress" takes there, or the same in
        "steps", which a change of batch size does not convert.
    """

    name = "finish-time-fairness"
    past: str = "age"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(("age", "progress", "steps"), self.name, past=self.past)
        self._past_s: dict[int, float] = {}
        self._before: dict[int, tuple[float, float]] = {}

    def allocate(self, view: View, active: Active) -> Shares:
        """Equal ratios of finish times."""
        past_s = None if self.past == "age" else self._so_far_s(view, active)
        return optimal.finish_time_fairness(active, past_s, solution=self.solution)

    def _so_far_s(self, view: View, active: Active) -> FloatArray:
        """``(n,)`` seconds on an n-th of the cluster for the progress since submission."""
        unit = self._steps(view) if self.past == "steps" else np.ones(len(active))
        left, rate = active.left * unit, optimal.alone_rate(active) * unit
        pairs = zip(left.tolist(), rate.tolist(), strict=True)
        now = dict(zip(self._jobs, pairs, strict=True))
        for job, (before, pace) in self._before.items():
            if job in now:
                self._past_s[job] = self._past_s.get(job, 0.0) + (before - now[job][0]) / pace
        self._before = now
        return np.array([self._past_s.get(job, 0.0) for job in now])


@register(
    "hierarchical-fairness",
    requires=(*NEEDS, "tenants"),
    paper="Narayanan et al. (Gavel), OSDI 2020",
)
@dataclass(eq=False)
class HierarchicalFairness(SharePolicy):
    """Throughput by weight for each tenant, and by a second rule for its jobs (Gavel), in rounds.

    Attributes
    ----------
    within : jobs of a tenant share by "fairness", or the first submitted comes first ("fifo").
    together : jobs that rise at a time stop together, when the first of them can rise no more, as in the released program.
    """

    name = "hierarchical-fairness"
    within: str = "fairness"
    together: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_within(self.within)

    def allocate(self, view: View, active: Active) -> Shares:
        """Water filling over the tenants."""
        entity, weight = np.zeros(len(active), dtype=np.int64), np.ones(1)
        if hasattr(view, "tenants"):  # else one tenant has all jobs
            entity = view.tenants.of[self._jobs]
            weight = view.tenants.weight
        return hierarchical_fairness(active, entity, weight, self.within, self.together)
