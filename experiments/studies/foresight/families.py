"""The families of instances that foresight is held against its rivals on.

Their settings are data: a point of ``compared_vms.toml`` or ``compared_energy.toml`` each.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import Cluster, Workload

FOLDER = Path(__file__).parent
COMPARED = ("compared_vms", "compared_energy")
"""The sweep files of the comparison, whose points are the families."""


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
        """True where nodes are fixed and cost energy."""
        return self.kind in ("andreas-1", "andreas-2", "energy")


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
"""By name: what figures and claims say of a family. The name is the label of its point."""


@functools.cache
def scenarios() -> Mapping[str, dict[str, Any]]:
    """The scenario of each family under foresight, as the sweep files of the comparison have it."""
    from experiments.sweep.sweepfile import read_sweep

    return {
        str(task.columns()["label"]): dict(task.config)
        for file in COMPARED
        for task in read_sweep(FOLDER / f"{file}.toml")[1]
        if task.columns()["policy"] == "foresight"
    }


def draw(name: str, seed: int) -> tuple[Workload, Cluster]:
    """The jobs and the machines of one instance of a family."""
    return drawn(scenarios()[name] | {"seed": seed})


def drawn(scenario: Mapping[str, Any]) -> tuple[Workload, Cluster]:
    """The jobs and the machines of a scenario."""
    from experiments.scenario.build import build
    from experiments.scenario.schema import Scenario

    return build(Scenario.model_validate(scenario))
