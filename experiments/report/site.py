"""The static site of results: a page a paper, a page of claims, and everything in one file.

    results/<scale>/index.html            the first page
    results/<scale>/<paper>.html          figures, each with its command, data and seeds
    results/<scale>/claims.html, .csv     every printed number beside what came out, one row each
    results/<scale>/readings.csv          every reading of each number, and our own numbers
    results/<scale>/classroom.html        the page for a class
    results/<scale>/<paper>/<figure>.png  a figure; <figure>.csv: the plotted numbers
    results/<scale>/<paper>/page.json     what the pages are made from
    results/<scale>/<paper>/runs.parquet  one row a run; beside it `experiments.report.kept`
    results/<scale>/<paper>/thumbnails/   each figure small, for index.html
    results/<scale>/report.html           all of it in one file, images included; not committed
    results/<scale>/store/                the run database; not committed

No page loads anything from elsewhere. Everything that comes from results is escaped.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.files import write_whole
from experiments.report.contents import RUNS, VERDICTS, Claim, Figure, Paper, Text
from experiments.report.outcomes import OUTCOMES, Printed, exclusions, printed_numbers
from experiments.report.thumbnails import thumbnail
from simulator import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

ROWS_SHOWN = 200
PAGE = "page.json"
REPORT = "report.html"
READING_COLUMNS = tuple(f.name for f in fields(Claim))
"""Of readings.csv."""
COLUMNS = (
    "paper", "number", "place", "statement", "reading", "paper_value", "unit", "ours", "ci_low", "ci_high", "class", "meaning",
    "reason", "labels", "readings",
)  # fmt: skip
"""Of claims.csv: ``number`` is the name in ``published.toml``, ``reading`` the claim of the row of readings.csv that is
shown, after its place where that is another, ``readings`` how many rows the number has there."""


@dataclass(frozen=True)
class Page:
    """Results of one paper that can be shown.

    Attributes
    ----------
    problems : what went wrong on the way, one line each; shown on the page.
    runs : finished runs behind it.
    code : version of the code that made these runs; where there is one, the paper's folder holds
        the runs themselves (`RUNS`), one a row.
    digest : of these runs, see `experiments.report.kept.digest`.
    texts : texts above the figures, or below one of them.
    """

    paper: Paper
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    problems: Sequence[str] = ()
    runs: int = 0
    code: str = ""
    texts: Sequence[Text] = ()
    digest: str = ""

    @cached_property
    def printed(self) -> list[Printed]:
        """The paper's printed numbers and what came of each."""
        return printed_numbers(self.paper, self.claims)

    @property
    def numbers(self) -> list[Printed]:
        """Rows of the page's table: the printed numbers; of a study each number beside a published one or a goal."""
        if not self.paper.is_study:
            return self.printed
        return [
            Printed(row.published, row.verdict, row, "", row.why, (row,), frozenset())
            for row in self.claims
            if row.verdict != "new"
        ]

    @property
    def exclusions(self) -> list[str]:
        """Which printed numbers need readings that exclude each other, a sentence each."""
        return exclusions(self.paper, self.printed)

    @property
    def further(self) -> list[Claim]:
        """Rows beside values that are not printed numbers, or that ours does not measure; of a study our own numbers."""
        told = {one.name for one in self.numbers}
        return [
            row
            for row in self.claims
            if (row.published and row.published not in told)
            or (self.paper.is_study and row.verdict == "new" and self.figure_of(row) is None)
        ]

    def shown_by(self, one: Printed) -> Figure | None:
        """The figure that shows a number, or one of its readings."""
        found = (self.figure_of(row) for row in (one.row, *one.readings))
        return next((figure for figure in found if figure), None)

    def own_of(self, figure: Figure) -> list[Claim]:
        """Our own numbers that stand with a figure."""
        own = (row for row in self.claims if row.verdict == "new" and not row.published)
        return [row for row in own if self.figure_of(row) is figure]

    def figure_of(self, claim: Claim) -> Figure | None:
        """The figure that shows a row: of the number in its place ("Section V, Figure 3"), or of its name."""
        by_name = {figure.name: figure for figure in self.figures}
        for kind, number, letter in re.findall(
            r"(Figure|Table)s? (\d+(?:\.\d+)?)\s*\(?([a-z]?)\b", claim.place
        ):
            stem = f"{kind.lower()}_{number.replace('.', '_')}"
            names = [f"{stem}{letter}", f"{stem}_{letter}", stem] if letter else [stem]
            for name in names:
                for figure in self.figures:
                    if figure.name == name or figure.name.startswith(f"{name}_"):
                        return figure
        return by_name.get(claim.proof)


def write_page(out: Path, page: Page) -> None:
    """Keep a paper's page in its folder, so that the site can be written without drawing anew."""
    folder = out / page.paper.name
    content: dict[str, Any] = {
        "figures": [
            {
                name: value.name if isinstance(value, Path) else value
                for name, value in asdict(figure).items()
                if value is not None
            }
            for figure in page.figures
        ],
        "claims": [asdict(claim) for claim in page.claims],
        "problems": list(page.problems),
        "runs": page.runs,
        "code": page.code,
        "digest": page.digest,
    }
    if page.texts:
        content["texts"] = [asdict(text) for text in page.texts]
    write_whole(folder / PAGE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_pages(out: Path, papers: Iterable[Paper]) -> list[Page]:
    """The pages kept under ``out``, in the order of ``papers``."""
    pages = []
    for paper in papers:
        path = out / paper.name / PAGE
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            figures = [_figure(entry, path.parent) for entry in content["figures"]]
            claims = [
                Claim(**(entry | {"labels": tuple(entry.get("labels", ()))}))
                for entry in content["claims"]
            ]
            made_of = content["problems"], content["runs"], content.get("code", "")
            texts = [
                Text(**(entry | {"lines": tuple(entry["lines"])}))
                for entry in content.get("texts", [])
            ]
            digest = content.get("digest", "")
            pages.append(Page(paper, figures, claims, *made_of, texts, digest))
    return pages


def _figure(entry: dict[str, Any], folder: Path) -> Figure:
    paths = {name: folder / entry[name] for name in ("csv", "png", "replay") if name in entry}
    return Figure(**(entry | paths | {"seeds": tuple(entry["seeds"])}))


def write_claims(out: Path, pages: Sequence[Page]) -> None:
    """Write claims.csv, one row a printed number, and readings.csv, all rows."""
    numbers = [
        (
            page.paper.name, one.name, one.place, one.says, one.reading, row.paper_value, row.unit, row.ours, row.ci_low,
            row.ci_high, one.outcome, one.means, one.because, row.labels, len(one.readings),
        )
        for page in pages for one in page.numbers for row in [one.row]
    ]  # fmt: skip
    readings = [
        [getattr(claim, name) for name in READING_COLUMNS]
        for page in pages
        for claim in page.claims
    ]
    _write_table(out / "claims.csv", COLUMNS, numbers)
    _write_table(out / "readings.csv", READING_COLUMNS, readings)


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_plain, row) for row in rows)
    write_whole(path, text.getvalue())


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(value)
    return float(f"{value:.9g}") if isinstance(value, float) else value


def counts(pages: Iterable[Page]) -> Counter[str]:
    """The printed numbers of pages by outcome."""
    return Counter(one.outcome for page in pages for one in page.printed)


def write_site(out: Path, scale: str, papers: Iterable[Paper]) -> list[Page]:
    """Write all pages but `REPORT` from what is kept under ``out``; returns what they show."""
    pages = read_pages(out, papers)
    environment = _environment()
    shared = _shared(out, scale, pages)
    write_claims(out, pages)
    for name in ("style.css", "site.js"):
        write_whole(out / name, _source(environment, name))
    for name in ("index", "claims"):
        write_whole(out / f"{name}.html", environment.get_template(f"{name}.html").render(shared))
    for page in pages:
        html = environment.get_template("paper.html").render(shared, page=page)
        write_whole(out / f"{page.paper.name}.html", html)
    return pages


def write_report(out: Path, scale: str, papers: Sequence[Paper]) -> list[Page]:
    """`write_site`, and all pages in one file."""
    environment, pages = _environment(), read_pages(out, papers)
    single = environment.get_template(REPORT).render(
        _shared(out, scale, pages),
        single=True,
        style=_source(environment, "style.css"),
        script=_source(environment, "site.js"),
    )
    write_whole(out / REPORT, single)
    return write_site(out, scale, papers)


def _shared(out: Path, scale: str, pages: Sequence[Page]) -> dict[str, Any]:
    """Variables of every template."""
    return {
        "scale": scale,
        "version": __version__,
        "pages": pages,
        "by_paper": {page.paper.name: page for page in pages},
        "outcomes": OUTCOMES,
        "classes": (*OUTCOMES, *(name for name in VERDICTS if name not in OUTCOMES)),
        "printed_numbers": {
            **{page.paper.name: counts([page]) for page in pages if not page.paper.is_study},
            "all": counts(pages),
        },
        "single": False,
        "classroom": (out / "classroom.html").exists(),
        "report": REPORT if (out / REPORT).exists() else "",
        "runs_file": RUNS,
    }


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("experiments.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "with_unit": with_unit,
        "as_printed": as_printed,
        "interval": interval,
        "seeds": seeds_listed,
        "data_uri": _data_uri,
        "size": _size,
        "thumbnail": thumbnail,
        "table": _table,
        "slug": lambda verdict: verdict.replace(" ", "-"),
        "tally": lambda numbers: Counter(one.outcome for one in numbers),
    }
    return environment


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def number(value: float | str | None) -> str:
    """Four significant digits, all of those before the point; a dash for what is not there."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, str):
        return value
    if 1000 <= abs(value) < 1e12 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}"


def with_unit(value: float | str | None, unit: str) -> str:
    """`number` with its unit; a text has one where it is a number, a range or a bound ("50-70", "< 60", "up to 9")."""
    bare = (
        re.fullmatch(r"([<>=]*|up to|about|almost) ?[\d.,-]+", value)
        if isinstance(value, str)
        else value is not None
    )
    is_one = value in (1, "1") and len(unit) > 2 and unit.isalpha()
    unit = unit.removesuffix("s") if is_one else unit
    return f"{number(value)} {unit}" if unit and bare else number(value)


def as_printed(value: float | str | None, unit: str) -> str:
    """`with_unit`, with all digits of a number that a paper prints."""
    if isinstance(value, int | float) and math.isfinite(value):
        value = f"{value:,.10g}"
    return with_unit(value, unit)


def interval(claim: Claim) -> str:
    """The confidence interval in brackets; empty where there is none."""
    if claim.ci_low is None or claim.ci_high is None:
        return ""
    return f"[{number(claim.ci_low)}, {number(claim.ci_high)}]"


def seeds_listed(seeds: Sequence[int]) -> str:
    """Seeds in few words: (0, 1, 2, 7) -> "0–2, 7"."""
    runs: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


def _data_uri(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, so that a page does not move while it loads."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def _table(path: Path) -> dict[str, Any]:
    """The first rows of a figure's data; cells shortened, as they are in the file for sorting."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    cells = [[(cell, _shortened(cell)) for cell in row] for row in rows[:ROWS_SHOWN]]
    return {"header": header, "rows": cells, "total": len(rows)}


def _shortened(cell: str) -> str:
    try:
        return number(float(cell)) if cell else "–"
    except ValueError:
        return cell
