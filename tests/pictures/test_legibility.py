"""Faults of a figure are found, and a good figure has none."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from experiments.pictures import gantt, plots
from experiments.pictures.legibility import HardToRead, faults
from experiments.report.contents import save_figure


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def good():
    figure, (left, right) = plots.canvas(1, 2)
    table = pd.DataFrame({"mean": [1.0, 2, 3], "low": [0.5, 1.5, 2.5], "high": [1.5, 2.5, 3.5]})
    plots.draw_line(left, [1, 2, 3], table, "fifo", 0)
    plots.draw_line(right, [1, 10, 100], table, "edf", 1)
    right.set_xscale("log")
    for axes in (left, right):
        axes.set_xlabel("number of nodes N")
        axes.set_ylabel("total cost, USD")
        axes.set_title("Figure 3")
    plots.legend_below(figure, left, 2)
    return figure, left, right


def test_a_good_figure_has_no_faults():
    assert faults(good()[0]) == []


def test_texts_over_each_other():
    figure, left, _ = good()
    left.text(2, 2, "the paper's value")
    left.text(2.02, 2.02, "ours")
    (fault,) = faults(figure)
    assert fault == "text \"the paper's value\" overlaps 'ours'"


def test_tick_labels_over_each_other_and_ticks_outside_do_not_count():
    figure, left, _ = good()
    left.set_xticks([1, 2, 2.02, 50], ["one", "two", "two and a bit", "far away"])
    left.set_xlim(0.9, 3.1)
    (fault,) = faults(figure)
    assert fault == "text 'two' overlaps 'two and a bit'"


def test_two_titles_in_one_place():
    figure, left, _ = good()
    left.text(0.5, 1.02, "another heading", transform=left.transAxes, ha="center")
    assert any("Figure 3" in fault for fault in faults(figure))


@pytest.mark.parametrize("scatter", [False, True])
def test_points_cut_off_by_the_axes(scatter):
    figure, left, _ = good()
    if scatter:
        left.scatter([1, 2, 3], [1, 2, 9], label="late")
    else:
        left.plot([1, 2, 3], [1, 2, 9], "o", label="late")
    left.set_ylim(0, 4)
    (fault,) = faults(figure)
    assert fault == "1 points of 'late' lie outside the axes"


def test_a_line_may_leave_the_axes():
    """It can be seen that it goes on; a reference over all axes has no points in data."""
    figure, left, _ = good()
    left.plot([1, 2, 3], [1, 2, 9])
    plots.paper_line(left, 2.5, "paper")
    left.set_ylim(0, 4)
    assert faults(figure) == []


def test_a_figure_that_is_saved_tells_its_faults(tmp_path):
    figure, left, _ = good()
    left.text(2, 2, "one text")
    left.text(2, 2, "another text")
    with pytest.warns(HardToRead, match="figure_9: text 'one text' overlaps 'another text'"):
        save_figure(tmp_path, "figure_9", "t", "c", figure, pd.DataFrame({"x": [1]}), command="c")
    assert (tmp_path / "figure_9.png").exists()


def test_the_chart_of_a_run():
    table = pd.DataFrame(
        [("a", 0, "t", 2, 0.0, 900.0), ("b", 0, "t", 2, 100.0, 2000.0), ("c", 1, "t", 4, 0, 1500)],
        columns=["job_id", "node", "node_type", "gpus", "start_s", "end_s"],
    )
    jobs = pd.DataFrame(
        {
            "job_id": ["a", "b", "c"], "arrival_s": [0.0, 50.0, 0.0],
            "completion_s": [900.0, 2000.0, 1500.0], "tardiness_s": [0.0, 10.0, 0.0],
        }
    )  # fmt: skip
    assert faults(gantt.draw(table, jobs, "greedy")) == []
