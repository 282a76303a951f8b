"""Closed forms and published figures beside what came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.report.contents import Claim
from experiments.report.verdict import amount, at_most, judged
from experiments.studies.beyond.figures import RELEASED_AT_100, allocated, goodput
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
from experiments.studies.same_jobs import change_percent, paired
from policies.fractional_gpus.state import RULES
from simulator.statistics import Estimate, student
from simulator.theory.reliability import daly_interval_s

if TYPE_CHECKING:
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
ELASTICFLOW = "ElasticFlow, ASPLOS 2023, Section 4.1"


@PAGE.rows
def saving(results: Results) -> Iterator[Claim]:
    """Number of settings that agree with the closed form, at a level raised for all of them together."""
    groups = list(results.runs("run_scenario", study="saving").groupby(["up_s", "interval_s"]))
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
    yield judged(
        PAPER,
        "Daly 2006",
        f"goodput of a job that saves its work: settings of {len(groups)} inside their intervals "
        f"(Daly's intervals: {best})",
        amount(len(groups), margin=0.0),
        float(inside),
        why=worst,
    )


@PAGE.rows
def spot(results: Results) -> Iterator[Claim]:
    """Cost and completion time where all nodes are spot VMs, with notice."""
    runs = results.runs("run_scenario", study="spot")
    noticed = runs[runs["notice_s"] > 0]
    for column, text in (
        ("leasing_cost", "leasing cost with spot VMs alone, against none"),
        ("mean_jct_s", "mean completion time with spot VMs alone, against none"),
    ):
        ratio = paired(noticed, column, {"nodes": runs["nodes"].max()}, {"nodes": 0})
        mean, low, high = (100 * (v - 1) for v in (ratio.mean, ratio.lower, ratio.upper))
        why = "30 % of the price, taken away every 4 h, back after 1 h, 120 s of notice"
        yield PAGE.new("", text, Estimate(mean, low, high, ratio.n), "%", why)


@PAGE.rows
def filling(results: Results) -> Iterator[Claim]:
    """GPUs allocated when all have been asked for, by rule."""
    table = allocated(results)
    for rule in RULES:
        at = table[(table["rule"] == rule) & (table["arrived_percent"] == 100)]
        published = RELEASED_AT_100[rule][0]
        row = judged(
            PAPER,
            "FGD, ATC 2023, released results",
            f"GPUs allocated when 100 % have been asked for, {rule}",
            amount(published, margin=POINTS / published),
            student(at["allocated_percent"].to_numpy(dtype=float)),
            unit="%",
            why=MARGINALS,
        )
        yield replace(row, why=row.why or MARGINALS)


@PAGE.rows
def tenants(results: Results) -> Iterator[Claim]:
    """Envy of the policies between tenants, over that first come first served."""
    runs = results.runs("run_scenario", study="tenants")
    envy = runs.pivot(index="seed", columns="policy", values="envy_gpu_h")
    for policy in TENANT_POLICIES[1:]:
        less = (envy[TENANT_POLICIES[0]] - envy[policy]).dropna()
        yield PAGE.new(
            "", f"GPU-hours of envy less than first come first served, {policy}",
            student(less.to_numpy(dtype=float)), "GPU h",
            "three tenants of equal weight that submit 60, 30 and 10 % of the jobs",
        )  # fmt: skip
    for policy in (FREE_OF_BIDS, TENANT_POLICIES[1]):
        value = "max_finish_time_fairness"
        worse = change_percent(runs, value, {"policy": AUCTION}, {"policy": policy})
        yield PAGE.new(
            "Themis, NSDI 2020",
            f"largest finish-time fairness of a job, {AUCTION} against {policy}", worse, "%",
            "less is fairer; three tenants, as above; the seeds of the auction",
        )  # fmt: skip


@PAGE.rows
def waiting(results: Results) -> Iterator[Claim]:
    """Value of an hour's wait for a good place, by the published factor of a model."""
    runs = results.runs("run_scenario", study="place")
    for model, factor in FACTORS.items():
        part = runs[runs["model"] == model]
        yield PAGE.new(
            "", f"mean completion time with an hour's wait for a good place against none, {model}",
            change_percent(part, "mean_jct_s", {"wait_s": PATIENT_S}, {"wait_s": 0.0}), "%",
            f"a job over nodes takes {factor:g} times as long, over racks 1.2 times more",
        )  # fmt: skip


@PAGE.rows
def promises(results: Results) -> Iterator[Claim]:
    """Due dates that admission control promised and that were missed."""
    runs = results.runs("run_scenario", study="admission")
    kept = runs[runs["rule"] != "none"]
    promised = int(kept["promised_jobs"].sum())
    if promised:
        yield judged(
            PAPER,
            ELASTICFLOW,
            f"promised due dates that were missed, of {promised:,}",
            at_most(0.0, text="0"),
            float(int(kept["broken_promises"].sum())),
            why="the test of admission for jobs of a fixed number of GPUs, and the policy that follows it",
        )


@PAGE.rows
def widths(results: Results) -> Iterator[Claim]:
    """Promises of ElasticFlow that were missed, and jobs on time against those of a rival without its plan."""
    runs = results.runs("run_scenario", study="widths")
    own = runs[runs["policy"] == "elasticflow"]
    promised = int(own["promised_jobs"].sum())
    if not promised:
        return
    yield judged(
        PAPER,
        ELASTICFLOW,
        f"jobs of any number of GPUs: due dates that elasticflow missed, of {promised:,} promised",
        at_most(0.0, text="0"),
        float(own["broken_promises"].sum()),
        why="progressive filling, and the policy that follows its plan",
    )
    runs = on_time(runs)
    for rival in ("edf-shared", "greedy"):
        for load in (WIDTH_LOADS[0], WIDTH_LOADS[-1]):
            part = runs[runs["load"] == load]
            yield PAGE.new(
                "ElasticFlow, ASPLOS 2023: 46 to 665 %",
                f"more jobs on time with elasticflow than with {rival}, load {load:g}",
                change_percent(part, "on_time", {"policy": "elasticflow"}, {"policy": rival}), "%",
                "its jobs and rivals differ: there 128 GPUs, here 16 and calibrated speed-ups",
            )  # fmt: skip


@PAGE.rows
def pairs(results: Results) -> Iterator[Claim]:
    """Energy saved by pairs of jobs on one GPU, each seed with itself; one line a load."""
    runs = results.runs("run_scenario", study="pairs")
    for load in PAIR_LOADS:
        more = change_percent(
            runs[runs["load"] == load], "energy_kwh", {"share": "always"}, {"share": "never"}
        )
        yield PAGE.new(
            "successor of ANDREAS, 2024: 17 to 29 %",
            f"energy saved by sharing GPUs wherever a pair keeps half its speed, load {load:g}",
            Estimate(-more.mean, -more.upper, -more.lower, more.n),
            "%",
            "its jobs and times are not public; here pairs are as fast as Gavel measured them, nodes draw "
            "what ANDREAS measured, and a GPU draws as much for two jobs as for one",
        )


@PAGE.rows
def guessed(results: Results) -> Iterator[Claim]:
    """Cost of the largest error for each policy, each seed compared with itself."""
    runs = over_exact(results)
    worst = float(runs["error"].max())
    for policy in (name for name in GUESSED_BY if name != BLIND):
        part = runs[runs["policy"] == policy]
        seeds = [set(part.loc[part["error"] == error, "seed"]) for error in (worst, 0.0)]
        if seeds[0] & seeds[1]:  # a failed run leaves its seed out
            yield PAGE.new(
                "", f"mean completion time of {policy}, two error factors of {worst:.0%} each, against exact times",
                change_percent(part, "mean_jct_s", {"error": worst}, {"error": 0.0}), "%",
                "a factor by job and one by configuration; all decide every 30 min",
            )  # fmt: skip
