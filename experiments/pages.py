"""The public names of which a page of results is made; docs/extending.md shows such a page.

from experiments.pages import Drawn, Experiment, Outcome, Task, plots

A package's page is found by its entry point in the group ``schedlab.pages``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.estimates import geometric, paired, percent_over
    from experiments.pictures import plots
    from experiments.report.contents import AGAINST, Claim, Figure, Paper, Scale, Text
    from experiments.report.experiment import Drawn, Experiment
    from experiments.report.sweeps import Labels, study
    from experiments.sweep.results import NoRuns, Results, kept
    from experiments.sweep.task import Outcome, Scalar, Task
    from simulator.statistics import Estimate, mean_of_skewed

__all__ = [
    "AGAINST",
    "Claim",
    "Drawn",
    "Estimate",
    "Experiment",
    "Figure",
    "Labels",
    "NoRuns",
    "Outcome",
    "Paper",
    "Results",
    "Scalar",
    "Scale",
    "Task",
    "Text",
    "geometric",
    "kept",
    "mean_of_skewed",
    "paired",
    "percent_over",
    "plots",
    "study",
]

_HOMES = {
    "experiments.estimates": ("geometric", "paired", "percent_over"),
    "experiments.pictures": ("plots",),
    "experiments.report.contents": ("AGAINST", "Claim", "Figure", "Paper", "Scale", "Text"),
    "experiments.report.experiment": ("Drawn", "Experiment"),
    "experiments.report.sweeps": ("Labels", "study"),
    "experiments.sweep.results": ("NoRuns", "Results", "kept"),
    "experiments.sweep.task": ("Outcome", "Scalar", "Task"),
    "simulator.statistics": ("Estimate", "mean_of_skewed"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a list of runs needs no library of pictures."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOME[name])
    return getattr(home, name, None) or import_module(f"{_HOME[name]}.{name}")
