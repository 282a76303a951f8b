"""The rows: equality with published results, and distances where a solver decides."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.report.contents import Claim
from experiments.studies.shares.figures import pairs
from experiments.studies.shares.measured import OURS
from experiments.studies.shares.notebooks import POLICIES, notebooks
from experiments.studies.shares.page import PAGE
from experiments.sweep.results import Results

PLACE = "Shockwave, NSDI 2023: 120 jobs on 32 V100 GPUs"
WHY = {
    "gandiva_fair": "no program is solved; also all 270 rounds are the published ones",
    "max_min_fairness": "the solver's noise breaks ties; with HiGHS in place of ECOS the released program changes by -0.1 %",
    "min_total_duration": "the optimum is not unique; with HiGHS in place of ECOS the released program changes by +6.1 %",
    "finish_time_fairness": "released rules; the optimum is not unique",
    "allox": "released rules, which agree in 254 of 271 rounds",
    "shockwave": "released rules, but for the gap and the order of rounds in a window; the published runs span 2.8 % in makespan",
}


@PAGE.rows
def against_published(results: Results) -> Iterator[Claim]:
    """Jobs equal, and the mean's distance."""
    for policy, own in OURS.items():
        both = pairs(policy)
        equal = int(((both["ours"] - both["simulation"]).abs() < 1e-5).sum())
        change = float(both["ours"].mean() / both["simulation"].mean() - 1) * 100
        yield PAGE.new(
            PLACE, f"{own}: completion times equal to 1e-5 s, of 120", equal, why=WHY[policy]
        )
        yield PAGE.new(
            PLACE, f"{own}: mean completion time over the published one", change, "%", WHY[policy]
        )
        ends_s = both[["ours", "simulation"]].add(both["submit_s"], axis=0).max()
        change = float(ends_s["ours"] / ends_s["simulation"] - 1) * 100
        yield PAGE.new(PLACE, f"{own}: makespan over the published one", change, "%", WHY[policy])


SPREAD = {"mean completion time": 6.1, "makespan": -2.6}
"""Largest changes of the released program with HiGHS in place of ECOS, of three policies, in %; measured with that program,
which is no part of schedlab."""


@PAGE.rows
def spread_of_solvers(results: Results) -> Iterator[Claim]:
    """Changes of the released program with another solver, beside which our distances stand."""
    for measure, change in SPREAD.items():
        text = f"released program, HiGHS in place of ECOS: largest change of the {measure}, of three policies"
        yield PAGE.new(PLACE, text, change, "%", "the optimum is not unique; the program ran apart")


NOTEBOOK = "Gavel, OSDI 2020: random jobs on 36 V100, 36 P100 and 36 K80 GPUs"


@PAGE.rows
def against_notebook(results: Results) -> Iterator[Claim]:
    """Means by rate, over those printed in the notebook."""
    for policy, rate, ours_h, printed_h in notebooks().itertuples(index=False):
        text = f"{POLICIES[policy][0]} ({policy}): mean completion time at {rate:g} jobs/h"
        change = (ours_h / printed_h - 1) * 100
        yield PAGE.new(
            NOTEBOOK, f"{text}, over the printed one", change, "%", "the same jobs, drawn again"
        )
