"""Studies that are plain simulations: a sweep file in a paper's package, as tasks.

The file is data. Whoever wants to see or change what a figure rests on reads it, runs all of it by
`schedlab sweep run FILE`, or one setting of it by `schedlab run`. For example the runs of Figure 3 of
the hierarchical paper are ``experiments/papers/hierarchical/figure_3.toml``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.sweep.sweepfile import read_sweep
from experiments.sweep.task import DEFAULT_SOURCES, Scalar, Task

Labels = Mapping[str, Scalar]


def study(
    file: Path,
    labels: Callable[[Labels], dict[str, Scalar]],
    *,
    keep: Callable[[Labels], bool] = lambda _: True,
    cost_s: Callable[[Labels], float] = lambda _: 1.0,
    sources: tuple[str, ...] = DEFAULT_SOURCES,
    changes: Mapping[str, Any] | None = None,
    smaller: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[Task]:
    """The runs of a sweep file, named as figures and claims want them.

    Parameters
    ----------
    labels : from the swept parameters (dotted names, policy, seed) to the columns of the study.
    keep : of these columns: whether the run is wanted at this scale.
    cost_s : of these columns: rough CPU seconds.
    sources : see `Task`.
    changes : parameters of the scenario, by dotted name, that differ at this scale.
    smaller : makes a scenario one of this scale, in place, where sizes depend on what is swept.
    """
    _, tasks = read_sweep(file, changes=changes, keep=lambda swept: keep(labels(swept)))
    found = []
    for task in tasks:
        columns = labels(task.labels or {})
        config = copy.deepcopy(dict(task.config))
        smaller(config)
        found.append(Task(task.function, config, columns, cost_s(columns), sources, task.files))
    return found
