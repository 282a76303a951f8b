"""The rows: equality with published results, and distances where a search or a rule differs."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.report.contents import Claim
from experiments.studies.goodput.measured import WORKLOADS, measured, periods
from experiments.studies.goodput.mixed import savings
from experiments.studies.goodput.page import PAGE
from experiments.sweep.results import Results
from simulator.statistics import Estimate

PLACES = {
    "pollux": "Pollux, OSDI 2021: eight workloads of 160 jobs, load 1.0",
    "elasticflow": "ElasticFlow, ASPLOS 2023: Figure 10, 100 jobs",
}
WHY = {
    ("pollux", "tiresias"): "",
    ("pollux", "optimus"): "",
    (
        "pollux",
        "pollux",
    ): "another estimate of times: the next rows have that of the released program",
    (
        "pollux",
        "pollux (released)",
    ): "another search: dynamic programming in place of a genetic algorithm",
    ("elasticflow", "edf-elastic"): "",
    (
        "elasticflow",
        "tiresias",
    ): "decisions at changes of queues, and one instant at which all jobs lost 27 s, are not modelled",
}

OTHER_JOBS = (
    "other workloads (Pollux's, in place of three traces), and the times on two of the three types are Pollux's T4 "
    "times divided by one speed for each application"
)


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


@PAGE.rows
def sia_saves(results: Results) -> Iterator[Claim]:
    """Savings of Sia with its paper's rules over each rival, against the ranges of its abstract."""
    for rival, measure, mine in savings("sia"):
        yield PAGE.row(f"sia-saves.{measure}", mine, OTHER_JOBS, rival=rival)


@PAGE.rows
def by_period(results: Results) -> Iterator[Claim]:
    """Pollux's mean over the published one, by the period of its decisions."""
    for _, row in periods().iterrows():
        low, high = 100 * float(row["low"]), 100 * float(row["high"])
        yield PAGE.new(
            PLACES["pollux"],
            f"{row['policy']}, decisions every {row['period_s']:g} s: mean completion time over the published one",
            Estimate((low + high) / 2, low, high, len(WORKLOADS)),
            "%",
            "" if low <= 0 <= high else WHY["pollux", str(row["policy"])],
        )
