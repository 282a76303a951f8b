"""Number of controllers, times of decisions, and number of optimization servers.

A law of service times for each setting. "Measured" is the table solver_times.toml: CPU times of the MILP by
nodes of a controller and load, from `python -m benchmarks.solver_times`. A run that measured its own decisions
(``service = "measured"`` of a scenario) would not be the same twice.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.report.contents import Scale
from experiments.sweep.task import Scalar

CONTROLLERS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 4, 8), "paper": (1, 2, 4, 10, 20)}
LOADS = (0.5, 2.0)
SERVERS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 4, 8), "paper": (1, 2, 5, 20)}
"""For decisions of an hour; the last is a server for each controller."""

SECONDS_OF_FIVE_NODES = 40.0
"""Time of the paper's solver for the five nodes of a controller."""

NO_TIME = "no time"
MEASURED = "the CPU time of our MILP"
FORTY = "40 s"
FORMULA = "40 s for five nodes, with their square"
HOUR = "an hour"
TIMES = (NO_TIME, MEASURED, FORTY, FORMULA, HOUR)


def settings(
    scale: Scale, nodes: int, load: float
) -> Iterator[tuple[dict[str, Scalar], int, dict[str, Any] | None]]:
    """Labels, controllers and server of each setting at one load.

    There are never more servers than controllers: with four servers, two controllers have two.
    """
    for controllers in CONTROLLERS[scale]:
        for time in TIMES:
            for servers in SERVERS[scale] if time == HOUR else (1,):
                labels: dict[str, Scalar] = {
                    "controllers": controllers, "load": load, "solver": time, "servers": servers,
                }  # fmt: skip
                law = service(time, nodes // controllers, load)
                used = min(servers, controllers)
                server = {"service": law, "servers": used, "coalesce": True} if law else None
                yield labels, controllers, server


def service(time: str, nodes: int, load: float) -> str | None:
    """The law of a decision on so many nodes, as a scenario writes it; None where it takes no time."""
    if time == NO_TIME:
        return None
    if time == MEASURED:
        return "empirical:" + ",".join(f"{t:g}" for t in _measured()[str(nodes)][f"{load:g}"])
    mean_s = {
        FORTY: SECONDS_OF_FIVE_NODES,
        FORMULA: SECONDS_OF_FIVE_NODES * (nodes / 5) ** 2,
        HOUR: 3600.0,
    }[time]
    return f"exponential:{mean_s:g}"


@functools.cache
def _measured() -> dict[str, dict[str, list[float]]]:
    """CPU seconds by nodes of a controller and load."""
    path = Path(__file__).with_name("solver_times.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
