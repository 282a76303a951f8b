"""Training jobs in rounds by shares, as Gavel's and Shockwave's simulators count time.

A round ends with its last job, also where that is before its full length; GPUs that are free
earlier stay idle. Jobs that arrive within a round wait for its end. Batch sizes change between rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.shares.leases import Gpus, assign
from policies.shares.problem import Active, Shares
from policies.shares.rounds import Chosen, RoundRules, ShareRounds
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.workloads.training import RoundWork, Training, TrainingJobs

GIVEN_UP_AFTER = 5
"""A job without a step left is removed after so many rounds in which it made none."""


@dataclass(frozen=True)
class Round:
    """One round: when it began, the GPUs of its jobs, and the batch size of each."""

    begin_s: float
    gpus: Mapping[int, Gpus]
    batch_size: Mapping[int, int]


@dataclass
class Replayed:
    """Result of `replay`.

    Attributes
    ----------
    completion_s : ``(J,)`` s on the clock.
    rounds : in order.
    shares : X as it was computed: time, jobs, ``(n, K)`` shares.
    """

    completion_s: FloatArray
    rounds: list[Round] = field(default_factory=list)
    shares: list[tuple[float, Sequence[int], FloatArray]] = field(default_factory=list)

    @property
    def makespan_s(self) -> float:
        """End of the last job."""
        return float(self.completion_s.max())


def replay(
    jobs: TrainingJobs,
    cluster: Mapping[str, int],
    allocate: Callable[[Active], Shares],
    rules: RoundRules | None = None,
    work: RoundWork | None = None,
    most_rounds: int = 1_000_000,
) -> Replayed:
    """Run all jobs to their end.

    Parameters
    ----------
    cluster : GPUs of each type, in the order in which types are served.
    allocate : shares of the jobs that are here, asked at each reset.
    rules, work : see there.

    Raises
    ------
    InputError
        A job that no type of GPU can run, or jobs left after ``most_rounds``.
    """
    run = _Run(jobs, cluster, allocate, rules or RoundRules(), work or RoundWork())
    for _ in range(most_rounds):
        if not run.next_round():
            return run.result
    raise InputError(f"replay: jobs are left after {most_rounds} rounds, expected all to end")


class _Run:
    """State of `replay`."""

    def __init__(
        self,
        jobs: TrainingJobs,
        cluster: Mapping[str, int],
        allocate: Callable[[Active], Shares],
        rules: RoundRules,
        work: RoundWork,
    ) -> None:
        self.jobs, self.types, self.allocate, self.work = jobs, tuple(cluster), allocate, work
        self.rounds = ShareRounds(tuple(cluster.values()), rules)
        ends = np.cumsum(list(cluster.values())).tolist()
        self.gpus = [range(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self.training: dict[int, Training] = {}
        self.has_run: set[int] = set()
        self.before: dict[int, Gpus] = {}
        self.idle_rounds: dict[int, int] = {}
        self.arrived, self.now_s = 0, 0.0
        self.result = Replayed(np.full(len(jobs), np.nan))
        self._check()

    def _check(self) -> None:
        capacity = np.array(self.rounds.capacity)
        fits = (self.jobs.num_gpus[:, None] <= capacity) & (self.jobs.rates_by_type(self.types) > 0)
        for job in np.flatnonzero(~fits.any(axis=1))[:1]:
            raise InputError(
                f"job {self.jobs.job_id[job]}: {self.jobs.num_gpus[job]} GPUs of no type run it, "
                f"expected at most {max(capacity)} and a rate above 0"
            )

    def next_round(self) -> bool:
        """Run one round; False: all jobs have ended."""
        if not self.training:
            if self.arrived == len(self.jobs):
                return False
            self.now_s = max(self.now_s, float(self.jobs.submit_s[self.arrived]))
        self._arrivals()
        if self.rounds.wants_shares(self.now_s):
            self._reset()
        self._run_round()
        return True

    def _arrivals(self) -> None:
        while self.arrived < len(self.jobs) and self.jobs.submit_s[self.arrived] <= self.now_s:
            job = self.arrived
            self.rounds.submit(job, int(self.jobs.num_gpus[job]))
            self.training[job] = Training.of(self.jobs, job)
            self.arrived += 1

    def _reset(self) -> None:
        active = list(self.training)
        gpus = self.jobs.num_gpus[active]
        capacity = np.array(self.rounds.capacity)
        rates = np.array([self._rates_now(job) for job in active])
        rates[gpus[:, None] > capacity] = 0.0
        left = np.array([max(0, self.training[job].left) for job in active], dtype=np.float64)
        age_s = self.now_s - self.jobs.submit_s[active]
        shares = self.allocate(Active(rates, gpus, capacity, left, self.jobs.weight[active], age_s))
        self.rounds.reset(self.now_s, dict(zip(active, shares.tolist(), strict=True)))
        self.result.shares.append((self.now_s, active, shares))

    def _rates_now(self, job: int) -> list[float]:
        """Steps/s on each type at the batch size of now."""
        size = self.training[job].batch_size
        return [self.jobs.rate(job, gpu_type, size) for gpu_type in self.types]

    def _chosen(self) -> list[Chosen]:
        return self.rounds.choose()

    def _run_round(self) -> None:
        chosen = self._chosen()
        gpus: dict[int, Gpus] = {}
        for k, numbers in enumerate(self.gpus):
            gpus |= assign([c for c in chosen if c.gpu_type == k], self.before, numbers)
        sizes, ended, end_s = {}, [], self.now_s
        for job in gpus:
            kind = next(c.gpu_type for c in chosen if c.job == job) if len(self.types) > 1 else 0
            sizes[job] = self.training[job].batch_size
            stop_s, is_over = self._run_job(job, kind, gpus[job])
            end_s = max(end_s, stop_s)
            if is_over:
                ended.append(job)
                self.result.completion_s[job] = stop_s
        self.result.rounds.append(Round(self.now_s, dict(gpus), sizes))
        self.has_run.update(gpus)
        for job in ended:
            del self.training[job], gpus[job]
            self.rounds.remove(job)
        if not gpus and not ended:
            raise InputError(f"replay: no job runs at {self.now_s:g} s, expected a share above 0")
        self.before, self.now_s = gpus, end_s

    def _run_job(self, job: int, kind: int, gpus: Gpus) -> tuple[float, bool]:
        """When the job stops in this round, and whether it has ended."""
        training, begin_s = self.training[job], self.now_s
        wanted = training.wanted()
        rate = self.jobs.rate(job, self.types[kind], training.batch_size)
        lost_s = self.work.lost_s(
            job in self.has_run, job in self.before, self.before.get(job) == gpus
        )
        if not self.result.rounds:
            lost_s = 0.0  # nothing was running, so the first round costs nothing
        steps, seconds, lost_s = self.work.of(
            training.left, rate, self.rounds.rules.round_s, lost_s
        )
        training.done += steps
        stop_s = begin_s + seconds
        self.rounds.received(job, kind, (stop_s - begin_s) - lost_s)
        if steps == 0:
            self.idle_rounds[job] = self.idle_rounds.get(job, 0) + 1
        gave_up = self.idle_rounds.get(job) == GIVEN_UP_AFTER
        is_over = training.left <= 0 and (steps > 0 or gave_up)
        if not is_over and wanted != training.batch_size:
            training.change_to(wanted)
        return stop_s, is_over
