"""The strict recount of claims.csv finds each kind of violation, and none in the committed table."""

from dataclasses import replace
from pathlib import Path

import pytest
from recount import PRESENT, numbers, outcomes, read, wrong

from experiments.papers.registry import chosen_papers, load
from experiments.report.site import printed_numbers, read_pages, write_claims
from simulator.statistics import Estimate, student

COMMITTED = Path(__file__).parents[2] / "results" / "paper"
HIERARCHICAL, THESIS, RENTAL, SYNERGY = (
    load(*chosen_papers([name])) for name in ("hierarchical", "thesis", "rental", "synergy")
)


def around(mean, half):
    return Estimate(mean, mean - half, mean + half, 10)


def sound():
    """One row of each kind and verdict, as the report makes it."""
    over_all = {"law": "due dates"}
    over = {"method": "FIFO", **over_all}
    yield HIERARCHICAL.row("saving-conclusions", around(60, 5), **over_all)
    yield HIERARCHICAL.row("saving-abstract", around(45, 2), "late jobs", **over)
    yield HIERARCHICAL.row("over-central", around(-20, 2), "times", law="all N")
    yield HIERARCHICAL.row(
        "response-time.formula", 48.648, exact="it is worked out, without chance"
    )
    yield THESIS.row("gain.rg-over-edf", around(95.6, 0.3), law="a law")
    yield THESIS.row("gain.greedy-over-edf", around(80, 4), "EDF is not late", law="a law")
    yield THESIS.row("gain.rg-by-gap", student([9.0]), "one trace", law="a law")
    yield THESIS.row("same-cost", around(1.01, 0.03), law="a law")
    yield THESIS.row("call-time.greedy", around(0.1, 0.01), "C++", method="greedy", size=1, jobs=10)
    yield RENTAL.row("budget", around(5.01, 0.02))
    yield RENTAL.row("stability", 0.8, exact="worked out, not simulated")
    yield RENTAL.row("below", 0.0, exact="a count of runs", runs=9)
    yield SYNERGY.row("within-10", around(15, 2), "it sorts", ordering="FIFO", jobs="", load=8)
    yield SYNERGY.row("splits.tune", around(0.8, 0.1), "unknown", panel="a", split="", load=5)
    yield SYNERGY.new("Figure 1", "ours", around(3, 1), "x")


def recounted(claims, tmp_path):
    write_claims(tmp_path, claims)
    return wrong(read(tmp_path / "claims.csv"), numbers())


def test_sound_rows_pass(tmp_path):
    claims = list(sound())
    assert recounted(claims, tmp_path) == []
    found = {claim.verdict for claim in claims}
    assert len(found) == 6
    rows = read(tmp_path / "claims.csv")
    assert set(rows[0]) >= PRESENT
    counts = {"reproduced": 5, "refuted with proof": 4, "open": 2, "not comparable": 1}
    assert outcomes(rows) == counts


@pytest.mark.parametrize(
    ("published", "changes", "kind"),
    [
        ("saving-conclusions", {"ci_high": 81.0}, "reproduced is partly"),
        ("saving-conclusions", {"ci_low": 20.0}, "reproduced is inconclusive"),
        ("over-central", {"verdict": "partly"}, "partly is not reproduced"),
        ("gain.greedy-over-edf", {"verdict": "partly"}, "partly is not reproduced"),
        ("gain.rg-over-edf", {"ci_low": 79.6}, "reproduced is inconclusive"),
        ("gain.rg-by-gap", {"verdict": "reproduced", "why": ""}, "no interval and no reason"),
        ("same-cost", {"ci_low": 1.2, "ci_high": 1.3, "verdict": "partly", "why": "?"}, "partly is not"),
        ("budget", {"ci_high": 4.99}, "reproduced is not reproduced"),
        ("stability", {"labels": ()}, "tautology without a label"),
        ("response-time.formula", {"labels": ()}, "tautology without a label"),
        ("below", {"why": ""}, "no interval and no reason"),
        ("below", {"ours": 1.0}, "reproduced is not reproduced"),
        ("within-10", {"ci_high": 21.0}, "partly is inconclusive"),
        ("splits.tune", {"verdict": "partly"}, "partly is not reproduced"),
        ("splits.tune", {"published": ""}, "no entry in published.toml"),
        ("saving-conclusions", {"proof": "variants"}, "proof of nothing"),
    ],
)  # fmt: skip
def test_each_violation_is_found(tmp_path, published, changes, kind):
    claims = [replace(c, **changes) if c.published == published else c for c in sound()]
    found = recounted(claims, tmp_path)
    assert found
    assert any(line.startswith(kind) for line in found), found


def test_what_is_counted_twice_is_found(tmp_path):
    claims = list(sound())
    assert recounted([*claims, claims[0]], tmp_path)[0].startswith("row twice")
    again = replace(claims[0], published="saving-abstract", claim="the same in other words")
    assert "counted twice: ['saving-abstract', 'saving-conclusions']" in recounted(
        [*claims, again], tmp_path
    )


def test_the_committed_table_passes():
    papers = chosen_papers([])
    names = {paper.name for paper in papers}
    rows = [row for row in read(COMMITTED / "claims.csv") if row["paper"] in names]
    assert {row["paper"] for row in rows} == names
    assert wrong(rows, numbers()) == []
    assert outcomes(rows) == printed_numbers(read_pages(COMMITTED, papers))
