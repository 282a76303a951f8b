"""GPUs that jobs share, in a scenario file: [sharing].

[sharing]
part = 0.5
interference = "published"
draw = { resnet50 = 0.5, transformer = 0.5 }
gpu_memory_gb = 16
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from experiments.config import Config, KeyedError, at_key

if TYPE_CHECKING:
    from simulator import Workload
    from simulator.features.colocation import Neighbours

Part = Annotated[float, Field(gt=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]


class SharingKeys(Config):
    """Parts, memory and slices of GPUs, and what jobs on one GPU do to each other."""

    part: Part | None = None
    interference: Literal["none", "linear", "published"] = "none"
    utilisation: dict[str, Part] = Field(default_factory=dict)
    gpu_memory_gb: Annotated[float, Field(gt=0)] | None = None
    memory_gb: dict[str, NonNegative] = Field(default_factory=dict)
    slices: bool = False
    draw: dict[str, NonNegative] = Field(default_factory=dict)


class HasSharing(Protocol):
    """A scenario, as far as it concerns this module."""

    sharing: SharingKeys | None
    seed: int


def with_sharing(scenario: Any, workload: Workload) -> Workload:
    """The jobs with parts and models, where the scenario gives them some."""
    from simulator.features.colocation import with_drawn_models, with_parts
    from simulator.statistics import Streams

    given: HasSharing = scenario
    keys = given.sharing
    if keys is None:
        return workload
    if keys.part is not None:
        with at_key("sharing.part"):
            workload = with_parts(workload, keys.part)
    if keys.draw:
        with at_key("sharing.draw"):
            workload = with_drawn_models(workload, keys.draw, Streams(given.seed))
    return workload


def check_sharing(keys: SharingKeys | None) -> None:
    """Raise KeyedError where a key lacks another one."""
    if keys is None:
        return
    if keys.memory_gb and keys.gpu_memory_gb is None:
        raise KeyedError("sharing.gpu_memory_gb", "missing, expected beside memory_gb")
    if keys.utilisation and keys.interference != "linear":
        raise KeyedError("sharing.utilisation", "given without interference = 'linear'")


def check_draw(scenario: Any) -> None:
    """Raise KeyedError where a model that may be drawn lacks something: one job of each shows it."""
    import numpy as np

    from simulator import FixedDuration, Workload
    from simulator.features.colocation import with_parts

    given: HasSharing = scenario
    keys = given.sharing
    if keys is None:
        return
    names = [name for name, chance in sorted(keys.draw.items()) if chance > 0]
    ones = np.ones(len(names), dtype=np.int64)
    each = Workload(
        [f"of model {name}" for name in names],
        np.zeros(len(names)),
        FixedDuration(ones.astype(np.float64), ones),
        num_gpus=ones,
        model=names,
    )
    make_neighbours(scenario, each if keys.part is None else with_parts(each, keys.part))


def make_neighbours(scenario: Any, workload: Workload) -> Neighbours | None:
    """Colocation of jobs on one GPU; None where no table says so."""
    from simulator.features.colocation import neighbours_of

    given: HasSharing = scenario
    keys = given.sharing
    if keys is None:
        return None
    check_sharing(keys)
    with at_key("sharing"):
        return neighbours_of(
            workload,
            keys.interference,
            gpu_memory_gb=math.inf if keys.gpu_memory_gb is None else keys.gpu_memory_gb,
            memory_gb=keys.memory_gb,
            utilisation=keys.utilisation,
            slices=keys.slices,
        )
