"""Performance models: time of a job on a configuration.

Every model answers the same two questions: the time of one whole job on one configuration
(`time_s`), and the table of times over whole GPUs (`table_s`) that optimisers read. A job that
has a fraction ``r`` of its work left needs ``r`` times as long.

- `FixedDuration`   a fixed number of GPUs and a known time (cluster traces)
- `TimeTable`       t[job, node type, GPUs], measured or predicted (hierarchical paper, ANDREAS)
- `SpeedupCurve`    t(k) = duration / s(k) for real-valued k (GPU rental)
- `Sensitivity`     t = duration / W[CPUs, memory] (Synergy)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from simulator.arguments import checked, times_shape
from simulator.errors import InputError
from simulator.model import tolerances
from simulator.model.cluster import Cluster, FloatArray, IntArray, proportional_share
from simulator.model.placement import Placement

if TYPE_CHECKING:
    from simulator.model.rounds import Progress


class Performance:
    """Base of performance models, with a neutral default for all but `time_s`.

    One that has a length says for how many jobs it knows times; `Workload` checks that.

    Attributes
    ----------
    num_gpus : ``(J,)`` GPUs that each job needs, 0 or None where the policy chooses. A workload has its demand from here.
    time_shared : whether a job may hold a part of its GPUs for the same part of its speed.
    time_unit_s : changes of a rate, and ends, are noticed at multiples of this after the last one: the nearest, or
        with ``rounds_up`` the next; 0: at any time. For rules of released programs.
    shortest_s : ``(J, V, G + 1)`` the shortest of several times of a configuration, where a file lists several.
    """

    num_gpus: IntArray | None = None
    time_shared: bool = False
    time_unit_s: float = 0.0
    rounds_up: bool = False
    shortest_s: FloatArray | None = None

    @property
    def offers(self) -> frozenset[str]:
        """Terms of what it knows, which requirements of policies ask for; a model of one's own may have more.

        fixed-demand : a number of GPUs for each job, and its time on them (`fixed_s`).
        one-duration : that time is the same with any CPUs and memory beside the GPUs.
        time-shared : jobs of fixed demand may hold a part of their GPUs for that part of the time.
        elastic : times on several numbers of GPUs.
        time-table : these are tables of times, of which one number of GPUs can be chosen for each job.
        curves : speed-up curves over a real number of GPUs.
        goodput : tables of goodput; jobs choose their batch size.
        types : what it knows differs between node types (`check_types`).
        sensitivity, elastic-sensitivity : rates depend on CPUs and memory, of jobs of fixed demand, of elastic ones.
        """
        return frozenset({"elastic"} if self.fixed_s is None else {"fixed-demand"})

    def check_types(self, cluster: Cluster) -> None:
        """Raises InputError: it differs between node types, and these are others."""

    @property
    def job_columns(self) -> tuple[str, ...]:
        """Attributes of which policies see the rows of the jobs so far (`simulator.model.so_far`)."""
        return ("num_gpus", "fixed_s", "slowest_s", "shortest_s")

    @property
    def job_methods(self) -> tuple[str, ...]:
        """Methods that policies may ask about the jobs so far alone, where that does not follow from the columns."""
        return ("time_s", "table_s", "rate", "next_change", "configuration")

    # -- times of configurations -----------------------------------------------------------------

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds that the whole job takes on this configuration; infinite: it cannot run."""
        raise NotImplementedError

    def table_s(self, jobs: IntArray, cluster: Cluster) -> FloatArray:
        """``(n, V, G + 1)`` seconds on ``g`` GPUs of one node of each type: the configurations that exist.

        ``G`` is the cluster's `max_gpus_per_node`; entries are infinite where a job cannot run,
        at ``g = 0`` among others. CPUs and memory are taken in proportion to the GPUs.
        """
        table = no_times(jobs, cluster)
        for v, node_type in enumerate(cluster.node_types):
            for g in range(1, int(min(node_type.gpus, cluster.max_gpus_per_node)) + 1):
                more = proportional_share(node_type, g)
                table[:, v, g] = [self.time_s(int(job), v, g, *more) for job in jobs]
        return table

    @property
    def fixed_s(self) -> FloatArray | None:
        """``(J,)`` seconds of each job on the GPUs that it needs, where that is one number; None: it is not."""
        return None

    @property
    def slowest_s(self) -> FloatArray | None:
        """``(J,)`` as `fixed_s`, on the nodes where the job takes longest."""
        return self.fixed_s

    def work_gpu_s(self, cluster: Cluster) -> FloatArray:
        """``(J,)`` GPU-seconds of each whole job where it uses the fewest, on one node."""
        if not isinstance(self, Sized):
            raise NotImplementedError
        table = self.table_s(np.arange(len(self)), cluster)[:, :, 1:]
        least: FloatArray = (table * np.arange(1, table.shape[2] + 1)).min(axis=(1, 2))
        return least

    # -- progress --------------------------------------------------------------------------------

    def rate(
        self, job: int, shares: Sequence[Placement], configuration: Any, left: float
    ) -> float | None:
        """Fraction of the work that is done in a second when the fraction ``left`` is left; None: 1 / `time_s`."""
        return None

    def next_change(self, job: int, left: float) -> float:
        """The fraction below ``left`` at which `rate` changes next; 0: not before the end."""
        return 0.0

    def configuration(self, job: int, shares: Sequence[Placement], left: float) -> Any:
        """The batch size or other choice with which the job runs on its GPUs; None: it has none."""
        return None

    def progress(self) -> Progress | None:
        """Work of all jobs in one run that is counted in rounds (`simulator.model.rounds`); None: it is not."""
        return None

    # -- jobs ------------------------------------------------------------------------------------

    def take(self, jobs: IntArray) -> Self:
        """The model of these jobs, in this order; here that of the first ones alone, which is the same.

        Raises InputError: other jobs. A model with a row a job has a method of its own.
        """
        if not np.array_equal(jobs, np.arange(len(jobs))):
            raise InputError(
                f"jobs with {type(self).__name__} cannot be drawn again, expected a model with take(jobs)"
            )
        return self


@dataclass(frozen=True)
class JobTimes(Performance):
    """Base of the models here: each array of a model has a row a job."""

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}

    @property
    def job_columns(self) -> tuple[str, ...]:
        """The arrays, and what follows from them."""
        return (*super().job_columns, *self._columns())

    @property
    def job_methods(self) -> tuple[str, ...]:
        """None: all read the arrays."""
        return ()

    def __len__(self) -> int:
        return len(next(iter(self._columns().values())))

    def take(self, jobs: IntArray) -> Self:
        """The model of these jobs, in this order."""
        return replace(self, **{name: column[jobs] for name, column in self._columns().items()})


@dataclass(frozen=True)
class _FixedDemand(JobTimes):
    """Jobs of a known time on a number of GPUs of their own."""

    duration_s: FloatArray
    num_gpus: IntArray = field()

    def __post_init__(self) -> None:
        _check_durations(self.duration_s)
        _check_demand(self.num_gpus)
        freeze(self, duration_s=np.float64, num_gpus=np.int64)

    @property
    def fixed_s(self) -> FloatArray:
        """The durations."""
        return self.duration_s

    def table_s(self, jobs: IntArray, cluster: Cluster) -> FloatArray:
        """Finite only at the job's own number of GPUs, on types that have as many."""
        table = no_times(jobs, cluster)
        gpus = self.num_gpus[jobs]
        for v, node_type in enumerate(cluster.node_types):
            fits = np.flatnonzero((gpus <= node_type.gpus) & (gpus <= cluster.max_gpus_per_node))
            table[fits, v, gpus[fits]] = self.duration_s[jobs[fits]]
        return table

    def work_gpu_s(self, cluster: Cluster) -> FloatArray:
        """GPUs times duration."""
        return self.duration_s * self.num_gpus


@checked("jobs of one duration")
@dataclass(frozen=True)
class FixedDuration(_FixedDemand):
    """Jobs of fixed size: ``num_gpus`` GPUs, wherever they are, for ``duration_s`` seconds.

    Parameters
    ----------
    duration_s : ``(J,)`` s.
    num_gpus : ``(J,)`` GPUs that the job needs, all of them at once.
    time_shared : whether a job may hold a part of its GPUs, which means all of them for that part of
        the time. Processor sharing needs this; it is an ideal, switching costs nothing.

    Raises InputError: a duration that is not positive, or a number of GPUs that is not whole and
    positive.
    """

    time_shared: bool = False

    @property
    def offers(self) -> frozenset[str]:
        """A fixed demand with one duration, which may be shared in time."""
        return super().offers | {"one-duration"} | ({"time-shared"} if self.time_shared else set())

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds; infinite with any other number of GPUs than the job's own, unless time-shared."""
        own = self.num_gpus.item(job)
        if gpus == own:
            return self.duration_s.item(job)
        if not self.time_shared or not 0 < gpus < own * (1 + tolerances.SUMS):
            return math.inf
        return self.duration_s.item(job) * max(1.0, own / gpus)


@checked("durations by type")
@dataclass(frozen=True)
class DurationByType(FixedDuration):
    """Jobs of fixed size whose time depends on the type of their nodes; ``duration_s`` is that on the fastest.

    Parameters
    ----------
    times_s : ``(J, V)`` s on each node type; infinite: not there.
    """

    times_s: FloatArray = field(kw_only=True)

    @cached_property
    def slowest_s(self) -> FloatArray:
        """The longest finite times."""
        return np.asarray(np.where(np.isfinite(self.times_s), self.times_s, 0).max(axis=1))

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds; infinite with any other number of GPUs than the job's own, unless time-shared."""
        slower = super().time_s(job, node_type, gpus, cpus, memory_gb) / self.duration_s.item(job)
        return self.times_s.item(job, node_type) * slower

    def table_s(self, jobs: IntArray, cluster: Cluster) -> FloatArray:
        """Finite only at the job's own number of GPUs, on types that have as many."""
        table = super().table_s(jobs, cluster)
        return np.where(np.isfinite(table), self.times_s[jobs][:, :, None], table)


@checked("table of times")
@dataclass(frozen=True)
class TimeTable(JobTimes):
    """Execution times t[j, v, g], measured or predicted; not assumed monotone in g.

    Parameters
    ----------
    times_s : ``(J, V, G + 1)`` seconds, infinite where the configuration does not exist; what is
        given for no GPU at all (``g = 0``) does not count.
    num_gpus : ``(J,)`` GPUs that the users ask for, 0 where the policy chooses; None: it always does.

    Raises InputError: another number of dimensions, or a time that is NaN or not positive.
    """

    times_s: FloatArray
    num_gpus: IntArray | None = field(default=None, kw_only=True)

    @property
    def offers(self) -> frozenset[str]:
        """Times on several numbers of GPUs, in a table."""
        return super().offers | {"time-table"}

    def __post_init__(self) -> None:
        check_asked(self)
        if np.ndim(self.times_s) != 3:
            raise InputError(f"times: shape is {np.shape(self.times_s)}, expected (J, V, G + 1)")
        times_s = np.array(self.times_s, dtype=np.float64)
        times_s[:, :, 0] = np.inf
        bad = np.argwhere(~(times_s > 0))
        if len(bad):
            j, v, g = bad[0].tolist()
            raise InputError(
                f"times: that of job {j} on {g} GPUs of node type {v} is {times_s[j, v, g]} s, "
                "expected more than 0"
            )
        times_s.flags.writeable = False
        object.__setattr__(self, "times_s", times_s)

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds on ``gpus`` (whole) GPUs of one node."""
        g = int(gpus)
        if g != gpus or not 0 <= g < self.times_s.shape[2]:
            return math.inf
        return self.times_s.item(job, node_type, g)

    def table_s(self, jobs: IntArray, cluster: Cluster) -> FloatArray:
        """The rows of the jobs."""
        return self.times_s[jobs]


@checked("speed-up curves")
@dataclass(frozen=True)
class SpeedupCurve(JobTimes):
    """Jobs that speed up with a real-valued share of GPUs: t(k) = duration / s(k).

    Parameters
    ----------
    duration_s : ``(J,)`` seconds on one GPU.
    curve_of : ``(J,)`` index of the job's curve.
    curves : speed-up functions, ``s(1) = 1``, concave and increasing.
    long_run : of each curve, how many of its jobs come in an hour and their mean duration on one
        GPU, h, where a generator knows them; None: only the jobs themselves say so.

    Raises InputError: a duration that is not positive; a pair that is missing in ``long_run``, or not
    positive.
    """

    duration_s: FloatArray
    curve_of: IntArray
    curves: Sequence[Callable[[float], float]]
    long_run: tuple[tuple[float, float], ...] | None = None

    @property
    def offers(self) -> frozenset[str]:
        """Times on any number of GPUs, by curves."""
        return super().offers | {"curves"}

    def __post_init__(self) -> None:
        _check_durations(self.duration_s)
        freeze(self, duration_s=np.float64, curve_of=np.int64)
        _check_index("curve_of", self.curve_of, len(self.curves))
        known = self.long_run
        if known is None:
            return
        if len(known) != len(self.curves) or not all(
            0 < x < math.inf for pair in known for x in pair
        ):
            raise InputError(
                f"long_run is {known}, expected a positive rate and a positive size for each of "
                f"{len(self.curves)} curves"
            )

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds on ``gpus`` GPUs (any real number >= 0)."""
        if gpus <= 0:
            return math.inf
        return float(self.duration_s[job] / self.curves[self.curve_of[job]](gpus))

    def table_s(self, jobs: IntArray, cluster: Cluster) -> FloatArray:
        """Times on whole GPUs of one node."""
        table = no_times(jobs, cluster)
        for g in range(1, cluster.max_gpus_per_node + 1):
            speedup = np.array([float(s(float(g))) for s in self.curves])
            time = self.duration_s[jobs] / speedup[self.curve_of[jobs]]
            for v, node_type in enumerate(cluster.node_types):
                if g <= node_type.gpus:
                    table[:, v, g] = time
        return table

    def work_gpu_s(self, cluster: Cluster) -> FloatArray:
        """The duration on one GPU, since s(k) <= k."""
        return self.duration_s


@checked("sensitivity matrix")
@dataclass(frozen=True)
class SensitivityMatrix:
    """Relative throughput of one model, W[c, m], over CPUs and memory *per GPU*.

    Between the points it is interpolated linearly, outside it is held. 1 is the rate at the
    GPU-proportional share of the server (Synergy, Section 3.1).

    Parameters
    ----------
    cpus : ``(C,)`` CPUs per GPU, ascending.
    memory_gb : ``(M,)`` GB per GPU, ascending.
    relative : ``(C, M)`` throughput over the throughput at the proportional share.

    Raises InputError: grids that do not ascend, another shape, negative or infinite throughput, or one
    that falls where a job gets more: policies rely on more never being worse.
    """

    cpus: FloatArray
    memory_gb: FloatArray
    relative: FloatArray
    _known: dict[tuple[float, float], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for name, grid in (("cpus", self.cpus), ("memory_gb", self.memory_gb)):
            if grid.ndim != 1 or not len(grid) or not (np.diff(grid, prepend=0.0) > 0).all():
                raise InputError(
                    f"sensitivity matrix: {name} is {grid.tolist()}, expected ascending numbers > 0"
                )
        w, shape = self.relative, (len(self.cpus), len(self.memory_gb))
        if w.shape != shape:
            raise InputError(f"sensitivity matrix: shape is {w.shape}, expected {shape}")
        if not (np.isfinite(w) & (w >= 0)).all():
            raise InputError(
                "sensitivity matrix: throughput is negative or no number, expected >= 0"
            )
        for axis, resource in enumerate(("CPUs", "memory")):
            falls = np.argwhere(np.diff(w, axis=axis) < 0)
            if len(falls):
                i, k = falls[0].tolist()
                raise InputError(
                    f"sensitivity matrix: throughput falls with more {resource} after "
                    f"{self.cpus[i]:g} CPUs and {self.memory_gb[k]:g} GB per GPU, expected it to "
                    "rise or stay"
                )

    def __call__(self, cpus_per_gpu: float, memory_gb_per_gpu: float) -> float:
        """Relative throughput at a share."""
        share = (cpus_per_gpu, memory_gb_per_gpu)
        rate = self._known.get(share)
        if rate is None:
            rate = self._known[share] = self._interpolate(cpus_per_gpu, memory_gb_per_gpu)
        return rate

    def relative_to(self, cpus_per_gpu: float, memory_gb_per_gpu: float) -> SensitivityMatrix:
        """The same sensitivity with 1 at another share: that of a server of another make.

        Raises InputError: throughput is 0 there, so nothing can be relative to it.
        """
        base = self(cpus_per_gpu, memory_gb_per_gpu)
        if base <= 0:
            raise InputError(
                f"sensitivity matrix: no throughput at the proportional share of {cpus_per_gpu:g} "
                f"CPUs and {memory_gb_per_gpu:g} GB per GPU, expected > 0"
            )
        return SensitivityMatrix(self.cpus, self.memory_gb, self.relative / base)

    def _interpolate(self, cpus_per_gpu: float, memory_gb_per_gpu: float) -> float:
        i, u = _locate(self.cpus, cpus_per_gpu)
        k, v = _locate(self.memory_gb, memory_gb_per_gpu)
        w = self.relative
        low = w[i, k] * (1 - v) + w[i, k + 1] * v if v else w[i, k]
        if not u:
            return float(low)
        high = w[i + 1, k] * (1 - v) + w[i + 1, k + 1] * v if v else w[i + 1, k]
        return float(low * (1 - u) + high * u)


@checked("sensitivity")
@dataclass(frozen=True)
class Sensitivity(_FixedDemand):
    """Jobs of fixed GPU demand whose rate depends on the CPUs and memory beside them.

    Parameters
    ----------
    duration_s : ``(J,)`` seconds at the GPU-proportional share.
    num_gpus : ``(J,)`` GPUs that the job needs.
    matrix_of : ``(J,)`` index of the job's matrix, or ``(J, V)`` one a node type.
    matrices : `SensitivityMatrix` of each model (and node type).
    """

    matrix_of: IntArray
    matrices: Sequence[SensitivityMatrix]

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze(self, duration_s=np.float64, matrix_of=np.int64)
        _check_index("matrix_of", self.matrix_of, len(self.matrices))

    @property
    def offers(self) -> frozenset[str]:
        """A fixed demand, and what CPUs and memory change."""
        return super().offers | {"sensitivity"}

    def matrix(self, job: int, node_type: int = 0) -> SensitivityMatrix:
        """The matrix of a job on a node type."""
        of = self.matrix_of
        return self.matrices[int(of[job] if of.ndim == 1 else of[job, node_type])]

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds with ``cpus`` and ``memory_gb`` in all; infinite with too few GPUs or none.

        ``gpus`` may be a sum of fractions that adds up to the demand.
        """
        if abs(gpus - self.num_gpus[job]) > tolerances.FRACTIONS:
            return math.inf
        rate = self.matrix(job, node_type)(cpus / gpus, memory_gb / gpus)
        return float(self.duration_s[job] / rate) if rate > 0 else math.inf


def _check_durations(duration_s: FloatArray) -> None:
    """`InputError` unless all are positive, finite numbers."""
    values = np.asarray(duration_s, dtype=np.float64)
    good = np.isfinite(values) & (values > 0)
    if not good.all():
        job = int(np.argmin(good))
        raise InputError(f"duration_s of job {job} is {values[job]}, expected a number > 0")


def _check_demand(num_gpus: IntArray) -> None:
    """`InputError` unless all are positive, whole numbers."""
    values = np.asarray(num_gpus, dtype=np.float64)
    good = np.isfinite(values) & (values >= 1) & (np.floor(values) == values)
    if not good.all():
        job = int(np.argmin(good))
        raise InputError(f"num_gpus of job {job} is {values[job]:g}, expected a whole number >= 1")


def check_asked(model: Performance) -> None:
    """Keep ``num_gpus`` as whole numbers; `InputError` where a number is not whole, or negative."""
    if model.num_gpus is None:
        return
    values = np.asarray(model.num_gpus, dtype=np.float64)
    good = np.isfinite(values) & (values >= 0) & (np.floor(values) == values)
    if not good.all():
        job = int(np.argmin(good))
        raise InputError(f"num_gpus of job {job} is {values[job]:g}, expected a whole number >= 0")
    freeze(model, num_gpus=np.int64)


def freeze(model: object, **dtypes: npt.DTypeLike) -> None:
    """Give a model copies of its columns that nobody can change; ``(J, ..)`` all of them."""
    rows = None
    for name, dtype in dtypes.items():
        column = np.array(getattr(model, name), dtype=dtype)
        rows = len(column) if rows is None else rows
        if len(column) != rows:
            raise InputError(f"{name} has {len(column)} rows, expected {rows}, one a job")
        column.flags.writeable = False
        object.__setattr__(model, name, column)


def _check_index(name: str, index: IntArray, count: int) -> None:
    """`InputError` unless all are indices below ``count``."""
    good = (index >= 0) & (index < count)
    if not good.all():
        raise InputError(f"{name} has a {index[~good][0]}, expected 0 to {count - 1}")


def no_times(jobs: IntArray, cluster: Cluster) -> FloatArray:
    """``(n, V, G + 1)`` times of jobs that run nowhere."""
    shape = times_shape(len(jobs), len(cluster.node_types), cluster.max_gpus_per_node)
    return np.full(shape, np.inf)


def _locate(grid: FloatArray, value: float) -> tuple[int, float]:
    """Cell of the grid that holds the value, and the fraction of the way through it."""
    if value >= grid[-1]:
        return len(grid) - 1, 0.0
    if value <= grid[0]:
        return 0, 0.0
    i = int(np.searchsorted(grid, value, side="right")) - 1
    return i, float((value - grid[i]) / (grid[i + 1] - grid[i]))
