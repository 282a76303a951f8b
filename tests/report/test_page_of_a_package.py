"""A page of results from a package: the one that docs/extending.md shows, and broken ones."""

import re
import subprocess
import sys

import pandas as pd
import pytest

from experiments import pages
from experiments.papers.registry import chosen_papers, load, papers
from simulator.errors import InputError
from tests.command import ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")


def names():
    return [paper.name for paper in papers()]


def block(sign, language):
    (found,) = [
        b for b in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M) if sign in b
    ]
    return found


def install(folder, name="mm1", module="mm1", numbers=None, code=None, above=None):
    """The documented package, laid out as an installer leaves it; ``above``: the code of a package that it is said to be in."""
    if above is not None:
        (folder / "above").mkdir()
        (folder / "above" / "__init__.py").write_text(above)
    package = folder / "mm1"
    package.mkdir()
    (package / "__init__.py").write_text(code or block("def one_run", "py"))
    (package / "published.toml").write_text(numbers or block("A textbook", "toml"))
    info = folder / "mm1-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mm1\nVersion: 1.0\n")
    registered = (
        block("schedlab.pages", "toml").replace("project.entry-points.", "").replace('"', "")
    )
    (info / "entry_points.txt").write_text(registered.replace("mm1 = mm1", f"{name} = {module}"))
    return package


def test_the_public_names_of_a_page():
    """Each is there, and is the one of its home; there is no other."""
    found = {name: getattr(pages, name) for name in pages.__all__}
    for kind in ("Claim", "Drawn", "Estimate", "Experiment", "Figure", "NoRuns", "Outcome", "Paper", "Results", "Task"):  # fmt: skip
        assert found[kind].__name__ == kind
    assert pages.plots.__name__ == "experiments.pictures.plots"
    assert pages.NoRuns.__module__ == "experiments.sweep.results"
    with pytest.raises(AttributeError, match=r"module 'experiments.pages' has no attribute 'plot'"):
        _ = pages.plot
    assert not hasattr(pages, "Published")


@pytest.mark.long
def test_the_page_that_is_shown(tmp_path):
    """Its runs are made in worker processes, its figure and its row are those of an M/M/1 queue."""
    package = install(tmp_path)
    assert sum(len(p.read_text().splitlines()) for p in package.iterdir()) <= 80
    text = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text(text.replace('"jobs": 2000', '"jobs": 300'))
    words = ["reproduce", "mm1", "--out", str(tmp_path / "out"), "--workers", "2"]
    ran = subprocess.run(
        [sys.executable, "-m", "experiments.cli", *words], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    drawn = pd.read_csv(tmp_path / "out" / "mm1" / "waits.csv")
    assert list(drawn["load"]) == [0.5, 0.8]
    assert list(drawn["n"]) == [5, 5]
    assert 0.4 < drawn["mean"][0] < 2 < drawn["mean"][1] < 8  # formulas: 1 and 4
    rows = pd.read_csv(tmp_path / "out" / "claims.csv")
    assert "4" in rows.to_csv()
    assert (tmp_path / "out" / "mm1.html").exists()


def test_it_is_listed_and_not_among_the_five(tmp_path, monkeypatch):
    before = names()
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert names() == [*before, "mm1"]
    assert "mm1" not in [paper.name for paper in chosen_papers([])]
    (page,) = chosen_papers(["mm1"])
    assert page.title == "The queue M/M/1"
    assert chosen_papers(["all"])[-1] == page


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"module": "nothing_there"}, "there is no package nothing_there"),
        ({"name": "other"}, "its folder is 'mm1', expected the name of the page"),
        ({"name": "rental", "module": "mm1"}, "schedlab has a page of this name, expected another"),
        (
            {"module": "above.mm1", "above": "1 / 0"},
            "above.mm1 cannot be imported (ZeroDivisionError: division by zero)",
        ),
        ({"module": "above.mm1", "above": "1 +"}, "above.mm1 cannot be imported (SyntaxError: "),
        ({"numbers": 'paper = "x"'}, "published.toml cannot be read (TypeError: "),
        ({"numbers": "title = 1"}, "published.toml cannot be read (KeyError: 'paper')"),
        ({"numbers": "title ="}, "published.toml cannot be read (TOMLDecodeError: "),
    ],
    ids=[
        "no package",
        "another name",
        "a name of ours",
        "a package that raises",
        "no Python",
        "no table",
        "no paper",
        "no TOML",
    ],
)
def test_a_broken_page_stands_in_nobodys_way(changes, told, tmp_path, monkeypatch):
    before = names()
    install(tmp_path, **changes)
    monkeypatch.syspath_prepend(tmp_path)
    assert names() == before
    name = changes.get("name", "mm1")
    if name in before:
        assert [paper.module for paper in chosen_papers([name])] == ["experiments.papers.rental"]
        return
    with pytest.raises(InputError, match=re.escape(told)) as error:
        chosen_papers([name])
    assert str(error.value).startswith(f"page {name!r} of a package: ")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import nothing_there\n", "cannot be imported (ModuleNotFoundError: No module named 'nothing_there')"),
        ("page = 1\n", "has no PAGE"),
    ],
    ids=["broken", "no page"],
)  # fmt: skip
def test_code_that_cannot_be_used_is_one_line(code, told, tmp_path, monkeypatch):
    install(tmp_path, code=code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mm1", raising=False)
    (page,) = chosen_papers(["mm1"])
    with pytest.raises(InputError) as error:
        load(page)
    assert str(error.value) == f"page 'mm1' of a package: mm1 {told}"
