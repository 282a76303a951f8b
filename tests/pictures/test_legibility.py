"""Faults of a figure are found, and a good figure has none."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from PIL import Image

from experiments.pictures import edges, gantt, plots
from experiments.pictures.saving import save_picture
from experiments.report.contents import save_figure, write_drawing
from tests.pictures.legibility import faults


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
    with pytest.raises(
        AssertionError, match=r"figure_9\.png: text 'one text' overlaps 'another te"
    ):
        save_figure(tmp_path, "figure_9", "t", "c", figure, pd.DataFrame({"x": [1]}), command="c")


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


def test_a_legend_over_points_lines_or_texts():
    figure, left, _ = good()
    left.legend(loc="center")
    found = faults(figure)
    assert any(fault.startswith("a legend covers points of") for fault in found)
    assert any(fault.startswith("a legend covers the line") for fault in found)
    left.get_legend().remove()
    left.legend(["fifo"], loc="upper center", bbox_to_anchor=(0.5, -0.02))
    assert any("covers the text 'number of nodes N'" in fault for fault in faults(figure))


@pytest.mark.long
def test_a_series_under_another_and_two_that_look_the_same():
    figure, left, _ = good()
    table = pd.DataFrame({"mean": [1.0, 2, 3], "low": 0.5, "high": 3.5})
    plots.draw_line(left, [1, 2, 3], table, "on it", 2, markersize=8)
    assert faults(figure) == ["'fifo' lies under 'on it'"]
    left.containers[-1].lines[0].set_markersize(2)
    assert faults(figure) == []
    figure, left, _ = good()
    for k in (1, 2):
        left.plot([1, 3], [k, k], color=plots.PALETTE[4], label=f"line {k}")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 1.5))
    assert "'line 1' and 'line 2' look the same in the legend" in faults(figure)


def test_a_text_over_an_interval():
    figure, left, _ = good()
    left.text(1.95, 1.7, "2.0")
    assert faults(figure) == ["text '2.0' covers 'fifo'"]


def test_axes_without_a_name_and_units_in_brackets():
    figure, left, right = good()
    left.set_xlabel("")
    right.set_ylabel("time [h]")
    assert faults(figure) == [
        "an axis x without a name", "the axis 'time [h]' has its unit in brackets"
    ]  # fmt: skip


@pytest.mark.long
def test_arrows_where_intervals_go_on(tmp_path):
    """The lower end of the first, the third point and its upper end, and a run: arrows, and no fault."""
    figure, left, _ = good()
    left.set_ylim(0.8, 2.5)
    assert edges.mark_edges(figure) == 3
    arrows = [line for line in left.lines if line.get_label() == "_edge"]
    assert sorted((line.get_marker(), line.get_ydata()[0]) for line in arrows) == [
        ("^", 1.0), ("^", 1.0), ("v", 0.0)
    ]  # fmt: skip
    assert faults(figure) == []
    figure, left, _ = good()
    left.plot([1, 2, 3], [1, 2, -50], "_", gid=edges.RUNS)
    left.set_ylim(0, 4)
    assert edges.mark_edges(figure) == 1
    assert [line.get_marker() for line in left.lines if line.get_label() == "_edge"] == ["v"]
    assert faults(figure) == []
    figure, left, _ = good()
    left.set_yscale("log")
    left.errorbar([1.5], [1.0], yerr=[[2.0], [0.1]], label="below zero")
    saved = save_figure(tmp_path, "f", "t", "Seen.", figure, pd.DataFrame({"x": [1]}), command="c")
    assert saved.caption == f"Seen. {edges.NOTE}"


@pytest.mark.long
def test_a_png_has_few_colours_and_the_same_bytes_each_time(tmp_path):
    """Imported above, `write_drawing` is the real one; tests/conftest.py puts another in its place."""
    files = [tmp_path / "one.png", tmp_path / "two.png"]
    for file in files:
        write_drawing(good()[0], file)
    with Image.open(files[0]) as image:
        assert image.mode == "P"
        assert min(image.size) > 400
    assert files[0].read_bytes() == files[1].read_bytes()


def test_an_svg_has_the_same_bytes_each_time(tmp_path):
    """Also the names of its parts, which are random in Matplotlib."""
    for name in ("one", "two"):
        figure, (ax,) = plots.canvas()
        ax.plot([1, 2], [3, 4])
        save_picture(figure, tmp_path / f"{name}.svg")
    one, two = ((tmp_path / f"{name}.svg").read_bytes() for name in ("one", "two"))
    assert b"clip-path" in one
    assert one == two
