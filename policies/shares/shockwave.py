"""Shockwave (Zheng et al., NSDI 2023): rounds of a window, planned by a market with logarithmic utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from policies.registry.registration import register
from policies.shares.policy import NEEDS, SharePolicy
from policies.shares.problem import Active, Shares
from policies.shares.rounds import Chosen, ShareRounds
from policies.solving.model import Builder, SolverOptions
from policies.solving.solvers import SolverName, check_solver, solve
from simulator import View
from simulator.arguments import nonnegative, one_of, whole
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.ranks import ranks
from simulator.model.tolerances import INSTANT_S

STEPS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
"""Progress at which the logarithm is exact; between them it is linear."""
LEAST_PROGRESS = 0.01
"""Progress whose logarithm stands for that of no progress."""


@dataclass(frozen=True)
class Window:
    """Rules of a window.

    Attributes
    ----------
    rounds, round_s : length of the window, in rounds, and of a round, s.
    regularizer : weight of the longest remaining time, 1/s, against the mean utility (``k``).
    exponent : of the estimated finish-time fairness, as the price of a job (``lambda``).
    relative : whether fairness counts relative to the largest.
    gap : relative gap at which the search for a plan ends.
    """

    rounds: int = 20
    round_s: float = 120.0
    regularizer: float = 1e-3
    exponent: float = 12.0
    relative: bool = True
    gap: float = 1e-3


@register("shockwave", requires=(*NEEDS, "one-type"), paper="Zheng et al., NSDI 2023")
@dataclass(eq=False)
class Shockwave(SharePolicy):
    """Rounds of a window are planned by a market with logarithmic utility (Shockwave).

    Attributes
    ----------
    window : rounds that are planned at once.
    replan_rounds : a new plan is made after so many rounds, too; 0: only when jobs have come or gone.
    regularizer : weight of the longest remaining time against the mean of logarithms.
    exponent : power of the estimated finish-time fairness, which is the price of a job.
    relative : whether fairness counts relative to the largest.
    contention : how many times slower a job is on an equal share: GPUs asked for now over GPUs ("gpus"), or the mean number of
        jobs since its submission over GPUs ("mean").
    limit : no job ends after so many times its time on an n-th of the cluster, n being all jobs of the workload, as
        far as it can be helped; 0: no limit. With a limit the policy is informed: it counts jobs to come, too.
    times : those of a job at the batch size that it has "now", or at its "first" one.
    order : which planned jobs come first: those that "run" already, or those that the plan has in all rounds left ("plan").
    gap : gap of the program at which to stop.
    solver : "auto" (Gurobi with a full licence, else HiGHS), "highs", "gurobi".
    """

    name = "shockwave"
    reset_s: float = 0.0
    window: int = 20
    replan_rounds: int = 0
    regularizer: float = 1e-3
    exponent: float = 12.0
    relative: bool = True
    contention: str = "gpus"
    limit: float = 0.0
    times: str = "now"
    order: str = "run"
    gap: float = 1e-3
    solver: str = "highs"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver(self.solver)
        one_of(("gpus", "mean"), self.name, contention=self.contention)
        one_of(("now", "first"), self.name, times=self.times)
        one_of(("run", "plan"), self.name, order=self.order)
        whole(1, self.name, window=self.window)
        whole(0, self.name, replan_rounds=self.replan_rounds)
        options = {
            "regularizer": self.regularizer,
            "exponent": self.exponent,
            "limit": self.limit,
            "gap": self.gap,
        }
        nonnegative(self.name, **options)
        self._window = Window(
            self.window, self.round_s, self.regularizer, self.exponent, self.relative, self.gap
        )
        self._planned: dict[int, int] = {}
        self._left: dict[int, float] = {}
        self._rounds_left = 0
        self._jobs_in: list[int] = []
        self._first: dict[int, int] = {}
        self._rate: dict[int, FloatArray] = {}

    def choose(self, rounds: ShareRounds) -> list[Chosen]:
        """Jobs with planned rounds, then the others; by `order`, then those that run already, then those of least work left."""
        free, chosen = rounds.capacity[0], []
        ahead = self._planned
        place = ranks(list(self._left.values()), INSTANT_S).tolist()
        left = dict(zip(self._left, place, strict=True))

        def rank(job: int) -> tuple[bool, bool, bool, int]:
            planned = ahead[job] > 0
            waits = self.order == "run" or not planned or ahead[job] < self._rounds_left
            return not planned, waits, job not in self._runs, left[job]

        for job in sorted((job for job in ahead if job in rounds.gpus_of), key=rank):
            gpus = rounds.gpus_of[job]
            if gpus <= free:
                free -= gpus
                chosen.append(Chosen(job, 0, gpus))
                ahead[job] -= 1
        self._rounds_left -= 1
        return sorted(chosen, key=lambda each: -each.gpus)

    def _update(self, view: View, rounds: ShareRounds) -> None:
        """Jobs that have come and gone; the end of a plan."""
        super()._update(view, rounds)
        if self.replan_rounds and len(self._jobs_in) % self.replan_rounds == 0:
            rounds.expire()
        for job in rounds.gpus_of:
            self._first.setdefault(job, len(self._jobs_in))
        self._jobs_in.append(len(rounds.gpus_of))

    def allocate(self, view: View, active: Active) -> Shares:
        """Parts of the window's rounds."""
        jobs = self._jobs
        if self.times == "first":
            for job, rate in zip(jobs, active.rate, strict=True):
                self._rate.setdefault(job, rate)
            active = replace(active, rate=np.array([self._rate[job] for job in jobs]))
        fastest = active.rate.max(axis=1)
        needed_s, whole_s = active.left / fastest, 1 / fastest
        contention = self._contention(jobs, active)
        fairness = (active.age_s + needed_s * contention) / (whole_s * contention)
        due = (
            due_rounds(active, self.limit, len(view.all_jobs), self._window) if self.limit else None
        )
        name: SolverName = self.solver  # type: ignore[assignment]
        runs = plan_rounds(active, 1 - active.left, fairness, self._window, name, due)
        self._planned = dict(zip(jobs, runs.tolist(), strict=True))
        self._left = dict(zip(jobs, needed_s.tolist(), strict=True))
        self._rounds_left = self.window
        return np.asarray(runs[:, None] / self.window)

    def _contention(self, jobs: Sequence[int], active: Active) -> FloatArray:
        """``(n,)`` how many times slower each job would be on an equal share."""
        capacity = float(active.capacity.sum())
        if self.contention == "gpus":
            return np.full(len(jobs), max(1.0, float(active.gpus.sum()) / capacity))
        mean = [np.mean(self._jobs_in[self._first[job] :]) for job in jobs]
        return np.maximum(1.0, np.array(mean) / capacity)


def plan_rounds(
    active: Active,
    done: FloatArray,
    fairness: FloatArray,
    window: Window,
    solver: SolverName,
    least: IntArray | None = None,
) -> IntArray:
    """``(n,)`` rounds of the window in which each job runs.

    The mean of ``fairness ** exponent * log(progress)``, less ``regularizer`` times the longest time that
    a job still needs after the window is maximised (Sections 4 and 6). Rounds of a window are alike, so their numbers
    are all that there is to decide. Each job counts on its fastest type.

    Parameters
    ----------
    done : ``(n,)`` fraction of each job's work that is done.
    fairness : ``(n,)`` estimated finish time over that on an n-th of the cluster.
    least : ``(n,)`` rounds that each job must have; None: none.
    """
    n, rate = len(active), active.rate.max(axis=1)
    needed_s = active.left / rate
    in_round = (1 - done) * np.minimum(1.0, window.round_s / needed_s)
    price = (fairness / (fairness.max() if window.relative else 1.0)) ** window.exponent
    model = Builder()
    runs = model.add_columns(
        n,
        lower=0 if least is None else least,
        upper=np.minimum(window.rounds, np.ceil(needed_s / window.round_s)),
        integer=True,
    )
    utility = model.add_columns(n, cost=-price / n, lower=-np.inf, upper=0.0)
    longest = model.add_columns(1, cost=window.regularizer)
    height = np.log(np.maximum(STEPS, LEAST_PROGRESS))
    slope = np.diff(height) / np.diff(STEPS)
    for begin, at, rise in zip(STEPS, height, slope, strict=False):
        # utility <= at + rise * (done + in_round * runs - begin)
        below = model.add_rows(n, lower=-np.inf, upper=at + rise * (done - begin))
        model.add(below, utility)
        model.add(below, runs, -rise * in_round)
    after = model.add_rows(n, lower=needed_s, upper=np.inf)
    model.add(after, runs, window.round_s)
    model.add(after, np.broadcast_to(longest, n))
    fits = model.add_rows(1, lower=0.0, upper=float(window.rounds * active.capacity.sum()))
    model.add(np.broadcast_to(fits, n), runs, active.gpus)
    options = SolverOptions(mip_gap=window.gap)
    found = solve(model.build(offset=0.0, constant=0.0), solver, options)
    if found.x is None:
        raise RuntimeError(f"shockwave: the program of a window ended with: {found.status}")
    return np.asarray(np.round(found.x[runs]), dtype=np.int64)


def due_rounds(active: Active, limit: float, num_jobs: int, window: Window) -> IntArray:
    """``(n,)`` rounds of the window without which a job would end after ``limit`` times its fair time.

    The fair time is that on one of ``num_jobs`` parts of the cluster. After the window a job counts as running without a
    break. Where not all of these rounds fit into the window, jobs of fewest GPUs have theirs first.
    """
    fastest = active.rate.max(axis=1)
    fair_s = limit / fastest * max(1.0, num_jobs / active.capacity.sum())
    late_s = active.age_s + window.rounds * window.round_s + active.left / fastest - fair_s
    most = np.minimum(window.rounds, np.ceil(active.left / fastest / window.round_s))
    due = np.clip(np.ceil(late_s / window.round_s), 0, most).astype(np.int64)
    free = int(window.rounds * active.capacity.sum())
    for j in np.argsort(active.gpus, kind="stable").tolist():
        due[j] = min(due[j], free // active.gpus[j])
        free -= due[j] * int(active.gpus[j])
    return np.asarray(due)
