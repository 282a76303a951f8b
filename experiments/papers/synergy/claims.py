"""What the paper says, beside what came out here."""

from __future__ import annotations

import math
from typing import Any

from experiments.campaign.results import Results
from experiments.report.contents import Claim, Verdict

Table = Any
"""A pandas DataFrame."""

WINDOW = (
    "9 jobs/h is 118 % of the GPUs at proportional shares and 103 % with every demand met: both queues "
    "grow as long as jobs come, so the ratio depends on the window and the seed (figure_9_windows)"
)
SORTED = (
    "Section 4.2 sorts by GPU, CPU and memory demand: CPU-hungry jobs meet on the first servers, and "
    "one is put back to its proportional share for each server on which jobs of one CPU come later; "
    "the released simulator does not sort"
)
PHILLY = (
    "the subrange of the Philly trace is not published: demands and durations follow its law, "
    "arrivals are Poisson at 1.1 times the GPUs"
)


def claims(results: Results) -> list[Claim]:
    """Every claim for which there are runs."""
    return [
        *_sensitivity(),
        *_profiling(results),
        *_table_5(results),
        *_philly(results),
        *_loads(results),
        *_mechanisms(results),
    ]


def _claim(
    place: str,
    claim: str,
    paper: float | str,
    ours: float,
    unit: str,
    tolerance: float,
    why: str,
    interval: tuple[float, float] | None = None,
) -> Claim:
    """Reproduced within a relative tolerance of the paper; "partly" where the interval holds the
    paper's value, or where there is a gain beyond doubt."""
    off = abs(ours / paper - 1) if isinstance(paper, (int, float)) else 0.0
    near = not isinstance(paper, (int, float)) or unit != "x"
    if interval and isinstance(paper, (int, float)):
        near = near or interval[0] <= paper <= interval[1]
    surely = interval[0] if interval else ours
    near = near or surely > 1
    verdict: Verdict = "reproduced" if off <= tolerance else "partly" if near else "not reproduced"
    low, high = interval or (None, None)
    return Claim(
        "synergy", place, claim, paper, ours, low, high, unit, verdict,
        "" if verdict == "reproduced" else why,
    )  # fmt: skip


def _sensitivity() -> list[Claim]:
    from experiments.papers.synergy.details import example
    from simulator.workloads.synergy import sensitivity_matrices

    w = sensitivity_matrices()
    table = example()
    mean = table.groupby("schedule")["relative_time"].mean()
    proportional, printed, tuned = (
        float(mean[name])
        for name in ("GPU-proportional (Table 2)", "as printed (Table 3)", "Synergy-Tune")
    )
    profile = "the published profile says so, rounded otherwise in the text"
    return [
        _claim("Section 2.1", "AlexNet faster with 12 than with 3 CPUs per GPU", 3.1,
               w["alexnet"](12, 250) / w["alexnet"](3, 250), "x", 0.06, profile),
        _claim("Section 2.1", "ResNet18 faster with 9 than with 3 CPUs per GPU", 2.3,
               w["resnet18"](9, 250) / w["resnet18"](3, 250), "x", 0.06, profile),
        _claim("Figure 3", "time of an epoch, Table 2 over Table 3, mean of four jobs", 1.5,
               proportional / printed, "x", 0.1,
               "measured there with data sets whose caching gains the published profiles lack"),
        Claim("synergy", "Figure 3", "the same with what tune gives: demands of a whole server's "
              "CPUs are put back to the proportional share for the sake of one CPU", None,
              proportional / tuned, unit="x", verdict="new",
              why="Table 3's 23 CPUs are between the two shares that tune knows"),
    ]  # fmt: skip


def _profiling(results: Results) -> list[Claim]:
    part = results.where("run_profiling")
    if not part.tasks:
        return []
    fits, points = part.table("fits"), part.table("points")
    at = points[points["measured"]]
    error = float((at["estimated"] / at["trained"] - 1).abs().quantile(0.99)) * 100
    minutes = float(fits.loc[fits["model"] == "resnet18", "profile_minutes"].iloc[0])
    return [
        _claim("Section 3.1", "minutes to profile ResNet18 by binary search", 8.0, minutes, "min",
               0.01, "another path of the search"),
        _claim("Section 3.1", "minutes to profile every share", 240.0,
               float(fits["exhaustive_minutes"].iloc[0]), "min", 0.01, "another grid"),
        Claim("synergy", "Figure 5a", "throughput worked out over memory is near that of a run, 99 % "
              "of the points", "within 3 %", error, unit="%",
              verdict="reproduced" if error <= 3 else "partly",
              why="against a simulated input pipeline, not the authors' servers"),
        Claim("synergy", "Section 3.1", "error of the pipeline fitted to the published points, mean",
              None, 100 * float(fits["mean_error"].mean()), unit="%", verdict="new",
              why="AlexNet and ShuffleNet leap from 2.00 to 2.9 between 9 and 12 CPUs"),
    ]  # fmt: skip


TABLE_5 = {
    ("static", "makespan_h"): "makespan of the static trace, FIFO",
    ("dynamic", "mean_jct_h"): "average JCT, SRTF",
    ("dynamic", "p99_jct_h"): "99th percentile of JCT, SRTF",
}


def _table_5(results: Results) -> list[Claim]:
    from experiments.papers.synergy.details import RELEASED_TABLE_5, table_5

    if not results.where("run_deployment").tasks:
        return []
    table = table_5(results).set_index(["trace", "metric", "mechanism", "released"])
    hours = table["hours"].to_dict()
    paper = table["paper_h"].to_dict()
    made = []
    for (trace, metric), what in TABLE_5.items():
        for mechanism in ("proportional", "tune", "opt"):
            key = (trace, metric, mechanism, False)
            made.append(
                _claim("Table 5", f"{what}, {mechanism}", paper[key], hours[key], "h", 0.05,
                       _why_table_5(trace))
            )  # fmt: skip
    for mechanism, released_h in RELEASED_TABLE_5.items():
        ours = hours["static", "makespan_h", mechanism, True]
        made.append(
            _claim("Table 5, released simulator",
                   f"{TABLE_5['static', 'makespan_h']}, {mechanism}", released_h, ours, "h", 0.004,
                   "one round: which of the jobs of one model gets the larger share is a tie, and "
                   "other ties give 10.58 h here too")
        )  # fmt: skip
    for (trace, metric), what in TABLE_5.items():
        for mechanism, said in (("tune", "within 4 %"), ("tune-by-gpus", None)):
            over = 100 * (
                hours[trace, metric, mechanism, False] / hours[trace, metric, "opt", False] - 1
            )
            made.append(
                _over_opt(mechanism, "Section 5.2", f"{_name(mechanism)} over opt, {what}", said,
                          over, 4)
            )  # fmt: skip
    return made


def _name(mechanism: str) -> str:
    return "tune" if mechanism == "tune" else "tune, sorted by GPUs, spare shares regranted,"


def _over_opt(
    mechanism: str,
    place: str,
    text: str,
    said: str | None,
    over: float,
    limit: float,
    interval: tuple[float, float] | None = None,
    why: str = SORTED,
) -> Claim:
    low, high = interval or (None, None)
    if said is None:
        return Claim("synergy", place, text, None, over, low, high, "%", "new",
                     "CPU-hungry jobs do not meet on the first servers")  # fmt: skip
    good = over <= limit
    return Claim("synergy", place, text, said, over, low, high, "%",
                 "reproduced" if good else "partly", "" if good else why)  # fmt: skip


def _why_table_5(trace: str) -> str:
    if trace == "static":
        return "the released simulator itself gives 15.25, 11.00 and 10.58 h on the shipped trace"
    return (
        "the shipped trace has 35 image, 64 language and 1 speech jobs of the 30-60-10 that the "
        "table states, and ends after 100 jobs, so there is no steady state to average over"
    )


def _philly(results: Results) -> list[Claim]:
    part = results.where("run_philly")
    if not part.tasks:
        return []
    table: Table = part.scalars()
    paper = {"srtf": 30 / 26, "las": 32 / 28, "fifo": 71 / 62}
    made = []
    for ordering, value in paper.items():
        gain, interval = _gain(table[table["ordering"] == ordering])
        made.append(
            _claim("Figure 6a", f"average JCT, proportional over tune, {ordering.upper()}", value,
                   gain, "x", 0.1, PHILLY, interval)
        )  # fmt: skip
    srtf = table[table["ordering"] == "srtf"]
    for metric, what, value in (
        ("short_mean_h", "average of short jobs", 2 / 1.7),
        ("long_mean_h", "average of long jobs", 80 / 68),
        ("short_p99_h", "99th percentile of short jobs", 9 / 4),
    ):
        gain, interval = _gain(srtf, metric)
        made.append(
            _claim("Figure 6b", f"JCT, proportional over tune, SRTF, {what}", value, gain, "x", 0.1,
                   PHILLY, interval)
        )  # fmt: skip
    jobs: Table = part.where(ordering="srtf").table("jobs")
    wide = jobs.pivot_table(index=["seed", "job"], columns="mechanism", values="jct_h")
    most = float((wide["proportional"] / wide["tune"]).max())
    made.append(
        _claim("Figure 6c", "largest speed-up of one job, SRTF", 9.0, most, "x", 0.25,
               f"an extreme of one job, which takes a queue to jump; {PHILLY}")
    )  # fmt: skip
    return made


def _loads(results: Results) -> list[Claim]:
    from experiments.papers.synergy.figures import FIFO_SINGLE, by_window
    from experiments.papers.synergy.panels import cells, gains

    at_9 = {**FIFO_SINGLE, "load": 9.0}
    table = cells(results, **at_9, ratio=3)
    if table.empty:
        return []
    made = [
        Claim("synergy", "Section 5.3.2", "GPUs that 9 jobs/h ask for with every demand met, of 128 "
              "(118 % at proportional shares)", None, 100 * offered_load(9, 128), unit="%",
              verdict="new", why="above 100 % no mechanism can keep the queue from growing"),
    ]  # fmt: skip
    what = "average JCT, proportional over tune, FIFO, single GPU, 9 jobs/h"
    gain, interval = _gain(table)
    made.append(_claim("Figure 9, abstract", what, 3.4, gain, "x", 0.15, WINDOW, interval))
    ratios = gains(by_window(results), ["first_job"])["gain"]
    made.append(
        Claim("synergy", "Figure 9", "the same, largest over eight windows and three seeds", 3.4,
              float(ratios.max()), unit="x", verdict="new",
              why=f"from {ratios.min():.2f} to {ratios.max():.2f} by window and seed alone")
    )  # fmt: skip
    gain, interval = _gain(cells(results, **at_9, ratio=3, released=True))
    made.append(
        _claim("Figure 9", "the same as the released simulator behaves", 3.4, gain, "x", 0.15,
               WINDOW, interval)
    )  # fmt: skip
    for cpus, value in ((4, 3.0), (5, 2.2), (6, 1.8)):
        gain, interval = _gain(cells(results, **at_9, ratio=cpus))
        made.append(
            _claim("Figure 12", f"the same with {cpus} CPUs per GPU", value, gain, "x", 0.15, WINDOW,
                   interval)
        )  # fmt: skip
    return [*made, *_multi(results), *_ftf(results)]


def offered_load(jobs_per_hour: float, gpus: int) -> float:
    """GPUs that single-GPU jobs of split 20-70-10 ask for where each has its whole demand."""
    from experiments.papers.synergy.runs import W1
    from simulator.workloads.synergy import TASKS, networks, sensitivity_matrices

    # The mean of 10^x minutes with the law of Section 5.1, see `derived_trace`.
    short, long = (10**3 - 10**1.5) / 1.5, 10**4 - 10**3
    hours = (0.8 * short + 0.2 * long) / math.log(10) / 60
    fastest = {n: float(m.relative.max()) for n, m in sensitivity_matrices().items()}
    gpu_hours = 0.0
    for task, share in zip(TASKS, W1, strict=True):
        of_task = [1 / fastest[n.name] for n in networks().values() if n.task == task]
        gpu_hours += share / sum(W1) * hours * sum(of_task) / len(of_task)
    return jobs_per_hour * gpu_hours / gpus


def _multi(results: Results) -> list[Claim]:
    """Jobs of several GPUs: Figures 7 and 8."""
    from experiments.papers.synergy.panels import cells

    made = []
    for place, ordering in (("Figure 7", "las"), ("Figure 8", "srtf")):
        table = cells(results, ordering=ordering, multi_gpu=True, load=5.5)
        gain, interval = _gain(table)
        made.append(
            _claim(f"{place}, Section 5.3.2", f"average JCT, proportional over tune, "
                   f"{ordering.upper()}, several GPUs, 5.5 jobs/h", 1.6, gain, "x", 0.15,
                   "the paper's is the largest over orderings and loads", interval)
        )  # fmt: skip
    gain, interval = _gain(cells(results, ordering="las", multi_gpu=True, load=5.5), "long_p95_h")
    made.append(
        _claim("Section 5.3.2", "95th percentile of long jobs, proportional over tune, LAS", 2.0,
               gain, "x", 0.15, "the paper does not print the load", interval)
    )  # fmt: skip
    return made


def _ftf(results: Results) -> list[Claim]:
    from experiments.papers.synergy.panels import cells

    made = []
    for multi, load, value in ((False, 9.0, 2.3), (True, 5.5, 2.0)):
        gain, interval = _gain(cells(results, ordering="ftf", multi_gpu=multi, load=load))
        kind = "several GPUs" if multi else "single GPU"
        made.append(
            _claim("Section 5.3.2", f"average JCT, proportional over tune, FTF, {kind}", value,
                   gain, "x", 0.15, "load and window are not printed; with the most delayed job "
                   "first short jobs wait little under either mechanism; the released order is the "
                   "reverse", interval)
        )  # fmt: skip
    return made


def _gain(
    table: Table, metric: str = "mean_jct_h", base: str = "proportional", over: str = "tune"
) -> tuple[float, tuple[float, float] | None]:
    """Geometric mean over seeds of the ratio of two mechanisms, and its 95 % interval.

    Of the logarithm, so that which of the two is on top makes no difference.
    """
    from simulator.statistics import student

    wide = table.pivot_table(index="seed", columns="mechanism", values=metric)
    logs = (wide[base] / wide[over]).dropna().map(math.log).to_numpy()
    if len(logs) < 2:
        return math.exp(logs.mean()), None
    estimate = student(logs)
    return math.exp(estimate.mean), (math.exp(estimate.lower), math.exp(estimate.upper))


def _mechanisms(results: Results) -> list[Claim]:
    from experiments.papers.synergy.panels import cells

    made = [*_tune_over_opt(results)]
    split = cells(results, ordering="fifo", multi_gpu=True, split="50-0-50", load=5.5)
    if not split.empty:
        worse, interval = _gain(split, base="greedy", over="proportional")
        made.append(
            Claim("synergy", "Figure 11c", "greedy over proportional, split 50-0-50, 5.5 jobs/h",
                  "above 1", worse, *_bounds(interval), "x",
                  *_above_one(worse, interval))
        )  # fmt: skip
        gain, interval = _gain(split)
        made.append(
            Claim("synergy", "Figure 11c", "proportional over tune, split 50-0-50, 5.5 jobs/h",
                  "at least 1", gain, *_bounds(interval), "x",
                  *_above_one(gain, interval))
        )  # fmt: skip
    made.extend(_utilisation(results))
    for ordering, value in (("drf", 7.2), ("tetris", 1.8)):
        table = cells(results, ordering=ordering, split="50-0-50")
        if not table.empty:
            gain, interval = _gain(table, base="static")
            made.append(
                _claim("Figure 13", f"{ordering.upper()}: static over tuned demands, 50-0-50", value,
                       gain, "x", 0.2, "load and GPU demands of this figure are not printed; under "
                       "overload the ratio depends on the window", interval)
            )  # fmt: skip
    made.extend(_round_times(results))
    return made


def _bounds(interval: tuple[float, float] | None) -> tuple[float | None, float | None]:
    return interval or (None, None)


def _above_one(ratio: float, interval: tuple[float, float] | None) -> tuple[Verdict, str]:
    """Verdict and reason of "above 1", which an interval that holds 1 leaves open."""
    if min(ratio, *(interval or ())) >= 1:
        return "reproduced", ""
    seeds = "a queue builds up with some seeds only, so the interval holds 1"
    return ("partly", seeds) if ratio > 1 else ("not reproduced", "no lasting queue in this window")


def _tune_over_opt(results: Results) -> list[Claim]:
    """Average JCT of tune over that of opt, Figures 7 to 9."""
    from experiments.papers.synergy.panels import cells

    made = []
    for ordering, multi_gpu, load in (
        ("fifo", False, 8.0), ("las", True, 5.5), ("srtf", True, 5.5), ("fifo", False, 9.0),
    ):  # fmt: skip
        table = cells(results, ordering=ordering, multi_gpu=multi_gpu, load=load, ratio=3,
                      split="20-70-10")  # fmt: skip
        for mechanism, said in (("tune", "within 10 %"), ("tune-by-gpus", None)):
            if not {mechanism, "opt"} <= set(table.get("mechanism", ())):
                continue
            ratio, interval = _gain(table, base=mechanism, over="opt")
            low, high = interval or (math.nan, math.nan)
            bounds = interval and (100 * (low - 1), 100 * (high - 1))
            made.append(
                _over_opt(
                    mechanism, "Section 5.3.2", f"{_name(mechanism)} over opt, average JCT, "
                    f"{ordering.upper()}, {'several GPUs' if multi_gpu else 'single GPU'}, {load:g} "
                    "jobs/h", said, 100 * (ratio - 1), 10, bounds,
                    "the GPUs are overloaded, so a tenth of the throughput that tune leaves adds up "
                    f"in the queue; at loads that tune keeps up with it stays within 10 %. {SORTED}",
                )
            )  # fmt: skip
    return made


def _utilisation(results: Results) -> list[Claim]:
    """Figure 10b, and the gain in JCT beside it."""
    from experiments.papers.synergy.panels import cells

    part = results.where("run_cell", ordering="fifo", split="50-0-50", multi_gpu=True, seed=1)
    if not part.tasks:
        return []
    timeline: Table = part.table("timeline")
    low = float(timeline["load"].min())
    used = timeline[timeline["load"] == low].groupby("mechanism")["cpus_used"].mean()
    why = "the paper prints neither load nor time; where GPUs are free, so are their CPUs"
    made = [
        _claim("Figure 10b", f"CPUs in use, {mechanism}, {low:g} jobs/h", value,
               100 * float(used[mechanism]), "%", 0.15, why)
        for mechanism, value in (("proportional", 60.0), ("tune", 90.0))
    ]  # fmt: skip
    table = cells(results, ordering="fifo", split="50-0-50", multi_gpu=True, load=low)
    gain, interval = _gain(table)
    made.append(
        _claim("Section 5.4", f"average JCT, proportional over tune, 50-0-50, {low:g} jobs/h", 1.5,
               gain, "x", 0.15, why, interval)
    )  # fmt: skip
    return made


def _round_times(results: Results) -> list[Claim]:
    table: Table = results.where("run_round_times", nodes=16).scalars()
    if table.empty:
        return []
    row = table[~table["multi_gpu"]].iloc[0]
    times = float(row["opt_round_cpu_s"] / row["tune_round_cpu_s"])
    made = [
        Claim("synergy", "Section 5.6", "opt slower than tune, one round at 128 GPUs", 200.0, times,
              unit="x", verdict="not comparable",
              why="jobs of one model are counted together, exactly, so the ILP stays small"),
    ]  # fmt: skip
    for multi_gpu, jobs in ((False, "single GPU"), (True, "up to 16 GPUs")):
        part = table[table["multi_gpu"] == multi_gpu].iloc[0]
        below = 100 * (1 - float(part["tune_of_opt"]))
        made.append(
            Claim("synergy", "Section 5.6", f"throughput of tune below opt, one round, {jobs}",
                  "within 10 %", below, 100 * (1 - float(part["tune_of_opt_high"])),
                  100 * (1 - float(part["tune_of_opt_low"])), "%",
                  "reproduced" if below <= 10 else "partly", "" if below <= 10 else SORTED)
        )  # fmt: skip
        below = 100 * (1 - float(part["tune_released_of_opt"]))
        made.append(
            Claim("synergy", "Section 5.6", f"the same as the released simulator sorts, {jobs}",
                  "within 10 %", below, 100 * (1 - float(part["tune_released_of_opt_high"])),
                  100 * (1 - float(part["tune_released_of_opt_low"])), "%",
                  "reproduced" if below <= 10 else "partly", "" if below <= 10 else SORTED)
        )  # fmt: skip
    return made
