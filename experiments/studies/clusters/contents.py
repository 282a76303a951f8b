"""Contents of the page: a picture and an answer for each question, and rows of published numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from experiments.comparison.answer import words_of
from experiments.comparison.pictures import pictures_of
from experiments.pages import Claim, Drawn, NoRuns, Results, Text
from experiments.pictures.plots import PAPER
from experiments.studies.clusters.questions import PAGE, Question, questions

SAVES = Path(__file__).with_name("sia.csv")
"""Per cent that Sia saves on Pollux's workloads; `python -m benchmarks.mixed_gpus` writes it."""


def _figure(results: Results, question: Question) -> Drawn:
    found = question.found(results)
    ((_, drawing),) = pictures_of(found, question.words)
    drawing.suptitle(question.title)
    if question.mark is not None:
        for ax in drawing.axes:
            ax.axvline(question.mark, color=PAPER, linestyle="--", linewidth=1.0)
    means = found.table[found.table["minus"] == ""].drop(columns="minus")
    draws = {"draws": int(means["replications"].max())}
    return Drawn(drawing, means[means["metric"].isin(question.metrics)], draws)


BARS = " Bars are intervals of 95 % over {draws} draws of the jobs, which all policies share."
for _one in questions():
    PAGE.figure(_one.name, _one.title, _one.caption + BARS, question=_one)(_figure)


@PAGE.text
def answers(results: Results) -> Iterator[Text]:
    """The answer of each question in words, as the command gives it."""
    for question in questions():
        try:
            lines = words_of(question.found(results))
        except NoRuns:
            continue
        yield Text("What came out", question.command, tuple(lines), question.name)


@PAGE.rows
def promises(results: Results) -> Iterator[Claim]:
    """Due dates that ElasticFlow promised and that were missed."""
    runs = results.runs(question="promises", policy="elasticflow")
    missed, promised = (int(runs[name].sum()) for name in ("broken_promises", "promised_jobs"))
    yield PAGE.row(
        "promises", float(missed), "a plan that fails", exact="a count", promised=f"{promised:,}"
    )


@PAGE.rows
def savings(results: Results) -> Iterator[Claim]:
    """Savings of Sia over each rival, against the ranges of its abstract."""
    yield from PAGE.rows_of(SAVES)
