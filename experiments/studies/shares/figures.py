"""The figures: published against ours, solvers, machines, and what users would gain."""

from __future__ import annotations

import pandas as pd

from experiments.pictures.plots import PALETTE, PAPER, canvas, log_ticks, means_by_row
from experiments.report.experiment import Drawn
from experiments.studies.shares.measured import OURS, measured
from experiments.studies.shares.notebooks import POLICIES, notebooks
from experiments.studies.shares.page import PAGE
from experiments.sweep.results import Results

HOUR_S = 3600.0


def pairs(policy: str) -> pd.DataFrame:
    """``submit_s`` and ``jct_s`` of each job of the trace, ours beside the published simulation."""
    table = measured()
    of_policy = table[(table["set"] == "trace") & (table["policy"] == policy)]
    index = ["job", "submit_s"]
    return of_policy.pivot(index=index, columns="kind", values="jct_s").reset_index()


@PAGE.figure(
    "published",
    "Published against ours, job by job",
    "Completion times of 120 jobs on 32 V100 GPUs, published simulation (Shockwave, NSDI 2023) against ours; the diagonal "
    "is equality. gandiva-fair has no linear program: all 120 times are equal to 1e-6 s. The others run with the rules that the published rounds show. The numbers are committed with this page.",
)
def figure_published(results: Results) -> Drawn:
    """Scatter on the diagonal."""
    figure, axes = canvas(2, 3, width=3.4, height=3.2)
    parts = []
    for i, (policy, own) in enumerate(OURS.items()):
        both = pairs(policy)
        most = float(both[["ours", "simulation"]].to_numpy().max()) / HOUR_S
        axes[i].plot([0, most], [0, most], color=PAPER, linewidth=0.8)
        axes[i].plot(
            both["simulation"] / HOUR_S, both["ours"] / HOUR_S, "o", markersize=3, color=PALETTE[0]
        )
        axes[i].set(title=own, xlabel="published, h", ylabel="ours, h")
        parts.append(both.assign(policy=own))
    return Drawn(figure, pd.concat(parts, ignore_index=True))


@PAGE.figure(
    "solver_noise",
    "Jobs equal to the published ones, and the mean",
    "Left: of 120 jobs, those whose completion time is the published one within 1 s. Right: our mean "
    "completion time over the published one. Where a linear program has several optima, its solver chooses: the lexicographic one is ours; "
    "the released rules take the centre of all optima, and for finish-time-fairness and allox what the published rounds show.",
)
def figure_solver_noise(results: Results) -> Drawn:
    """Counts and means, by our own rules and the released ones."""
    rows = []
    for policy, own in OURS.items():
        both = pairs(policy)
        for kind, name in (("plain", "our rules"), ("ours", "released rules")):
            equal = int(((both[kind] - both["simulation"]).abs() < 1.0).sum())
            change = float(both[kind].mean() / both["simulation"].mean() - 1)
            rows.append({"policy": own, "rules": name, "equal_jobs": equal, "mean_change": change})
    table = pd.DataFrame(rows)
    figure, (left, right) = canvas(1, 2, width=4.6, height=3.4)
    for i, name in enumerate(table["rules"].unique()):
        part = table[table["rules"] == name]
        at = [place + 0.18 * (2 * i - 1) for place in range(len(part))]
        left.barh(at, part["equal_jobs"], height=0.34, color=PALETTE[i], label=name)
        right.barh(at, 100 * part["mean_change"], height=0.34, color=PALETTE[i])
    left.set(xlabel="jobs of 120", xlim=(0, 120))
    left.set_yticks(range(len(OURS)), list(OURS.values()))
    left.legend(loc="upper right")
    right.axvline(0, color=PAPER, linewidth=0.8)
    right.set(xlabel="mean completion time, %")
    right.set_yticks(range(len(OURS)), [""] * len(OURS))
    return Drawn(figure, table)


@PAGE.figure(
    "machines",
    "Simulation against the machines",
    "Mean completion time of 120 jobs over that of the runs on machines (Shockwave's second set of runs): the published "
    "simulation of that set, and ours of the first set, whose times differ from it by less than 3 %. gandiva-fair was not run on machines.",
)
def figure_machines(results: Results) -> Drawn:
    """Errors of simulations."""
    mean_s = measured().groupby(["set", "kind", "policy"])["jct_s"].mean()
    rows = []
    for policy, own in OURS.items():
        if ("comparison", "physical", policy) not in mean_s.index:
            continue
        machine_s = mean_s["comparison", "physical", policy]
        published = mean_s["comparison", "simulation", policy] / machine_s - 1
        ours = mean_s["trace", "ours", policy] / machine_s - 1
        rows.append({"policy": own, "published": published, "ours": ours})
    table = pd.DataFrame(rows)
    figure, (ax,) = canvas()
    for i, kind in enumerate(("published", "ours")):
        at = [place + 0.15 * (2 * i - 1) for place in range(len(table))]
        ax.barh(at, 100 * table[kind], height=0.28, color=PALETTE[i], label=kind)
    ax.axvline(0, color=PAPER, linewidth=0.8)
    ax.set_yticks(range(len(table)), table["policy"])
    ax.set(xlabel="error of the mean completion time, %")
    ax.legend()
    return Drawn(figure, table)


@PAGE.figure(
    "notebooks",
    "Gavel's notebook: completion times by rate of arrivals",
    "Mean completion time of 1,001 random jobs on 36 V100, 36 P100 and 36 K80 GPUs, ours over the one that Gavel's notebook prints "
    "(OSDI 2020): the same jobs, drawn by the published rule, with the released rules of rounds. In brackets the notebook's name of the "
    "policy. The numbers are committed with this page.",
)
def figure_notebooks(results: Results) -> Drawn:
    """A bar for each policy and rate."""
    table = notebooks()
    figure, (ax,) = canvas()
    names = [
        f"{POLICIES[policy][0]} ({policy}), {rate:g} jobs/h"
        for policy, rate in table[["policy", "jobs_per_h"]].itertuples(index=False)
    ]
    ax.barh(names, (table["ours_h"] / table["published_h"] - 1) * 100, color=PALETTE[0])
    ax.axvline(0, color=PAPER, linewidth=0.8)
    ax.set(xlabel="mean completion time, ours over printed, %")
    return Drawn(figure, table)


@PAGE.figure(
    "gains",
    "What users of one policy would gain from another",
    "Mean completion time and longest slowdown of 60 random jobs of 1, 2 or 4 GPUs on four servers "
    "of 4 GPUs at a load of 1.2; large points are means, small ones runs; lines are 95 % intervals where there are five runs. The last four are not of this family; srtf and foresight know durations, so they show what foresight would gain.",
)
def figure_gains(results: Results) -> Drawn:
    """Users' view of every policy."""
    runs = results.runs("run_shares")
    figure, axes = canvas(1, 2, width=4.6, height=3.8)
    parts = []
    for ax, value, scale, label in (
        (axes[0], "mean_jct_s", HOUR_S, "mean completion time, h"),
        (axes[1], "worst_slowdown", 1.0, "longest slowdown"),
    ):
        parts.append(means_by_row(ax, runs, "policy", value, scale).assign(quantity=value))
        ax.set(xlabel=label)
    axes[0].set_xlim(left=0)
    axes[1].set_yticklabels([])
    axes[1].set_xscale("log")
    log_ticks(axes[1], "x")
    return Drawn(figure, pd.concat(parts, ignore_index=True))
