"""Parts of GPUs: who asks for what, and on which machines.

A job asks for a number of GPUs and for a part of each, in thousandths: "1 GPU, 470" is a little less
than half a GPU, "4 GPUs, 1000" are four whole ones. CPUs are counted in thousandths, memory in MiB,
as cluster managers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.catalog import IntArray
from simulator.errors import InputError

WHOLE_GPU = 1000
"""Thousandths of a GPU."""


@dataclass(frozen=True)
class Demands:
    """What ``J`` jobs ask for.

    Attributes
    ----------
    name : of each job.
    cpu_milli, memory_mib : ``(J,)`` thousandths of a CPU, MiB of main memory.
    num_gpus : ``(J,)`` GPUs; 0: none.
    gpu_milli : ``(J,)`` thousandths of each of them; 1000 where there are several.
    gpu_spec : GPU models that the job may use, ``"V100M16|V100M32"``; empty: any.

    Raises
    ------
    InputError
        A part of several GPUs, or a part that is no number from 1 to 1000.
    """

    name: Sequence[str]
    cpu_milli: IntArray
    memory_mib: IntArray
    num_gpus: IntArray
    gpu_milli: IntArray
    gpu_spec: Sequence[str]

    def __post_init__(self) -> None:
        if not len(self.name):
            raise InputError("no jobs, expected at least one")
        some = self.num_gpus > 0
        good = np.where(
            some, (self.gpu_milli > 0) & (self.gpu_milli <= WHOLE_GPU), self.gpu_milli == 0
        )
        good &= (self.num_gpus <= 1) | (self.gpu_milli == WHOLE_GPU)
        if not good.all():
            j = int(np.argmin(good))
            raise InputError(
                f"job {self.name[j]!r}: {self.gpu_milli[j]} thousandths of each of "
                f"{self.num_gpus[j]} GPUs, expected 1 to {WHOLE_GPU} of one, {WHOLE_GPU} of several, "
                "0 of none"
            )

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Machines:
    """``N`` machines.

    Attributes
    ----------
    cpu_milli, memory_mib, num_gpus : ``(N,)`` thousandths of CPUs, MiB, GPUs.
    model : the GPUs of each.
    """

    cpu_milli: IntArray
    memory_mib: IntArray
    num_gpus: IntArray
    model: Sequence[str]

    def __len__(self) -> int:
        return len(self.model)

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """The GPU models, in the order of the alphabet."""
        return tuple(sorted({m for m, g in zip(self.model, self.num_gpus, strict=True) if g}))

    def take(self, order: IntArray) -> Machines:
        """These machines, in that order."""
        models = [self.model[i] for i in order.tolist()]
        return Machines(self.cpu_milli[order], self.memory_mib[order], self.num_gpus[order], models)
