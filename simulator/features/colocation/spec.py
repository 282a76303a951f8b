"""Jobs on one GPU: memory of GPUs, slices, and how jobs slow each other down.

`simulate` takes a `Colocation`. It counts for decisions that say which GPUs each job uses
(`Decision.gpus_of`); jobs on whole GPUs share none. Without one, parts of GPUs are all that counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal, get_args

import numpy as np

from simulator.errors import InputError
from simulator.features.colocation.mig import profile_for
from simulator.features.table import drawn
from simulator.files.bundled import read_table, records
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.fractional import SharedDuration
from simulator.model.performance import FixedDuration
from simulator.model.tolerances import CAPACITY
from simulator.model.workload import Workload
from simulator.statistics import Streams

Interference = Literal["none", "linear", "published"]


@dataclass(frozen=True)
class Colocation:
    """Memory and interference of jobs that share GPUs. In a view columns end with the jobs so far.

    Attributes
    ----------
    gpu_memory_gb : of each GPU; infinite: not counted.
    memory_gb : ``(J,)`` memory of each of its GPUs that a job needs.
    utilisation : ``(J,)`` part of a GPU's time that a job keeps it busy, alone; for "linear".
    class_of : ``(J,)`` row and column of each job in ``rate``; -1: it neither suffers nor harms.
    rate : ``(C, C)`` speed of a job of the row's class beside one of the column's, alone: 1.
    profile : ``(J,)`` index of each job's MIG profile; None: GPUs are not sliced.
    """

    job_columns: ClassVar[tuple[str, ...]] = ("memory_gb", "utilisation", "class_of", "profile")

    gpu_memory_gb: float
    memory_gb: FloatArray
    utilisation: FloatArray | None = None
    class_of: IntArray | None = None
    rate: FloatArray | None = None
    profile: IntArray | None = None

    def speed(self, job: int, others: Sequence[int]) -> float:
        """Speed of a job beside others on one GPU; alone: 1.

        By classes: the product over the others. Linear: one over the sum of utilisations, where that is
        more than 1 (time slicing of jobs that keep a GPU busy for a part of the time).
        """
        if not others:
            return 1.0
        if self.rate is not None and self.class_of is not None:
            own = self.class_of[job]
            speed = 1.0
            for other in others:
                theirs = self.class_of[other]
                if own >= 0 and theirs >= 0:
                    speed *= float(self.rate[own, theirs])
            return speed
        if self.utilisation is not None:
            busy = float(self.utilisation[job]) + sum(float(self.utilisation[o]) for o in others)
            return 1.0 / max(1.0, busy)
        return 1.0


@cache
def published_rates() -> tuple[tuple[str, ...], FloatArray]:
    """Classes and ``(C, C)`` rates of ``data/interference.csv``."""
    rows = records(read_table("interference.csv"))
    names = tuple(dict.fromkeys(str(row["model"]) for row in rows))
    rate = np.ones((len(names), len(names)))
    for row in rows:
        rate[names.index(row["model"]), names.index(row["beside"])] = float(row["rate"])
    rate.flags.writeable = False
    return names, rate


def colocation_of(
    workload: Workload,
    interference: Interference = "none",
    *,
    gpu_memory_gb: float = math.inf,
    memory_gb: Mapping[str, float] | None = None,
    utilisation: Mapping[str, float] | None = None,
    slices: bool = False,
) -> Colocation:
    """Attributes of jobs by their models.

    Parameters
    ----------
    memory_gb : GPU memory by model; other jobs need theirs in proportion to their part of a GPU.
    utilisation : by model, in (0, 1]; for "linear".
    slices : GPUs are sliced (MIG): each job gets the smallest profile with its part and its memory.

    Raises
    ------
    InputError
        An unknown model of interference, a job that needs more memory than a GPU has, a model without
        utilisation, or no job of a published class.
    """
    if interference not in get_args(Interference):
        known = ", ".join(get_args(Interference))
        raise InputError(f"colocation: interference is {interference!r}, expected one of {known}")
    performance = workload.performance
    part = performance.part if isinstance(performance, SharedDuration) else np.ones(len(workload))
    own = memory_gb or {}
    in_proportion = part * gpu_memory_gb if math.isfinite(gpu_memory_gb) else np.zeros(len(part))
    needs = np.array(
        [own.get(m, p) for m, p in zip(workload.model, in_proportion.tolist(), strict=True)]
    )
    over = needs > gpu_memory_gb * (1 + CAPACITY)
    if over.any():
        j = int(np.argmax(over))
        raise InputError(
            f"colocation: job {workload.job_id[j]!r} needs {needs[j]:g} GB of a GPU, which has "
            f"{gpu_memory_gb:g}"
        )
    made = Colocation(gpu_memory_gb, needs)
    if slices:
        if interference != "none":
            raise InputError("colocation: slices keep jobs apart, expected interference = 'none'")
        of_memory = needs / gpu_memory_gb if math.isfinite(gpu_memory_gb) else needs * 0
        profiles = [profile_for(p, m) for p, m in zip(part, of_memory, strict=True)]
        return replace(made, profile=np.array(profiles, dtype=np.int64))
    if interference == "linear":
        return replace(made, utilisation=_utilisation(workload, utilisation or {}))
    if interference == "published":
        names, rate = published_rates()
        of = np.array([names.index(m) if m in names else -1 for m in workload.model])
        if (of < 0).all():
            raise InputError(
                f"colocation: no job is of a published class, expected models among {', '.join(names)}"
            )
        return replace(made, class_of=of.astype(np.int64), rate=rate)
    return made


def _utilisation(workload: Workload, by_model: Mapping[str, float]) -> FloatArray:
    for name, value in by_model.items():
        if not 0 < value <= 1:
            raise InputError(
                f"colocation: utilisation of {name!r} is {value}, expected above 0, at most 1"
            )
    missing = sorted({m for m in workload.model if m not in by_model})
    if missing:
        raise InputError(
            f"colocation: utilisation of model {missing[0]!r} is missing, expected one for each model"
        )
    return np.array([by_model[m] for m in workload.model], dtype=np.float64)


def with_parts(workload: Workload, part: float) -> Workload:
    """Jobs of one GPU hold a part of it, and run as fast as long as they are alone on it.

    Raises
    ------
    InputError
        Jobs that state parts themselves, or that have no fixed duration.
    """
    performance = workload.performance
    if type(performance) is not FixedDuration:
        what = "state their parts" if isinstance(performance, SharedDuration) else "are not of one"
        raise InputError(
            f"colocation: part is given, but the jobs {what}; expected fixed durations"
        )
    parts = np.where(performance.num_gpus == 1, part, 1.0)
    return replace(
        workload,
        performance=SharedDuration(performance.duration_s, performance.num_gpus, part=parts),
    )


def with_drawn_models(
    workload: Workload, chances: Mapping[str, float], streams: Streams
) -> Workload:
    """The workload with a model for every job, drawn with these chances; a stream of its own.

    Raises
    ------
    InputError
        Chances that are negative or all 0, or jobs that name models themselves.
    """
    if any(workload.model):
        raise InputError("colocation: draw is given, but the jobs name their models themselves")
    rng = streams.generator("models of sharing")
    return replace(workload, model=drawn("colocation", chances, len(workload), rng))
