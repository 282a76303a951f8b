"""The numbers of ANDREAS, and what came out here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.pages import AGAINST, Claim, Results
from experiments.papers.andreas.figures import LABELS, RATES, RG, at_all_sizes, of_means
from experiments.papers.andreas.runs import FAMILY, FIRST_PRINCIPLES, FOLDER, PAGE
from simulator.statistics import RESAMPLES, Estimate, mean_of_skewed

# -- savings ---------------------------------------------------------------------------------


DRAWN_AGAIN = f"percentiles of {RESAMPLES:,} bootstrap draws of whole seeds"


def _settings(results: Results) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The words of each scenario and law of rates, and its mixed runs of seeds that have every size."""
    runs = results.runs("run_scenario", arrivals="mixed")
    runs = runs[runs["method"].isin((*FIRST_PRINCIPLES, RG))]
    for (scenario, rates), part in runs.groupby(["scenario", "rates"]):
        words = {"scenario": scenario, "rates": RATES[str(rates)]}
        yield words, at_all_sizes(part.assign(arrivals="mixed"))


@PAGE.rows
def saving(results: Results) -> Iterator[Claim]:
    """Of each scenario and law of rates, by mean costs as the paper draws them, and run by run."""
    for words, runs in _settings(results):
        name, why = f"saving.{words['scenario']}", _parts(runs)
        by_n = "by mean costs of each N"
        ours = of_means(runs, "total_cost")
        authors = ("authors",)
        yield PAGE.row(name, ours, why, labels=authors, interval=DRAWN_AGAIN, how=by_n, **words)
        each = _ratios(runs, "total_cost").groupby("seed").mean()
        how = "run by run, where it is near 0 or near 100 %"
        labels = ("authors", "variant")
        yield PAGE.row(name, mean_of_skewed(each.to_numpy()), why, labels=labels, how=how, **words)


def _ratios(runs: pd.DataFrame, value: str) -> pd.Series:
    """Saving of each run over its rivals, %, by number of nodes and seed."""
    wide = runs.pivot(index=["num_nodes", "seed"], columns="method", values=value)
    each = [100 * (1 - wide[RG] / wide[method]) for method in FIRST_PRINCIPLES]
    return pd.concat(each, axis=1).mean(axis=1)


def _parts(runs: pd.DataFrame) -> str:
    """Parts of the saving at mixed load."""
    base, ours = runs[runs["method"].isin(FIRST_PRINCIPLES)], runs[runs["method"] == RG]
    means = runs.groupby(["num_nodes", "method"])["total_cost"].mean().unstack()
    by_n = 100 * (1 - means[RG] / means[FIRST_PRINCIPLES[0]])
    each = ", ".join(f"{value:.0f}" for value in by_n)
    share = 100 * base["tardiness_cost"].sum() / base["total_cost"].sum()
    return (
        f"the saving follows the load, which falls with N as bursts of ten jobs stay: {each} % at "
        f"{by_n.index[0]} to {by_n.index[-1]} nodes. First-principle methods leave "
        f"{base['late_jobs'].mean():.1f} jobs late, whose tardiness is {share:.0f} % of their cost, RG "
        f"{ours['late_jobs'].mean():.1f}. The paper prints neither rates nor weights: both are those of the "
        "authors' generator. It draws average costs, and says 'on average' of the total costs"
    )


@PAGE.rows
def explanation(results: Results) -> Iterator[Claim]:
    """The paper's explanation of the saving: jobs that wait, less time to finish, energy."""
    for words, runs in _settings(results):
        rivals = runs[runs["method"].isin(FIRST_PRINCIPLES)]
        cells = rivals.groupby(["num_nodes", "seed"])["total_cost"].agg(
            lambda c: c.max() == c.min()
        )
        wait_s = mean_of_skewed(rivals.groupby("seed")["mean_wait_s"].mean().to_numpy())
        late = rivals[rivals["late_jobs"] > 0]
        why = (
            f"FIFO, EDF and PS cost the same to the last digit in {cells.sum()} of {len(cells)} runs: they "
            "differ in who goes first, and hardly anyone waits. So they are one rival. Of their "
            f"{len(late)} runs with late jobs {(late['mean_wait_s'] == 0).sum()} have no job that waits: the "
            "job keeps the slow configuration that was free when it came"
        )
        finish = of_means(runs, "makespan_s")
        if words["scenario"] == 1:
            yield PAGE.row("waiting", wait_s, why, **words)
            yield PAGE.row("finish", finish, _last_jobs(runs), interval=DRAWN_AGAIN, **words)
        else:  # of which the paper says neither
            for name, ours, reason in (
                ("waiting", wait_s, why),
                ("finish", finish, _last_jobs(runs)),
            ):
                at, text = (part.format(**words) for part in (PAGE[name].place, PAGE[name].claim))
                yield PAGE.new(at, text, ours, PAGE[name].unit, reason, figure="savings")
        place = f"Section V-B, scenario {words['scenario']}"
        text = f"energy cost saved by RG over FIFO, EDF and PS, mixed arrivals, {words['rates']}"
        energy = of_means(runs, "energy_cost")
        why = f"interval: {DRAWN_AGAIN}"
        yield PAGE.new(place, text, energy, "%", why, figure="savings")


def _last_jobs(runs: pd.DataFrame) -> str:
    """Runs in which the rivals end as late as RG, although their jobs take longer."""
    keys = ["num_nodes", "seed"]
    wide = runs.pivot(index=keys, columns="method", values=["makespan_s", "mean_jct_s"])
    fifo = FIRST_PRINCIPLES[0]
    later, longer = (
        100 * (of[fifo] / of[RG] - 1) for of in (wide["makespan_s"], wide["mean_jct_s"])
    )
    return (
        f"FIFO ends within 0.1 % of RG's time in {(later.abs() < 0.1).sum()} of {len(later)} runs and more than 1 % "
        f"later in {(later > 1).sum()}, and a job of FIFO takes {longer.mean():.0f} % longer on average. Why so few runs end "
        "later is not shown"
    )


@PAGE.rows
def call_times(results: Results) -> Iterator[Claim]:
    """CPU time of the optimizer."""
    runs = results.runs("run_scenario", method="randomised-greedy")
    for scenario in (1, 2):
        slowest = float(runs.loc[runs["scenario"] == scenario, "mean_decision_cpu_s"].max())
        why = "compiled Python on one thread of this machine, placements included"
        exact = "the slowest of all runs"
        yield PAGE.row(f"call-time.{scenario}", slowest, why, exact=exact, scenario=scenario)


# -- the replay ------------------------------------------------------------------------------


@PAGE.rows
def cost_of_replay(results: Results) -> Iterator[Claim]:
    """The predicted cost of Table V's jobs, beside the predicted and the metered one."""
    runs = results.runs("run_armida")
    by_method = runs.groupby("method")
    costs = by_method["energy_cost"].mean()
    said = ", ".join(f"{LABELS[m]} {costs[m]:.4f}" for m in (*FAMILY, "exact") if m in costs)
    ours = {
        str(name): mean_of_skewed(part["energy_cost"].to_numpy())
        for name, part in by_method
        if name in ("randomised-greedy", "randomised-first")
    }
    for name, estimate in ours.items():
        why = (
            f"depends on the method and its random choices ({said} EUR): every job alone on one "
            "V100 would cost 1.0455 EUR, sharing armida-06 costs less, the T4 more"
        )
        yield PAGE.row("predicted-cost", estimate, why, labels=_chosen(name), method=LABELS[name])
    why = "metered on the authors' servers; nothing here draws power"
    yield PAGE.row("real-cost", ours["randomised-greedy"], why)
    real, printed = PAGE["real-cost"].low, PAGE["predicted-cost"].low
    for name, predicted in ours.items():
        why = (
            f"of our {predicted.mean:.4f} EUR against the metered cost. The table divides by the "
            "predicted cost: over the real one the paper's own figures give "
            f"{100 * (printed / real - 1):.1f} %"
        )
        yield PAGE.row("cost-deviation", _deviation(predicted, real), why, labels=_chosen(name),
                       method=LABELS[name])  # fmt: skip
    late = runs.loc[runs["method"] == "randomised-greedy", "late_jobs"]
    yield PAGE.row(
        "late-jobs",
        mean_of_skewed(late.to_numpy()),
        "J9 takes 160 x 17.8042 = 2849 s on two V100, its due date is 2600 s after its "
        "submission: with the released profile no schedule is on time. J6 and J9 take the two GPUs of "
        "armida-06 in turn, the other one runs on armida-05, and J6 ends a second late",
    )


def _chosen(method: str) -> tuple[str, ...]:
    """The released objective is not the printed proxy, and the released program draws from 5 % of the configurations."""
    return (AGAINST,) if method == "randomised-first" else ()


def _deviation(predicted: Estimate, real: float) -> Estimate:
    """From the metered cost, in per cent of the predicted one, which lies above it."""
    low, mean, high = (
        100 * (1 - real / cost) for cost in (predicted.lower, predicted.mean, predicted.upper)
    )
    return Estimate(mean, low, high, predicted.n)


@PAGE.rows
def horizon_of_replay(_: Results) -> Iterator[Claim]:
    """Replays that change where the proxy has the period of the decisions as H.

    `benchmarks.armida_horizon` has left them.
    """
    table = pd.read_csv(FOLDER / "horizon.csv")
    claim = "seeds whose replay on ARMIDA is changed by H = 300 s in the proxy, not 0"
    why = (
        f"seeds 1 to {len(table)}, {table['stretches'].min()} to {table['stretches'].max()} stretches of the "
        "schedule each (horizon.csv); no interval: a count of seeds"
    )
    yield PAGE.new("Figure 4", claim, float((table["changed"] > 0).sum()), "", why)


@PAGE.rows
def events_of_replay(results: Results) -> Iterator[Claim]:
    """Share of the replays in which the events of Figure 4 come about."""
    shares = results.runs("run_armida_seeds").set_index("method")
    for column, event in (
        ("j10_beside_j6", "J10 starts beside J6 on armida-06 when it is submitted"),
        ("j2_displaces_j7", "J2 displaces J7 on armida-07 when it is submitted"),
        ("both", "both"),
    ):
        for method in ("randomised-greedy", "randomised-all", "randomised-first"):
            if method in shares.index:
                ours = _share(shares[column][method], int(shares["replays"][method]))
                why = _why_events(shares, method, column)
                words = {"event": event, "method": LABELS[method]}
                labels = _chosen(method)
                yield PAGE.row("event", ours, why, labels=labels, interval="Wilson's", **words)


def _share(share: float, count: int) -> Estimate:
    """A share of runs in percent, with Wilson's interval."""
    from scipy.stats import binomtest

    ends = binomtest(round(share * count), count).proportion_ci(method="wilson")
    return Estimate(100 * share, 100 * ends.low, 100 * ends.high, count)


def _why_events(shares: pd.DataFrame, method: str, column: str) -> str:
    if method != "randomised-first":
        j10 = "J9, which cannot be on time, has both GPUs of armida-06 when J10 comes, in turn with J6"
        j2 = "J7 runs on armida-05, where J2 displaces it"
        each = {"j10_beside_j6": j10, "j2_displaces_j7": j2}.get(column, f"{j10}; {j2}")
        return (
            f"with the printed proxy {each}. The released objective (cost and tardiness until the first job ends) gives both "
            "events where configurations are drawn from all"
        )
    cost = shares["energy_cost_with_both"][method]
    if cost is None or pd.isna(cost):
        return "no seed shows both events"
    return f"the replays with both events cost {float(cost):.4f} EUR on average"


@PAGE.rows
def errors(results: Results) -> Iterator[Claim]:
    """Effect of wrong predictions on the energy of the replay."""
    runs = results.runs("run_armida_errors")
    at = runs[runs["error_percent"] == 11.0]
    by_error = runs.groupby("error_percent")["call_percent"].mean()
    listed = ", ".join(f"{value:.1f} % at {error:g} %" for error, value in by_error.items())
    why = (
        "simulated: each job's time is off by a factor of its own, 11 % on average, as of the model "
        f"that predicts times in the hierarchical paper. By mean error of the times: {listed}. The paper's figure is "
        "metered; how far its predictions are off is not printed"
    )
    for error, of_error in runs[runs["error_percent"] > 0].groupby("error_percent"):
        labels = () if error == 11.0 else ("variant",)
        ours = mean_of_skewed(of_error["call_percent"].to_numpy())
        yield PAGE.row("call-deviation", ours, why, labels=labels, error=error)
    worst = float(at["total_percent"].max())
    yield PAGE.row("worst-deviation", worst, why, exact=f"the largest of {len(at)} seeds")


# -- beyond the paper ------------------------------------------------------------------------


@PAGE.rows
def variants(results: Results) -> Iterator[Claim]:
    """Costs of variants of the randomised greedy."""
    runs = results.runs("run_scenario", arrivals="high", rates="measured")
    smallest = runs["num_nodes"].min()
    wide = runs[runs["num_nodes"] == smallest].pivot_table(
        index=["scenario", "seed"], columns="method", values="total_cost"
    )
    for other, text in (
        ("randomised-all", "drawing from the best 5 % of the configurations, not from all"),
        ("randomised-own", "the papers' proxy, not every job's own finish"),
        ("exact", "RG, not the exact optimum of the proxy at every event"),
    ):
        if other in wide and "randomised-greedy" in wide:
            claim = f"total cost saved at high load, {smallest} nodes, by {text} (geometric mean)"
            saved = _saved(wide["randomised-greedy"] / wide[other])
            yield PAGE.new("beyond the paper", claim, saved, "%", figure="lower_bound")


@PAGE.rows
def optimal_decisions(results: Results) -> Iterator[Claim]:
    """Share of decisions of which each method finds the optimum."""
    gaps = results.runs("run_gaps")
    for method in ("greedy", "randomised-all", *FAMILY[1:]):
        name = f"{method} optimal_share"
        if name in gaps:
            claim = f"decisions at which {LABELS[method]} finds the exact optimum of the proxy"
            share = mean_of_skewed(100 * gaps.groupby("seed")[name].mean().to_numpy())
            yield PAGE.new("beyond the paper", claim, share, "%", figure="gaps")


def _saved(ratio: pd.Series) -> Estimate:
    """A saving in percent from ratios of costs, averaged on their logarithm by seed."""
    e = mean_of_skewed(ratio.dropna().map(math.log).groupby("seed").mean().to_numpy())
    saved, low, high = (100 * (1 - math.exp(v)) for v in (e.mean, e.upper, e.lower))
    return Estimate(saved, low, high, e.n)
