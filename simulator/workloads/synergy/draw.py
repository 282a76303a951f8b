"""The jobs that the released simulator draws, one for one: Python's own generator and its seed.

The paper's largest gain (3.4 times at 9 jobs an hour) comes from one draw of this generator, seed 42.
The order of the draws is part of it: two numbers for each of the 31,762 jobs of the Philly log, for
their durations, which the simulator writes to a file; then, from a new generator with the same seed,
two for each job that is submitted, for its gap and for an integer that nothing uses. In the run that
writes the file there is no new generator: the gaps follow the durations.

GPUs are those of the log's jobs, in its order. The published table has 31,725 of the 31,762 jobs, so a
job may stand up to 37 places from where the released simulator has it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache

import numpy as np

from simulator.arguments import whole
from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.model.cluster import IntArray, NodeType
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.networks.named import SERVER, TASKS, dnn_models
from simulator.workloads.networks.sensitivity import iteration_s

LOG_JOBS = 31_762
"""Jobs of the Philly log between 10^1.5 and 10^4 minutes, as the released simulator counts them."""

SIZES = (1, 2, 4, 8, 16)
"""GPUs of a job, as the released simulator knows them."""

SEED = 42
"""The seed that the released simulator takes where none is given."""


def released_draw(
    num_jobs: int,
    jobs_per_hour: float,
    *,
    split: Sequence[float] = (20, 70, 10),
    seed: int = SEED,
    spec: NodeType = SERVER,
    multi_gpu: bool = False,
    first_run: bool = False,
) -> Workload:
    """Jobs as the released simulator draws them, at GPU-proportional durations.

    Gaps are exponential, rounded up to a second. Durations are cut to whole iterations of the
    network on the server.

    Parameters
    ----------
    num_jobs : how many; beyond 31,762 durations repeat.
    jobs_per_hour : rate of the arrivals.
    split : per cent of image, language and speech jobs.
    seed : of Python's generator.
    spec : the server, which sets the time of an iteration.
    multi_gpu : with the GPUs of the log (`gpus_of_log`), else 1 each.
    first_run : the gaps follow the durations in one generator.

    Raises InputError: no job, a rate that is not positive, or shares that are not per cent.
    """
    whole(1, "released draw", num_jobs=num_jobs)
    if not 0 < jobs_per_hour < math.inf:
        raise InputError(f"released draw: {jobs_per_hour} jobs/h, expected a number > 0")
    of_log, rng = random.Random(seed), random.Random(seed)
    minutes = [_minutes(of_log) for _ in range(LOG_JOBS if first_run else min(LOG_JOBS, num_jobs))]
    rng = of_log if first_run else rng
    models = models_by_deficit(num_jobs, split)
    seconds = {name: iteration_s(name, spec, released=True) for name in dict.fromkeys(models)}
    submit_s, duration_s = np.zeros(num_jobs), np.zeros(num_jobs)
    now_s = 0.0
    for job, model in enumerate(models):
        now_s += math.ceil(-math.log(1.0 - rng.random()) / jobs_per_hour * 3600)
        rng.randint(0, len(dnn_models()) - 1)
        submit_s[job] = now_s
        iterations = int(60 * minutes[job % LOG_JOBS] / seconds[model])
        duration_s[job] = iterations * seconds[model]
    gpus = np.ones(num_jobs, dtype=np.int64)
    if multi_gpu:
        gpus = np.resize(gpus_of_log(), num_jobs)
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=submit_s,
        performance=FixedDuration(duration_s, gpus),
        model=models,
    )


@cache
def gpus_of_log() -> IntArray:
    """GPUs of the log's jobs in its order: those above 16 are left out, other numbers than 1, 2, 4, 8, 16 count as 1."""
    gpus = read_table("synergy_philly_jobs.csv")["num_gpus"].to_numpy()
    gpus = gpus[gpus <= max(SIZES)]
    return np.where(np.isin(gpus, SIZES), gpus, 1)


def _minutes(rng: random.Random) -> float:
    long = rng.random() >= 0.8
    return float(10 ** (rng.uniform(3, 4) if long else rng.uniform(1.5, 3)))


def models_by_deficit(num_jobs: int, split: Sequence[float]) -> list[str]:
    """A network for each job: the task furthest below its share of those before it, by turns.

    Parameters
    ----------
    split : per cent of image, language and speech jobs.
    """
    if len(split) != len(TASKS) or not all(0 <= s <= 100 for s in split) or not sum(split) > 0:
        raise InputError(
            f"split is {tuple(split)}, expected three shares in per cent: image, language, speech"
        )
    of_task = [[n.name for n in dnn_models().values() if n.task == task] for task in TASKS]
    given = [0] * len(TASKS)
    models = []
    for job in range(num_jobs):
        below = [s / 100 - g / job if job else 0.0 for s, g in zip(split, given, strict=True)]
        task = below.index(max(below))
        models.append(of_task[task][given[task] % len(of_task[task])])
        given[task] += 1
    return models
