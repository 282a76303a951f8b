"""Picture of a validation: waits, the queue over time and the use over time, recorded and simulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.validation.agreement import Side, hourly
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.validation.validating import Validation

MOST_POINTS = 200
"""Longer logs are drawn in means over several hours, with so many points at most."""

TICKS_H = {
    "0": 0.0, "1 min": 1 / 60, "10 min": 1 / 6, "1 h": 1.0, "10 h": 10.0, "100 h": 100.0, "1,000 h": 1000.0,
}  # fmt: skip
"""Of the waits' axis."""


def picture_of(found: Validation) -> Figure:
    """Three panels: two distributions of waits, two queues over time, two uses over time."""
    import matplotlib as mpl

    from experiments.pictures.plots import PALETTE, THEME, canvas

    sides = found.sides[found.policy]
    both = {"recorded": sides.recorded, f"simulated, {found.policy}": sides.simulated}
    looks: list[dict[str, Any]] = [
        {"color": PALETTE[0], "linestyle": "-"},
        {"color": PALETTE[1], "linestyle": "--"},
    ]
    with mpl.rc_context(THEME):
        figure, axes = canvas(3, 1, width=7.5, height=2.6)
        for (name, side), look in zip(both.items(), looks, strict=True):
            _waits(axes[0], name, side, look)
            since_h, queue, use = hourly(side)
            for ax, values in ((axes[1], queue), (axes[2], use)):
                at, means, _ = _thinned(since_h, values)
                ax.plot(at / 24, means, label=name, linewidth=1.2, **look)
        width = _thinned(*hourly(sides.recorded)[:2])[2]
        every = "" if width == 1 else f", means over {width} h"
        axes[0].set_xscale("symlog", linthresh=1 / 60, linscale=0.3)
        most_h = max(float(np.nanmax(side.wait_s)) for side in both.values()) / HOUR_S
        ticks = {name: at for name, at in TICKS_H.items() if at <= max(most_h, 1 / 60)}
        axes[0].set_xticks([*ticks.values()], [*ticks])
        axes[0].set(
            xlabel="wait", ylabel="part of the jobs that wait longer", title="Waits", ylim=(0, 1),
            xlim=(0, None),
        )  # fmt: skip
        axes[1].set(ylabel="waiting jobs", title=f"Queue{every}", ylim=(0, None))
        axes[2].axhline(sides.total_gpus, color="0.4", linewidth=0.8, label="GPUs of the machine")
        axes[2].set(ylabel="GPUs in use", title=f"Use{every}", ylim=(0, None))
        for ax in axes[1:]:
            ax.set(xlabel="days since the first submission", xlim=(0, None))
        for ax in axes:
            ax.legend()
        figure.suptitle(f"{Path(found.log).name}: recorded and simulated", parse_math=False)
    return figure


def _waits(ax: Axes, name: str, side: Side, look: dict[str, Any]) -> None:
    values = np.sort(side.wait_s[np.isfinite(side.wait_s)]) / HOUR_S
    above = 1 - np.arange(1, len(values) + 1) / len(values)
    ax.step(np.append(0, values), np.append(1, above), where="post", label=name, **look)


def _thinned(at: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Means over several hours, where there are many; and over how many."""
    width = -(-len(at) // MOST_POINTS)
    begins = np.arange(0, len(at), width)
    counts = np.diff(np.append(begins, len(at)))
    return at[begins], np.add.reduceat(values, begins) / counts, width
