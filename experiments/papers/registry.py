"""Papers and studies by name, in the order of the report; pages of installed packages come last."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.report.contents import Paper
from experiments.report.published import FILE, read_paper
from simulator.errors import InputError
from simulator.plugins import installed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
GROUP = "schedlab.pages"
"""Entry points of packages: NAME = the Python package in which ``published.toml`` and ``PAGE`` are."""
ALL = "all"
"""In place of names: the papers, our studies and the pages of packages."""


def papers() -> list[Paper]:
    """Entry of the report for each that is there; imports none of them. A broken one of a package is left out."""
    ours = [read_paper(folder, module) for module in MODULES if (folder := _folder(module))]
    theirs = [page for entry in installed(GROUP) if isinstance(page := _page_of(entry), Paper)]
    return [*ours, *theirs]


def chosen_papers(names: Sequence[str]) -> list[Paper]:
    """The papers of these names; the five papers where there is none, with "all" our studies, too.

    Raises
    ------
    InputError
        An unknown name, or the broken page of a package.
    """
    there = papers()
    if list(names) == [ALL]:
        return there
    known = [paper.name for paper in there]
    broken = {e.name: why for e in installed(GROUP) if isinstance(why := _page_of(e), str)}
    for name in names:
        if name not in known and name in broken:
            raise InputError(f"page {name!r} of a package: {broken[name]}")
        if name not in known:
            raise InputError(
                f"paper: got {name!r}, expected {ALL}, or one or more of {', '.join(known) or 'none'}"
            )
    if names:
        return [paper for paper in there if paper.name in names]
    return [paper for paper in there if paper.module in MODULES and not paper.is_study]


def load(paper: Paper) -> Experiment:
    """Runs, figures and claims; imports the paper's package.

    Raises
    ------
    InputError
        The package of somebody else cannot be imported.
    """
    try:
        module: Any = importlib.import_module(paper.module)
    except Exception as error:
        if paper.module in MODULES:
            raise
        why = str(error).partition("\n")[0]
        raise InputError(
            f"page {paper.name!r} of a package: {paper.module} cannot be imported ({type(error).__name__}: {why})"
        ) from error
    if not hasattr(module, "PAGE"):
        raise InputError(f"page {paper.name!r} of a package: {paper.module} has no PAGE")
    found: Experiment = module.PAGE
    return found


def _folder(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _page_of(entry: EntryPoint) -> Paper | str:
    """The page of a package's entry point, or why it cannot be read."""
    try:
        folder = _folder(entry.value)
    except Exception as error:  # the package above it is imported, and may raise anything
        return f"{entry.value} cannot be imported ({type(error).__name__}: {error})"
    if folder is None:
        return f"there is no package {entry.value}"
    if any(module.rpartition(".")[2] == entry.name for module in MODULES):
        return "schedlab has a page of this name, expected another"
    if entry.name != folder.name:
        return f"its folder is {folder.name!r}, expected the name of the page"
    try:
        return read_paper(folder, entry.value)
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = str(error).partition("\n")[0]
        return f"{folder / FILE} cannot be read ({type(error).__name__}: {why}), expected a table [paper]"
