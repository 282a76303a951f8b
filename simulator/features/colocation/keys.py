"""GPUs that jobs share, in a scenario file: [colocation].

[colocation]
part = 0.5
interference = "published"
draw = { resnet50 = 0.5, transformer = 0.5 }
gpu_memory_gb = 16
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from simulator.features.colocation.spec import (
    Colocation,
    Interference,
    colocation_of,
    with_drawn_models,
    with_parts,
)
from simulator.features.table import FeatureTable, Scene
from simulator.files.keys import KeyedError, NonNegative, Positive, at_key
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.statistics import Streams

Part = Annotated[float, Field(gt=0, le=1)]


class ColocationKeys(FeatureTable):
    """Parts, memory and slices of GPUs, and how jobs on one GPU slow each other down."""

    table: ClassVar[str] = "colocation"

    part: Part | None = Field(default=None, examples=[0.5])
    """part of a GPU that each job of one GPU holds, where the jobs do not state it"""
    interference: Interference = "none"
    """slow-down by jobs on the same GPU: none; linear in utilisation; or as published by model"""
    utilisation: dict[str, Part] = Field(default_factory=dict, examples=[{"a": 0.8, "b": 0.6}])
    """part of the time that a model keeps a GPU busy, with linear"""
    gpu_memory_gb: Positive | None = Field(default=None, examples=[16])
    """memory of each GPU; left out: it does not count"""
    memory_gb: dict[str, NonNegative] = Field(default_factory=dict, examples=[{"resnet50": 9}])
    """GPU memory that a model needs; other jobs: in proportion to their part"""
    slices: bool = False
    """GPUs are sliced (MIG)"""
    draw: dict[str, NonNegative] = Field(
        default_factory=dict, examples=[{"resnet50": 1, "transformer": 1}]
    )
    """models for jobs without one, with these chances"""

    def on_jobs(self, workload: Workload, streams: Streams) -> Workload:
        """The jobs with parts and models, where the table gives them some."""
        if self.part is not None:
            with at_key("colocation.part"):
                workload = with_parts(workload, self.part)
        if self.draw:
            with at_key("colocation.draw"):
                workload = with_drawn_models(workload, self.draw, streams)
        return workload

    def make(self, scene: Scene) -> Colocation:
        """Colocation of jobs on one GPU."""
        if self.memory_gb and self.gpu_memory_gb is None:
            raise KeyedError("colocation.gpu_memory_gb", "missing, expected beside memory_gb")
        if self.utilisation and self.interference != "linear":
            raise KeyedError("colocation.utilisation", "given without interference = 'linear'")
        with at_key("colocation"):
            return colocation_of(
                scene.workload,
                self.interference,
                gpu_memory_gb=math.inf if self.gpu_memory_gb is None else self.gpu_memory_gb,
                memory_gb=self.memory_gb,
                utilisation=self.utilisation,
                slices=self.slices,
            )

    def check(self, scene: Scene) -> None:
        """Check one job of each model that may be drawn: of few jobs, some models would be missing."""
        names = [name for name, chance in sorted(self.draw.items()) if chance > 0]
        if names:
            ones = np.ones(len(names), dtype=np.int64)
            workload = Workload(
                [f"of model {name}" for name in names],
                np.zeros(len(names)),
                FixedDuration(ones.astype(np.float64), ones),
                model=names,
            )
            if self.part is not None:
                workload = with_parts(workload, self.part)
            scene = replace(scene, workload=workload)
        self.make(scene)

    def models(self) -> Mapping[str, Mapping[str, float]]:
        """Memory and utilisation by model."""
        return {"memory_gb": self.memory_gb, "utilisation": self.utilisation}
