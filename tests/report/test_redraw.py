"""Pages are drawn again from what their folders keep, without a run."""

import re
import shutil
from pathlib import Path

import fake
import pandas as pd
import pytest

from experiments.papers import registry
from experiments.papers.again import make_again
from experiments.papers.registry import papers
from experiments.papers.reproduce import redraw, reproduce
from experiments.report.site import read_pages
from tests.command import refused, schedlab


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "MODULES", ("fake",))
        out = tmp_path_factory.mktemp("site")
        assert reproduce(out=out, workers=1, progress=False) == 0
        shutil.rmtree(out / "store")
        yield out


@pytest.fixture
def copy(site, tmp_path):
    return Path(shutil.copytree(site, tmp_path / "copy"))


def page_of(out):
    (page,) = read_pages(out, papers())
    return page


@pytest.mark.long
def test_what_is_drawn_again_is_what_was_drawn(site, tmp_path, monkeypatch, capsys):
    """Figures, rows, texts, the film and the measured times, without a run; and so once more from there."""
    monkeypatch.setattr(fake, "run", None)
    before = page_of(site)
    for source, out in ((site, tmp_path / "one"), (tmp_path / "one", tmp_path / "two")):
        assert redraw([], scale="quick", kept=source, out=out) == 0
        assert "fake: 1 figures, 5 rows drawn again" in capsys.readouterr().out
        page = page_of(out)
        for name in ("texts", "problems", "runs", "code"):
            assert getattr(page, name) == getattr(before, name)
        assert page.figures[0].seeds == (0, 1, 2)
        for name in ("figure_1.csv", "figure_1_replay.html"):
            assert (out / "fake" / name).read_bytes() == (site / "fake" / name).read_bytes()
        assert (out / "claims.csv").read_text() == (site / "claims.csv").read_text()
        assert (out / "report.html").exists()
        assert not (out / "store").exists()


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ("tables/values-run-seed=1.parquet", "figure figure_1: table 'values-run-seed=1' is not kept"),
        ("measured.parquet", "figure figure_1: call_cpu_s"),
    ],
)  # fmt: skip
def test_what_is_not_kept_is_one_line_and_the_rest_is_drawn(copy, tmp_path, capsys, lost, told):
    (copy / "fake" / lost).unlink()
    out = tmp_path / "out"
    assert redraw([], scale="quick", kept=copy, out=out) == 1
    assert [line for line in capsys.readouterr().out.splitlines() if told in line] == [
        f"  fake: {told}"
    ]
    page = page_of(out)
    assert (len(page.figures), len(page.claims), len(page.texts)) == (0, 5, 2)
    assert list(page.problems) == [f"fake: {told}"]
    assert told.replace("'", "&#39;") in (out / "fake.html").read_text()


def test_runs_that_are_not_kept_are_counted(copy, tmp_path, capsys):
    """A label that tells tasks apart has to be the same; another one may be new."""
    runs = pd.read_parquet(copy / "fake" / "runs.parquet")
    runs.loc[0, "seed"] = 7
    runs.to_parquet(copy / "fake" / "runs.parquet")
    assert redraw([], scale="quick", kept=copy, out=tmp_path / "out") == 1
    assert "fake: 1 runs failed or are missing" in capsys.readouterr().out


def test_runs_are_made_again_and_compared(copy, tmp_path, capsys):
    """A number that was kept otherwise is told, a measured one is not looked at, a run that was made is not made again."""
    words = {"scale": "quick", "kept": copy, "out": tmp_path, "workers": 1}
    assert make_again([], share=1, **words) == 0
    told = capsys.readouterr()
    assert re.fullmatch(
        r"fake: (\d+) of \1 runs made again in \d+ CPU s: all numbers are the same\n", told.out
    )
    for name, column in (("measured", "call_cpu_s"), ("runs", "value")):
        table = pd.read_parquet(copy / "fake" / f"{name}.parquet")
        table.loc[0, column] += 1
        table.to_parquet(copy / "fake" / f"{name}.parquet")
    assert make_again([], share=1, **words) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith(": 1 numbers are others")
    assert re.search(r": value is \S+, kept is \S+$", told[1])
    assert len(told) == 2


def test_mistakes_are_one_line_and_nothing_is_written(copy, tmp_path):
    def told(words, out="out"):
        line = refused("reproduce", "--from", copy, "--out", tmp_path / out, *words)
        assert not (tmp_path / "out").exists()
        return line

    assert f"--out: got {copy}, expected another folder than --from" in told([], "copy")
    assert "paper: got 'fakes'" in told(["fakes"])
    assert "--again: got 0, expected a share in (0, 1]" in told(["--again", 0])
    table = copy / "fake" / "tables" / "values-run-seed=1.parquet"
    table.write_bytes(b"PAR1")
    assert f"{table}: cannot be read as Parquet" in told([])
    table.unlink()
    (copy / "fake" / "runs.parquet").unlink()
    assert "runs.parquet: cannot be read as Parquet" in told([])
    (copy / "fake" / "page.json").unlink()
    assert f"--from: got {copy}, which has no page of fake" in told([])


def test_workers_have_no_effect(copy, tmp_path):
    ran = schedlab("reproduce", "--from", copy, "--out", tmp_path / "out", "--workers", 3)
    assert ran.stderr == "schedlab: note: --workers has no effect: --from runs nothing\n"
