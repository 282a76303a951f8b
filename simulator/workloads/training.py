"""Training jobs counted in steps, whose batch size may change from epoch to epoch.

A job has a number of steps at its first batch size. With mode ``accordion`` (Agarwal et al., 2021) the
batch is large outside the critical epochs; with ``gns`` (McCandlish et al., 2018) it grows with the
gradient noise. Which epoch brings which batch size is data (`data/batch_schedules.csv`): it was
found from the published rounds of Shockwave's 120 jobs, since no paper prints it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from simulator.datafiles import rows_of
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

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

Rates = Mapping[str, Mapping[tuple[str, int], float]]
"""Steps/s of a job alone, by GPU type, then by (job type, GPUs); a job type is ``"LM (batch size 5)"``."""


@dataclass(frozen=True, eq=False)
class TrainingJobs:
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

    def __len__(self) -> int:
        return len(self.job_id)

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
class Change:
    """From which epoch (1, 2, ..) a job's batch has which size."""

    epoch: int
    batch_size: int


@cache
def changes_of(mode: str, model: str, batch_size: int, gpus: int) -> tuple[Change, ...]:
    """Changes of a job's batch size, by epoch; none for ``static`` and for what no table knows."""
    found = []
    for row in rows_of("batch_schedules.csv") if mode != "static" else ():
        if (row["mode"], row["model"]) != (mode, model):
            continue
        if mode == "gns" and (row["batch_size"], row["gpus"]) != (batch_size, gpus):
            continue
        found.append(Change(int(row["epoch"]), int(row["becomes"] or batch_size)))
    return tuple(found)


@dataclass(slots=True)
class Training:
    """Progress of one job.

    Attributes
    ----------
    model, gpus, mode, first_batch_size, first_steps : as the trace has them.
    batch_size : of the next round.
    steps, done : in all and so far, in steps of this batch size.
    """

    model: str
    gpus: int
    mode: str
    first_batch_size: int
    first_steps: int
    batch_size: int
    steps: int
    done: int = 0

    @classmethod
    def of(cls, jobs: TrainingJobs, job: int) -> Training:
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


@dataclass(frozen=True)
class RoundWork:
    """Rules for the work of a round. Steps are whole, so a job may stop some ms before the round's end.

    Attributes
    ----------
    resume_s : lost by a job that did not run in the round before.
    first_start_s : lost by a job that has never run; None: ``resume_s``.
    reallocation_s : lost by a job that goes on, on other GPUs.
    spared_s : nothing is lost in a round that lasts less than the full length less this.
    """

    resume_s: float = 20.0
    first_start_s: float | None = None
    reallocation_s: float = 0.0
    spared_s: float = 5.0

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
        if lost_s > 0 and seconds >= round_s - self.spared_s:
            return int((seconds - lost_s) * rate), seconds, lost_s
        return steps, seconds, 0.0
