"""Training jobs counted in steps, whose batch size may change from epoch to epoch.

A job has a number of steps at its first batch size. With mode ``accordion`` (Agarwal et al., 2021) the
batch is large outside the critical epochs; with ``gns`` (McCandlish et al., 2018) it grows with the
gradient noise. Which epoch brings which batch size is data (`data/batch_schedules.csv`): it was
found from the published rounds of Shockwave's 120 jobs, since no paper prints it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType

import numpy as np
from pydantic import Field

from simulator.errors import InputError
from simulator.files.bundled import rows_of
from simulator.files.keys import Config, Delay
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import DurationByType
from simulator.model.rounds import Place, Stretch
from simulator.schema import taken
from simulator.workloads.machines import GpuCount
from simulator.workloads.table import WorkloadTable

MODES = ("static", "accordion", "gns")
"""How a job's batch size changes: not at all, by critical epochs, by gradient noise."""

SAMPLES = {
    "ResNet-18": 50_000,
    "ResNet-50": 100_000,
    "Transformer": 10_000,
    "LM": 59_675,
    "Recommendation": 117_907,
}
"""Samples of an epoch, by model: CIFAR-10, a part of ImageNet, Multi30k, WikiText-2, ML-20M."""

LONG_EPOCHS = 300
"""See `Training.change_to`; any number from 280 to 443 gives the published times."""
LESS_LONG_EPOCHS = 200
"""The same where the batch shrinks; any number from 196 to 200."""

GIVEN_UP_AFTER = 5
"""A job without a step left is removed after so many rounds in which it made none."""
HALF = 0.5
"""Part of a GPU that a job holds beside another one."""
SPARED_S = 5.0
"""Nothing is lost in a round that lasts less than the full length less this."""
LEAST_LEFT = 1e-9
"""Fraction of the work of a job that is not over."""

Rates = Mapping[str, Mapping[tuple[str, int], float]]
"""Steps/s of a job alone, by GPU type, then by (job type, GPUs); a job type is ``"LM (batch size 5)"``."""
PairRates = Mapping[str, Mapping[tuple[str, str], float]]
"""Steps/s of a job beside another one on one GPU, by GPU type, then by (its job type, that of the other)."""


@dataclass(frozen=True, eq=False)
class Steps:
    """``J`` jobs in order of submission.

    Attributes
    ----------
    job_id : names.
    model, batch_size : what is trained; batch size 0 where the type of job has none.
    num_gpus : ``(J,)``.
    steps : ``(J,)`` at the first batch size.
    mode : one of `MODES` each.
    submit_s : ``(J,)`` s.
    weight : ``(J,)`` of the job's share.
    slo : ``(J,)`` due after so many durations; infinite: no due date.
    rates : see `Rates`.
    pair_rates : see `PairRates`; empty: not known.
    """

    job_id: Sequence[str]
    model: Sequence[str]
    batch_size: Sequence[int]
    num_gpus: IntArray
    steps: IntArray
    mode: Sequence[str]
    submit_s: FloatArray
    weight: FloatArray
    slo: FloatArray
    rates: Rates
    pair_rates: PairRates = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.job_id)

    @property
    def job_columns(self) -> tuple[str, ...]:
        """Fields with a row a job."""
        return tuple(f.name for f in fields(self) if f.name not in ("rates", "pair_rates"))

    def take(self, jobs: IntArray) -> Steps:
        """These jobs, in this order."""
        columns = {name: getattr(self, name) for name in self.job_columns}
        return replace(self, **taken(columns, jobs))

    def rate(self, job: int, gpu_type: str, batch_size: int | None = None) -> float:
        """Steps/s on GPUs of one type; 0: it does not fit there.

        Raises InputError where the table does not know this type of job.
        """
        size = self.batch_size[job] if batch_size is None else batch_size
        kind = job_type(self.model[job], size)
        gpus = int(self.num_gpus[job])
        try:
            return self.rates[gpu_type][kind, gpus]
        except KeyError:
            raise InputError(
                f"job {self.job_id[job]}: no rate of {kind!r} on {gpus} GPUs of {gpu_type!r}, "
                "expected one in the throughput table"
            ) from None

    def rates_by_type(self, gpu_types: Sequence[str]) -> FloatArray:
        """``(J, K)`` steps/s at the first batch sizes."""
        rows = [[self.rate(j, k) for k in gpu_types] for j in range(len(self))]
        return np.array(rows, dtype=np.float64)


def job_type(model: str, batch_size: int) -> str:
    """Name of a type of job, as throughput tables spell it."""
    return f"{model} (batch size {batch_size})" if batch_size else model


def split_job_type(kind: str) -> tuple[str, int]:
    """Model and batch size of a type of job; 0 where it has none."""
    model, mark, size = kind.partition(" (batch size ")
    digits = size.removesuffix(")")
    if mark and digits.isdecimal():
        return model, int(digits)
    return kind, 0


def steps_of_epoch(model: str, batch_size: int) -> int:
    """Steps that read every sample once."""
    return -(-SAMPLES[model] // batch_size)


@dataclass(frozen=True)
class BatchChange:
    """From which epoch (1, 2, ..) a job's batch has which size."""

    epoch: int
    batch_size: int


@cache
def changes_of(mode: str, model: str, batch_size: int, gpus: int) -> tuple[BatchChange, ...]:
    """Changes of a job's batch size, by epoch; none for ``static`` and for what no table knows."""
    known = known_gpus(mode, model, batch_size, gpus)
    found = []
    for row in rows_of("batch_schedules.csv") if mode != "static" else ():
        if (row["mode"], row["model"]) != (mode, model):
            continue
        if mode == "gns" and (row["batch_size"], row["gpus"]) != (batch_size, known):
            continue
        found.append(BatchChange(int(row["epoch"]), int(row["becomes"] or batch_size)))
    return tuple(found)


def known_gpus(mode: str, model: str, batch_size: int, gpus: int) -> int:
    """Number of GPUs whose schedule of batch sizes a job follows: its own, or the nearest that the table has."""
    if mode != "gns":
        return gpus
    rows = [r for r in rows_of("batch_schedules.csv") if (r["mode"], r["model"]) == (mode, model)]
    known = {int(r["gpus"] or 0) for r in rows if r["batch_size"] == batch_size}
    return min(known, key=lambda other: (abs(other - gpus), other), default=gpus)


@dataclass(slots=True)
class JobProgress:
    """Progress of one job.

    Attributes
    ----------
    model, gpus, mode, first_batch_size, first_steps : as the trace has them.
    batch_size : of the next round.
    steps, done : in all and so far, in steps of this batch size.
    has_run : whether it has ever run.
    """

    model: str
    gpus: int
    mode: str
    first_batch_size: int
    first_steps: int
    batch_size: int
    steps: int
    done: int = 0
    has_run: bool = False

    @classmethod
    def of(cls, jobs: Steps, job: int) -> JobProgress:
        """A job that has not run."""
        size, steps = int(jobs.batch_size[job]), int(jobs.steps[job])
        gpus = int(jobs.num_gpus[job])
        return cls(jobs.model[job], gpus, jobs.mode[job], size, steps, size, steps)

    @property
    def left(self) -> int:
        """Steps to go; below 0 where a change of batch size left none."""
        return self.steps - self.done

    def wanted(self) -> int:
        """Batch size that the epoch asks for, seen at the start of a round.

        ``gns`` takes one change at a time, ``accordion`` the latest.
        """
        changes = changes_of(self.mode, self.model, self.first_batch_size, self.gpus)
        if not changes:
            return self.batch_size
        epoch = -(-self.done // steps_of_epoch(self.model, self.batch_size))
        size = self.first_batch_size
        for change in changes:
            if epoch < change.epoch:
                break
            if self.mode == "gns" and change.batch_size > self.batch_size:
                return change.batch_size
            size = change.batch_size
        return self.batch_size if self.mode == "gns" else size

    def change_to(self, batch_size: int) -> None:
        """Go on with another batch size, as Shockwave's simulator counts it.

        The epoch that has begun counts as done. Steps in all scale with the batch size. For jobs of
        over `LONG_EPOCHS` epochs, and over `LESS_LONG_EPOCHS` where the batch shrinks, they are whole
        epochs instead. Both numbers were found from the published completion times.
        """
        old, new = (steps_of_epoch(self.model, size) for size in (self.batch_size, batch_size))
        epochs = self.first_steps / steps_of_epoch(self.model, self.first_batch_size)
        long = LESS_LONG_EPOCHS if batch_size < self.batch_size else LONG_EPOCHS
        if epochs > long:
            self.steps = math.ceil(epochs) * new
        else:
            self.steps = -(-self.steps * self.batch_size // batch_size)
        self.done = -(-self.done // old) * new
        self.batch_size = batch_size


class RoundWork(Config):
    """Rules for the work of a round. Steps are whole, so a job may stop some ms before the round's end."""

    resume_s: Delay = 20.0
    """lost in a full round by a job that did not run in the round before"""
    first_start_s: Delay | None = Field(default=None, examples=[20])
    """the same at the first start; left out: as resume_s"""
    reallocation_s: Delay = 0.0
    """lost by a job that changes its GPUs"""

    def lost_s(self, has_run: bool, ran_before: bool, same_gpus: bool) -> float:
        """Seconds without progress in a full round."""
        if not has_run:
            return self.resume_s if self.first_start_s is None else self.first_start_s
        if not ran_before:
            return self.resume_s
        return 0.0 if same_gpus else self.reallocation_s

    def of(
        self, steps_left: int, rate: float, round_s: float, lost_s: float
    ) -> tuple[int, float, float]:
        """Work of a round: steps, seconds that they take with what is lost, seconds lost."""
        steps = max(0, min(int(rate * round_s), steps_left))
        seconds = steps / rate
        if lost_s > 0 and seconds >= round_s - SPARED_S:
            return int((seconds - lost_s) * rate), seconds, lost_s
        return steps, seconds, 0.0


class TrainingServers(RoundWork, WorkloadTable):
    """GPUs that a workload of training steps brings, and what its jobs lose."""

    gpus: dict[str, GpuCount] = Field(min_length=1, examples=[{"v100": 32}])
    """GPUs of each type, in the order in which types are served"""
    gpus_per_node: GpuCount = 1
    """GPUs of a server"""


@dataclass(frozen=True)
class TrainingTimes(DurationByType):
    """Times of training jobs on several types of GPU.

    In rounds that end with their last job (`simulator.features.rounds`) steps are whole, resuming costs
    time and batch sizes change. Otherwise a job keeps its first batch size, and runs without a break.

    Attributes
    ----------
    jobs : the jobs.
    gpu_types : type of GPU of each node type.
    work : rules of a round.
    """

    jobs: Steps = field(kw_only=True)
    gpu_types: tuple[str, ...] = field(kw_only=True)
    work: RoundWork = field(default=RoundWork(), kw_only=True)

    @classmethod
    def of(
        cls, jobs: Steps, gpu_types: tuple[str, ...], work: RoundWork | None = None
    ) -> TrainingTimes:
        """The times of these jobs at their first batch sizes."""
        rates = jobs.rates_by_type(gpu_types)
        infinite = np.full(rates.shape, np.inf)
        times_s = np.divide(jobs.steps[:, None], rates, out=infinite, where=rates > 0)
        return cls(
            times_s.min(axis=1),
            jobs.num_gpus,
            jobs=jobs,
            times_s=times_s,
            gpu_types=gpu_types,
            work=work or RoundWork(),
        )

    def take(self, jobs: IntArray) -> TrainingTimes:
        """The model of these jobs, in this order."""
        return replace(super().take(jobs), jobs=self.jobs.take(jobs))

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds; infinite with any other number of GPUs than the job's own, or half of its only one."""
        whole = 1 if gpus == HALF else gpus
        return super().time_s(job, node_type, whole, cpus, memory_gb)

    def progress(self) -> TrainingProgress:
        """The work of all jobs, at the beginning of a run."""
        return TrainingProgress(self)


class TrainingProgress:
    """Work of all jobs in one run, round by round (`simulator.features.rounds.Progress`)."""

    def __init__(self, times: TrainingTimes) -> None:
        self._jobs, self._types, self._rules = times.jobs, times.gpu_types, times.work
        self._training: dict[int, JobProgress] = {}
        self._before: dict[int, Place] = {}
        self._idle_rounds: dict[int, int] = {}
        self._rates: dict[tuple[int, int, int], float] = {}
        self._is_first = True

    def _of(self, job: int) -> JobProgress:
        if job not in self._training:
            self._training[job] = JobProgress.of(self._jobs, job)
        return self._training[job]

    def left(self, job: int) -> float:
        """Fraction of the work that is left, above 0 also where a change of batch size left none."""
        training = self._of(job)
        return max(LEAST_LEFT, training.left / training.steps)

    def interrupted(self, job: int, left: float) -> None:
        """Take back the steps that a job has not done of its round."""
        training = self._of(job)
        training.done = min(training.done, int((1 - left) * training.steps))

    def configuration(self, job: int) -> int:
        """Batch size in the next round."""
        return self._of(job).batch_size

    def steps(self, job: int) -> float:
        """Steps of the whole job, at the batch size of the next round."""
        return self._of(job).steps

    def time_s(self, job: int, node_type: int) -> float:
        """Seconds of the whole job, at the batch size of the next round."""
        training = self._of(job)
        rate = self._rate(job, node_type, training.batch_size)
        return training.steps / rate if rate > 0 else math.inf

    def speeds_beside(self, jobs: Sequence[int], node_type: int) -> FloatArray:
        """``(n, n)`` speed of each job beside each other on one GPU, at the batch sizes of the next round.

        Raises InputError where the table of throughputs has no pairs on this type of GPU.
        """
        gpu_type = self._types[node_type]
        pairs = self._jobs.pair_rates.get(gpu_type)
        if not pairs:
            raise InputError(f"no rates of pairs on {gpu_type!r}, expected some in the throughputs")
        kinds = [self._kind(job) for job in jobs]
        names = list(dict.fromkeys(kinds))
        alone = self._jobs.rates[gpu_type]
        table = [[pairs.get((a, b), 0.0) / (alone[a, 1] or math.inf) for b in names] for a in names]
        of = [names.index(kind) for kind in kinds]
        return np.asarray(np.reshape(table, (len(names), len(names)))[np.ix_(of, of)])

    def round(
        self,
        runs: Mapping[int, Place],
        round_s: float,
        slowdown: Callable[[int], float],
        beside: Mapping[int, int] = MappingProxyType({}),
    ) -> dict[int, Stretch]:
        """Do the work of a round; in the first one of a run nothing is lost on starts.

        Jobs of a pair run at its rates to the end of the round, also where one of them ends before.
        """
        work = {}
        rates = {
            job: self._rate(job, place[0], self._of(job).batch_size, beside.get(job))
            for job, place in runs.items()
        }
        for job, place in runs.items():
            training, before = self._of(job), self._before.get(job)
            lost_s = self._rules.lost_s(training.has_run, before is not None, before == place)
            rate = rates[job] / slowdown(job)
            work[job] = self._run(job, training, rate, round_s, 0.0 if self._is_first else lost_s)
        self._before, self._is_first = dict(runs), False
        return work

    def _rate(self, job: int, node_type: int, batch_size: int, beside: int | None = None) -> float:
        """Steps/s; those of a job alone are kept, since the name of a type of job takes time to make."""
        if beside is not None:
            gpu_type, kinds = self._types[node_type], (self._kind(job), self._kind(beside))
            rate = self._jobs.pair_rates.get(gpu_type, {}).get(kinds, 0.0)
            if not rate > 0:
                raise InputError(
                    f"job {self._jobs.job_id[job]}: no rate of {kinds[0]!r} beside {kinds[1]!r} on one GPU of "
                    f"{gpu_type!r}, expected one above 0 in the throughput table"
                )
            return rate
        key = job, node_type, batch_size
        if key not in self._rates:
            self._rates[key] = self._jobs.rate(job, self._types[node_type], batch_size)
        return self._rates[key]

    def _kind(self, job: int) -> str:
        """Type of a job, at the batch size of the next round."""
        return job_type(self._jobs.model[job], self._of(job).batch_size)

    def _run(
        self, job: int, training: JobProgress, rate: float, round_s: float, lost_s: float
    ) -> Stretch:
        """A job's part of a round."""
        training.has_run, wanted = True, training.wanted()
        steps, seconds, lost_s = self._rules.of(training.left, rate, round_s, lost_s)
        training.done += steps
        if steps == 0:
            self._idle_rounds[job] = self._idle_rounds.get(job, 0) + 1
        gave_up = self._idle_rounds.get(job, 0) >= GIVEN_UP_AFTER
        if training.left <= 0 and (steps > 0 or gave_up):
            return Stretch(seconds, lost_s, 0.0)
        left = self.left(job)
        if wanted != training.batch_size:
            training.change_to(wanted)
        return Stretch(seconds, lost_s, left)
