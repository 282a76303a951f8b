"""One figure of a page is drawn from its own runs alone, with other parameters where they are given."""

from pathlib import Path

import fake
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from experiments.papers import one_figure, registry
from experiments.papers.one_figure import KeyChange, draw_figure
from experiments.report import contents
from experiments.report.experiment import Drawn, Experiment
from experiments.report.site import PAGE
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from experiments.sweep.sweepfile import RUN_SCENARIO
from experiments.sweep.task import Task
from simulator.errors import InputError
from tests.command import refused
from tests.errors import input_error

SCENARIO = {
    "workload": {"kind": "poisson", "num_jobs": 3, "arrival_rate_per_h": 1.0, "duration_s": "deterministic:60"},
    "cluster": {"kind": "nodes", "num_nodes": 2}, "policy": "fifo",
}  # fmt: skip


def toys(scale: str) -> list[Task]:
    """Of two studies three runs each; a scenario; and a run that fails with n = 13."""
    runs = [
        Task("fake:run", {"n": n, "seed": s, "size": {"deep": deep}}, {"study": study, "n": n, "seed": s}, sources=("simulator.errors",))
        for study, n, deep in (("a", 1, 4), ("b", 2, 6))
        for s in range(3)
    ]  # fmt: skip
    return [*runs, Task(RUN_SCENARIO, SCENARIO, {"study": "scenario"})]


def toy_page() -> Experiment:
    page = Experiment(Path(fake.__file__).parent, toys)

    @page.figure("figure_4_2", "Figure 4.2: {word}", "The paper: 3 {word}.")
    def one(results: Results) -> Drawn:
        """The runs of study a, then, of these, a table of one."""
        table = results.runs(study="a")
        first = results.where(study="a", seed=0).table("values")
        assert first["value"].tolist() == table["value"].tolist()[:1]
        drawing, ax = plt.subplots()
        ax.plot(table["seed"], table["value"])
        ax.set(xlabel="seed", ylabel="value")
        return Drawn(drawing, table[["n", "seed", "value"]], {"word": "words"})

    @page.figure("both", "Both studies", "Seen.")
    def both(results: Results) -> Drawn:
        return Drawn(None, pd.concat([results.runs(study="a"), results.runs(study="b")]))

    @page.figure("scenario", "A scenario", "Seen.")
    def scenario(results: Results) -> Drawn:
        return Drawn(None, results.runs(study="scenario"))

    @page.figure("none", "None", "Never drawn")
    def none(results: Results) -> Drawn:
        return Drawn(None, results.runs(study="c"))

    return page


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setattr(registry, "MODULES", ("fake",))
    monkeypatch.setattr(fake, "PAGE", toy_page())


@pytest.fixture
def headings(monkeypatch) -> list[str]:
    """What stands above each picture."""
    found: list[str] = []
    monkeypatch.setattr(
        contents, "write_drawing", lambda drawing, _: found.append(drawing.get_suptitle())
    )
    return found


def drawn(out: Path, *settings: str, figure: str = "4.2") -> int:
    return draw_figure(["fake"], figure, settings=settings, workers=1, out=out)


def test_only_the_runs_of_the_figure_are_made_with_the_new_value(tmp_path, capsys, headings):
    out = tmp_path / "out"
    assert drawn(out, "n=7", "size.deep=5") == 0
    told = capsys.readouterr()
    assert "3 of 3 done" in told.err
    changed = "n = 7 in place of 1, size.deep = 5 in place of 4"
    lines = told.out.splitlines()
    assert lines[0] == f"Figure 4.2: words ({changed})"
    assert lines[1].startswith(f"{changed}; the numbers of the paper")
    assert lines[1].endswith(". The paper: 3 words.")
    assert lines[2] == f"{out / 'figure_4_2.png'}: from 3 runs"
    assert [" ".join(text.split()) for text in headings] == [
        lines[1].removesuffix(". The paper: 3 words.")
    ]
    table = pd.read_csv(out / "figure_4_2.csv")
    expected = [fake.run({"n": 7, "seed": s}).scalars["value"] for s in range(3)]
    assert table["value"].tolist() == pytest.approx(expected, rel=1e-8)
    assert table["n"].tolist() == [1, 1, 1]  # the label by which the figure finds its runs
    texts = (out / "figure_4_2.txt").read_text().splitlines()
    assert texts[0] == lines[0]
    assert (
        texts[-1]
        == "schedlab reproduce fake --scale quick --figure figure_4_2 --set n=7 --set size.deep=5"
    )
    with Store(out) as store:
        assert len(store.rows().runs) == 3
    assert drawn(out, "n=7", "size.deep=5") == 0
    again = capsys.readouterr()
    assert again.out == told.out  # what stood there before is known, too, where no run is made
    assert pd.read_csv(out / "figure_4_2.csv").equals(table)


def test_as_it_is_nothing_is_said(tmp_path, capsys, headings):
    assert drawn(tmp_path / "out") == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["Figure 4.2: words", "The paper: 3 words."]
    assert headings == [""]


@pytest.mark.parametrize(
    ("figure", "settings", "told"),
    [
        ("3", (), "--figure: got '3', expected one of figure_4_2, both, scenario, none"),
        ("none", (), "--figure none: has no runs at the scale quick"),
        ("4.2", ("m=3",), "--set m: no run of fake has this key, expected one of"),
        ("4.2", ("size.depe=3",), "--set size.depe: no run of fake has this key, did you mean 'size.deep'?"),
        ("4.2", ("size=3",), "--set size: no run of fake has this key"),
        ("4.2", ("n",), "--set 'n': expected KEY=VALUE, such as cluster.num_nodes=8"),
        ("4.2", ("n=",), "--set 'n=': expected KEY=VALUE"),
        ("4.2", ("seed=3",), "--set seed: alone tells runs of the figure apart, expected another key"),
        ("scenario", ("cluster.num_nodes=0",), "--set: cluster.num_nodes: got 0, expected an integer >= 1"),
    ],
)  # fmt: skip
def test_refusals_make_no_run_and_leave_nothing(tmp_path, capsys, figure, settings, told):
    with input_error(told):
        drawn(tmp_path / "out", *settings, figure=figure)
    assert not (tmp_path / "out").exists()
    assert capsys.readouterr().err == ""


def test_a_key_that_no_run_of_the_figure_has(tmp_path, headings):
    with pytest.raises(
        InputError,
        match=r"--set cluster\.num_nodes: no run of the figure has this key, expected one of n, seed",
    ):
        drawn(tmp_path / "out", "cluster.num_nodes=8")
    assert headings == []


def test_a_key_that_is_not_the_same_in_all_parts_of_a_figure(tmp_path, capsys):
    """Runs of study a have n = 1, those of b 2 and another depth: with the same n they stay apart, not with the same depth, too."""
    assert drawn(tmp_path / "out", "n=5", figure="both") == 0
    assert capsys.readouterr().out.startswith("Both studies (n = 5 in place of 1, 2)\n")
    with input_error(
        "--set n, size.deep: alone tells runs of the figure apart, expected another key"
    ):
        drawn(tmp_path / "out", "n=5", "size.deep=3", figure="both")


def test_failed_runs_are_told(tmp_path, capsys):
    assert drawn(tmp_path / "out", "n=13") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  study=a, n=1, seed=0: ValueError: 13 <b>never</b> works"
    assert lines[-1].startswith(
        "  figure_4_2: cannot be drawn: no finished run of any function with"
    )


def test_where_a_report_is_nothing_is_drawn(tmp_path):
    (tmp_path / "paper" / "fake").mkdir(parents=True)
    (tmp_path / "paper" / "fake" / PAGE).write_text("{}")
    for out in ("paper", "paper/fake", "paper/fake/more/x", "paper/new"):
        with input_error("has pages of a report, expected another folder"):
            drawn(tmp_path / out)
    one_figure._expect_no_report(tmp_path / "other")


def test_the_options_of_the_command():
    assert "--figure: got 0 pages, expected one" in refused("reproduce", "--figure", 9)
    assert "--figure: got 2 pages" in refused("reproduce", "synergy", "rental", "--figure", 9)
    assert "--set: was given without --figure" in refused("reproduce", "synergy", "--set", "a=1")
    assert "--from: was given with --figure" in refused(
        "reproduce", "synergy", "--figure", 9, "--from", "x"
    )


def test_a_change_of_a_run_without_the_key():
    task = Task("fake:run", {"n": 1})
    assert KeyChange("m=2").of(task) is task
    other = KeyChange("n = [2, 3]").of(task)
    assert (other.config, other.columns()) == ({"n": [2, 3]}, {"n": 1})
