"""Means of methods that ran with different seeds, side by side."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from experiments.pictures import plots

NAMES = ("base", "dearer", "apart", "many")
COSTS = (10.0, 20.0, 30.0, 80.0, 60.0, 40.0)
RUNS = pd.DataFrame(
    [("base", seed, cost) for seed, cost in enumerate(COSTS)]
    + [("dearer", seed, cost) for seed, cost in enumerate((11.0, 22.0))]
    + [("apart", 9, 50.0)]
    + [("many", seed, 7.0) for seed in range(5)],
    columns=["method", "seed", "cost"],
).assign(nodes=5)


@pytest.mark.parametrize("geometric", [False, True])
def test_fewer_seeds_are_moved_by_what_they_lack(geometric):
    """The base costs 40 over all seeds and 15 over two, so what is 10 % dearer on these two stands above 40."""
    moved = plots.on_all_runs(RUNS, "nodes", "cost", "method", NAMES, "seed", geometric)
    mean = plots.by_hue(moved, "nodes", "cost", "method", NAMES, geometric=geometric)
    mean = mean.set_index("method")["mean"]
    base = float(np.exp(np.mean(np.log(COSTS)))) if geometric else 40.0
    expected = (11 * 22) ** 0.5 * base / 200**0.5 if geometric else 16.5 + 40 - 15
    assert mean["dearer"] == pytest.approx(expected)
    assert mean["apart"] == pytest.approx(50.0)  # it shares no seed with the base
    assert mean["many"] == pytest.approx(7.0)  # it has an interval of its own
    assert mean["base"] == pytest.approx(base)


@pytest.mark.parametrize("geometric", [False, True])
def test_the_base_is_the_closest_of_those_with_the_most(geometric):
    """By one that is late in the seeds of the fewer, these would cost less than nothing."""
    late = RUNS[RUNS["method"] == "base"].assign(method="late")
    late["cost"] = [2990.0, 2990.0, 5.0, 5.0, 5.0, 5.0]
    strange = late.assign(method="strange", seed=late["seed"] + 100)  # it shares no seed with them
    runs = pd.concat([strange, late, RUNS]).reset_index(drop=True)
    moved, alone = (
        plots.on_all_runs(r, "nodes", "cost", "method", n, "seed", geometric)
        for r, n in ((runs, ("strange", "late", *NAMES)), (RUNS, NAMES))
    )
    cost = moved[moved["method"] == "dearer"]["cost"]
    assert cost.to_list() == pytest.approx(alone[alone["method"] == "dearer"]["cost"].to_list())
    assert (moved[moved["method"] == "late"]["moved_by"] == float(geometric)).all()


def test_the_file_has_what_a_mean_was_moved_by():
    figure, (ax,) = plots.canvas()
    drawn = plots.lines(ax, RUNS, "nodes", "cost", "method", NAMES, pair="seed")
    assert drawn.set_index("method")["moved_by"].to_dict() == {
        "base": 0, "dearer": 25, "apart": 0, "many": 0,
    }  # fmt: skip
    assert not [line for line in ax.lines if line.get_gid() == plots.RUNS]
    plt.close(figure)


def test_single_runs_are_drawn_where_they_are_few_and_told():
    """At the place of their mean, to the side of their method."""
    figure, (ax,) = plots.canvas()
    plots.points(ax, RUNS.assign(at="a"), "at", "cost", "method", NAMES, order=["a"])
    dashes = [line for line in ax.lines if line.get_gid() == plots.RUNS]
    assert [line.get_xdata().tolist() for line in dashes] == [pytest.approx([-0.2 + 0.4 / 3] * 2)]
    assert plots.FEW in ax.get_legend_handles_labels()[1]
    plt.close(figure)
