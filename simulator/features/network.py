"""Network: racks, and how much longer a job takes over several nodes, or several racks, than on one node.

`simulate` takes a `Network`, which policies read in ``view.network``. Without one, a job over
nodes takes as long as its performance model says. In a scenario file:

[network]
same_rack = 1.1
across_racks = 1.4
of_model = { vgg16 = 1.47 }     # or "published"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from simulator.arguments import checked, length
from simulator.core.controller import Controller
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.table import FeatureTable, Scene
from simulator.files.bundled import read_table
from simulator.files.keys import KeyedError, at_key
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import Placement
from simulator.model.workload import Workload

MOST_FACTOR = 1e6
"""A job that takes longer than so many times as long is a mistake."""


@checked("network")
@dataclass(frozen=True)
class Network:
    """Places of the nodes, and the time that they cost each job.

    Attributes
    ----------
    rack_of : ``(N,)`` rack of each node.
    same_rack, across_racks : ``(J,)`` how many times longer each job takes over several nodes of one
        rack, and over several racks, than on one node; at least 1. In a view those of the jobs so far.
    """

    job_columns: ClassVar[tuple[str, ...]] = ("same_rack", "across_racks")

    rack_of: IntArray
    same_rack: FloatArray
    across_racks: FloatArray

    def __post_init__(self) -> None:
        for name in ("same_rack", "across_racks"):
            column = getattr(self, name)
            good = (column >= 1) & (column <= MOST_FACTOR)
            if not good.all():
                raise InputError(
                    f"network: {name} is {column[int(np.argmin(good))]}, expected a number "
                    f"from 1 to {MOST_FACTOR:g}"
                )
        if (self.across_racks < self.same_rack).any():
            j = int(np.argmax(self.across_racks < self.same_rack))
            raise InputError(
                f"network: across_racks is {self.across_racks[j]:g}, expected at least same_rack, "
                f"{self.same_rack[j]:g}"
            )

    def factor(self, job: int, nodes: Iterable[int]) -> float:
        """Factor of a job's time on these nodes to that on one."""
        places = set(nodes)
        if len(places) < 2:
            return 1.0
        racks = {int(self.rack_of[n]) for n in places}
        return float((self.same_rack if len(racks) == 1 else self.across_racks)[job])


Factor = Annotated[float, Field(ge=1, le=MOST_FACTOR)]


class NetworkKeys(FeatureTable):
    """Racks of neighbours, and how many times longer jobs take over nodes and racks."""

    table: ClassVar[str] = "network"

    same_rack: Factor = 1.0
    """time over nodes of one rack, over that on one node"""
    across_racks: Factor | None = Field(default=None, examples=[1.4])
    """the same over racks; left out: as same_rack"""
    of_model: Literal["published"] | dict[str, Factor] = Field(
        default_factory=dict, examples=[{"vgg16": 1.47}]
    )
    """same_rack of these models; published: the values of data/network_factors.csv"""

    def make(self, scene: Scene) -> Network:
        """Racks and factors."""
        if scene.cluster.is_pool:
            raise KeyedError("network", "given with a rental pool, expected nodes")
        if self.across_racks is not None and scene.cluster.nodes_per_rack is None:
            raise KeyedError(
                "cluster.nodes_per_rack", "missing, expected beside network.across_racks"
            )
        own = published_factors() if self.of_model == "published" else self.of_model
        with at_key("network"):
            return network_of(
                scene.workload,
                scene.cluster.num_nodes,
                scene.cluster.nodes_per_rack,
                self.same_rack,
                self.across_racks,
                own,
            )

    def models(self) -> Mapping[str, Mapping[str, float]]:
        """Factors by model."""
        return {} if self.of_model == "published" else {"of_model": self.of_model}


class NetworkSlowdown(Feature):
    """Jobs over several nodes take longer."""

    name = "network"

    def __init__(self, spec: Network) -> None:
        self.spec = spec

    def attach(self, simulation: Simulation) -> None:
        """Check that it was made for these jobs and nodes."""
        length("network", self.spec.same_rack, len(simulation.workload), "jobs")
        length("network", self.spec.rack_of, simulation.cluster.num_nodes, "nodes")

    def slowdown(self, job: int, shares: Sequence[Placement]) -> float:
        """Factor of the job's time on these nodes to that on one."""
        return self.spec.factor(job, [share.node for share in shares])

    def seen(self, controller: Controller) -> Network:
        """The racks and factors."""
        return self.spec


def network_of(
    workload: Workload,
    num_nodes: int,
    nodes_per_rack: int | None = None,
    same_rack: float = 1.0,
    across_racks: float | None = None,
    of_model: Mapping[str, float] | None = None,
) -> Network:
    """A network of racks of neighbours by number.

    Parameters
    ----------
    nodes_per_rack : None: all nodes are in one rack.
    across_racks : as ``same_rack`` where None.
    of_model : ``same_rack`` of the jobs of these models; across racks the ratio is that of all jobs.

    Raises
    ------
    InputError
        A factor below 1, a rack without nodes, or factors by model where no job has one of them.
    """
    size = num_nodes if nodes_per_rack is None else nodes_per_rack
    if size < 1:
        raise InputError(f"network: nodes_per_rack is {size}, expected at least 1")
    wide = same_rack if across_racks is None else across_racks
    if not 1 <= same_rack <= MOST_FACTOR:
        raise InputError(
            f"network: same_rack is {same_rack}, expected a number from 1 to {MOST_FACTOR:g}"
        )
    own = of_model or {}
    if own and not any(name in own for name in workload.model):
        raise InputError(
            f"network: of_model has {', '.join(sorted(own))}, and no job has one of these models"
        )
    near = np.array([own.get(name, same_rack) for name in workload.model], dtype=np.float64)
    return Network(np.arange(num_nodes, dtype=np.int64) // size, near, near * (wide / same_rack))


@cache
def published_factors() -> dict[str, float]:
    """``same_rack`` by model, from ``data/network_factors.csv``."""
    table = read_table("network_factors.csv").dropna(subset=["factor"])
    return dict(zip(table["model"], table["factor"].astype(float), strict=True))
