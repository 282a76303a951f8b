"""What a package that reproduces a paper offers; nothing of it runs on import.

    def tasks(scale: Scale) -> list[Task]            every run that its figures and claims need
    def figures(results: Results, out_dir: Path) -> list[Figure]   draws; see ``save_figure``
    def claims(results: Results) -> list[Claim]      the paper's numbers beside ours
    def passages(results: Results) -> list[Passage]  texts of its page; may be left out

Its task functions (``run_cell(config) -> Outcome``) and what they call decide the key of a result,
the rest of the package does not: drawing anew costs no run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from experiments.report.contents import Claim, Figure, Scale
    from experiments.sweep.results import Results
    from experiments.sweep.task import Task


class Experiment(Protocol):
    """A module that reproduces one paper."""

    def tasks(self, scale: Scale) -> list[Task]:
        """Every run that figures and claims need at this scale."""
        ...

    def figures(self, results: Results, out_dir: Path) -> list[Figure]:
        """Draw into ``out_dir`` (it exists) and say what was drawn."""
        ...

    def claims(self, results: Results) -> list[Claim]:
        """The paper's statements beside our numbers."""
        ...
