"""Distance of every policy on elastic jobs from the lower bound, by workload and load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.pictures.plots import intervals
from experiments.report.experiment import Drawn
from experiments.studies.cross.comparison import METHODS
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import methods_of_cells
from experiments.sweep.results import Results

if TYPE_CHECKING:
    pass


ELASTIC = [m.label for m in METHODS if m.view == "elastic"]


@PAGE.figure(
    "floors",
    "Myopic against far-sighted: every policy on elastic jobs",
    "Total cost over a lower bound that no policy can beat, far-sighted or not, on the jobs of the comparison; "
    "geometric mean over seeds. The bound is the best of each job as if it were alone, and of jobs that share "
    "the nodes (a linear program). What lies above 1 is the most that foresight could gain, and a part of it "
    "is the bound's own distance from the optimum. The CSV has 95 % intervals. ANDREAS: low, mixed and high "
    "arrivals. Empty: the pair makes no sense.",
)
def floors(results: Results) -> Drawn:
    """A panel a load: policies x workloads, total cost over the lower bound."""
    cells = methods_of_cells(results)
    part = cells[cells["method"].isin(ELASTIC)].dropna(subset=["over_bound"])
    table = intervals(part, ["load", "workload", "method"], "over_bound", geometric=True)
    return Drawn(None, table)
