"""The texts of the page: advice, gains, and the answers to the open questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.papers.cross.advice import gains, who_should_use_which
from experiments.papers.cross.answers import answers

if TYPE_CHECKING:
    from experiments.report.contents import Text
    from experiments.sweep.results import Results


def texts(results: Results) -> list[Text]:
    """Those whose runs are there."""
    cells = results.where("run_cell").table("methods")
    made = [] if cells.empty else [who_should_use_which(cells), gains(cells)]
    return [*made, *answers(results)]
