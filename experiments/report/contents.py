"""Contents of a report: papers, figures and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from experiments.files import replacing, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from pandas import DataFrame

Scale = Literal["quick", "paper"]
Verdict = Literal["reproduced", "partly", "not reproduced", "inconclusive", "not comparable", "new"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
Label = Literal["derived", "variant", "authors", "textbook", "count", "against the text"]
LABELS: tuple[str, ...] = get_args(Label)
"""Labels beside a verdict: what follows from the paper and is not printed, a reading chosen after the printed
one failed, the authors' own program, draw or data, a formula of the textbooks, a count of settings, a reading
that contradicts what the paper prints."""
AGAINST: Label = "against the text"
"""Label of rows that no printed number is counted by."""
REFUTED: tuple[Verdict, ...] = ("partly", "not reproduced")
"""Verdicts of a number that did not come out."""
RUNS = "runs.parquet"
"""In a page's folder: its runs, one a row."""


@dataclass(frozen=True)
class Figure:
    """One figure on disk: a PNG and the numbers behind it as CSV; or the numbers alone.

    Attributes
    ----------
    name : file stem, unique in its paper ("figure_3").
    caption : what is seen, and what the paper has in the same place.
    command : the command that makes it again.
    seeds : the seeds of the runs behind it.
    replay : of a Gantt chart, the page that plays the same run (`experiments.replay`); None elsewhere.
    """

    name: str
    title: str
    caption: str
    csv: Path
    command: str
    png: Path | None = None
    seeds: tuple[int, ...] = ()
    replay: Path | None = None


@dataclass(frozen=True)
class Claim:
    """One statement of a paper beside what came out here.

    Attributes
    ----------
    paper : name of the experiment ("hierarchical").
    place : where the paper says it ("Section V-B, Figure 3").
    claim : the statement, in our words.
    paper_value : the paper's number, or text where it is none.
    ours : our number; None where nothing could be measured.
    ci_low, ci_high : 95 % confidence interval of ours; None where it is exact.
    unit : unit of all four ("s", "%", "EUR"); empty for a plain number.
    verdict : by the one rule of `experiments.report.verdict`; "new" is a result that the paper
        does not have.
    why : the reason, wanted for everything but "reproduced".
    published : name of the number in the paper's ``published.toml``; empty where there is none.
    labels : of `LABELS`.
    proof : what shows the reason of a row that is "partly" or "not reproduced" by runs: a figure or a
        kind of run of the page, or a file of the repository; empty where nothing does. Of a "new" row the figure with
        which it stands.
    reading : how the paper is read, of a number whose statement has several parts (FIFO, EDF and PS); the
        rows of one reading count together. Empty: the row is a reading by itself.
    part : which part of the statement it is about ("EDF"); empty where the statement has one part.
    says : what the paper says, without the words of the reading; empty: as ``claim``.
    shared : the reading that it has in common with rows of other numbers of the same figure or section.
    """

    paper: str
    place: str
    claim: str
    paper_value: float | str | None
    ours: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    unit: str = ""
    verdict: Verdict = "reproduced"
    why: str = ""
    published: str = ""
    labels: tuple[str, ...] = ()
    proof: str = ""
    reading: str = ""
    part: str = ""
    says: str = ""
    shared: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} of {self.claim!r}: expected {VERDICTS}")
        wants_why = ("partly", "not reproduced", "inconclusive", "not comparable")
        if self.verdict in wants_why and not self.why:
            raise ValueError(f"claim {self.claim!r} is {self.verdict!r}: say why")
        if not set(self.labels) <= set(LABELS):
            raise ValueError(f"labels {self.labels} of {self.claim!r}: expected some of {LABELS}")


@dataclass(frozen=True)
class Text:
    """A short text of a page; its numbers are taken from the results.

    Attributes
    ----------
    title : its heading.
    lead : how to read it.
    lines : one thought each.
    figure : name of the figure that it stands below; empty: above all figures.
    """

    title: str
    lead: str
    lines: tuple[str, ...]
    figure: str = ""


@dataclass(frozen=True)
class Paper:
    """Entry of the report for a paper, or for a study of our own.

    Attributes
    ----------
    module : the package that reproduces it.
    """

    name: str
    title: str
    authors: str
    summary: str
    module: str = ""

    @property
    def is_study(self) -> bool:
        """Whether it is a study of our own."""
        return self.module.startswith("experiments.studies.")


def save_figure(
    out_dir: Path,
    name: str,
    title: str,
    caption: str,
    drawing: Drawing | None,
    data: DataFrame,
    *,
    command: str,
    seeds: Sequence[int] = (),
) -> Figure:
    """Write ``out_dir``/``name``.png and .csv, the same bytes each time; closes the drawing.

    Where an interval leaves its axes there is an arrow, and the caption says so.

    Parameters
    ----------
    data : the plotted numbers, tidy, one row a point; written with nine significant digits.
    """
    import matplotlib.pyplot as plt

    from experiments.pictures.edges import NOTE, mark_edges

    csv, png = out_dir / f"{name}.csv", None
    write_whole(csv, data.to_csv(index=False, float_format="%.9g", lineterminator="\n"))
    if drawing is not None:
        png = out_dir / f"{name}.png"
        if mark_edges(drawing):
            caption = f"{caption} {NOTE}"
        write_drawing(drawing, png)
        plt.close(drawing)
    return Figure(name, title, caption, csv, command, png, tuple(int(seed) for seed in seeds))


def write_drawing(drawing: Drawing, png: Path) -> None:
    """Write a drawing as PNG of at most 256 colours, a third of the size; the same bytes each time."""
    from io import BytesIO

    from PIL import Image

    content = BytesIO()
    drawing.savefig(content, format="png", dpi=130, bbox_inches="tight")
    with Image.open(content) as image, replacing(png) as file:
        few = image.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        few.save(file, format="PNG", optimize=True)
