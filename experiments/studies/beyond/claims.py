"""Closed forms and published figures beside what came out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.contents import Claim
from experiments.report.verdict import amount, at_most, judged
from experiments.studies.beyond.figures import RELEASED_AT_100, goodput
from experiments.studies.beyond.figures_admission import on_time
from experiments.studies.beyond.figures_guessed import over_exact
from experiments.studies.beyond.page import PAGE
from experiments.studies.beyond.runs import (
    AUCTION,
    BLIND,
    COST_S,
    FACTORS,
    GUESSED_BY,
    PAIR_LOADS,
    TENANT_POLICIES,
    UP_S,
    WIDTH_LOADS,
)
from policies.fractional_gpus.packing_experiment import RULES
from simulator.statistics import Estimate, student
from simulator.theory.reliability import daly_interval_s

if TYPE_CHECKING:
    import pandas as pd

    from experiments.sweep.results import Results

PAPER = "beyond"
PATIENT_S = 3600.0
FREE_OF_BIDS = "finish-time-fair"
"""Themis's rule without its auction."""

POINTS = 1.0
"""Percentage points within which the pods of the marginals must meet the trace's own figure."""
MARGINALS = (
    "pods here are drawn from the trace's marginals; with its own files the rule agrees within "
    "0.5 points (docs/clusters.md)"
)


@PAGE.rows
def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    return [
        *_saving(results),
        *_spot(results),
        *_filling(results),
        *_tenants(results),
        *_waiting(results),
        *_promises(results),
        *_widths(results),
        *_pairs(results),
        *_guessed(results),
    ]


def _saving(results: Results) -> list[Claim]:
    """Number of settings that agree with the closed form, at a level raised for all of them together."""
    runs = results.where("run_scenario", study="saving").scalars()
    if runs.empty:
        return []
    groups = list(runs.groupby(["up_s", "interval_s"]))
    level = 1 - 0.05 / len(groups)
    inside, worst = 0, ""
    for _, part in groups:
        up_s, interval_s = (float(part[name].iloc[0]) for name in ("up_s", "interval_s"))
        estimate = student(part["goodput"].to_numpy(dtype=float), level)
        exact = goodput(interval_s, up_s)
        if estimate.contains(exact):
            inside += 1
        else:
            worst = f"outside at {up_s:g} s, {interval_s:g} s: {estimate} against {exact:.4g}"
    best = ", ".join(f"{daly_interval_s(COST_S, up):.0f} s" for up in UP_S)
    return [
        judged(
            PAPER,
            "Daly 2006",
            f"goodput of a job that saves its work: settings of {len(groups)} inside their intervals "
            f"(Daly's intervals: {best})",
            amount(len(groups), margin=0.0),
            float(inside),
            why=worst,
        )
    ]


def _spot(results: Results) -> list[Claim]:
    runs = results.where("run_scenario", study="spot").scalars()
    if runs.empty:
        return []
    made = []
    wide = runs[(runs["notice_s"] > 0) & (runs["nodes"] == runs["nodes"].max())]
    none = runs[(runs["notice_s"] > 0) & (runs["nodes"] == 0)]
    pairs = wide.merge(none, on="seed", suffixes=("", "_none"))
    for column, text in (
        ("leasing_cost", "leasing cost with spot VMs alone, against none"),
        ("mean_jct_s", "mean completion time with spot VMs alone, against none"),
    ):
        ratio = np.log(pairs[column] / pairs[f"{column}_none"]).to_numpy(dtype=float)
        estimate = student(ratio)
        percent = [100 * (float(np.exp(v)) - 1) for v in
                   (estimate.mean, estimate.lower, estimate.upper)]  # fmt: skip
        made.append(
            Claim(PAPER, "", text, None, percent[0], percent[1], percent[2], "%", "new",
                  "30 % of the price, taken away every 4 h, back after 1 h, 120 s of notice")
        )  # fmt: skip
    return made


def _against(
    runs: pd.DataFrame, column: str, one: float | str, other: float | str, by: str
) -> Estimate:
    """Change of a mean in percent, of ``one`` against ``other``, each seed with itself."""
    values = [runs[runs[by] == name].set_index("seed")[column] for name in (one, other)]
    both = 100 * (values[0] / values[1] - 1)
    return student(both.dropna().to_numpy(dtype=float))  # seeds that both have


def _tenants(results: Results) -> list[Claim]:
    """Envy of the policies between tenants, over that first come first served."""
    runs = results.where("run_scenario", study="tenants").scalars()
    if runs.empty:
        return []
    made = []
    for policy in TENANT_POLICIES[1:]:
        both = [runs[runs["policy"] == name].set_index("seed")["envy_gpu_h"]
                for name in (TENANT_POLICIES[0], policy)]  # fmt: skip
        less = student((both[0] - both[1]).dropna().to_numpy(dtype=float))
        made.append(
            Claim(PAPER, "", f"GPU-hours of envy less than first come first served, {policy}", None,
                  less.mean, less.lower, less.upper, "GPU h", "new",
                  "three tenants of equal weight that submit 60, 30 and 10 % of the jobs")
        )  # fmt: skip
    for policy in (FREE_OF_BIDS, TENANT_POLICIES[1]):
        worse = _against(runs, "max_finish_time_fairness", AUCTION, policy, "policy")
        made.append(
            Claim(PAPER, "Themis, NSDI 2020", f"largest finish-time fairness of a job, {AUCTION} against {policy}",
                  None, worse.mean, worse.lower, worse.upper, "%", "new",
                  "less is fairer; three tenants, as above; the seeds of the auction")
        )  # fmt: skip
    return made


def _waiting(results: Results) -> list[Claim]:
    """Value of an hour's wait for a good place, by the published factor of a model."""
    runs = results.where("run_scenario", study="place").scalars()
    if runs.empty:
        return []
    made = []
    for model, factor in FACTORS.items():
        part = runs[runs["model"] == model]
        change = _against(part, "mean_jct_s", PATIENT_S, 0.0, "wait_s")
        made.append(
            Claim(PAPER, "", f"mean completion time with an hour's wait for a good place against none, {model}",
                  None, change.mean, change.lower, change.upper, "%", "new",
                  f"a job over nodes takes {factor:g} times as long, over racks 1.2 times more")
        )  # fmt: skip
    return made


def _promises(results: Results) -> list[Claim]:
    """Due dates that admission control promised and that were missed."""
    runs = results.where("run_scenario", study="admission").scalars()
    if runs.empty:
        return []
    kept = runs[runs["rule"] != "none"]
    promised, broken = int(kept["promised_jobs"].sum()), int(kept["broken_promises"].sum())
    if not promised:
        return []
    return [
        judged(
            PAPER,
            "ElasticFlow, ASPLOS 2023, Section 4.1",
            f"promised due dates that were missed, of {promised:,}",
            at_most(0.0, text="0"),
            float(broken),
            why="the test of admission for jobs of a fixed number of GPUs, and the policy that follows it",
        )
    ]


def _widths(results: Results) -> list[Claim]:
    """Promises of ElasticFlow that were missed, and jobs on time against those of a rival without its plan."""
    runs = results.where("run_scenario", study="widths").scalars()
    own = runs[runs["policy"] == "elasticflow"] if len(runs) else runs
    if own.empty or not own["promised_jobs"].sum():
        return []
    made = [
        judged(
            PAPER,
            "ElasticFlow, ASPLOS 2023, Section 4.1",
            f"jobs of any number of GPUs: due dates that elasticflow missed, of {int(own['promised_jobs'].sum()):,} promised",
            at_most(0.0, text="0"),
            float(own["broken_promises"].sum()),
            why="progressive filling, and the policy that follows its plan",
        )
    ]
    runs = on_time(runs)
    for rival in ("edf-shared", "greedy"):
        for load in (WIDTH_LOADS[0], WIDTH_LOADS[-1]):
            more = _against(runs[runs["load"] == load], "on_time", "elasticflow", rival, "policy")
            made.append(
                Claim(PAPER, "ElasticFlow, ASPLOS 2023: 46 to 665 %",
                      f"more jobs on time with elasticflow than with {rival}, load {load:g}",
                      None, more.mean, more.lower, more.upper, "%", "new",
                      "its jobs and rivals differ: there 128 GPUs, here 16 and calibrated speed-ups")
            )  # fmt: skip
    return made


def _pairs(results: Results) -> list[Claim]:
    """Energy saved by pairs of jobs on one GPU, each seed with itself; one line a load."""
    runs = results.where("run_scenario", study="pairs").scalars()
    if runs.empty:
        return []
    made = []
    for load in PAIR_LOADS:
        part = runs[runs["load"] == load]
        never = part[part["share"] == "never"].set_index("seed")["energy_kwh"]
        always = part[part["share"] == "always"].set_index("seed")["energy_kwh"]
        saved = student((100 * (1 - always / never.reindex(always.index))).to_numpy(dtype=float))
        made.append(
            Claim(
                PAPER,
                "successor of ANDREAS, 2024: 17 to 29 %",
                f"energy saved by sharing GPUs wherever a pair keeps half its speed, load {load:g}",
                None,
                saved.mean,
                saved.lower,
                saved.upper,
                "%",
                "new",
                "its jobs and times are not public; here pairs are as fast as Gavel measured them, nodes draw "
                "what ANDREAS measured, and a GPU draws as much for two jobs as for one",
            )
        )
    return made


def _guessed(results: Results) -> list[Claim]:
    """Cost of the largest error for each policy, each seed compared with itself."""
    runs = over_exact(results)
    if runs.empty:
        return []
    worst = float(runs["error"].max())
    made = []
    for policy in (name for name in GUESSED_BY if name != BLIND):
        part = runs[runs["policy"] == policy]
        seeds = [set(part.loc[part["error"] == error, "seed"]) for error in (worst, 0.0)]
        part = part[part["seed"].isin(seeds[0] & seeds[1])]  # a failed run leaves its seed out
        if part.empty:
            continue
        change = _against(part, "mean_jct_s", worst, 0.0, "error")
        made.append(
            Claim(PAPER, "", f"mean completion time of {policy}, two error factors of {worst:.0%} each, against exact times",
                  None, change.mean, change.lower, change.upper, "%", "new",
                  "a factor by job and one by configuration; all decide every 30 min")
        )  # fmt: skip
    return made


def _filling(results: Results) -> list[Claim]:
    table = results.where("run_filling").table("allocated")
    if table.empty:
        return []
    made = []
    for rule in RULES:
        at = table[(table["rule"] == rule) & (table["arrived_percent"] == 100)]
        estimate = student(at["allocated_percent"].to_numpy(dtype=float))
        published = RELEASED_AT_100[rule][0]
        row = judged(
            PAPER,
            "FGD, ATC 2023, released results",
            f"GPUs allocated when 100 % have been asked for, {rule}",
            amount(published, margin=POINTS / published),
            estimate,
            unit="%",
            why=MARGINALS,
        )
        made.append(replace(row, why=row.why or MARGINALS))
    return made
