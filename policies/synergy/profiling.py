"""Profiling of a job's sensitivity at low cost, and the model behind it.

The input pipeline of training has three stages: items come from storage unless cached, CPUs
prepare them, GPUs use them. The slowest sets the pace. With a cache that hits a fixed part of each
epoch (MinIO), memory acts through that part alone, so it need not be measured: `profile` measures
over CPUs and works out the rest (Synergy, Section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from simulator import InputError, SensitivityMatrix
from simulator.model.cluster import FloatArray

MINUTES_PER_POINT = 1.0
"""Measuring one share takes 50 iterations, about a minute (Section 3.1)."""


@dataclass(frozen=True)
class Cache:
    """Effect of memory: the part of the data set that is cached does not come from storage.

    Attributes
    ----------
    storage_rate : throughput if every item came from storage, relative.
    data_gb : of the data set, per GPU.
    process_gb : memory that the process needs before any is left to cache.
    """

    storage_rate: float
    data_gb: float
    process_gb: float

    def miss(self, memory_gb: float) -> float:
        """Part of the items that come from storage."""
        return 1 - min(1.0, max(0.0, memory_gb - self.process_gb) / self.data_gb)

    def rate(self, memory_gb: float) -> float:
        """Throughput that storage allows; infinite once all is cached."""
        miss = self.miss(memory_gb)
        return self.storage_rate / miss if miss > 0 else float("inf")


@dataclass(frozen=True)
class Pipeline:
    """A training job's input pipeline, per GPU, in throughput relative to the reference share.

    Attributes
    ----------
    gpu_rate : what the GPU can use.
    core_rate : what one CPU core prepares.
    scaling : ``c`` cores prepare ``core_rate * c ** scaling``; 1: each adds the same.
    cache : see `Cache`.
    """

    gpu_rate: float
    core_rate: float
    scaling: float
    cache: Cache

    def preparation_rate(self, cpus: float) -> float:
        """Rate at which ``cpus`` cores prepare data."""
        return float(self.core_rate * cpus**self.scaling)

    def rate(self, cpus: float, memory_gb: float) -> float:
        """Throughput: the slowest stage's."""
        return min(self.gpu_rate, self.preparation_rate(cpus), self.cache.rate(memory_gb))

    def train(
        self,
        cpus: float,
        memory_gb: float,
        rng: np.random.Generator,
        iterations: int = 50,
        items: int = 512,
        prefetched: int = 4,
        jitter: float = 0.02,
    ) -> float:
        """Throughput measured on a simulated run, batch by batch.

        Fetching, preparing and training overlap, at most ``prefetched`` batches ahead. Each batch
        misses the cache by chance and is prepared a little faster or slower.

        Parameters
        ----------
        items : in a batch.
        jitter : standard deviation of the preparation time, relative.
        """
        miss = self.cache.miss(memory_gb)
        fetch = rng.binomial(items, miss, iterations) / items / self.cache.storage_rate
        prepare = np.maximum(rng.normal(1, jitter, iterations), 0) / self.preparation_rate(cpus)
        use = 1 / self.gpu_rate
        fetched = prepared = 0.0
        used = [0.0] * iterations
        for i, (f, p) in enumerate(zip(fetch.tolist(), prepare.tolist(), strict=True)):
            room = used[i - prefetched] if i >= prefetched else 0.0
            fetched = max(fetched, room) + f
            prepared = max(prepared, fetched) + p
            used[i] = max(prepared, used[i - 1] if i else 0.0) + use
        # The first batches fill the pipeline.
        warm = min(prefetched, iterations - 2)
        return (iterations - 1 - warm) / (used[-1] - used[warm])


@dataclass(frozen=True)
class Fit:
    """A pipeline fitted to a matrix, and how far off it is.

    Attributes
    ----------
    pipeline : the fitted one.
    mean_error, max_error : relative, over the points at which the process has its memory.
    """

    pipeline: Pipeline
    mean_error: float
    max_error: float


def fit(matrix: SensitivityMatrix) -> Fit:
    """The pipeline that comes closest to a matrix, by least squares of relative errors.

    The lowest memory of the matrix is taken as what the process needs.
    """
    memory_gb, relative = matrix.memory_gb[1:], matrix.relative[:, 1:]
    if not len(memory_gb) or not (relative > 0).all():
        raise InputError("sensitivity matrix: no throughput > 0 over two memory sizes to fit to")
    process_gb, top = float(matrix.memory_gb[0]), float(relative.max())

    def pipeline(x: FloatArray) -> Pipeline:
        gpu_rate, core_rate, storage_rate, data_gb = np.exp(x[[0, 1, 3, 4]]).tolist()
        return Pipeline(gpu_rate, core_rate, float(x[2]), Cache(storage_rate, data_gb, process_gb))

    def errors(x: FloatArray) -> FloatArray:
        made = pipeline(x)
        rates = [[made.rate(c, m) for m in memory_gb.tolist()] for c in matrix.cpus.tolist()]
        return (np.array(rates) / relative - 1).reshape(-1)

    first = float(relative[0, -1])
    low = [np.log(top / 3), np.log(first / 3), 0.3, np.log(top / 20), np.log(20.0)]
    high = [np.log(top * 1.5), np.log(first * 3), 1.2, np.log(top * 3), np.log(2000.0)]
    fits = [
        scipy.optimize.least_squares(
            errors,
            [np.log(top), np.log(first), 0.9, np.log(top * storage), np.log(data_gb)],
            bounds=(low, high),
            diff_step=[1e-3] * 5,
        )
        for storage in (0.3, 0.7)
        for data_gb in (100.0, 300.0)
    ]
    x = min(fits, key=lambda f: float(f.cost)).x
    off = np.abs(errors(x))
    return Fit(pipeline(x), float(off.mean()), float(off.max()))


@dataclass(frozen=True)
class Profile:
    """Result and cost of profiling.

    Attributes
    ----------
    matrix : relative to the reference share.
    measured_cpus : CPUs at which the job was run.
    searched : how many of them the binary search asked for; the others are one CPU and the
        reference, which the matrix needs.
    minutes : that this took.
    exhaustive_minutes : that measuring every point would have taken.
    """

    matrix: SensitivityMatrix
    measured_cpus: tuple[int, ...]
    searched: int
    minutes: float
    exhaustive_minutes: float


def profile(
    measure: Callable[[int, float], float],
    cache: Cache,
    max_cpus: int,
    memory_gb: Sequence[float],
    reference: tuple[int, float],
    threshold: float = 0.1,
) -> Profile:
    """Optimistic profiling: CPUs measured by binary search at full memory, memory worked out.

    Parameters
    ----------
    measure : throughput of the job with so many CPUs and GB of memory; each call costs a minute.
    cache : known of the job (size of its data set) and the server (storage bandwidth).
    max_cpus : of a server.
    memory_gb : sizes of the matrix, ascending.
    reference : CPUs and GB that rate 1 stands for: the GPU-proportional share. Always measured.
    threshold : a relative gain below this is none.
    """
    full = memory_gb[-1]
    known: dict[int, float] = {}

    def at(cpus: int) -> float:
        if cpus not in known:
            known[cpus] = measure(cpus, full)
        return known[cpus]

    low, high = 1, max_cpus
    at(high)
    while high - low > 1:
        middle = (low + high) // 2
        if at(high) < at(middle) * (1 + threshold):
            high = middle
        else:
            low = middle
    searched = len(known)
    at(1)
    at(reference[0])
    cpus = sorted(known)
    # Noise must not make more CPUs look worse.
    measured = np.maximum.accumulate([known[c] for c in cpus])
    allowed = np.array([cache.rate(m) for m in memory_gb])
    rates = np.minimum(measured[:, None], allowed[None, :])
    matrix = SensitivityMatrix(np.array(cpus, dtype=np.float64), np.array(memory_gb), rates)
    return Profile(
        matrix.relative_to(*reference),
        tuple(known),
        searched,
        len(known) * MINUTES_PER_POINT,
        max_cpus * len(memory_gb) * MINUTES_PER_POINT,
    )
