"""The hierarchical paper, ANDREAS and the thesis: every figure is drawn, every claim judged.

From a few real runs (see `toy`); the list of published results is held complete against the folder
of facts.
"""

import csv
import os
from pathlib import Path

import pytest

from experiments.papers import andreas, hierarchical, thesis
from experiments.papers.andreas import runs as andreas_runs
from experiments.papers.hierarchical import runs as hierarchical_runs
from tests.papers.toy import reproduce

FACTS = Path(os.environ.get("SCHEDLAB_FACTS", "nowhere"))


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """Figures and claims of the three papers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hierarchical_runs, "LITERAL_LIMIT_S", {"quick": 0.5, "paper": 0.5})
        patch.setattr(andreas_runs, "ARMIDA_SEEDS", {"quick": 4})
        made = {}
        for experiment in (hierarchical, andreas, thesis):
            name = experiment.__name__.rpartition(".")[2]
            made[name] = reproduce(experiment, tmp_path_factory.mktemp(name))
        return made


FIGURES = {
    "hierarchical": {"figure_2", "figure_3", "savings", "variants", "servers_needed"},
    "andreas": {"figure_2", "figure_3", "savings", "floor", "gaps", "figure_4", "figure_5"},
    "thesis": {
        "figure_4_2", "figure_4_3", "figure_4_4", "figure_4_5", "figure_4_6", "proxies", "decisions",
    },
}  # fmt: skip


@pytest.mark.parametrize("paper", FIGURES)
def test_every_figure_is_drawn_and_every_claim_judged(toys, paper):
    figures, claims = toys[paper]
    assert FIGURES[paper] <= {figure.name for figure in figures}
    for figure in figures:
        assert figure.png.stat().st_size > 5000
        assert len(figure.csv.read_text().splitlines()) > 1
    assert len({(c.place, c.claim) for c in claims}) == len(claims)
    for claim in claims:
        assert claim.ours is not None
        assert claim.verdict == "reproduced" or claim.verdict == "new" or claim.why, claim


# Published results, (place, quantity) in claims.csv, and words of the row that holds ours to it.
# What is a setting (due dates, prices, periods, jobs) has no row.
ROWS = {
    "Hierarchical2020": {
        ("Abstract/I", "cost saving vs first-principle methods"): "saving over FIFO",
        ("VI", "cost saving vs first-principle methods"): "saving over first-principle methods",
        ("Abstract", "time per instance solve, up to 100 nodes"): "< 60",
        ("V-B/Fig2", "average local MILP solve time"): "about 40",
        ("V-B/Fig2", "variables in local MILP"): "variables of a controller's model",
        ("V-B", "variables in centralized model at 40 nodes"): "variables of the central model",
        (
            "V-B/Fig3",
            "hierarchical vs centralized cost",
        ): "hierarchical over the central 2019 model",
        ("III", "centralized method limit"): "central model ends at 40 nodes",
        ("V-B", "M/G/1 response time of one optimisation server"): "optimization server, formula",
        ("V-B", "optimisation servers needed"): "servers needed at 100 nodes",
        ("V", "prototype deviation expected vs real cost"): "deviation of expected from real cost",
        ("III", "execution-time prediction error"): "prediction error of execution times",
        ("V", "campaign run time"): "time of the campaign",
    },
    "ANDREAS2021": {
        ("Abstract", "cost reduction vs first-principle"): "mean of both scenarios",
        ("V-B scen.1", "total cost reduction"): "mixed arrivals, rates of the STS branch",
        ("V-B scen.2", "total cost reduction"): "mixed arrivals, rates of the main branch",
        ("V-B", "optimizer time per call scen.1"): "< 0.1",
        ("V-B", "optimizer time per call scen.2"): "< 0.01",
        ("Table III", "real energy cost"): "real energy cost",
        ("Table III", "predicted energy cost"): "predicted energy cost",
        ("Table III", "deviation"): "deviation of the predicted cost",
        ("Table III", "average deviation per optimizer call"): "energy of an optimizer call",
        ("Abstract", "worst-case deviation"): "worst case",
        ("V-C", "due date violations"): "miss their due date",
        ("Fig4", "J6 shares armida-06 with J10; J2 preempts J7 on armida-07"): "J2 displaces J7",
    },
    "KirosThesis": {
        ("4.3.3/Fig4.3", "RG gain vs EDF"): "gain of RG over EDF",
        ("4.3.3/Fig4.3", "pure Greedy gain vs EDF"): "gain of the greedy over EDF",
        ("4.3.3", "RG gain over Greedy"): "gain of RG over the greedy, by gap",
        ("4.3.4/Fig4.4", "RG gain over Greedy"): "gain of RG over the greedy, 30,000 s",
        ("4.3.5/Fig4.6", "hierarchical RG gain vs centralized"): "gain of the hierarchical RG",
        ("4.4", "time per call Greedy/RG/LS"): "time of a call, local-search",
        ("4.4", "monolithic model time at 40 nodes"): "time of the central model",
        ("4.4", "hierarchical model average time"): "time of the model of one controller",
        ("4.4", "RG speed vs hierarchical"): "hierarchical model RG is",
        ("4.4", "Greedy speed vs hierarchical (homogeneous data centre)"): "the greedy is",
        ("4.4", "RG promising up to"): "nodes up to which RG decides",
        ("4.1", "execution-time model error"): "error of the execution-time model",
        ("4.3.2", "Hierarchical vs RG total cost"): "over that of the hierarchical model",
    },
}
SETTINGS = {
    "inter-arrival mean", "N range", "H", "due date", "tardiness weight", "rho", "mu", "MIP gap",
    "example VM costs", "MaxIt_RG", "arrivals", "energy price", "PUE", "inter-arrival",
    "optimizer period", "job traces x RG seeds",
}  # fmt: skip
SETTING_PLACES = {"Table II", "Table V"}
PAPERS = {"Hierarchical2020": "hierarchical", "ANDREAS2021": "andreas", "KirosThesis": "thesis"}


@pytest.mark.parametrize("paper", ROWS)
def test_the_rows_that_are_named_exist(toys, paper):
    said = [f"{c.claim} {c.paper_value}" for c in toys[PAPERS[paper]][1]]
    for words in ROWS[paper].values():
        assert any(words in claim for claim in said), words


@pytest.mark.skipif(not FACTS.is_dir(), reason="set SCHEDLAB_FACTS to the folder of facts")
@pytest.mark.parametrize("paper", ROWS)
def test_every_published_result_has_a_row(paper):
    with open(FACTS / "claims.csv", newline="", encoding="utf-8") as lines:
        published = [r for r in csv.DictReader(lines) if r["paper"] == paper]
    results = {
        (r["section_figure"], r["quantity"])
        for r in published
        if r["section_figure"] not in SETTING_PLACES and r["quantity"] not in SETTINGS
    }
    assert results == set(ROWS[paper])
