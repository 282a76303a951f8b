"""The jobs of a scenario: checked once, never changed after, held as columns."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.arguments import LATEST_S, checked, short
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import Performance
from simulator.model.recorded import Recorded
from simulator.schema import taken

ELASTIC = 0
"""`Workload.num_gpus` of a job whose number of GPUs the policy chooses."""

OUTCOMES = ("", "passed", "killed", "failed")
"""Status of a job at its end in a log; "" where it does not say."""


NO_COLUMNS = ("performance", "notes", "record")
"""Attributes of `Workload` that are not a value a job."""


class Dependency(NamedTuple):
    """A job that has to end before another one is submitted.

    Attributes
    ----------
    job_id : its name.
    think_s : seconds after its end at which the other is submitted.
    success : whether it has to have completed its work; else any end will do.
    """

    job_id: str
    think_s: float = 0.0
    success: bool = False


@checked("workload")
@dataclass(frozen=True)
class Workload:
    """``J`` jobs in order of submission. Job ``j`` is the index everywhere; ``job_id`` its name.

    Attributes
    ----------
    job_id : names, unique.
    submit_s : ``(J,)`` submission times, s, ascending.
    performance : how long each job takes on what.
    num_cpus, memory_gb : ``(J,)`` fixed demands in all, NaN where there is none.
    due_s : ``(J,)`` due dates on the same clock as ``submit_s``; infinite: none.
    weight_per_s : ``(J,)`` cost of a second of tardiness, currency/s.
    model : name of the trained network, "" where unknown.
    patience_s : ``(J,)`` a job that has not started after so many seconds leaves; infinite: it stays.
        None: no job leaves.
    requested_s : ``(J,)`` times that the users asked for (limits), s; NaN where none is known. They bound no
        run by themselves (key ``kill_at_limit``).
    priority : ``(J,)`` priorities that the jobs state, the highest first; 0 where there is none.
    user, vc : who submitted the job, and the virtual cluster or partition that it belongs to; "" where unknown.
    qos : quality of service of the job; "" where unknown.
    gpu_type : type of the GPUs that the duration was taken on, as the file spells it; "" where unknown.
    fails_at : by job, the parts of its work, ascending, between 0 and 1, at which it fails by itself and
        queues again (the attempts of a log). Empty: no job does. Policies do not see it.
    outcome : how each job ended in the log that it comes from: "passed", "killed" or "failed"; empty: not
        known.
    account : who pays for the job; "" where unknown.
    num_nodes : ``(J,)`` nodes on which a job of fixed demand lies in equal parts, 1: on one node; 0: any number.
    gpu_types : types of GPU, or groups of nodes, that will do for each job, "A100|H100", "@NAME"; "": any.
    one_rack : ``(J,)`` whether all nodes of the job lie in one rack.
    after : by job, those that it follows: it is submitted when they have ended, not before ``submit_s``
        (`simulator.features.dependencies`). Empty: none follows any.
    notes : what a reader or generator has to say about this workload (sorted, cleaned, ..).
    record : when these jobs started and ended in the log that they come from; None: unknown. No run has it.
    """

    job_id: Sequence[str]
    submit_s: FloatArray
    performance: Performance
    _: KW_ONLY
    num_cpus: FloatArray = None  # type: ignore[assignment]
    memory_gb: FloatArray = None  # type: ignore[assignment]
    due_s: FloatArray = None  # type: ignore[assignment]
    weight_per_s: FloatArray = None  # type: ignore[assignment]
    model: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    user: Sequence[str] = ()
    vc: Sequence[str] = ()
    patience_s: FloatArray | None = None
    fails_at: Sequence[Sequence[float]] = ()
    outcome: Sequence[str] = ()
    requested_s: FloatArray = None  # type: ignore[assignment]
    priority: FloatArray = None  # type: ignore[assignment]
    qos: Sequence[str] = ()
    gpu_type: Sequence[str] = ()
    after: Sequence[Sequence[Dependency]] = ()
    account: Sequence[str] = ()
    num_nodes: IntArray = None  # type: ignore[assignment]
    gpu_types: Sequence[str] = ()
    one_rack: npt.NDArray[np.bool_] = None  # type: ignore[assignment]
    record: Recorded | None = None

    def __post_init__(self) -> None:
        count = len(self.job_id)
        self._fill("num_cpus", np.nan)
        self._fill("memory_gb", np.nan)
        self._fill("due_s", np.inf)
        self._fill("weight_per_s", 0.0)
        self._fill("submit_s", 0.0)
        self._fill("requested_s", np.nan)
        self._fill("priority", 0.0)
        if self.patience_s is not None:
            self._fill("patience_s", np.inf)
        object.__setattr__(self, "job_id", tuple(self.job_id))
        self._fill("num_nodes", 0, np.int64)
        self._fill("one_rack", False, np.bool_)
        unnamed = ("",) * count
        for name in ("model", "user", "vc", "qos", "account", "gpu_type", "gpu_types"):
            object.__setattr__(self, name, tuple(getattr(self, name)) or unnamed)
        object.__setattr__(self, "fails_at", tuple(map(tuple, self.fails_at)))
        object.__setattr__(self, "outcome", tuple(self.outcome))
        object.__setattr__(self, "after", tuple(map(tuple, self.after)))
        self._check()

    def _fill(self, name: str, default: float, dtype: type[np.generic] = np.float64) -> None:
        value = getattr(self, name)
        if value is None:
            value = np.full(len(self.job_id), default)
        # Read-only and its own memory, as the columns of another workload: shared; any other array is copied.
        is_fixed = (
            isinstance(value, np.ndarray) and not value.flags.writeable and value.base is None
        )
        column = np.asarray(value, dtype) if is_fixed else np.array(value, dtype)
        column.flags.writeable = False
        object.__setattr__(self, name, column)

    def _check(self) -> None:
        count = len(self.job_id)
        if count == 0:
            raise InputError("workload: no jobs, expected at least one")
        for name in (
            "submit_s",
            "num_cpus",
            "memory_gb",
            "due_s",
            "weight_per_s",
            "requested_s",
            "priority",
            "num_nodes",
            "one_rack",
        ):
            if getattr(self, name).shape != (count,):
                raise InputError(
                    f"workload: {name} has shape {getattr(self, name).shape}, expected ({count},)"
                )
        if len(set(self.job_id)) != count:
            seen: set[str] = set()
            twice = next(i for i in self.job_id if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise InputError(f"workload: job {twice!r} occurs twice, expected unique job ids")
        if not isinstance(self.performance, Performance):
            raise InputError(
                f"workload: performance is {short(self.performance)}, expected a model of "
                "simulator.model.performance, or a subclass of Performance with time_s(..)"
            )
        if isinstance(self.performance, Sized) and len(self.performance) < count:
            raise InputError(
                f"workload: the performance model has times of {len(self.performance)} jobs, "
                f"expected {count}"
            )
        self._require("submit_s", np.isfinite(self.submit_s) & (self.submit_s >= 0), "a time >= 0")
        self._require("submit_s", self.submit_s < LATEST_S, f"seconds below {LATEST_S:g}")
        later = np.diff(self.submit_s, prepend=self.submit_s[0]) >= 0
        self._require("submit_s", later, "ascending submission times")
        self._require("due_s", self.due_s >= self.submit_s, "a due date after the submission")
        weight = self.weight_per_s
        self._require("weight_per_s", np.isfinite(weight) & (weight >= 0), "a number >= 0")
        for name in ("num_cpus", "memory_gb"):
            demand = getattr(self, name)
            self._require(name, np.isnan(demand) | (demand >= 0), "a number >= 0")
        asked = self.requested_s
        self._require("requested_s", np.isnan(asked) | (asked > 0), "a number > 0, or NaN")
        self._require("priority", np.isfinite(self.priority), "a finite number")
        self._check_optional(count)
        if self.num_nodes.any():
            good = (self.num_nodes >= 0) & (self.num_gpus % np.maximum(self.num_nodes, 1) == 0)
            self._require("num_nodes", good, "a number of nodes that divides its GPUs")

    def _check_optional(self, count: int) -> None:
        """Optional columns of few workloads: patience, attempts, how jobs ended."""
        if self.patience_s is not None:
            if self.patience_s.shape != (count,):
                raise InputError(
                    f"workload: patience_s has shape {self.patience_s.shape}, expected ({count},)"
                )
            self._require("patience_s", self.patience_s >= 0, "a number >= 0")
        for name in ("fails_at", "outcome", "after"):
            given = len(getattr(self, name))
            if given not in (0, count):
                raise InputError(f"workload: {name} has {given} jobs, expected {count}, or none")
        thinks = [[0 <= d.think_s < LATEST_S for d in before] for before in self.after]
        if self.after:
            self._require("after", np.array(list(map(all, thinks))), "think times >= 0")
        if self.fails_at:
            steps = [np.diff([0.0, *parts, 1.0]) for parts in self.fails_at]
            good = np.array([bool((each > 0).all()) for each in steps])
            self._require("fails_at", good, "ascending parts of its work, between 0 and 1")
        if self.record is not None and len(self.record) != count:
            raise InputError(f"workload: record has {len(self.record)} jobs, expected {count}")
        for job, ending in zip(self.job_id, self.outcome, strict=False):
            if ending not in OUTCOMES:
                raise InputError(
                    f"workload: job {job!r}: outcome is {ending!r}, expected one of {OUTCOMES}"
                )

    def _require(self, name: str, good: npt.NDArray[np.bool_], expected: str) -> None:
        if not good.all():
            bad = int(np.argmin(good))
            raise InputError(
                f"workload: job {self.job_id[bad]!r}: {name} is {getattr(self, name)[bad]}, "
                f"expected {expected}"
            )

    @property
    def job_columns(self) -> tuple[str, ...]:
        """Attributes of which policies see the rows of the jobs so far (`simulator.model.so_far`).

        What is said of all jobs, such as `is_elastic`, is seen as it is.
        """
        stated = (f.name for f in fields(self) if f.name not in NO_COLUMNS)
        return (*stated, "num_gpus", "num_gpus_list", "is_elastic", "has_places")

    @cached_property
    def num_gpus(self) -> IntArray:
        """``(J,)`` GPUs that each job needs, of the performance model; 0 (`ELASTIC`) where the policy chooses."""
        asked = self.performance.num_gpus
        if asked is not None:
            return asked[: len(self)]
        none = np.full(len(self), ELASTIC)
        none.flags.writeable = False
        return none

    @cached_property
    def has_places(self) -> bool:
        """True where some job asks for a number of nodes, one rack, or types of GPU (`simulator.model.places`)."""
        return bool(self.num_nodes.any() or self.one_rack.any()) or any(self.gpu_types)

    @cached_property
    def is_elastic(self) -> bool:
        """True where the policy chooses every job's number of GPUs."""
        return not self.num_gpus.any()

    @cached_property
    def num_gpus_list(self) -> Sequence[int]:
        """`num_gpus` as a list, of which one number takes a tenth of the time to read."""
        numbers: list[int] = self.num_gpus.tolist()
        return numbers

    def rows(self, jobs: IntArray) -> dict[str, Any]:
        """Columns of these jobs by name, the performance model among them."""
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NO_COLUMNS}
        record = None if self.record is None else self.record.take(jobs)
        return {
            "performance": self.performance.take(jobs),
            "record": record,
            **taken(columns, jobs),
        }

    def head(self, count: int) -> Workload:
        """The first ``count`` jobs."""
        return replace(self, **self.rows(np.arange(min(count, len(self)))))

    def without_record(self) -> Workload:
        """The jobs without what a log says of their runs, which is no part of a simulated one."""
        return self if self.record is None else replace(self, record=None)

    def with_own(self, *names: str) -> Workload:
        """The same jobs, with columns of these names of their own, which may be changed without changing those here."""
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def noted(self, *notes: str) -> Workload:
        """The same jobs with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def __len__(self) -> int:
        return len(self.job_id)
