"""The rows: equality with published results, and distances where a search or a rule differs."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.report.contents import Claim
from experiments.studies.goodput.measured import measured
from experiments.studies.goodput.page import PAGE
from experiments.sweep.results import Results

PLACES = {
    "pollux": "Pollux, OSDI 2021: eight workloads of 160 jobs, load 1.0",
    "elasticflow": "ElasticFlow, ASPLOS 2023: Figure 10, 100 jobs",
}
WHY = {
    ("pollux", "tiresias"): "",
    ("pollux", "optimus"): "",
    ("pollux", "pollux"): "another search: dynamic programming in place of a genetic algorithm",
    ("elasticflow", "edf-elastic"): "",
    (
        "elasticflow",
        "tiresias",
    ): "decisions at changes of queues, and one instant at which all jobs lost 27 s, are not modelled",
}


@PAGE.rows
def against_published(results: Results) -> Iterator[Claim]:
    """Jobs equal, and the mean's distance."""
    for (source, policy), why in WHY.items():
        table = measured().query("source == @source and policy == @policy")
        ours, published = table["ours_s"], table["published_s"]
        equal = int(((ours - published).abs() < 2e-3).sum())
        what = f"{policy}: completion times equal, of {len(table):,}"
        yield PAGE.new(PLACES[source], what, equal, why=why)
        change = 100 * float(ours.mean() / published.mean() - 1)
        yield PAGE.new(
            PLACES[source],
            f"{policy}: mean completion time over the published one",
            change,
            "%",
            why,
        )
