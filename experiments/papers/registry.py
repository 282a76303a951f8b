"""Papers and studies by name, in the order of the report."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.report.published import read_paper
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.report.contents import Paper
    from experiments.report.experiment import Experiment

MODULES: tuple[str, ...] = (
    "experiments.papers.hierarchical",
    "experiments.papers.andreas",
    "experiments.papers.thesis",
    "experiments.papers.rental",
    "experiments.papers.synergy",
    "experiments.studies.foresight",
    "experiments.studies.queueing",
    "experiments.studies.reliability",
    "experiments.studies.clusters",
)
"""The package of each."""
ALL = "all"
"""In place of names: the papers and our studies."""


def papers() -> list[Paper]:
    """Entry of the report for each that is there; imports none of them."""
    return [read_paper(folder, module) for module in MODULES if (folder := _folder(module))]


def chosen_papers(names: Sequence[str]) -> list[Paper]:
    """The papers of these names; the five papers where there is none, with "all" our studies, too.

    Raises
    ------
    InputError
        An unknown name.
    """
    there = papers()
    if list(names) == [ALL]:
        return there
    known = [paper.name for paper in there]
    for name in names:
        if name not in known:
            raise InputError(
                f"paper: got {name!r}, expected {ALL} or of {', '.join(known) or 'none'}"
            )
    return [paper for paper in there if (paper.name in names if names else not paper.is_study)]


def load(paper: Paper) -> Experiment:
    """Runs, figures and claims; imports the paper's package."""
    module: Any = importlib.import_module(paper.module)
    found: Experiment = getattr(module, "PAGE", module)
    return found


def available() -> list[str]:
    """The names of the papers and studies that are there."""
    return [paper.name for paper in papers()]


def _folder(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
