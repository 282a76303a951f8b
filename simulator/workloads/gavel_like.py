"""Random jobs by the rule of Gavel's simulations (Narayanan et al., OSDI 2020, Section 7.1; stanford-futuredata/gavel).

A job is of one of 26 types, each as likely. Its time on V100 GPUs is 10^u minutes, with u from 1.5 to 3 for four jobs of
five and from 3 to 4 for the fifth. With ``multi_gpu`` 70 % of jobs have one GPU, 10 % two, 15 % four and 5 % eight.
Arrivals are a Poisson process. The order of the draws is that of the published runs, by Python's generator: so seeds 0, 1,
and 2 give their very jobs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np

from simulator.arguments import nonnegative, one_of, whole
from simulator.errors import InputError
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.workloads.gavel import read_pair_rates, read_rates, with_servers
from simulator.workloads.training import RoundWork, TrainingJobs, job_type

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
SPREAD = ("ResNet-18", "ResNet-50", "Transformer", "LM")
"""Models that train on several GPUs."""
GPUS = ((0.7, 1), (0.8, 2), (0.95, 4), (1.0, 8))
"""GPUs of a job, by the cumulative probability."""
REFERENCE = "v100"
"""The type of GPU on which a job takes the time that is drawn."""
JOB_STREAM, ARRIVAL_STREAM = 2, 3
"""Added to the seed: of the jobs, and of the times between them."""


def gavel_like(
    num_jobs: int,
    jobs_per_h: float,
    throughputs: str | Path,
    gpus: Mapping[str, int],
    seed: int = 0,
    multi_gpu: bool = False,
    spread: Sequence[str] = SPREAD,
    gpus_per_node: int = 1,
    work: RoundWork | None = None,
) -> tuple[Workload, Cluster]:
    """Random jobs as training steps, and servers of several types for them.

    Parameters
    ----------
    jobs_per_h : rate of arrivals; 0: all jobs are there at the beginning.
    throughputs : Gavel's file of steps/s; it knows V100 GPUs.
    multi_gpu : whether jobs may have several GPUs.
    spread : models of jobs of several GPUs.
    gpus, gpus_per_node, work : as for `training_workload`.

    Raises
    ------
    InputError
        As `training_workload`; a rate below 0; models to spread that are none of `SPREAD`.
    """
    whole(1, num_jobs=num_jobs)
    whole(0, seed=seed)
    nonnegative(jobs_per_h=jobs_per_h)
    for model in spread or ("none",):
        one_of(SPREAD, spread=model)
    rates = read_rates(throughputs, tuple(dict.fromkeys((REFERENCE, *gpus))))
    drawn = draw_jobs(num_jobs, seed, multi_gpu, spread)
    kinds = [(job_type(model, size), count) for model, size, count, _ in drawn]
    for kind in kinds:
        if not rates[REFERENCE].get(kind, 0.0) > 0:
            raise InputError(
                f"{throughputs}: no rate of {kind} on {REFERENCE}, expected one above 0"
            )
    steps = [d[3] * rates[REFERENCE][kind] for d, kind in zip(drawn, kinds, strict=True)]
    jobs = TrainingJobs(
        job_id=[str(j) for j in range(num_jobs)],
        model=[d[0] for d in drawn],
        batch_size=[d[1] for d in drawn],
        num_gpus=np.array([d[2] for d in drawn]),
        steps=np.maximum(1, np.ceil(steps)).astype(np.int64),
        mode=["static"] * num_jobs,
        submit_s=draw_arrivals(num_jobs, jobs_per_h, seed),
        weight=np.ones(num_jobs),
        slo=np.full(num_jobs, np.inf),
        rates=rates,
        pair_rates=read_pair_rates(throughputs, tuple(gpus)),
    )
    return with_servers(jobs, gpus, gpus_per_node, work, lambda job: f"job {job}")


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
