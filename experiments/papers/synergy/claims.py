"""The paper's numbers, and what came out here."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.estimates import geometric, paired, percent_over
from experiments.papers.synergy.figures_basics import example
from experiments.papers.synergy.figures_mechanisms import READINGS
from experiments.papers.synergy.runs import PAGE, PAIR, PAPER_DRAW, PHILLY_LOAD, W1, W2
from experiments.papers.synergy.tables import (
    FIFO_SINGLE,
    Table,
    by_length,
    by_share,
    cells,
    deployment,
    draws,
    gain,
    gains,
    hours,
    jobs,
    largest,
    long_p95,
    offered_load,
    overload,
    peaks,
    profiles,
    ratios_by_load,
    scale_of_draws,
    speedups,
    timeline,
    together,
)
from experiments.report.contents import AGAINST, Claim, Label
from experiments.sweep.results import NoRuns, Results
from simulator.errors import InputError
from simulator.statistics import RESAMPLES, Estimate, batch_means, mean_of_skewed, mser5

SORTED = "Section 4.2 sorts by GPU, CPU and memory demand, the released simulator does not"
DRAWN_AGAIN = (
    f"percentiles of {RESAMPLES:,} bootstrap draws of whole seeds, the load chosen anew in each"
)
UNKNOWN = "the cause is not known"
FULL = "These loads end where jobs ask for all GPUs; the gain begins there (figure_7_shares)"
APART = "jobs of many CPUs do not meet on the first servers"
JOBS = {False: "single GPU", True: "several GPUs"}
DERIVED: tuple[Label, ...] = ("derived",)
VARIANT: tuple[Label, ...] = ("variant",)
AUTHORS: tuple[Label, ...] = ("authors",)
FORBIDDEN: tuple[Label, ...] = (AGAINST,)
THEIR_DRAW = "the authors' draw and rules"
THEIR_LOG = (
    "the paper replays 8,000 jobs of a log that is not shipped, in the released code those of 2,400 to 3,000 h, where more than "
    "512 GPUs are asked for; these jobs are drawn from its law (philly_log.toml runs the log itself)"
)
QUANTILES = (("p99", 0.99, "99th percentile"), ("p99-9", 0.999, "99.9th percentile"))


def _window() -> str:
    proportional, met = overload()
    return (
        f"9 jobs/h is {proportional:.0f} % of the GPUs at proportional shares and {met:.0f} % with every demand "
        "met: both queues grow as long as jobs come, so the hours belong to the window and the draw "
        "(figure_9_draws)"
    )


# -- profiles --------------------------------------------------------------------------------


@PAGE.rows
def sensitivity(_: Results) -> Iterator[Claim]:
    """Speed-ups in the published profiles, and the example of Tables 1 to 3."""
    from simulator.workloads.networks import sensitivity_matrices

    alexnet, resnet = (sensitivity_matrices()[name] for name in ("alexnet", "resnet18"))
    profile = "the published profile gives this value, rounded otherwise in the text"
    enough = resnet.relative[:, resnet.memory_gb >= 62.5]
    same = (
        "from 62.5 GB on the published profile of ResNet18 changes by a factor of at most "
        f"{(enough.max(axis=1) / enough.min(axis=1)).max():.2f} over memory: the gain that the text names is not in it"
    )
    for name, ratio, why in (
        ("alexnet", alexnet(12, 250) / alexnet(3, 250), profile),
        ("resnet18", resnet(9, 250) / resnet(3, 250), profile),
        ("memory", resnet(9, 500) / resnet(9, 62.5), same),
    ):
        yield PAGE.row(f"faster.{name}", ratio, why, labels=AUTHORS, exact=PROFILES)
    table = example()
    proportional, printed, tuned = table.groupby("schedule", sort=False)["relative_time"].mean()
    each = table[table["schedule"].str.contains("Table 3")].set_index("job")["relative_time"]
    listed = ", ".join(f"{value:.2f} ({job})" for job, value in each.items())
    why = f"with the shares of Table 3 the profiles give {listed} of the time at proportional shares; {same}"
    yield PAGE.row("example", proportional / printed, why, labels=AUTHORS, exact=PROFILES)
    yield PAGE.new(
        "Figure 3", "the same with what tune gives", proportional / tuned, "x",
        "Table 3's 23 CPUs are between the two shares that tune knows: demands of a whole server are "
        f"put back for the sake of one CPU; no interval: {PROFILES}",
    )  # fmt: skip


PROFILES = "worked out from the published profiles"
CPUS = 24
"""Of a server, each profiled at full memory alone."""


@PAGE.rows
def profiling(results: Results) -> Iterator[Claim]:
    """Minutes of the search in profiling, and the error of the model between the profiled points."""
    fits: Table = profiles(results, "fits").set_index("model").loc["resnet18"]
    points = f"a count of points, {fits['search_minutes']:g} of the binary search and the two ends"
    minutes = float(fits["profile_minutes"])
    yield PAGE.row("profiling-minutes", minutes, labels=AUTHORS, exact=points)
    ratio = float(fits["exhaustive_minutes"]) / minutes
    yield PAGE.row("profiling", ratio, labels=AUTHORS, exact=points)
    full_memory = float(fits["exhaustive_minutes"]) / CPUS
    yield PAGE.row("profiling-memory", full_memory, "", exact=f"a count of points, {CPUS} CPUs")
    percent: Table = 100 * profiles(results, "held_out").set_index(["half", "model"])["error"].abs()
    why = "the paper measures a job of 8 GPUs on its servers; here published points of one GPU are left out of the fit"
    yield PAGE.row("profile-error", float(percent["memory", "resnet18"].max()), why, exact=PROFILES)
    for place, text, value, why in (
        ("Figure 5a", "the same over all ten models, worst", percent["memory"].max(),
         "fitted to the smallest and largest memory, predicted in between"),
        ("Section 3.1", "error at every second number of CPUs, left out of the fit, mean of ten models",
         percent["cpus"].mean(), "AlexNet and ShuffleNet leap from 2.00 to 2.9 between 9 and 12 CPUs"),
    ):  # fmt: skip
        yield PAGE.new(place, text, float(value), "%", f"{why}; no interval: {PROFILES}")


# -- Table 5 ---------------------------------------------------------------------------------

ONE_TRACE = "the trace is fixed, and so is the run"
METRICS = {
    "makespan": ("static", "makespan of the static trace, FIFO"),
    "mean": ("dynamic", "average JCT, SRTF"),
    "p99": ("dynamic", "99th percentile of JCT, SRTF"),
}


@PAGE.rows
def table_5(results: Results) -> Iterator[Claim]:
    """Hours of both traces, by the paper's rules and by the released ones."""
    table = deployment(results).set_index(["metric", "mechanism", "released"])["hours"]
    worst, metric, mechanism = max(
        (100 * abs(table[metric, mechanism, False] / PAGE[name].low - 1), metric, mechanism)
        for metric in METRICS
        for mechanism in PAIR
        for name in (f"table-5.{metric}.deployed.{mechanism}",)
    )
    why = (
        f"the worst is the {METRICS[metric][1]}, {mechanism}. The table's own simulated hours are up to "
        f"{_own_error():.1f} % off"
    )
    yield PAGE.row("simulated-over-deployed", worst, why, labels=AUTHORS, exact=ONE_TRACE)
    for metric, (_, what) in METRICS.items():
        of = {m: float(table[metric, m, False]) for m in (*PAIR, "opt", "tune-by-gpus")}
        for how in ("simulated", "deployed"):
            for mechanism in (*PAIR, "opt"):
                name = f"table-5.{metric}.{how}.{mechanism}"
                words: dict[str, Any] = {"how": how, "what": what, "mechanism": mechanism}
                if name in PAGE.numbers:
                    why = _why_hours(metric, mechanism)
                    yield PAGE.row(name, of[mechanism], why, exact=ONE_TRACE, **words)
        ratio = of["proportional"] / of["tune"]
        why = _why_ratio(metric)
        yield PAGE.row(f"improved.{metric}", ratio, why, exact=ONE_TRACE, what=what)
        over = 100 * (of["tune"] / of["opt"] - 1)
        better = 100 * (of["tune-by-gpus"] / of["opt"] - 1)
        why = f"{SORTED}; sorted by GPUs, spare shares regranted, it is {better:.1f} %"
        if metric == "makespan":  # the jobs of the other two are not public
            own: dict[str, Any] = {"what": what, "rules": ""}
            yield PAGE.row("table-5-over-opt", over, why, labels=AUTHORS, exact=ONE_TRACE, **own)
            both = [round(PAGE[f"released.makespan.{m}"].low * 12) for m in ("tune", "opt")]
            own["rules"] = ", the released simulator itself"
            told = f"it gives {both[0]} and {both[1]} rounds of 5 minutes"
            percent = 100 * (both[0] / both[1] - 1)
            yield PAGE.row("table-5-over-opt", percent, why, labels=AUTHORS, exact=told, **own)
        text = f"{what}, tune sorted by GPUs, spare shares regranted, over opt"
        yield PAGE.new("Section 5.2", text, better, "%", f"{APART}; no interval: {ONE_TRACE}")


@PAGE.rows
def table_5_released(results: Results) -> Iterator[Claim]:
    """The same by the released rules and speeds."""
    table = deployment(results).set_index(["metric", "mechanism", "released"])["hours"]
    tie = "one round: which of the jobs of one model gets the larger share is a tie"
    for metric, (_, what) in METRICS.items():
        for mechanism in (*PAIR, "opt"):
            ours = float(table[metric, mechanism, True])
            words: dict[str, Any] = {"what": what, "mechanism": mechanism}
            if f"released.{metric}.{mechanism}" in PAGE.numbers:
                yield PAGE.row(
                    f"released.{metric}.{mechanism}", ours, tie, exact=ONE_TRACE, **words
                )
            yield PAGE.row(
                f"table-5.{metric}.simulated.{mechanism}", ours, _why_hours(metric, mechanism),
                labels=AUTHORS, exact=ONE_TRACE, how="released rules and speeds", **words,
            )  # fmt: skip


def _own_error() -> float:
    """The largest difference between the simulated and the deployed hours of the table itself, %."""
    names = [f"table-5.{metric}.{{}}.{m}" for metric in METRICS for m in PAIR]
    both = [(PAGE[n.format("simulated")].low, PAGE[n.format("deployed")].low) for n in names]
    return max(100 * abs(simulated / deployed - 1) for simulated, deployed in both)


def _why_hours(metric: str, mechanism: str) -> str:
    """Reason for an hour of Table 5."""
    if metric == "makespan":
        given = PAGE[f"released.makespan.{mechanism}"].low
        return f"the released simulator itself gives {given:.2f} h on the shipped trace"
    return _other_trace()


def _other_trace() -> str:
    """The mix of the shipped dynamic trace, which is not the printed one."""
    from simulator.workloads.networks import TASKS, dnn_models
    from simulator.workloads.synergy import deployment_trace

    drawn = Counter(dnn_models()[str(name)].task for name in deployment_trace("dynamic").model)
    mix = ", ".join(f"{drawn[task]} {task}" for task in TASKS)
    return f"the dynamic trace that is shipped has {mix} jobs, the paper prints (30, 60, 10): its jobs are not public"


def _why_ratio(metric: str) -> str:
    """Reason for a ratio of Section 5.2."""
    if metric == "makespan":
        both = [PAGE[f"released.makespan.{m}"].low for m in PAIR]
        return f"the released simulator itself gives {both[0]:.2f} over {both[1]:.2f} h on the shipped trace"
    return _other_trace()


# -- Figure 6 --------------------------------------------------------------------------------


@PAGE.rows
def philly_hours(results: Results) -> Iterator[Claim]:
    """Average JCT under three orderings."""
    table = cells(results, "philly", load=PHILLY_LOAD)
    for ordering in ("srtf", "las", "fifo"):
        part = table[table["ordering"] == ordering]
        words: dict[str, Any] = {"ordering": ordering.upper()}
        yield from _pair(f"philly.{ordering}", part, "mean_jct_h", THEIR_LOG, **words)


@PAGE.rows
def philly_lengths(results: Results) -> Iterator[Claim]:
    """Short and long jobs under SRTF, split by their JCT with tune."""
    table = by_length(results)
    for value, what in (("mean", "average"), ("p99", "99th percentile")):
        for length in ("short", "long"):
            kind = f"{length}-{value}"
            part = table[table["kind"] == kind]
            words: dict[str, Any] = {"what": f"{what} of {length} jobs"}
            yield from _pair(f"philly-srtf.{kind}", part, "hours", THEIR_LOG, VARIANT, **words)
    tail = gain(table[table["kind"] == "short-p99"], value="hours")
    yield PAGE.row("philly-tail", tail, THEIR_LOG)
    for length in ("short", "long"):
        part = table[table["kind"] == f"{length}-mean"]
        ratio = paired(part, "mechanism", "tune", "proportional", "hours")["ratio"]
        saved = mean_of_skewed(100 * (1 - ratio).to_numpy())
        yield PAGE.row("philly-saved", saved, THEIR_LOG, labels=VARIANT, kind=length)
    most = speedups(results).groupby("seed")["ratio"].max()
    yield PAGE.row("philly-speedup", geometric(most), THEIR_LOG)


def _pair(
    name: str, part: Table, value: str, why: str, labels: tuple[Label, ...] = (), **words: str
) -> Iterator[Claim]:
    """The printed hours of proportional and tune."""
    for mechanism in PAIR:
        ours = hours(part, mechanism, value)
        yield PAGE.row(
            f"{name}.{mechanism}", ours, why, labels=labels, mechanism=mechanism, **words
        )


# -- averages over load ----------------------------------------------------------------------

OWN_DRAW = "drawn here by the law of Section 5.1"


@PAGE.rows
def single(results: Results) -> Iterator[Claim]:
    """FIFO with jobs of one GPU: hours at 9 jobs an hour, and the largest gain over the loads."""
    table = cells(results, FIFO_SINGLE)
    at_9 = table[table["load"] == 9]
    yield PAGE.new(
        "Section 5.3.2", "GPUs that 9 jobs/h ask for with every demand met, of 128", overload()[1], "%",
        "above 100 % no mechanism can keep the queue from growing; no interval: worked out",
    )  # fmt: skip
    for mechanism in (*PAIR, "opt"):
        words: dict[str, Any] = {"draw": OWN_DRAW, "mechanism": mechanism}
        yield PAGE.row(f"figure-9.{mechanism}", hours(at_9, mechanism), _window(), **words)
    load, most = largest(table)
    asked = ", ".join(
        f"{100 * offered_load(at, 128, met=False):.0f} and {100 * offered_load(at, 128):.0f} % at {at:g}"
        for at in sorted(set(table["load"]))
    )
    why = f"{_by_load(table)}. Of the GPUs, proportional shares and whole demands ask for {asked} jobs/h"
    what = f"the largest over loads: {load:g} jobs/h, {OWN_DRAW}"
    yield PAGE.row("single", most, why, interval=DRAWN_AGAIN, what=what)
    for over, name in (
        ("opt", "opt"),
        ("tune-by-gpus", "tune sorted by GPUs, spare shares regranted"),
    ):
        load, most = largest(table, over)
        text = f"the same over {name}: {load:g} jobs/h"
        why = f"{_by_load(table, over)}; interval: {DRAWN_AGAIN}"
        yield PAGE.new("Abstract, Figures 1 and 9", text, most, "x", why)


def _by_load(table: Table, over: str = "tune", value: str = "mean_jct_h") -> str:
    """The ratios behind a largest one, by load, of the seeds that ran at every load."""
    ratios = ratios_by_load(table, over, value).dropna()
    listed = ", ".join(f"{geometric(of).mean:.2f} at {load:g}" for load, of in ratios.items())
    return f"{listed} jobs/h"


@PAGE.rows
def released_draws(results: Results) -> Iterator[Claim]:
    """The paper's own draw with the released rules, and others of the same generator."""
    own = draws(results, 16).set_index("seed").loc[PAPER_DRAW]
    told = "one draw of the released generator (seed 42)"
    for mechanism in PAIR:
        yield PAGE.row(f"figure-9.{mechanism}", float(own[mechanism]), _window(), labels=AUTHORS, exact=told,
                       draw=THEIR_DRAW, mechanism=mechanism)  # fmt: skip
    yield PAGE.row("single", float(own["ratio"]), _window(), labels=AUTHORS, exact=told,
                   what=f"9 jobs/h, {THEIR_DRAW}")  # fmt: skip
    table = jobs(results, "draws", seed=PAPER_DRAW, nodes=16, ratio=3, mechanism="tune")
    for name, quantile, what in (("mean", None, "average"), *QUANTILES):
        jct_h = table["jct_h"]
        ours = float(jct_h.mean() if quantile is None else jct_h.quantile(quantile))
        yield PAGE.row(
            f"released.default-run.{name}",
            ours,
            "another draw, window or rule",
            exact=told,
            what=what,
        )
    first, last, nodes = scale_of_draws(results)
    others = draws(results, nodes)
    others = others[others["seed"] != PAPER_DRAW]
    load, ratio = others["load_percent"], others["ratio"]
    why = (
        f"{PAGE['single'].low:g} belongs to one draw: the others load the GPUs with {load.min():.0f} to {load.max():.0f} % "
        f"and give {ratio.min():.1f} to {ratio.max():.1f} times"
    )
    what = f"9 jobs/h, {len(others)} other released draws, jobs {first} to {last - 1} on {8 * nodes} GPUs"
    yield PAGE.row("single", geometric(ratio), why, labels=VARIANT, what=what)


@PAGE.rows
def opt_on_their_draw(results: Results) -> Iterator[Claim]:
    """Opt on the authors' draw, which their program reads from the matrices."""
    ours = hours(cells(results, "released_opt"), "opt").mean
    yield PAGE.row("figure-9.opt", ours, _window(), labels=AUTHORS, draw=THEIR_DRAW, mechanism="opt",
                   exact="one draw of the released generator (seed 42)")  # fmt: skip
    tune = float(draws(results, 16).set_index("seed").loc[PAPER_DRAW, "tune"])
    text = f"tune over opt, average JCT, FIFO, single GPU, 9 jobs/h, {THEIR_DRAW}"
    why = "no interval: one draw of the released generator (seed 42)"
    yield PAGE.new("Section 5.3.2", text, 100 * (tune / ours - 1), "%", why)


@PAGE.rows
def several(results: Results) -> Iterator[Claim]:
    """LAS and SRTF with jobs of several GPUs: the largest gain over the loads."""
    for ordering in ("las", "srtf"):
        of_ordering = cells(results, "orderings", ordering=ordering)
        load, most = largest(of_ordering)
        why = f"{_by_load(of_ordering)}. {FULL}"
        words: dict[str, Any] = {"ordering": ordering.upper()}
        words["load"] = f"the largest over loads: {load:g} jobs/h"
        yield PAGE.row("multi", most, why, interval=DRAWN_AGAIN, **words)
    tails = long_p95(results, "orderings", ordering="las")
    load, most = largest(tails, value="long_p95_h")
    why = f"{_by_load(tails, value='long_p95_h')}. {FULL}"
    words = {"load": f"the largest over loads: {load:g} jobs/h"}
    yield PAGE.row("las-p95", most, why, interval=DRAWN_AGAIN, **words)


@PAGE.rows
def several_above_all_gpus(results: Results) -> Iterator[Claim]:
    """The same by share of the GPUs that jobs ask for, under two laws of GPUs, with the released rules."""
    table = by_share(results)
    for (law, share), of_load in table.groupby(["gpu_law", "share"]):
        load = f"{share:.0f} % of the GPUs ({law}'s law of GPUs), released rules"
        why = "below all GPUs there is no queue to shorten, far above them both queues grow (figure_7_shares)"
        for ordering in ("las", "srtf"):
            ours = gain(of_load[of_load["ordering"] == ordering])
            yield PAGE.row("multi", ours, why, labels=AUTHORS, ordering=ordering.upper(), load=load)
        long = of_load[of_load["ordering"] == "las"]
        yield PAGE.row("las-p95", gain(long, value="long_p95_h"), why, labels=AUTHORS, load=load)


@PAGE.rows
def sustained(results: Results) -> Iterator[Claim]:
    """The load that tune and proportional shares sustain, seed by seed."""
    table = cells(results, "single_gpu")
    by_load = table.pivot(index=["mechanism", "seed"], columns="load", values="mean_jct_h").dropna()
    reached = {key: _doubled(of) for key, of in by_load.iterrows()}
    seeds = sorted({seed for mechanism, seed in reached if ("tune", seed) in reached})
    ratios = [reached["tune", s] / reached["proportional", s] for s in seeds]
    yield PAGE.row("sustains", geometric(ratios), f"a load of {max(by_load)} jobs/h is the highest")


def _doubled(hours_by_load: Table) -> float:
    """Load at which hours are twice those of the lowest load, linear in between; else the highest load."""
    loads, found = hours_by_load.index.to_numpy(), hours_by_load.to_numpy()
    above = np.flatnonzero(found > 2 * found[0])
    if not len(above):
        return float(loads[-1])
    i = above[0]
    return float(np.interp(2 * found[0], found[i - 1 : i + 1], loads[i - 1 : i + 1]))


@PAGE.rows
def growth(results: Results) -> Iterator[Claim]:
    """The gain at a high load over that at the lowest, and which queues make it."""
    single, several = cells(results, "single_gpu"), by_share(results)
    philly = several[several["gpu_law"] == "philly"]
    yield _grows(single.assign(at=[f"{x:g} jobs/h" for x in single["load"]]), "FIFO", JOBS[False])
    near = sorted(set(philly["share"]))[:2]
    for ordering in ("las", "srtf"):
        part = philly[(philly["ordering"] == ordering) & philly["share"].isin(near)]
        part = part.assign(at=[f"{x:.0f} % of the GPUs" for x in part["share"]])
        yield _grows(part, ordering.upper(), f"{JOBS[True]}, the two shares nearest to all GPUs")


def _grows(table: Table, ordering: str, jobs_of: str) -> Claim:
    """The ratio of two gains, of the seeds that ran at both loads."""
    at = table.groupby("load")["at"].first()
    of = gains(table, ["load"]).pivot(index="seed", columns="load", values="ratio").dropna()
    listed = ", ".join(f"{geometric(of[load]).mean:.2f} at {at[load]}" for load in of.columns)
    ours = geometric(of[at.index[-1]] / of[at.index[0]])
    return PAGE.row("grows", ours, f"the gain is {listed}", high=at.iloc[-1], low=at.iloc[0],
                    ordering=ordering, jobs=jobs_of)  # fmt: skip


@PAGE.rows
def fairness(results: Results) -> Iterator[Claim]:
    """FTF with the most delayed first, as printed, and with the least delayed, as released."""
    unprinted = "load and window are not printed"
    for released in (False, True):
        table = cells(results, "fairness", released=released)
        for several_gpus, name in ((False, "single"), (True, "multi")):
            reverse = _reverse(results, not released, several_gpus)
            yield PAGE.row(
                f"ftf.{name}", gain(table[table["multi_gpu"] == several_gpus]), f"{unprinted}; {reverse}",
                labels=AUTHORS if released else (), proof="" if reverse == UNKNOWN else None,
                jobs=JOBS[several_gpus],
                order="in the released order" if released else "the most delayed first",
            )  # fmt: skip


def _reverse(results: Results, released: bool, several_gpus: bool) -> str:
    """The gain under FTF in the other order; without such runs the cause is not known."""
    try:
        other = gain(cells(results, "fairness", released=released, multi_gpu=several_gpus))
    except NoRuns:
        return UNKNOWN
    return f"in the reverse order it is {other.mean:.2f} ({other.lower:.2f} to {other.upper:.2f})"


@PAGE.rows
def ratios(results: Results) -> Iterator[Claim]:
    """Figure 12 in both readings, on our draws and on the released one."""
    base = cells(results, "single_gpu", load=9.0)
    for fixed, reading in READINGS.items():
        table = cells(results, "cpu_ratios", load=9.0, fixed=fixed)
        for ratio in (4, 5, 6):
            part = table[table["ratio"] == ratio]
            both = part if fixed else together(base[base["mechanism"] == "proportional"], part)
            why = _of_the_draw(results, ratio, fixed)
            yield PAGE.row(f"cpus.of-{ratio}", gain(both), why, ratio=ratio,
                           reading=f"{reading}, {OWN_DRAW}")  # fmt: skip


def _of_the_draw(results: Results, ratio: int, fixed: bool) -> str:
    """The same with the released draw and rules; the load where these did not run."""
    try:
        table = cells(results, "draws", seed=PAPER_DRAW, nodes=16, ratio=ratio)
        theirs = gain(table[table["fixed"] == fixed]).mean
    except NoRuns:
        return _window()
    return (
        f"it belongs to the draw: with the jobs of the released generator (seed 42) and the released rules it is {theirs:.2f}, "
        "since at 9 jobs/h the queue grows as long as jobs come"
    )


@PAGE.rows
def ratios_released(results: Results) -> Iterator[Claim]:
    """The same on the authors' draw, with their rules."""
    table = cells(results, "draws", seed=PAPER_DRAW, nodes=16)
    for fixed, reading in READINGS.items():
        for ratio in (3, 4, 5, 6):
            part = table[(table["ratio"] == ratio) & (table["fixed"] == fixed)]
            if part.empty:  # at 3 both readings are one
                continue
            yield PAGE.row(f"cpus.of-{ratio}", gain(part).mean, _window(), labels=AUTHORS, ratio=ratio,
                           exact="one draw of the released generator (seed 42)",
                           reading=f"{reading}, {THEIR_DRAW}")  # fmt: skip


# -- mechanisms ------------------------------------------------------------------------------


@PAGE.rows
def tune_over_opt(results: Results) -> Iterator[Claim]:
    """Average JCT of tune over that of opt, Figures 7 to 9."""
    multi, fifo = cells(results, "orderings"), cells(results, FIFO_SINGLE)
    for ordering, of_ordering, load in (
        ("fifo", fifo, 8.0), ("las", multi, 5.5), ("srtf", multi, 5.5), ("fifo", fifo, 9.0),
    ):  # fmt: skip
        table = of_ordering[(of_ordering["ordering"] == ordering) & (of_ordering["load"] == load)]
        if "opt" not in set(table["mechanism"]):
            continue
        words: dict[str, Any] = {
            "ordering": ordering.upper(),
            "jobs": JOBS[of_ordering is multi],
            "load": load,
        }
        over = percent_over(gain(table, "tune", "opt"))
        asked = offered_load(load, 128) if of_ordering is fifo else 0.0
        full = f"jobs ask for {100 * asked:.0f} % of the GPUs, so both queues grow. "
        why = f"{full if asked > 1 else ''}{SORTED}"
        if "tune-by-gpus" in set(table["mechanism"]):
            better = percent_over(gain(table, "tune-by-gpus", "opt"))
            why += f"; sorted by GPUs, spare shares regranted, it is {better.mean:.1f} %"
        yield PAGE.row("within-10", over, why, **words)
        if "tune-by-gpus" in set(table["mechanism"]):
            text = PAGE["within-10"].claim.format(**words)
            text = text.replace("tune", "tune, sorted by GPUs, spare shares regranted,", 1)
            yield PAGE.new("Section 5.3.2", text, better, "%", APART)


@PAGE.rows
def splits(results: Results) -> Iterator[Claim]:
    """Figure 11 at the highest load."""
    table = cells(results, "splits", load=5.5)
    for panel, split in zip("abc", (W1, "33-33-33", W2), strict=True):
        part = table[table["split"] == split]
        words: dict[str, Any] = {"panel": panel, "split": split, "load": 5.5}
        if panel == "c":
            why = _by_seed(part, "greedy", "proportional")
            yield PAGE.row("splits.greedy", gain(part, "greedy", "proportional"), why, **words)
        yield PAGE.row("splits.tune", gain(part), _by_seed(part, "proportional", "tune"), **words)


def _by_seed(table: Table, base: str, over: str) -> str:
    """The ratios of single seeds, and the hours behind them."""
    found = gains(table, [], base, over)["ratio"]
    both = [table.loc[table["mechanism"] == m, "mean_jct_h"] for m in (base, over)]
    listed = " and ".join(
        f"{m} {of.min():.1f} to {of.max():.1f} h" for m, of in zip((base, over), both, strict=True)
    )
    return f"by seed {found.min():.2f} to {found.max():.2f}, {listed}; {UNKNOWN}"


def settled(values: Table) -> Estimate:
    """The mean of one run over time after its warm-up, with an interval by batch means.

    Without an interval where the run is too short for one, or its batches hang together.
    """
    unknown = Estimate(float(values.mean()), -math.inf, math.inf, 1)
    with warnings.catch_warnings(record=True) as too_short:
        warnings.simplefilter("always")
        try:
            found = batch_means(values.to_numpy()[mser5(values) :])
        except InputError:
            return unknown
    return unknown if too_short else found


@PAGE.rows
def utilisation(results: Results) -> Iterator[Claim]:
    """Figure 10, and the gain in JCT at the same low load."""
    table = timeline(results)
    low, high = table["load"].min(), table["load"].max()
    gpus = table[table["load"] == high].pivot(index="hour", columns="mechanism", values="gpus")
    idle = settled((gpus["tune"] - gpus["greedy"]).dropna())
    yield PAGE.row("greedy-idle", idle, "the run is too short to settle", load=high)
    for load in (low, high):
        of_load = table[table["load"] == load]
        used = of_load.pivot(index="hour", columns="mechanism", values="cpus_used")
        held = of_load.pivot(index="hour", columns="mechanism", values="gpus")
        in_use = {m: settled(held[m].dropna()).mean for m in PAIR}
        unlike = "" if load == low else ", but this is that of Figure 10a, and no low one"
        why = (
            f"the paper prints neither load nor time{unlike}. At {load:g} jobs/h {in_use['proportional']:.0f} % of the GPUs are in "
            f"use with proportional shares, {in_use['tune']:.0f} % with tune"
        )
        labels = () if load == low else FORBIDDEN
        yield PAGE.row(
            "cpus-used.proportional", settled(used["proportional"]), why, labels=labels, load=load
        )
        yield PAGE.row("cpus-used.tune", float(peaks(used["tune"]).max()), why, labels=labels, load=load,
                       exact="the peak of one run")  # fmt: skip
        yield PAGE.new(
            "Figure 10b", f"CPUs in use, tune, mean, {load:g} jobs/h", settled(used["tune"]), "%"
        )
    for load in (low, 4.0, 4.5):
        part = cells(results, "splits", split=W2, load=load)
        why = f"{_by_seed(part, 'proportional', 'tune')}. The paper does not print the load"
        labels = () if load == low else VARIANT
        yield PAGE.row("low-load", gain(part), why, labels=labels, load=load)


@PAGE.rows
def big_data(results: Results) -> Iterator[Claim]:
    """Figure 13 as we read the text: whole demands held to the end, against tuned ones."""
    aligned = (
        "Tetris here ranks jobs once a round by their alignment with empty servers, where the original aligns "
        "with the free resources at each placement"
    )
    for ordering in ("drf", "tetris"):
        table = cells(results, "big_data", ordering=ordering)
        for name, split in ((f"big-data.{ordering}", W2), ("big-data-w1", W1)):
            part = table[table["split"] == split]
            why = f"load and GPU demands of this figure are not printed; {_by_seed(part, 'static', 'tune')}"
            if ordering == "tetris":
                why += f". {aligned}"
            words: dict[str, Any] = {"ordering": ordering.upper(), "base": "static", "load": 9.0}
            yield PAGE.row(name, gain(part, "static"), why, **words)


@PAGE.rows
def big_data_released(results: Results) -> Iterator[Claim]:
    """The authors' pair on their own draw: greedy, placed anew in each round, and tune."""
    for ordering in ("drf", "tetris"):
        table = cells(results, "released", ordering=ordering)
        for (load, split), part in table.groupby(["load", "split"]):
            name = "big-data-w1" if split == W1 else f"big-data.{ordering}"
            ours = gain(part, "greedy").mean
            why = f"greedy {hours(part, 'greedy').mean:.1f} h, tune {hours(part, 'tune').mean:.1f} h; the load is not printed"
            yield PAGE.row(name, ours, why, labels=AUTHORS, exact="one draw (seed 42)",
                           ordering=ordering.upper(), base="greedy", load=load)  # fmt: skip


# -- one round -------------------------------------------------------------------------------


@PAGE.rows
def rounds(results: Results) -> Iterator[Claim]:
    """Time and throughput of a round."""
    table: Table = results.runs("run_round_times").sort_values("nodes")
    single, multi = (table[table["multi_gpu"] == several].set_index("nodes") for several in JOBS)
    counted = "jobs of one model are counted together, exactly, so the ILP stays small"
    spent = single["opt_round_cpu_s"]
    timed = "a mean of 20 rounds, timed"
    slower = float(spent[16] / single.loc[16, "tune_round_cpu_s"])
    yield PAGE.row("slower", slower, counted, exact=timed)
    least, most = single.index.min(), single.index.max()
    tuned = float(single.loc[most, "tune_round_cpu_s"])
    yield PAGE.row("tune-time", tuned, "another machine", exact=timed, gpus=8 * most)
    power = math.log(spent[most] / spent[least]) / math.log(most / least)
    yield PAGE.row("opt-time", power, counted, exact=timed, low=8 * least, high=8 * most)
    for part, jobs_of in ((single, "single GPU"), (multi, "up to 16 GPUs")):
        for column, rules in (("tune", ""), ("tune_released", ", as the released simulator sorts")):
            mean, high, low = (
                100 * (1 - float(part.loc[16, f"{column}_of_opt{end}"]))
                for end in ("", "_low", "_high")
            )
            sorted_so = 100 * (1 - float(part.loc[16, "tune_released_of_opt"]))
            why = f"{SORTED}; sorted as released it is {sorted_so:.1f} %"
            yield PAGE.row("round", Estimate(mean, low, high, 20), why, jobs=jobs_of, rules=rules,
                           labels=AUTHORS if rules else ())  # fmt: skip
        yield PAGE.row("least-rate", float(part["least_rate"].min()), "a job is put below its proportional share",
                       jobs=jobs_of, exact="the least of all jobs in 20 rounds of each size")  # fmt: skip
    cut = float(np.max(table.loc[table["nodes"] == 16, "opt_most_cut"]))
    yield PAGE.row("cut", cut, "the LP did not end at a vertex", exact="the most of 20 rounds")
