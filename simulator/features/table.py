"""A feature as a table of a scenario file: its keys, what is made of them, and draws of names for jobs without one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simulator.errors import InputError
from simulator.files.keys import Config
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.statistics import Streams


@dataclass(frozen=True)
class Scene:
    """The scenario that a feature belongs to.

    Attributes
    ----------
    workload, cluster : its jobs and machines.
    streams : its random streams.
    tables : all tables of features that it has, by name.
    origin_s : date of time 0, s since 1970, as clocks of the site showed it; NaN: not known.
    """

    workload: Workload
    cluster: Cluster
    streams: Streams
    tables: Mapping[str, FeatureTable]
    origin_s: float = field(default=math.nan, init=False)

    def __post_init__(self) -> None:
        record = self.workload.record
        if record is not None:
            object.__setattr__(self, "origin_s", record.origin_s)
        object.__setattr__(self, "workload", self.workload.without_record())


class FeatureTable(Config):
    """Keys of a feature. Errors are `simulator.files.keys.KeyedError` that name table and key.

    Attributes
    ----------
    table : name of the table in a scenario file.
    needs_schedule : whether what it adds to a summary is worked out from the recorded schedule.
    """

    table: ClassVar[str]
    needs_schedule: ClassVar[bool] = False

    def on_cluster(self, cluster: Cluster) -> Cluster:
        """The cluster as this feature has it; asked again where ``[adapt]`` has changed its prices."""
        return cluster

    def on_jobs(self, workload: Workload, streams: Streams) -> Workload:
        """The jobs with what this feature draws for them."""
        return workload

    def make(self, scene: Scene) -> object | None:
        """The feature, or the data that `simulator.features.registry` makes it of; None: nothing is asked for."""
        raise NotImplementedError

    def check(self, scene: Scene) -> None:
        """Raise `InputError` for keys that do not fit; the scene may have few of its jobs only."""
        self.make(scene)

    def notes(self, scene: Scene) -> Iterable[str]:
        """One line for each key that has no effect."""
        return ()

    def models(self) -> Mapping[str, Mapping[str, float]]:
        """Values by model of a job, by key; models that no job has are noted."""
        return {}


def drawn(
    table: str, chances: Mapping[str, float], count: int, rng: np.random.Generator
) -> list[str]:
    """``(count,)`` names, drawn with these chances.

    Raises InputError: chances that are negative or all 0; ``table`` names what they belong to.
    """
    names = sorted(chances)  # the order in which they are written must not matter
    values = np.array([chances[name] for name in names], dtype=np.float64)
    if not len(values) or (values < 0).any() or not 0 < sum(values.tolist()) < math.inf:
        raise InputError(f"{table}: draw is {dict(chances)}, expected chances >= 0, one above 0")
    return [names[k] for k in rng.choice(len(names), size=count, p=values / values.sum()).tolist()]
