"""Figures for a lecture: lines are closed forms, points are simulated, bars 95 % intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.papers.queueing import many_servers, one_server, over_time
from experiments.report.contents import Figure

if TYPE_CHECKING:
    from experiments.sweep.results import Results


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce queueing --scale {results.scale or 'quick'}"
    drawn = []
    for draw in (
        over_time.figure_filling,
        over_time.figure_one_run,
        over_time.figure_little,
        many_servers.figure_erlang,
        many_servers.figure_mmc,
        one_server.figure_mg1,
        one_server.figure_tails,
        one_server.figure_orders,
        one_server.figure_kingman,
        many_servers.figure_ggc,
        many_servers.figure_unlimited,
    ):
        figure = draw(results, out_dir, command)
        if figure is not None:
            drawn.append(figure)
    return drawn
