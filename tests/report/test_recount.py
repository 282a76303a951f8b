"""The strict recount of claims.csv and readings.csv finds each kind of violation, and none in the committed files."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from recount import differing, numbers, read, recount, wrong

from experiments.papers.registry import chosen_papers, load
from experiments.papers.registry import papers as all_papers
from experiments.report.site import Page, read_pages, write_claims
from simulator.statistics import Estimate, student

NAMES = {paper.name for paper in chosen_papers([])}
COMMITTED = Path(__file__).parents[2] / "results" / "paper"
PAGES = {paper.name: load(paper) for paper in chosen_papers([])}


def page(name):
    """A page; where its family was taken out, the test is skipped."""
    return PAGES[name] if name in PAGES else pytest.skip(f"{name} was taken out")


def around(mean, half):
    return Estimate(mean, mean - half, mean + half, 10)


def sound():
    """Rows of each verdict and class, as the report makes them."""
    law = {"law": "due dates"}
    for rule, mean, other in (("FIFO", 60, 80), ("EDF", 55, 60), ("PS", 62, 80)):
        yield page("hierarchical").row(
            "saving-abstract", around(other, 2), "late jobs", method=rule, **law
        )
        yield page("hierarchical").row(
            "saving-abstract", around(mean, 2), method=rule, law="another law"
        )
    yield page("hierarchical").row("over-central", around(-20, 2), "times", law="all N")
    yield page("hierarchical").row("over-central", around(4, 2), "other times", law="other times")
    yield page("hierarchical").row(
        "response-time", 48.648, labels=["textbook"], exact="it is worked out", how="formula"
    )
    yield page("hierarchical").row("mu", around(2, 1), "leases", mu=1)
    yield page("hierarchical").row("mu", around(0, 0), mu=1000)
    yield page("thesis").row("gain.rg-over-edf", around(95.6, 0.3), law="a law")
    yield page("thesis").row("gain.greedy-over-edf", around(80, 4), "EDF is not late", law="a law")
    yield page("thesis").row("gain.rg-by-gap", student([9.0]), "one trace", law="a law")
    forbidden = ("against the text",)  # it gives the number, and does not count
    yield page("thesis").row(
        "gain.rg-by-gap", around(9.5, 0.1), labels=forbidden, law="a forbidden law"
    )
    yield page("thesis").row("same-cost", around(1.15, 0.01), "it does not", law="a law")
    yield page("thesis").row(
        "call-time.greedy", around(0.1, 0.01), "C++", method="greedy", size=1, jobs=10
    )
    yield page("rental").row("budget", around(5.01, 0.02))
    yield page("rental").row("stability", 0.8, exact="worked out, not simulated")
    yield page("rental").row("below", 0.0, exact="a count of runs", runs=9)
    yield page("synergy").row(
        "within-10", around(15, 2), "it sorts", ordering="FIFO", jobs="", load=8, draw=""
    )
    yield page("synergy").row(
        "splits.tune", around(0.8, 0.1), "unknown", panel="a", split="", load=5, draw=""
    )
    yield page("synergy").row(
        "released.makespan.tune", 11.0, exact="one run", what="", mechanism=""
    )
    yield page("synergy").new("Figure 1", "ours", around(3, 1), "x")


def written(claims, folder):
    """Rows of the two files that the report writes of these claims."""
    claims = list(claims)
    of = {name: [row for row in claims if row.paper == name] for name in NAMES}
    write_claims(folder, [Page(paper, [], of[paper.name]) for paper in chosen_papers([])])
    return read(folder / "claims.csv"), read(folder / "readings.csv")


def recounted(claims, tmp_path):
    return wrong(written(claims, tmp_path)[1], numbers())


def test_sound_rows_pass(tmp_path):
    claims, readings = written(sound(), tmp_path)
    assert wrong(readings, numbers()) == []
    assert len({row["verdict"] for row in readings}) == 6
    # Undetermined: over-central. Excluded: mu, same-cost. Open: greedy-over-edf, rg-by-gap, within-10, splits.tune.
    counts = {"reproduced": 3, "undetermined": 1, "excluded": 2, "open": 4, "not comparable": 1}
    assert Counter(row["class"] for row in claims) == counts
    assert differing(claims, readings, numbers()) == []
    assert all(row["meaning"] for row in claims)
    assert all(row["reason"] for row in claims if row["class"] != "reproduced")


@pytest.mark.parametrize(
    ("published", "changes", "outcome"),
    [
        # One part of a reading that misses takes the reading with it.
        ("saving-abstract", {"verdict": "partly", "why": "?"}, "open"),
        ("over-central", {"ours": 4.0, "ci_low": 2.0, "ci_high": 6.0}, "open"),
        ("mu", {"verdict": "inconclusive", "why": "?"}, "open"),
        ("same-cost", {"verdict": "inconclusive"}, "open"),
        ("same-cost", {"verdict": "reproduced", "why": ""}, "reproduced"),
        ("response-time", {"verdict": "not comparable", "why": "?"}, "not comparable"),
        ("response-time", {"labels": ("variant",)}, "reproduced"),
    ],
)
def test_the_class_follows_the_rows(tmp_path, published, changes, outcome):
    claims = [replace(c, **changes) if c.published == published else c for c in sound()]
    told, readings = written((c for c in claims if c.published == published), tmp_path)
    assert [row["class"] for row in told] == [outcome]
    assert differing(told, readings, numbers()) == []


def test_a_reading_that_lacks_a_part_does_not_count(tmp_path):
    """Of FIFO, EDF and PS only FIFO under a third law."""
    alone = page("hierarchical").row(
        "saving-abstract", around(60, 2), method="FIFO", law="a third law"
    )
    rows = [c for c in sound() if c.published == "saving-abstract" and "another" not in c.claim]
    told, readings = written([*rows, alone], tmp_path)
    assert [row["class"] for row in told] == ["open"]
    assert differing(told, readings, numbers()) == []


@pytest.mark.parametrize(("first", "second"), [("far", "near"), ("near", "far")])
def test_of_equal_verdicts_the_nearest_is_shown(tmp_path, first, second):
    """For "approximated to 2" 1.56 is nearer than 3.29; of FIFO, EDF and PS the farthest counts."""
    ours = {"near": around(1.56, 0.05), "far": around(3.29, 0.05)}
    rows = [
        page("hierarchical").row("requests", ours[how], "?", system=how, num_nodes=100)
        for how in (first, second)
    ]
    laws = {"near": (45, 40, 47), "far": (44, 49, 30)}
    rows += [
        page("hierarchical").row("saving-abstract", around(mean, 0.1), "?", method=method, law=law)
        for law in (first, second)
        for method, mean in zip(("FIFO", "EDF", "PS"), laws[law], strict=True)
    ]
    told, readings = written(rows, tmp_path)
    assert {row["number"]: row["ours"] for row in told} == {
        "requests": "1.56",
        "saving-abstract": "40",
    }
    assert differing(told, readings, numbers()) == []


@pytest.mark.parametrize(
    ("published", "changes", "kind"),
    [
        ("gain.rg-over-edf", {"ci_high": 98.2}, "reproduced is inconclusive"),
        ("over-central", {"verdict": "partly"}, "partly is not reproduced"),
        ("gain.greedy-over-edf", {"verdict": "partly"}, "partly is not reproduced"),
        ("gain.rg-over-edf", {"ci_low": 79.6}, "reproduced is inconclusive"),
        ("gain.rg-by-gap", {"verdict": "reproduced", "why": ""}, "no interval and no reason"),
        ("same-cost", {"verdict": "partly"}, "partly is not"),
        ("budget", {"ci_high": 4.99}, "reproduced is not reproduced"),
        ("stability", {"labels": ()}, "tautology without a label"),
        ("response-time", {"labels": ()}, "tautology without a label"),
        ("below", {"why": ""}, "no interval and no reason"),
        ("below", {"ours": 1.0}, "reproduced is not reproduced"),
        ("within-10", {"ci_high": 21.0}, "partly is inconclusive"),
        ("splits.tune", {"verdict": "partly"}, "partly is not reproduced"),
        ("splits.tune", {"published": ""}, "no entry in published.toml"),
        ("budget", {"proof": "run_pool"}, "proof of nothing"),
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
    (budget,) = (claim for claim in claims if claim.published == "budget")
    again = replace(budget, published="stability", claim="the same in other words")
    assert "counted twice: ['budget', 'stability']" in recounted([*claims, again], tmp_path)


def test_a_class_that_the_readings_do_not_give_is_found(tmp_path):
    claims, readings = written(sound(), tmp_path)
    claims[0]["class"] = "open" if claims[0]["class"] != "open" else "reproduced"
    claims[1]["reading"] = "another"
    assert len(differing(claims, readings, numbers())) == 2
    assert len(differing(claims[3:], readings, numbers())) == 3


def test_the_committed_files_pass(tmp_path):
    """The classes of the two files, counted by arithmetic of its own; they are those of the pages as they are kept."""
    of = numbers()
    claims, readings = (read(COMMITTED / name) for name in ("claims.csv", "readings.csv"))
    assert {row["paper"] for row in readings} >= NAMES
    assert wrong(readings, of) == []
    assert differing(claims, readings, of) == []
    assert recount(readings, of)
    write_claims(tmp_path, read_pages(COMMITTED, all_papers()))
    there = {paper.name for paper in all_papers()}
    for name in ("claims.csv", "readings.csv"):
        kept = [row for row in read(COMMITTED / name) if row["paper"] in there]
        assert read(tmp_path / name) == kept
