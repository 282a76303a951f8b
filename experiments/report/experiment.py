"""A paper's page as data: its runs, figures, claims and texts, registered by the paper's package.

    PAGE = Experiment(Path(__file__).parent, tasks)

    @PAGE.figure("figure_3", "Figure 3: cost against the best", "What is seen.")
    def figure_3(results: Results) -> Drawn: ...

    @PAGE.rows
    def server(results: Results) -> Iterator[Claim]:
        yield PAGE.row("server", ours, why="with deterministic service it would be 44.32 s")

A function that asks for runs which are not there (`Results.runs`) is left out of the page from there
on. Command, seeds, files and verdicts are not its business.
"""

from __future__ import annotations

import csv
import dataclasses
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from experiments.report.contents import AGAINST, REFUTED, Claim, Figure, Scale, Text, save_figure
from experiments.report.published import Number, read_numbers, read_paper
from experiments.report.verdict import judged, measured
from experiments.sweep.results import NoRuns, NotKept, Results
from simulator.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from pandas import DataFrame

    from experiments.sweep.task import Task

T = TypeVar("T")
LETTERS_PER_INCH = 11
"""Of the line above a picture."""

Rows = Callable[[Results], Iterable[Claim]]


@dataclass(frozen=True)
class Drawn:
    """Result of a figure's function.

    Attributes
    ----------
    drawing : None for numbers without a picture: the page links to their table.
    data : the plotted numbers, tidy, one row a point.
    words : what the title and the caption name in braces.
    film : writes the page that plays the run of a Gantt chart to a path.
    """

    drawing: Drawing | None
    data: DataFrame
    words: Mapping[str, Any] = field(default_factory=dict)
    film: Callable[[Path], object] | None = None


@dataclass(frozen=True)
class Registered:
    """A figure before it is drawn: name, title and caption (templates), and the function."""

    name: str
    title: str
    caption: str
    draw: Callable[..., Drawn]
    options: Mapping[str, Any]


class Experiment:
    """A paper, or a study of our own, that `reproduce` runs and shows.

    Parameters
    ----------
    folder : its package, with ``published.toml``.
    tasks : every run that figures and claims need at a scale.
    """

    def __init__(self, folder: Path, tasks: Callable[[Scale], list[Task]]) -> None:
        self.paper = read_paper(folder)
        self.numbers = read_numbers(folder)
        self.tasks = tasks
        self.registered: list[Registered] = []
        self._rows: list[Rows] = []
        self._texts: list[Callable[[Results], Iterable[Text]]] = []

    def __getitem__(self, name: str) -> Number:
        """A published number."""
        return self.numbers[name]

    # -- registering -------------------------------------------------------------------------

    def figure(
        self, name: str, title: str, caption: str, **options: Any
    ) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
        """Register a figure; ``options`` are handed to its function after the results."""

        def register(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
            self.registered.append(Registered(name, title, caption, draw, options))
            return draw

        return register

    def rows(self, function: Rows) -> Rows:
        """Register a function that yields rows of the table of claims."""
        self._rows.append(function)
        return function

    def text(
        self, function: Callable[[Results], Iterable[Text]]
    ) -> Callable[[Results], Iterable[Text]]:
        """Register a function that yields texts of the page."""
        self._texts.append(function)
        return function

    # -- rows of the table of claims ---------------------------------------------------------

    def row(
        self,
        name: str,
        ours: Estimate | float,
        why: str = "",
        *,
        labels: Sequence[str] = (),
        exact: str = "",
        interval: str = "",
        proof: str | None = None,
        **words: Any,
    ) -> Claim:
        """A published number beside ours.

        Parameters
        ----------
        name : of the number in ``published.toml``.
        why : the reason, for everything but "reproduced".
        labels : beside those of the number.
        exact : why ours has no interval; said whatever the verdict is.
        interval : how its interval was found, where it is not that of a mean of replications; said whatever the verdict is.
        proof : what shows this reason; None: the number's own.
        words : what the number's claim and place name in braces.
        """
        number = self.numbers[name]
        told = self.paper.name, number.place.format(**words), number.claim.format(**words)
        if number.kind == "context":
            printed = number.printed.format(value=number.low, **words) or number.low
            claim = measured(*told, ours, unit=number.unit, paper_value=printed, why=why)
        else:
            claim = judged(
                *told, number.rule, ours, unit=number.unit, why=why,
                comparable=number.comparable,
            )  # fmt: skip
        found = f"no interval: {exact}" if exact else ""
        if interval and claim.ci_low is not None:
            found = f"interval: {interval}"
        reason = "; ".join(part for part in (claim.why, found) if part)
        shown = number.proof if proof is None else proof
        return dataclasses.replace(
            claim,
            why=reason,
            published=name,
            labels=tuple(dict.fromkeys((*number.labels, *labels))),
            proof=shown if claim.verdict in REFUTED else "",
            reading=number.reading_of(words),
            part=number.part_of(words),
            says=number.says.format(**words),
            shared=number.shared_by(words),
        )

    def rows_of(self, file: Path, labels: Sequence[str] = (), against: str = "") -> Iterator[Claim]:
        """Rows kept as data: published, mean, low, high, n, why; other columns are words of the claim.

        ``against`` : words of the readings that contradict the paper's text.
        """
        with file.open(newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                mean, low, high, n = (float(row.pop(name)) for name in ("mean", "low", "high", "n"))
                ours = Estimate(mean, low, high, int(n))
                name, why = row.pop("published"), row.pop("why")
                forbidden = bool(against) and any(against in word for word in row.values())
                own = (AGAINST,) if forbidden else labels
                yield self.row(name, ours, why, labels=own, proof="", **row)

    def new(
        self,
        place: str,
        claim: str,
        ours: Estimate | float | None,
        unit: str = "",
        why: str = "",
        goal: str = "",
        figure: str = "",
    ) -> Claim:
        """A number of ours that the paper does not have, beside a goal of ours or nothing.

        Parameters
        ----------
        figure : name of the figure below which the page of a paper shows it; empty: that of its place. A number that
            stands with no figure is in readings.csv alone.
        """
        shown = f"goal: {goal}" if goal else None
        if ours is None:
            return Claim(
                self.paper.name, place, claim, shown, None, verdict="new", why=why, proof=figure
            )
        told = self.paper.name, place, claim
        row = measured(*told, ours, unit=unit, paper_value=shown, why=why)
        return dataclasses.replace(row, proof=figure)

    # -- what the page shows -----------------------------------------------------------------

    def claims(self, results: Results, left_out: list[str] | None = None) -> list[Claim]:
        """The table of claims, as far as there are runs; ``left_out`` as for `figures`."""
        return [
            row
            for rows in self._rows
            for row in _as_far_as_runs_go(rows(results), f"rows {rows.__name__}", left_out)
        ]

    def texts(self, results: Results, left_out: list[str] | None = None) -> list[Text]:
        """The texts of the page, as far as there are runs; ``left_out`` as for `figures`."""
        return [
            text
            for texts in self._texts
            for text in _as_far_as_runs_go(texts(results), f"text {texts.__name__}", left_out)
        ]

    def figures(
        self, results: Results, folder: Path, left_out: list[str] | None = None
    ) -> list[Figure]:
        """Draw into ``folder`` what there are runs for.

        Parameters
        ----------
        left_out : of results that are kept with the page: takes a line for each figure that needs a
            table or a column that is not kept. None elsewhere: a column that is not there is a mistake.
        """
        return [
            figure
            for one in self.registered
            for figure in _as_far_as_runs_go(
                self.drawn(one, results, folder), f"figure {one.name}", left_out
            )
        ]

    def drawn(
        self,
        figure: Registered,
        results: Results,
        folder: Path,
        note: Callable[[], str] = str,
        options: str = "",
    ) -> Iterator[Figure]:
        """Draw one figure into ``folder``.

        Parameters
        ----------
        note : says, when its runs were read, by what it differs from the page's figure: a clause for the title, and after a
            semicolon more for its caption and above the picture; empty: by nothing.
        options : of the command that draws it, behind the page and the scale.
        """
        noting = results.noting()
        drawn = figure.draw(noting, **figure.options)
        film = None
        if drawn.film is not None:
            film = folder / f"{figure.name}_replay.html"
            drawn.film(film)
        title, caption = (text.format(**drawn.words) for text in (figure.title, figure.caption))
        if told := note():
            title, caption = f"{title} ({told.partition(';')[0]})", f"{told}. {caption}"
            if drawn.drawing is not None:
                across = int(LETTERS_PER_INCH * drawn.drawing.get_figwidth())
                drawn.drawing.suptitle(textwrap.fill(told, across), parse_math=False)
        saved = save_figure(
            folder,
            figure.name,
            title,
            caption,
            drawn.drawing,
            drawn.data,
            command=f"schedlab reproduce {self.paper.name} --scale {results.scale or 'quick'}{options}",
            seeds=noting.seeds_read,
        )
        yield dataclasses.replace(saved, replay=film)


def _as_far_as_runs_go(items: Iterable[T], name: str, left_out: list[str] | None) -> Iterator[T]:
    """The items before the first that needs what is not there."""
    try:
        yield from items
    except (NotKept, KeyError) as lost:
        if left_out is None:
            raise
        left_out.append(f"{name}: {lost.args[0]}")
    except NoRuns:
        return
