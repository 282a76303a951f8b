"""The families of instances that foresight is held against its rivals on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import Cluster, Workload

SLOW_GPUS = ("K80", "M60")
"""The authors' instances of 2021 know these alone."""


@dataclass(frozen=True)
class Family:
    """A law of instances; the seed draws one.

    Attributes
    ----------
    kind : "2021" (slow GPUs, due dates U[min, 3 min], released weights, exponential gaps of
        30,000 s / N: overloaded), "2020" (all GPUs, due dates U[min, 2 max], released weights, nearly
        constant gaps of 45,000 s / N: loose), "hierarchical" (as the paper prints it), "andreas-1",
        "andreas-2" (mixed arrivals) or "energy" (andreas-1 at the high rate).
    num_nodes : N; ten jobs a node.
    load : arrivals come so many times as fast.
    controllers : K; N / 5 where there are many nodes, as in the hierarchical paper.
    """

    kind: str
    num_nodes: int
    load: float = 1.0
    controllers: int = 1

    @property
    def label(self) -> str:
        """As figures have it."""
        load = "" if self.load == 1.0 else f", load x {self.load:g}"
        split = "" if self.controllers == 1 else f", K = {self.controllers}"
        return f"{self.kind}, N = {self.num_nodes}{split}{load}"

    @property
    def is_energy(self) -> bool:
        """Whether nodes are fixed and cost energy."""
        return self.kind in ("andreas-1", "andreas-2", "energy")

    def draw(self, seed: int, num_controllers: int | None = None) -> tuple[Workload, Cluster]:
        """The jobs and the machines of one instance, with K controllers unless another number is
        given."""
        if self.is_energy:
            return _energy(self, seed)
        return _vms(self, seed, num_controllers or self.controllers)


FAMILIES: dict[str, Family] = {
    "2021-5": Family("2021", 5),
    "2021-10": Family("2021", 10),
    "2021-5-low": Family("2021", 5, 0.5),
    "2021-5-high": Family("2021", 5, 1.5),
    "2020-5": Family("2020", 5),
    "2020-10": Family("2020", 10),
    "2020-5-low": Family("2020", 5, 0.3),
    "2020-5-high": Family("2020", 5, 1.5),
    "hierarchical-5": Family("hierarchical", 5),
    "hierarchical-10": Family("hierarchical", 10),
    "hierarchical-20": Family("hierarchical", 20, controllers=4),
    "hierarchical-50": Family("hierarchical", 50, controllers=10),
    "hierarchical-100": Family("hierarchical", 100, controllers=20),
    "hierarchical-5-low": Family("hierarchical", 5, 0.3),
    "hierarchical-5-high": Family("hierarchical", 5, 1.5),
    "andreas-1-10": Family("andreas-1", 10),
    "andreas-2-10": Family("andreas-2", 10),
    "energy-10": Family("energy", 10),
    "energy-20": Family("energy", 20),
}


def _vms(family: Family, seed: int, num_controllers: int) -> tuple[Workload, Cluster]:
    from simulator.workloads.catalogs import read_catalog
    from simulator.workloads.hierarchical import HierarchicalScenario, generate

    settings: dict[str, Any] = {"mean_gap_s": 45_000.0 / family.load}
    catalog = read_catalog("hierarchical" if family.kind == "hierarchical" else "thesis")
    if family.kind == "2021":
        catalog = tuple(t for t in catalog if t.gpu_type in SLOW_GPUS)
        settings = {
            "mean_gap_s": 30_000.0 / family.load,
            "due": "min-3min",
            "weights": "released",
        }
    elif family.kind == "2020":
        settings |= {"arrivals": "poisson-distributed", "weights": "released"}
    scenario = HierarchicalScenario(
        num_nodes=family.num_nodes, catalog=catalog, seed=seed, **settings
    )
    return generate(scenario), scenario.cluster(num_controllers)


def _energy(family: Family, seed: int) -> tuple[Workload, Cluster]:
    from simulator.workloads.andreas import AndreasScenario, generate

    return generate(
        AndreasScenario(
            num_nodes=family.num_nodes,
            scenario=2 if family.kind == "andreas-2" else 1,
            arrivals="high" if family.kind == "energy" else "mixed",
            seed=seed,
        )
    )
