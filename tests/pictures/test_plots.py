"""Means of methods that ran with different seeds, side by side."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from experiments.pictures import plots

NAMES = ("base", "dearer", "apart")
RUNS = pd.DataFrame(
    [("base", seed, cost) for seed, cost in enumerate((10.0, 20.0, 30.0, 80.0))]
    + [("dearer", seed, cost) for seed, cost in enumerate((11.0, 22.0))]
    + [("apart", 9, 50.0)],
    columns=["method", "seed", "cost"],
).assign(nodes=5)


@pytest.mark.parametrize(
    ("geometric", "expected"),
    # The base costs 35 over all seeds, 15 over the common ones. Geometric: 480,000^(1/4) and 200^(1/2).
    [(False, 16.5 + 20), (True, 242**0.5 * 480_000**0.25 / 200**0.5)],
)
def test_fewer_seeds_are_moved_by_what_they_lack(geometric, expected):
    """A method that is 10 % dearer on two cheap seeds is dearer than the base in the picture."""
    moved = plots.on_all_runs(RUNS, "nodes", "cost", "method", NAMES, "seed", geometric)
    mean = plots.by_hue(moved, "nodes", "cost", "method", NAMES, geometric=geometric)
    mean = mean.set_index("method")["mean"]
    assert mean["dearer"] == pytest.approx(expected)
    assert mean["apart"] == pytest.approx(50.0)  # it shares no seed with the base
    assert mean["base"] == pytest.approx(480_000**0.25 if geometric else 35.0)


def test_single_runs_are_drawn_where_they_are_few_and_told():
    """At the place of their mean, moved to the side of their method."""
    figure, (ax,) = plots.canvas()
    plots.points(ax, RUNS.assign(at="a"), "at", "cost", "method", NAMES, order=["a"])
    dashes = [line for line in ax.lines if line.get_gid() == plots.RUNS]
    assert [line.get_xdata().tolist() for line in dashes] == [[-0.2] * 4, [0.0] * 2]
    assert "single runs, where fewer than five" in ax.get_legend_handles_labels()[1]
    plt.close(figure)
