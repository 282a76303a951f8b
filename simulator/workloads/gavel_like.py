"""Random jobs by the rule of Gavel's simulations (Narayanan et al., OSDI 2020, Section 7.1; stanford-futuredata/gavel).

A job is of one of 26 types, each as likely. Its time on V100 GPUs is 10^u minutes, with u from 1.5 to 3 for four jobs of
five and from 3 to 4 for the fifth. With ``multi_gpu`` 70 % of jobs have one GPU, 10 % two, 15 % four and 5 % eight.
Arrivals are a Poisson process. The order of the draws is that of the published runs, by Python's generator: so seeds 0, 1,
and 2 give their very jobs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Literal, get_args

import numpy as np
from pydantic import Field

from simulator.errors import InputError
from simulator.files.keys import InputFile, NonNegative
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.workloads.gavel import read_pair_rates, read_rates, with_servers
from simulator.workloads.table import JobCount, Setting
from simulator.workloads.training import Steps, TrainingServers, job_type

BATCH_SIZES = {
    "ResNet-18": (16, 32, 64, 128, 256),
    "ResNet-50": (16, 32, 64, 128),
    "Transformer": (16, 32, 64, 128, 256),
    "LM": (5, 10, 20, 40, 80),
    "Recommendation": (512, 1024, 2048, 4096, 8192),
    "A3C": (0,),
    "CycleGAN": (0,),
}
"""Batch sizes of each model; 0: the type of job has none."""
JOB_TYPES = tuple((model, size) for model, sizes in BATCH_SIZES.items() for size in sizes)
"""Model and batch size of each type of job, in the order in which they are drawn."""
Spread = Literal["ResNet-18", "ResNet-50", "Transformer", "LM"]
SPREAD: tuple[Spread, ...] = get_args(Spread)
"""Models that train on several GPUs."""
GPUS = ((0.7, 1), (0.8, 2), (0.95, 4), (1.0, 8))
"""GPUs of a job, by the cumulative probability."""
REFERENCE = "v100"
"""The type of GPU on which a job takes the time that is drawn."""
JOB_STREAM, ARRIVAL_STREAM = 2, 3
"""Added to the seed: of the jobs, and of the times between them."""


class GavelLikeJobs(TrainingServers):
    """Random jobs by the rule of Gavel's simulations, as training steps; brings its servers.

    The scenario's seeds 0, 1 and 2 give the jobs of the published runs.
    """

    kind: Literal["gavel-like"] = "gavel-like"
    throughputs: InputFile = Field(examples=["throughputs.json"])
    """table of training steps/s, also on v100"""
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_h: NonNegative = 4.0
    """arrivals, a Poisson process; 0: all at the beginning"""
    multi_gpu: bool = False
    """whether jobs have 1, 2, 4 or 8 GPUs; else one each"""
    spread: list[Spread] = Field(
        default=list(SPREAD), min_length=1, examples=[["ResNet-18", "Transformer", "LM"]]
    )
    """models of jobs of several GPUs"""

    file_keys = ("throughputs",)

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The jobs as training steps, and their servers.

        Raises InputError: as `simulator.workloads.gavel.with_servers`; a type of job without a rate.
        """
        rates = read_rates(self.throughputs, tuple(dict.fromkeys((REFERENCE, *self.gpus))))
        drawn = draw_jobs(self.num_jobs, setting.seed, self.multi_gpu, self.spread)
        kinds = [(job_type(model, size), count) for model, size, count, _ in drawn]
        for kind in kinds:
            if not rates[REFERENCE].get(kind, 0.0) > 0:
                raise InputError(
                    f"{self.throughputs}: no rate of {kind} on {REFERENCE}, expected one above 0"
                )
        steps = [d[3] * rates[REFERENCE][kind] for d, kind in zip(drawn, kinds, strict=True)]
        jobs = Steps(
            job_id=[str(j) for j in range(self.num_jobs)],
            model=[d[0] for d in drawn],
            batch_size=[d[1] for d in drawn],
            num_gpus=np.array([d[2] for d in drawn]),
            steps=np.maximum(1, np.ceil(steps)).astype(np.int64),
            mode=["static"] * self.num_jobs,
            submit_s=draw_arrivals(self.num_jobs, self.jobs_per_h, setting.seed),
            weight=np.ones(self.num_jobs),
            slo=np.full(self.num_jobs, np.inf),
            rates=rates,
            pair_rates=read_pair_rates(self.throughputs, tuple(self.gpus)),
        )
        return with_servers(jobs, self, lambda job: f"job {job}")


def draw_jobs(
    num_jobs: int, seed: int, multi_gpu: bool = False, spread: Sequence[str] = SPREAD
) -> list[tuple[str, int, int, float]]:
    """Model, batch size, GPUs, and seconds on V100 GPUs of each job."""
    rng = Random(seed + JOB_STREAM)
    jobs = []
    for _ in range(num_jobs):
        place = rng.random()  # drawn also where all jobs have one GPU
        gpus = next(count for upto, count in GPUS if place < upto) if multi_gpu else 1
        low, high = (3, 4) if rng.random() >= 0.8 else (1.5, 3)
        seconds = 60 * 10 ** rng.uniform(low, high)
        model, size = rng.choice(JOB_TYPES)
        while gpus > 1 and model not in spread:
            model, size = rng.choice(JOB_TYPES)
        jobs.append((model, size, gpus, seconds))
    return jobs


def draw_arrivals(num_jobs: int, jobs_per_h: float, seed: int) -> np.ndarray:
    """``(J,)`` times of submission, s; the first is 0."""
    rng = Random(seed + ARRIVAL_STREAM)
    if jobs_per_h == 0:
        return np.zeros(num_jobs)
    gaps = [-math.log(1 - rng.random()) * 3600 / jobs_per_h for _ in range(num_jobs - 1)]
    return np.concatenate([[0.0], np.cumsum(gaps)])
