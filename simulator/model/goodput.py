"""Goodput: training progress per second, from measured tables (Pollux, OSDI 2021, Section 3).

    goodput = throughput x statistical efficiency

Throughput depends on the GPUs by node and on the batch size. Statistical efficiency falls with the batch size
and depends on the gradient noise, which changes from epoch to epoch. Both are tables of an `Application`;
`Goodput` is the performance model of jobs that train such applications.

Progress is counted in iterations at the initial (smallest) batch size. A batch that is ``s`` times as large
is worth ``gain`` of them, ``1 <= gain <= s`` (Pollux, Equation 5)::

    gain = (var + sqr) / (var / s + sqr)

with the variance and the squared norm of the gradient of that epoch.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from simulator.arguments import checked, short
from simulator.errors import InputError
from simulator.model.batch_size import BatchSize
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.contract import Placement
from simulator.model.performance import JobTimes, check_asked, freeze, no_times

Ring = tuple[int, ...]
"""GPUs of a job by node, in the order in which its nodes are connected, for example ``(4, 4, 2)``."""

LOCAL_SLACK = 1e-8
"""Slack of divisions that are rounded up."""
FLAT, HULL_SLACK = 1e-9, 1e-6
"""Slope of a half-space that does not bound the local batch size, and rounding of its bounds."""


class StepTime(NamedTuple):
    """Seconds of one pass with synchronisation, and the part of it that is synchronisation."""

    step_s: float
    sync_s: float

    def with_accumulation(self, passes: int) -> float:
        """Seconds of one step with so many passes before the one that synchronises."""
        return self.step_s + (self.step_s - self.sync_s) * passes


@checked("application")
@dataclass(frozen=True, eq=False)
class Application:
    """Measurements of one training application: ``B`` batch sizes, ``E`` epochs.

    Parameters
    ----------
    name : its name.
    batch_sizes : ``(B,)`` global batch sizes that were trained with, ascending; the first is the initial one.
    progress : ``(B, E)`` progress at the end of each epoch, in iterations at the initial batch size.
    iterations : ``(B, E)`` iterations until the end of each epoch.
    grad_sqr, grad_var : ``(B, E)`` squared norm and variance of the gradient.
    by_ring : measured placements: local batch sizes ``(L,)``, seconds of a step and of its synchronisation
        ``(L, 2)``. A ring stands for all its rotations.
    spread : ``(M, 5)`` more measurements: nodes, GPUs, local batch size, seconds of a step, of synchronisation.
        Placements that are not in ``by_ring`` are interpolated between these and the means of ``by_ring``.
    max_local : largest local batch size that fits in a GPU's memory; None: the largest that was measured.
    keeps_batch : whether jobs keep their users' batch size under policies that choose batch sizes.

    Raises InputError: tables of different shapes, batch sizes that do not ascend, or progress that does
    not.
    """

    name: str
    batch_sizes: IntArray
    progress: FloatArray
    iterations: FloatArray
    grad_sqr: FloatArray
    grad_var: FloatArray
    by_ring: Mapping[Ring, tuple[FloatArray, FloatArray]]
    spread: FloatArray
    max_local: int | None = None
    keeps_batch: bool = False
    _steps: dict[tuple[Ring, int], StepTime] = field(default_factory=dict, init=False, repr=False)
    _gains: dict[int, list[float]] = field(default_factory=dict, init=False, repr=False)
    _limits: dict[Ring, tuple[int, int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        shape = (len(self.batch_sizes), *np.shape(self.progress)[1:])
        for name in ("progress", "iterations", "grad_sqr", "grad_var"):
            found = np.shape(getattr(self, name))
            if found != shape or len(found) != 2:
                raise InputError(
                    f"application {self.name}: {name} has shape {found}, expected {shape}, "
                    "batch sizes by epochs"
                )
        if not len(self.batch_sizes) or not (np.diff(self.batch_sizes, prepend=0) > 0).all():
            raise InputError(
                f"application {self.name}: batch sizes are {list(self.batch_sizes)}, expected "
                "ascending numbers > 0"
            )
        if not (np.diff(self.borders) > 0).all():
            raise InputError(
                f"application {self.name}: progress does not rise from epoch to epoch, expected it to"
            )
        if not self.by_ring:
            raise InputError(f"application {self.name}: no measured placement, expected one")

    def on_gpus(self, gradient: float, sync: float) -> Application:
        """The application on another type of GPU.

        Parameters
        ----------
        gradient, sync : speeds over those of this type: of the gradients of a pass, and of their synchronisation.
        """

        def faster(times: FloatArray) -> FloatArray:
            step_s, sync_s = times[..., 0], times[..., 1]
            there_s = sync_s / sync
            return np.stack([(step_s - sync_s) / gradient + there_s, there_s], axis=-1)

        by_ring = {ring: (sizes, faster(times)) for ring, (sizes, times) in self.by_ring.items()}
        spread = np.asarray(self.spread, dtype=np.float64).reshape(-1, 5)
        there = np.hstack([spread[:, :3], faster(spread[:, 3:])])
        return replace(self, by_ring=by_ring, spread=there)

    @cached_property
    def borders(self) -> FloatArray:
        """``(E + 1,)`` progress at which each epoch begins, and the last ends.

        An epoch is over when the least progress that any batch size had made at its end is reached. The
        papers do not say this; it follows from the results that were published with the tables.
        """
        return np.concatenate([[0.0], np.min(self.progress, axis=0)])

    @cached_property
    def minus_left(self) -> list[float]:
        """``(E + 1,)`` the fraction of the work that is left at each of `borders`, negative: so that it ascends."""
        found: list[float] = (self.borders / self.borders[-1] - 1.0).tolist()
        return found

    def epoch(self, left: float) -> int:
        """The epoch, from 0, in which a job is that has so much of its work left."""
        return min(bisect_right(self.minus_left, -left), len(self.minus_left) - 1) - 1

    @property
    def initial(self) -> int:
        """The initial batch size."""
        return int(self.batch_sizes[0])

    @property
    def largest(self) -> int:
        """The largest batch size."""
        return int(self.batch_sizes[-1])

    @cached_property
    def smallest_local(self) -> int:
        """The smallest local batch size that was measured."""
        return int(min(sizes[0] for sizes, _ in self.by_ring.values()))

    @cached_property
    def largest_local(self) -> int:
        """The largest local batch size."""
        measured = int(max(sizes[-1] for sizes, _ in self.by_ring.values()))
        return measured if self.max_local is None else min(measured, self.max_local)

    def step(self, ring: Ring, local: int) -> StepTime:
        """Times of a step; not a number where they cannot be interpolated.

        Over nodes and GPUs that were measured, linearly between local batch sizes; elsewhere linearly between
        nodes, GPUs and local batch sizes.
        """
        key = (ring, local)
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = self._interpolate(canonical(ring), local)
        return known

    def limits(self, ring: Ring) -> tuple[int, int]:
        """The smallest and the largest local batch size with times on a ring; the first is larger where there are none."""
        known = self._limits.get(ring)
        if known is None:
            low, high = self._ends(canonical(ring))
            low, high = math.ceil(low - HULL_SLACK), math.floor(high + HULL_SLACK)
            high = min(high, self.largest_local)
            while low <= high and math.isnan(self.step(ring, low).step_s):
                low += 1
            while low <= high and math.isnan(self.step(ring, high).step_s):
                high -= 1
            known = self._limits[ring] = low, high
        return known

    def _ends(self, ring: Ring) -> tuple[float, float]:
        """`limits`, but for rounding; elsewhere than on measured rings, of the convex hull that `step` interpolates in."""
        if ring in self.by_ring:
            sizes = self.by_ring[ring][0]
            return float(sizes[0]), float(sizes[-1])
        if not self._interpolates(ring):
            return 1.0, 0.0
        slope, rest = self._hull[:, 2], self._hull[:, [0, 1, 3]] @ [len(ring), sum(ring), 1.0]
        flat = np.abs(slope) < FLAT  # the half-space slope x local + rest <= 0
        if (rest[flat] > HULL_SLACK).any():
            return 1.0, 0.0
        ends = -rest[~flat] / slope[~flat]
        return float(ends[slope[~flat] < 0].max()), float(ends[slope[~flat] > 0].min())

    def gains(self, batch: int) -> list[float]:
        """``(E,)`` progress of one step with this batch size in each epoch."""
        known = self._gains.get(batch)
        if known is None:
            sqr, var = self.noise(batch)
            scale = batch / self.initial
            known = self._gains[batch] = ((var + sqr) / (var / scale + sqr)).tolist()
        return known

    def noise(self, batch: float) -> tuple[FloatArray, FloatArray]:
        """``(E,)`` squared norm and ``(E,)`` variance of the gradient, between those of batch sizes."""
        return self.between(self.grad_sqr, batch), self.between(self.grad_var, batch)

    def between(self, table: FloatArray, batch: float) -> FloatArray:
        """``(E,)`` row of a table at a batch size, linearly between the rows of those measured."""
        sizes = self.batch_sizes
        low = min(max(int(np.searchsorted(sizes, batch, side="right")) - 1, 0), len(sizes) - 1)
        high = min(low + 1, len(sizes) - 1)
        if batch == sizes[low] or low == high:
            return np.asarray(table[low], dtype=np.float64)
        part = (batch - sizes[low]) / (sizes[high] - sizes[low])
        return np.asarray(table[low] + (table[high] - table[low]) * part)

    def split(self, batch: int, gpus: int, accumulate_alone: bool = True) -> BatchSize:
        """The configuration of a batch size on so many GPUs: as few passes as fit in memory.

        Rounded up to whole samples, as long as the largest batch size is kept.

        Parameters
        ----------
        accumulate_alone : whether a job on one GPU accumulates at least once, if its batch is larger than the
            initial one: gradient noise is estimated from several gradients of one step.
        """
        share = math.ceil(batch / gpus - LOCAL_SLACK)
        passes = math.ceil(share / self.largest_local - LOCAL_SLACK)
        if accumulate_alone and gpus == 1 and batch > self.initial:
            passes = max(2, passes)
        local = math.ceil(share / passes - LOCAL_SLACK)
        return BatchSize(min(local, self.largest // (gpus * passes)), passes - 1)

    @cached_property
    def _scattered(self) -> Any:
        """Linear interpolation over nodes, GPUs and local batch sizes; None where the measurements span no volume."""
        from scipy.interpolate import LinearNDInterpolator  # slow to import, rarely used
        from scipy.spatial import QhullError

        cells: dict[tuple[int, int, int], list[FloatArray]] = {}
        for ring, (sizes, times) in self.by_ring.items():
            for size, time in zip(sizes.tolist(), times, strict=True):
                cells.setdefault((len(ring), sum(ring), int(size)), []).append(time)
        points = sorted(cells)
        means = [np.mean(cells[point], axis=0) for point in points]
        spread = np.asarray(self.spread, dtype=np.float64).reshape(-1, 5)
        where = np.vstack([np.array(points, dtype=np.float64), spread[:, :3]])
        try:
            return LinearNDInterpolator(where, np.vstack([np.array(means), spread[:, 3:]]))
        except QhullError:
            return None

    @cached_property
    def _hull(self) -> FloatArray:
        """``(F, 4)`` the half-spaces of the convex hull of the measurements: at most 0 within."""
        from scipy.spatial import ConvexHull

        found: FloatArray = ConvexHull(self._scattered.points).equations
        return found

    def _interpolates(self, ring: Ring) -> bool:
        """Whether a ring that was not measured may have times."""
        return (len(ring) > 1 or len(self.spread) > 0) and self._scattered is not None

    def _interpolate(self, ring: Ring, local: int) -> StepTime:
        measured = self.by_ring.get(ring)
        if measured is None:
            if not self._interpolates(ring):
                return StepTime(math.nan, math.nan)
            step_s, sync_s = self._scattered([len(ring), sum(ring), local])[0].tolist()
            return StepTime(step_s, sync_s)
        sizes, times = measured
        if not sizes[0] <= local <= sizes[-1]:
            return StepTime(math.nan, math.nan)
        step_s, sync_s = (float(np.interp(local, sizes, times[:, k])) for k in (0, 1))
        return StepTime(step_s, sync_s)


def canonical(ring: Ring) -> Ring:
    """The first of all rotations of a ring."""
    if len(ring) == 1:
        return ring
    return min(ring[i:] + ring[:i] for i in range(len(ring)))


def ring_of(shares: Sequence[Placement]) -> Ring:
    """GPUs by node, in the order in which a decision names the nodes."""
    if len(shares) == 1:
        return (int(shares[0].gpus),)
    counts: Counter[int] = Counter()
    for share in shares:
        counts[share.node] += int(share.gpus)
    return tuple(counts.values())


def packed(gpus: int, per_node: int) -> Ring:
    """The ring of so many GPUs on as few nodes as possible."""
    full, rest = divmod(gpus, per_node)
    return (per_node,) * full + ((rest,) if rest else ())


@checked("goodput")
@dataclass(frozen=True, eq=False)
class Goodput(JobTimes):
    """Performance model of jobs that train `Application`.

    Where GPUs are of several types, an application has different times on each, and a job runs on one type at a time.

    Parameters
    ----------
    applications : what is trained; on the first node type, where there are several.
    application_of : ``(J,)`` index of each job's application.
    batch_size : ``(J,)`` global batch size that its user chose.
    num_gpus : ``(J,)`` GPUs that its user asks for, 0 where the policy chooses; None: it always does.
    on_other_types : the same applications on the second, third, .. node type; empty: alike on all.
    node_type_of : ``(N,)`` type of each node, beside ``on_other_types``: `Cluster.node_type_of`.

    Raises InputError: an index without an application, or a batch size outside of its measurements; with several types a
    type without its applications, or an application without times on one GPU.
    """

    applications: Sequence[Application]
    application_of: IntArray
    batch_size: IntArray
    num_gpus: IntArray | None = field(default=None, kw_only=True)
    on_other_types: Sequence[Sequence[Application]] = ()
    node_type_of: Sequence[int] = ()
    _kinds: list[tuple[Application, int]] = field(default_factory=list, init=False, repr=False)
    _rates: dict[tuple[int, int, Ring, BatchSize], list[float]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        freeze(self, application_of=np.int64, batch_size=np.int64)
        check_asked(self)
        count = len(self.applications)
        for job, (a, batch) in enumerate(zip(self.application_of, self.batch_size, strict=True)):
            if not 0 <= a < count:
                raise InputError(f"application_of job {job} is {a}, expected 0 to {count - 1}")
            app = self.applications[a]
            if not app.initial <= batch <= app.largest:
                raise InputError(
                    f"batch size of job {job} is {batch}, expected {app.initial} to {app.largest}, "
                    f"what was measured of {app.name}"
                )
            self._kinds.append((app, int(batch)))
        if self.on_other_types:
            self._check_applications()

    @property
    def offers(self) -> frozenset[str]:
        """Tables of goodput, of each node type where there are several."""
        return frozenset({"goodput", "types"} if self.on_other_types else {"goodput"})

    @property
    def job_columns(self) -> tuple[str, ...]:
        """The arrays, and what is trained."""
        return (*super().job_columns, "_kinds")

    def _check_applications(self) -> None:
        """`InputError` unless every type has all applications, with times on one GPU."""
        object.__setattr__(self, "node_type_of", tuple(map(int, self.node_type_of)))
        for v, there in enumerate((self.applications, *self.on_other_types)):
            if [app.name for app in there] != [app.name for app in self.applications]:
                raise InputError(
                    f"node type {v} has the applications {[app.name for app in there]}, "
                    f"expected {[app.name for app in self.applications]}"
                )
            for app in there:
                if (1,) not in app.by_ring:
                    raise InputError(
                        f"application {app.name} has no times on one GPU of node type {v}, expected some"
                    )
        most = len(self.on_other_types)
        for node, v in enumerate(self.node_type_of):
            if not 0 <= v <= most:
                raise InputError(f"node_type_of node {node} is {v}, expected 0 to {most}")

    def check_types(self, cluster: Cluster) -> None:
        """`InputError` unless the tables are of this cluster's node types, where there are tables of several."""
        if not self.on_other_types:
            return
        for node_type in cluster.node_types[self.types :]:
            raise InputError(
                f"node type {node_type.name} has no tables of goodput, expected tables of each of the "
                f"cluster's {len(cluster.node_types)} node types, found {self.types}"
            )
        if self.node_type_of != cluster.node_type_of:
            raise InputError(
                "the tables of goodput are of other nodes than the cluster's, expected node_type_of "
                f"{short(cluster.node_type_of)}, found {short(self.node_type_of)}"
            )

    @property
    def types(self) -> int:
        """Number of node types on which times differ."""
        return 1 + len(self.on_other_types)

    def type_of(self, nodes: Iterable[int]) -> int:
        """The node type of a job's nodes; -1: they are of several."""
        if not self.on_other_types:
            return 0
        found = {self.node_type_of[node] for node in nodes}
        return found.pop() if len(found) == 1 else -1

    time_unit_s = 1.0
    """Epochs last whole seconds, as in the program that published the tables."""

    def application(self, job: int, node_type: int = 0) -> Application:
        """Model that the job trains, on a node type."""
        if not self.on_other_types or node_type <= 0:
            return self._kinds[job][0]
        return self.on_other_types[node_type - 1][int(self.application_of[job])]

    def next_change(self, job: int, left: float) -> float:
        """The fraction of the work that is left at the end of this epoch."""
        app = self.application(job)
        return -app.minus_left[app.epoch(left) + 1] or 0.0

    def configuration(self, job: int, shares: Sequence[Placement], left: float) -> BatchSize:
        """The user's batch size on these GPUs."""
        app = self.application(job, self.type_of(share.node for share in shares))
        return app.split(int(self.batch_size[job]), sum(ring_of(shares)))

    def rate(
        self, job: int, shares: Sequence[Placement], configuration: BatchSize | None, left: float
    ) -> float:
        """Fraction of the job's work that is done in a second; 0: it cannot run so."""
        node_type = self.type_of(share.node for share in shares)
        if node_type < 0:
            return 0.0
        ring = ring_of(shares)
        chosen = configuration or self.configuration(job, shares, left)
        return self.rates(job, ring, chosen, node_type)[self.application(job).epoch(left)]

    def rates(self, job: int, ring: Ring, chosen: BatchSize, node_type: int = 0) -> list[float]:
        """``(E,)`` the rate in each epoch, on nodes of one type."""
        if not self.on_other_types:
            node_type = 0
        key = (int(self.application_of[job]), node_type, ring, chosen)
        known = self._rates.get(key)
        if known is None:
            app = self.application(job, node_type)
            step_s = app.step(ring, chosen.local).with_accumulation(chosen.accumulation)
            batch = sum(ring) * chosen.local * (chosen.accumulation + 1)
            work = step_s * app.borders[-1]
            known = [g / work if work > 0 else 0.0 for g in app.gains(batch)]
            self._rates[key] = known
        return known

    def whole_s(self, job: int, ring: Ring, node_type: int = 0) -> float:
        """Seconds of the whole job on these GPUs of one type with its user's batch size."""
        if not ring:
            return math.inf
        app = self.application(job, node_type)
        rates = self.rates(job, ring, app.split(int(self.batch_size[job]), sum(ring)), node_type)
        if not min(rates) > 0:
            return math.inf
        work = np.diff(app.borders) / app.borders[-1]
        return float((work / np.array(rates)).sum())

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds of the whole job on ``gpus`` (whole) GPUs of one node."""
        whole = gpus >= 1 and gpus == int(gpus)
        return self.whole_s(job, (int(gpus),), node_type) if whole else math.inf

    def table_s(self, jobs: IntArray, cluster: Cluster) -> FloatArray:
        """``(n, V, G + 1)`` `time_s` of each number of GPUs of one node."""
        self.check_types(cluster)
        table = no_times(jobs, cluster)
        for v, node_type in enumerate(cluster.node_types):
            for g in range(1, int(min(node_type.gpus, table.shape[2] - 1)) + 1):
                table[:, v, g] = [self.whole_s(int(job), (g,), v) for job in jobs]
        return table
