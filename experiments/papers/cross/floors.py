"""How far every policy on elastic jobs is above the lower bound, by workload and load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.cross.comparison import METHODS, WORKLOADS
from experiments.pictures.plots import canvas, intervals
from experiments.report.contents import Figure, save_figure
from simulator.datafiles import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.sweep.results import Results

ELASTIC = [m.label for m in METHODS if m.view == "elastic"]


def floors(cells: pd.DataFrame, results: Results, out_dir: Path, command: str) -> Figure:
    """A panel a load: policies x workloads, total cost over the lower bound."""
    part = cells[cells["method"].isin(ELASTIC)].dropna(subset=["over_bound"])
    table = intervals(part, ["load", "workload", "method"], "over_bound", geometric=True)
    loads = sorted(set(table["load"]))
    figure, axes = canvas(1, len(loads), width=5.0, height=4.6, sharey=True)
    for ax, load in zip(axes, loads, strict=True):
        _draw_panel(ax, table[table["load"] == load])
        ax.set(title=f"offered load {load:g}", xlabel="workload")
    axes[0].set_ylabel("policy")
    return save_figure(
        out_dir,
        "floors",
        "Myopic against far-sighted: every policy on elastic jobs",
        "Total cost over a lower bound that no policy can beat, far-sighted or not, on the jobs of the comparison; "
        "geometric mean over seeds. The bound is the best of each job as if it were alone, and of jobs that share "
        "the nodes (a linear program). What lies above 1 is the most that foresight could gain, and a part of it "
        "is the bound's own distance from the optimum. The CSV has 95 % intervals. ANDREAS: low, mixed and high "
        "arrivals. Empty: the pair makes no sense.",
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _draw_panel(ax: Axes, table: pd.DataFrame) -> None:
    wide = table.pivot_table(index="method", columns="workload", values="mean")
    wide = wide.reindex(index=ELASTIC, columns=list(WORKLOADS))
    ax.imshow(np.log2(wide), cmap="cividis_r", vmin=0, vmax=3, aspect="auto")
    for row in records(table):
        ratio = float(row["mean"])
        text = f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:,.0f}"
        y, x = ELASTIC.index(row["method"]), WORKLOADS.index(row["workload"])
        ax.text(x, y, text, ha="center", va="center", fontsize=8,
                color="white" if np.log2(ratio) > 1.5 else "black")  # fmt: skip
    ax.set_xticks(range(len(WORKLOADS)), [w.replace(", ", ",\n") for w in WORKLOADS], fontsize=8,
                  rotation=45, ha="right")  # fmt: skip
    ax.set_yticks(range(len(ELASTIC)), ELASTIC, fontsize=8)
    ax.grid(False)
