"""The texts of the page: recommendations, gains, and the findings of the studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.studies.cross.findings import findings
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.recommendations import gains, who_should_use_which

if TYPE_CHECKING:
    from experiments.report.contents import Text
    from experiments.sweep.results import Results


@PAGE.text
def texts(results: Results) -> list[Text]:
    """Those whose runs are there."""
    cells = results.where("run_cell").table("methods")
    made = [] if cells.empty else [who_should_use_which(cells), gains(cells)]
    return [*made, *findings(results)]
