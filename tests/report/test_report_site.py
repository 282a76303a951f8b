"""From runs to the site, and the site in a real browser."""

import csv
import hashlib
import re
import struct
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from browser import Browser

from experiments.papers import registry
from experiments.papers.registry import papers
from experiments.papers.reproduce import _Drawing, _in_order, reproduce
from experiments.report.contents import Claim, Paper, Text
from experiments.report.site import (
    as_printed,
    counts,
    number,
    read_pages,
    seeds_listed,
    with_unit,
    write_page,
    write_site,
)
from experiments.sweep.executors import LocalPool
from experiments.sweep.store import Store
from experiments.sweep.task import Task
from simulator.errors import InputError


@pytest.fixture(scope="module")
def only_fake():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "MODULES", ("fake", "no_such_module"))
        yield


@pytest.fixture(scope="module")
def site(only_fake, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert reproduce(out=out, workers=1, progress=False) == 0
    return out


@pytest.mark.long
def test_what_is_left_behind(site):
    left = {p.relative_to(site).as_posix() for p in site.rglob("*") if "store" not in p.parts}
    assert left == {
        "fake", "fake/figure_1.csv", "fake/figure_1.png", "fake/figure_1_replay.html", "fake/page.json", "fake/runs.parquet", "claims.csv", "readings.csv",
        "fake/measured.parquet", "fake/tables",
        *(f"fake/tables/values-run-seed={seed}.parquet" for seed in range(3)),
        "fake/thumbnails", "fake/thumbnails/figure_1.png",
        "index.html", "claims.html", "fake.html", "report.html", "site.js", "style.css",
    }  # fmt: skip
    with (site / "claims.csv").open() as file:
        mean, *others = csv.DictReader(file)
    assert [row["class"] for row in others] == ["open", "reproduced"]
    assert (mean["number"], mean["statement"], mean["class"], mean["readings"]) == (
        "mean", "Mean & more", "reproduced", "1",
    )  # fmt: skip
    with (site / "readings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == [
        "reproduced",
        "new",
        "not reproduced",
        "partly",
        "reproduced",
    ]
    assert [row["labels"] for row in rows] == ["count", "", "", "", ""]
    assert rows[1]["claim"] == "<script>alert(1)</script>"
    assert (site / "fake" / "figure_1.csv").read_text().startswith("n,seed,value\n1,0,")
    (page,) = read_pages(site, papers())
    assert page.runs == 6
    assert page.figures[0].seeds == (0, 1, 2)
    assert page.figures[0].replay == site / "fake" / "figure_1_replay.html"
    link = '<a href="fake/figure_1_replay.html">Watch this run</a>'
    assert link in (site / "fake.html").read_text()
    assert link not in (site / "report.html").read_text()


def test_a_figure_of_numbers_alone_is_kept_and_shown(site, tmp_path):
    (page,) = read_pages(site, papers())
    alone = replace(page.figures[0], png=None, replay=None)
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "figure_1.csv").write_text("n,value\n1,2\n")
    write_page(tmp_path, replace(page, figures=[alone]))
    assert read_pages(tmp_path, papers())[0].figures[0].png is None
    write_site(tmp_path, "quick", papers())
    assert "figure_1.csv" in (tmp_path / "fake.html").read_text()
    assert "figure_1.png" not in (tmp_path / "fake.html").read_text()


def test_each_printed_number_counts_once_by_its_best_row_whatever_its_label(site):
    (page,) = read_pages(site, papers())
    assert counts([page]) == {"reproduced": 2, "open": 1}
    (mean,) = (claim for claim in page.claims if claim.published == "mean")
    missed = replace(mean, verdict="not reproduced", why="?")
    assert counts([replace(page, claims=[missed, mean])]) == {"reproduced": 1}
    assert counts([replace(page, claims=[missed])]) == {"open": 1}
    ours = replace(page.paper, module="experiments.studies.fake")
    assert not counts([replace(page, paper=ours)])
    index = (site / "index.html").read_text()
    row = index.partition(">fake</a></td>")[2].partition("</tr>")[0]
    assert re.findall(r">(\d+)</td>", row) == ["3", "2", "0", "0", "1", "0"]


def test_a_number_has_one_row_with_its_reason_and_its_readings_below(site, tmp_path):
    """Nothing of the readings needs a script; what is no printed number has no row, ours without a figure is left out."""
    (page,) = read_pages(site, papers())
    (mean,) = (claim for claim in page.claims if claim.published == "mean")
    far = replace(
        mean, ours=9.0, verdict="not reproduced", why="it is too far; and more", claim="far"
    )
    near = replace(far, ours=8.0, claim="near", says="what it says")
    beside = Claim("fake", "Figure 1", "with its figure", None, 3.0, verdict="new")
    alone = replace(beside, place="nowhere", claim="with nothing")
    further = replace(beside, published="another", claim="a number that is not measured here")
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "figure_1.csv").write_text("n\n1\n")
    figure = replace(page.figures[0], png=None, replay=None)
    rows = [far, near, beside, alone, further]
    write_page(tmp_path, replace(page, claims=rows, figures=[figure]))
    write_site(tmp_path, "quick", papers())
    html = (tmp_path / "fake.html").read_text()
    number, figures = html.split("<h2>Figures</h2>")
    number = number.partition("data-sortable")[2]
    assert number.count("<tbody>") == 2
    assert "what it says <small" in number
    assert (
        number.index("It is too far.")
        < number.index("Its readings, 2 rows")
        < number.index("far; and")
    )
    assert number.count('class="chosen"') == 1
    assert "near</td>" in number.partition('class="chosen"')[2].partition("</tr>")[0]
    assert "with its figure" not in number
    assert figures.index("with its figure") < figures.index("Further rows")
    assert figures.index("Further rows") < figures.index("a number that is not measured here")
    assert "with nothing" not in html
    assert (
        '<span><span class="verdict open">open</span> 1</span>'
        in (tmp_path / "index.html").read_text()
    )
    told = [row["claim"] for row in csv.DictReader((tmp_path / "readings.csv").open())]
    assert told == [row.claim for row in rows]


def test_texts_stand_above_the_figures_or_below_theirs(site):
    text = (site / "fake.html").read_text()
    parts = ("Who &amp; what", 'id="fake-figure_1"', "Why?", "<dt>Command")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "The &lt;lead&gt;." in text
    assert "<li>Another &lt;line&gt;.</li>" in text
    (page,) = read_pages(site, papers())
    assert page.texts[1] == Text("Why?", "Below the figure.", ("Because.",), "figure_1")
    assert "Another &lt;line&gt;." in (site / "report.html").read_text()


def test_the_first_page_shows_each_figure_small(site):
    """A link to the figure, one to its data, one to the runs, and a picture of a few kilobytes."""
    small = site / "fake" / "thumbnails" / "figure_1.png"
    width, height = struct.unpack(">II", small.read_bytes()[16:24])
    assert 100 < width <= 280
    assert 100 < height <= 150
    assert small.stat().st_size < 15_000
    index = (site / "index.html").read_text()
    for link in ("fake.html#fake-figure_1", "fake/figure_1.csv", "fake/runs.parquet"):
        assert f'href="{link}"' in index
    before = small.stat().st_mtime_ns
    write_site(site, "quick", papers())
    assert small.stat().st_mtime_ns == before


def test_claims_lead_to_figure_data_and_runs_and_pages_name_their_code(site):
    """One row a run: what an interval is made from."""
    rows = pd.read_parquet(site / "fake" / "runs.parquet")
    wanted = [["run", n, s] for n in (1, 2) for s in (0, 1, 2)]
    assert rows[["function", "n", "seed"]].to_numpy().tolist() == wanted
    measured = pd.read_parquet(site / "fake" / "measured.parquet")
    assert set(measured) == {"call_cpu_s", "run_cpu_s"}
    assert measured.columns.isin(rows.columns).sum() == 0
    (page,) = read_pages(site, papers())
    assert len(page.code) == 12
    assert f"code version <code>{page.code}</code>" in (site / "fake.html").read_text("utf-8")
    content = hashlib.sha256(rows.to_csv(index=False).encode()).hexdigest()
    assert page.digest == content[:12]
    assert f"runs <code>{page.digest}</code>" in (site / "fake.html").read_text("utf-8")
    shown = page.figures[0]
    for place, found in (
        ("Section V, Figure 1", shown), ("Figure 1 (a)", shown), ("Figure 12", None), ("–", None),
    ):  # fmt: skip
        assert page.figure_of(Claim("fake", place, "c", 1.0, 1.0)) is found
    assert page.figure_of(Claim("fake", "–", "c", 1.0, 1.0, proof="figure_1")) is shown
    dotted = replace(page, figures=[replace(shown, name=f"figure_4_{n}") for n in (2, 6)])
    of = dotted.figure_of(Claim("fake", "Figure 4.6", "c", 1.0, 1.0))
    assert of is not None
    assert of.name == "figure_4_6"
    html = (site / "claims.html").read_text("utf-8")
    assert 'href="fake/runs.parquet"' in html


@pytest.mark.long
def test_a_second_call_computes_nothing_and_writes_the_same_bytes(site, tmp_path, capsys):
    """Also where somebody has planted links in the place of all that it writes."""
    before = {p: p.read_bytes() for p in site.rglob("*") if p.is_file() and "store" not in p.parts}
    victim = tmp_path / "victim"
    victim.write_text("mine")
    planted = [site / "store" / ".gitignore", *before]
    for path in planted:
        path.unlink()
        path.symlink_to(victim)
    assert reproduce(["fake"], out=site, workers=1, progress=False) == 0
    assert "1 figures, 3 numbers (2 reproduced, 1 open), 5 rows" in capsys.readouterr().out
    assert {p: p.read_bytes() for p in before} == before
    assert victim.read_text() == "mine"
    assert not any(path.is_symlink() for path in planted)
    with Store(site / "store") as store:
        assert store.counts().done == 6


def test_a_page_is_drawn_when_its_runs_have_ended_and_very_long_runs_come_first(
    tmp_path, monkeypatch
):
    short = [Task("fake:run", {"n": 1, "seed": s}, cost_s=1.0 + s) for s in range(2)]
    long = [Task("fake:run", {"n": 2, "seed": s}, cost_s=200.0 * s + 2) for s in range(2)]
    assert _in_order([short, long], 2) == [long[1], short[1], short[0], long[0]]
    assert _in_order([short, long], 1) == [short[1], short[0], long[1], long[0]]
    one, other = Paper("one", "", "", ""), Paper("other", "", "", "")
    with _Drawing({one: short, other: long}, "quick", tmp_path) as drawing:
        begun = []
        monkeypatch.setattr(LocalPool, "submit", lambda self, _, paper, *rest: begun.append(paper))
        keys = {task.key for task in (*short, *long)}
        drawing.begin(keys - {long[0].key})
        assert begun == [one]
        drawing.begin(keys)
        assert begun == [one, other]


def test_failed_runs_and_drawings_are_told_and_keep_the_rest(only_fake, tmp_path, capsys):
    assert reproduce(scale="paper", out=tmp_path, workers=1, progress=False) == 1
    told = capsys.readouterr().out
    assert "3 runs done, 3 failed" in told
    assert (
        "fake: 3 runs failed or are missing, the first with ValueError: 13 <b>never</b> works"
        in told
    )
    assert "fake: cannot be drawn: RuntimeError: no <figures> today" in told
    assert "no &lt;figures&gt; today" in (tmp_path / "fake.html").read_text()


@pytest.mark.parametrize(
    ("papers", "scale", "told"),
    [
        (["fakes"], "quick", "paper: got 'fakes', expected all, or one or more of fake"),
        (["absent"], "quick", "paper: got 'absent', expected all, or one or more of fake"),
        ([], "large", "--scale: got 'large', expected one of quick, paper"),
    ],
)
def test_mistakes_are_one_line(only_fake, tmp_path, papers, scale, told):
    assert [paper.name for paper in registry.papers()] == ["fake"]
    with pytest.raises(InputError, match=told):
        reproduce(papers, scale=scale, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "–"), (float("nan"), "–"), ("12 to 15", "12 to 15"), (3.0, "3"), (0.00123456, "0.001235"),
        (12.3456, "12.35"), (12345.6, "12,346"), (-1e6, "-1,000,000"), (1.5e15, "1,500,000,000,000,000"),
    ],
)  # fmt: skip
def test_numbers_are_readable(value, told):
    assert number(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(3.0, "3 %"), (None, "–"), ("50-70", "50-70 %"), ("< 60", "< 60 %"), ("within 3 %", "within 3 %"), ("faster", "faster")],
)  # fmt: skip
def test_a_printed_text_has_its_unit_where_it_is_a_number(value, told):
    assert with_unit(value, "%") == told
    assert with_unit(value, "") == number(value)
    assert [with_unit(1, u) for u in ("servers", "s", "GB/s")] == ["1 server", "1 s", "1 GB/s"]
    assert with_unit(2, "servers") == "2 servers"
    assert as_printed(1.08438, "EUR") == "1.08438 EUR"
    assert as_printed(300000, "") == "300,000"
    assert as_printed(value, "%") == told


def test_seeds_are_told_in_few_words():
    assert seeds_listed((7, 0, 1, 2)) == "0–2, 7"
    assert seeds_listed(()) == ""


def test_a_claim_that_is_not_reproduced_says_why():
    with pytest.raises(ValueError, match="say why"):
        Claim("fake", "p", "c", 1.0, 2.0, verdict="not reproduced")
    with pytest.raises(ValueError, match="verdict 'maybe'"):
        Claim("fake", "p", "c", 1.0, 2.0, verdict="maybe")


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value)
            elif name == "id":
                assert value not in self.ids
                self.ids.add(value)


def pages(site: Path) -> list[Path]:
    return sorted(site.glob("*.html"))


def test_every_link_resolves_and_none_leaves_the_site(site):
    parsed = {page.name: Links(page.read_text()) for page in pages(site)}
    for links in parsed.values():
        assert links.tags.isdisjoint({"em", "i", "b", "nothing"})
        for link in links.links:
            if link.startswith("data:"):
                continue
            parts = urlsplit(link)
            assert not parts.scheme
            assert not parts.netloc
            target = unquote(parts.path)
            assert not target or (site / target).is_file(), link
            if parts.fragment:
                assert parts.fragment in (parsed[target] if target else links).ids
    for asset in ("style.css", "site.js"):
        assert not re.search(r"https?:|@import|url\(", (site / asset).read_text())


def test_the_report_is_one_file(site):
    links = Links((site / "report.html").read_text())
    assert all(link.startswith(("#", "data:")) for link in links.links)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["index", "fake", "claims", "report"])
def test_pages_in_a_browser(site, browser, name, width):
    browser.complaints.clear()
    browser.requests.clear()
    browser.open((site / f"{name}.html").as_uri(), width)
    broken = browser.run("""
        Promise.all([...document.images].map((image) =>
            image.decode().then(() => image.naturalWidth > 100 ? "" : image.src, () => image.src)
        )).then((found) => found.join(""))
    """)
    assert broken == ""
    assert browser.run("document.images.length") == (0 if name == "claims" else 1)
    assert browser.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in browser.requests)
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run("document.title").startswith("schedlab")


def test_no_column_of_the_numbers_is_cut_off(site, browser):
    """Whatever a paper's value is, a number or a sentence."""
    browser.open((site / "claims.html").as_uri(), 1200)
    words = "two to three times that of the best of the first-principle methods, by eye"
    for cell in (1, 2, 3, 6):
        browser.run(
            f"document.querySelector('.claims tbody tr').cells[{cell}].textContent = '{words}'"
        )
    scroll = "document.querySelector('.scroll')"
    assert browser.run(f"{scroll}.scrollWidth <= {scroll}.clientWidth")


def column(browser: Browser, table: str, index: int) -> list[str]:
    rows = f"[...document.querySelectorAll('{table} > tbody > tr:not(.readings)')]"
    return browser.run(f"{rows}.map((row) => row.cells[{index}].textContent.trim())")


def test_tables_sort_by_number_and_back_and_readings_stay_below_theirs(site, browser):
    browser.open((site / "claims.html").as_uri())
    table = "[data-sortable]"
    assert column(browser, table, 2) == ["Mean & more", "Nine", "Hundred"]
    button = "document.querySelectorAll('.claims th button')[{}]"
    browser.run(button.format(3) + ".click()")
    assert column(browser, table, 3) == ["1.5 s", "9 %", "100"]
    browser.run(button.format(3) + ".click()")
    assert column(browser, table, 3) == ["100", "9 %", "1.5 s"]
    order = browser.run("document.querySelectorAll('th')[3].getAttribute('aria-sort')")
    assert order == "descending"
    below = """[...document.querySelectorAll('.readings')].map(
        (row) => row.previousElementSibling.cells[2].textContent)"""
    assert browser.run(below) == ["Nine"]
    browser.run(button.format(2) + ".click()")
    assert column(browser, table, 2) == ["Hundred", "Mean & more", "Nine"]
    assert browser.run(below) == ["Nine"]
    assert browser.run("document.querySelectorAll('[aria-sort]').length") == 1
    browser.run("document.querySelector('tbody td.n').dataset.sort = ''")
    for _ in range(2):
        browser.run(button.format(3) + ".click()")
        assert column(browser, table, 2)[-1] == "Hundred"


def test_the_numbers_of_a_figure_sort_too(site, browser):
    browser.open((site / "fake.html").as_uri())
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.run("document.querySelectorAll('.data th button')[1].click()")
    assert column(browser, ".data", 1) == ["0", "0", "1", "1", "2", "2"]
