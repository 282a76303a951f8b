"""The hierarchical paper, ANDREAS and the thesis: every figure is drawn, every claim judged.

From a few real runs (see `toy`); some figures of a page are painted, all of them in the slow test. The list of published results of all five papers is held complete
against the folder of facts.
"""

import csv
import functools
import os
import tomllib
from pathlib import Path

import pytest

from experiments import papers
from experiments.papers.registry import chosen_papers, load
from experiments.report.published import FILE
from tests.papers.listed import listed
from tests.papers.toy import reproduce
from tests.pictures.some import painted

ROOT = Path(__file__).parents[2]
FACTS = Path(os.environ.get("SCHEDLAB_FACTS", "nowhere"))
PAGES = {paper.name: load(paper) for paper in chosen_papers([])}
SHORTER = {
    "hierarchical": ("LITERAL_LIMIT_S", {"quick": 0.2, "paper": 0.2}),
    "andreas": ("ARMIDA_SEEDS", {"quick": 4}),
}
"""Constants of the runs of a page."""


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """Figures and claims of a paper, of whose figures some are painted."""

    @functools.cache
    def toy(name, *names):
        with pytest.MonkeyPatch.context() as patch, painted(*names):
            if name in SHORTER:
                constant, value = SHORTER[name]
                patch.setattr(f"experiments.papers.{name}.runs.{constant}", value)
            return reproduce(PAGES[name], tmp_path_factory.mktemp(name))

    return toy


PAINTED = {"hierarchical": "figure_2", "andreas": "figure_4", "thesis": "figure_4_3"}
"""The figure of each paper that is looked at."""
AT_PAPER_SCALE = {"figure_4_events"}
"""Figures whose runs the quick scale does not have."""
GREEDY = [name for name in PAINTED if name in PAGES]


@pytest.mark.slow
@pytest.mark.parametrize("paper", GREEDY)
def test_every_figure_is_painted(toys, paper):
    """And legible (tests/conftest.py)."""
    figures, _ = toys(paper, *(figure.name for figure in PAGES[paper].registered))
    assert all(figure.png.stat().st_size > 5000 for figure in figures)


@pytest.mark.long
@pytest.mark.parametrize("paper", GREEDY)
def test_every_figure_is_drawn_and_every_claim_judged(toys, paper):
    figures, claims = toys(paper, PAINTED[paper])
    registered = {one.name for one in PAGES[paper].registered}
    assert registered - {figure.name for figure in figures} <= AT_PAPER_SCALE
    for figure in figures:
        assert figure.png.exists() == (figure.name == PAINTED[paper])
        assert len(figure.csv.read_text().splitlines()) > 1
    assert len({(c.place, c.claim) for c in claims}) == len(claims)
    for claim in claims:
        assert claim.ours is not None
        assert claim.verdict == "reproduced" or claim.verdict == "new" or claim.why, claim


@pytest.mark.long
@pytest.mark.parametrize("name", GREEDY)
def test_every_published_number_has_a_row(toys, name):
    """At the quick scale; some have theirs at paper scale alone."""
    wanted = {key for key, number in PAGES[name].numbers.items() if not number.paper_scale}
    assert {claim.published for claim in toys(name, PAINTED[name])[1]} - {""} == wanted


LISTED = {
    "hierarchical": "Hierarchical2020", "andreas": "ANDREAS2021", "thesis": "KirosThesis",
    "rental": "GPURental2024", "synergy": "Synergy2022",
}  # fmt: skip
"""Names of the papers in the list of published results."""


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_every_proof_is_a_figure_a_kind_of_run_or_a_file(name):
    paper = PAGES[name]
    kinds = {task.function.rpartition(":")[2] for task in listed(paper.tasks, "paper")}
    figures = {figure.name for figure in paper.registered}
    for proof in {number.proof for number in paper.numbers.values()} - {""}:
        assert proof in kinds | figures or (ROOT / proof).is_file(), proof


@pytest.mark.skipif(not FACTS.is_dir(), reason="set SCHEDLAB_FACTS to the folder of facts")
@pytest.mark.parametrize("name", PAGES)
def test_every_published_result_is_a_number_or_a_setting(name):
    paper = PAGES[name]
    about = tomllib.loads((Path(papers.__file__).parent / name / FILE).read_text())["paper"]
    with open(FACTS / "claims.csv", newline="", encoding="utf-8") as lines:
        rows = [r for r in csv.DictReader(lines) if r["paper"] == LISTED[name]]
    listed = {(r["section_figure"], r["quantity"]) for r in rows}
    settings = {
        (place, quantity)
        for place, quantity in listed
        if place in about.get("setting_places", ()) or quantity in about["settings"]
    }
    assert set(about["settings"]) <= {quantity for _, quantity in settings}
    assert listed - settings == {fact for n in paper.numbers.values() for fact in n.facts}
