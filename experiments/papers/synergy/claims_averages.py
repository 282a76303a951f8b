"""Claims on averages over jobs: Figures 6 to 9 and 12, and FTF."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from experiments.papers.synergy.estimates import gain, geometric, hours
from experiments.papers.synergy.panels import cells
from experiments.papers.synergy.reasons import FTF_ORDER, PHILLY, WINDOW
from experiments.report.contents import Claim
from experiments.report.verdict import amount, effect, judged, measured
from experiments.sweep.results import Results
from simulator.statistics import student

PAPER = "synergy"


def average_claims(results: Results) -> list[Claim]:
    """Those for which there are runs."""
    return [*_philly(results), *_loads(results)]


FIGURE_6A = {"srtf": (30, 26), "las": (32, 28), "fifo": (71, 62)}
FIGURE_6B = {
    "short_mean_h": ("average of short jobs", 2, 1.7),
    "long_mean_h": ("average of long jobs", 80, 68),
    "short_p99_h": ("99th percentile of short jobs", 9, 4),
    "long_p99_h": ("99th percentile of long jobs", 660, 641),
}
"""Hours that the paper prints, proportional and tune."""


def _philly(results: Results) -> list[Claim]:
    part = results.where("run_philly")
    if not part.tasks:
        return []
    table: Any = part.scalars()
    made: list[Claim] = []
    for ordering, printed in FIGURE_6A.items():
        of_ordering = table[table["ordering"] == ordering]
        what = f"average JCT, {ordering.upper()}"
        made += _pair("Figure 6a", what, printed, of_ordering, "mean_jct_h", PHILLY)
    srtf = table[table["ordering"] == "srtf"]
    for metric, (what, *hours_of_both) in FIGURE_6B.items():
        both = (float(hours_of_both[0]), float(hours_of_both[1]))
        made += _pair("Figure 6b", f"JCT under SRTF, {what}", both, srtf, metric, PHILLY)
    for metric in ("short_mean_h", "long_mean_h"):
        ratio = srtf.pivot_table(index="seed", columns="mechanism", values=metric)
        saved = student(100 * (1 - ratio["tune"] / ratio["proportional"]).dropna())
        kind = metric.partition("_")[0]
        made.append(judged(PAPER, "Section 5.3.1", f"JCT saved under SRTF, {kind} jobs",
                           effect(15, none=0), saved, unit="%", why=PHILLY))  # fmt: skip
    jobs: Any = part.where(ordering="srtf").table("jobs")
    wide = jobs.pivot_table(index=["seed", "job"], columns="mechanism", values="jct_h")
    most = (wide["proportional"] / wide["tune"]).groupby("seed").max()
    made.append(
        judged(PAPER, "Figure 6c", "largest speed-up of one job, SRTF", effect(9, none=1, text=
               "up to 9"), geometric(most), unit="x",
               why=f"an extreme of one job, which takes a queue to jump; {PHILLY}")
    )  # fmt: skip
    return made


def _pair(
    place: str, what: str, printed: tuple[float, float], table: Any, metric: str, why: str
) -> list[Claim]:
    """The printed hours of proportional and tune, and their ratio."""
    made = [
        judged(PAPER, place, f"{what}, {mechanism}", amount(value),
               hours(table, mechanism, metric), unit="h", why=why)
        for mechanism, value in zip(("proportional", "tune"), printed, strict=True)
    ]  # fmt: skip
    ratio = effect(round(printed[0] / printed[1], 3), none=1)
    made.append(judged(PAPER, place, f"{what}, proportional over tune", ratio,
                       gain(table, metric), unit="x", why=why))  # fmt: skip
    return made


def _loads(results: Results) -> list[Claim]:
    from experiments.papers.synergy.figures import FIFO_SINGLE

    at_9 = {**FIFO_SINGLE, "load": 9.0}
    table = cells(results, **at_9, ratio=3)
    if table.empty:
        return []
    what = "average JCT, FIFO, single GPU, 9 jobs/h, drawn here by the law of Section 5.1"
    made = [
        measured(PAPER, "Section 5.3.2", "GPUs that 9 jobs/h ask for with every demand met, of 128 "
                 "(118 % at proportional shares)", 100 * offered_load(9, 128), unit="%",
                 why="above 100 % no mechanism can keep the queue from growing"),
    ]  # fmt: skip
    for mechanism, value in (("proportional", 81.0), ("tune", 22.0), ("opt", 20.0)):
        made.append(judged(PAPER, "Figure 9", f"{what}, {mechanism}", amount(value),
                           hours(table, mechanism), unit="h", why=WINDOW))  # fmt: skip
    made.append(judged(PAPER, "Figure 9, Section 5.5", f"{what}, proportional over tune",
                       effect(3.4, none=1), gain(table), unit="x", why=WINDOW))  # fmt: skip
    proportional = table[table["mechanism"] == "proportional"]
    for cpus, value in ((4, 3.0), (5, 2.2), (6, 1.8)):
        tuned = cells(results, **at_9, ratio=cpus)
        tuned = tuned[tuned["mechanism"] == "tune"]
        both = pd.concat([proportional, tuned])
        made.append(judged(PAPER, "Figure 12, Section 5.5", "average JCT, proportional over tune, "
                           f"FIFO, single GPU, 9 jobs/h, {cpus} CPUs per GPU", effect(value, none=1),
                           gain(both), unit="x", why=WINDOW))  # fmt: skip
    return [*made, *_multi(results), *_ftf(results)]


def offered_load(jobs_per_hour: float, gpus: int) -> float:
    """GPUs that single-GPU jobs of split 20-70-10 ask for where each has its whole demand."""
    from experiments.papers.synergy.runs import W1
    from simulator.workloads.synergy import TASKS, dnn_models, sensitivity_matrices

    # The mean of 10^x minutes with the law of Section 5.1, see `derived_trace`.
    short, long = (10**3 - 10**1.5) / 1.5, 10**4 - 10**3
    mean_h = (0.8 * short + 0.2 * long) / math.log(10) / 60
    fastest = {n: float(m.relative.max()) for n, m in sensitivity_matrices().items()}
    gpu_hours = 0.0
    for task, share in zip(TASKS, W1, strict=True):
        of_task = [1 / fastest[n.name] for n in dnn_models().values() if n.task == task]
        gpu_hours += share / sum(W1) * mean_h * sum(of_task) / len(of_task)
    return jobs_per_hour * gpu_hours / gpus


def _multi(results: Results) -> list[Claim]:
    """Jobs of several GPUs: Figures 7 and 8."""
    made = []
    why = "the paper's is the largest over orderings and loads, which it does not print"
    for place, ordering in (("Figure 7", "las"), ("Figure 8", "srtf")):
        table = cells(results, ordering=ordering, multi_gpu=True, load=5.5)
        made.append(judged(PAPER, f"{place}, Section 5.3.2", "average JCT, proportional over tune, "
                           f"{ordering.upper()}, several GPUs, 5.5 jobs/h", effect(1.6, none=1,
                           text="up to 1.6"), gain(table), unit="x", why=why))  # fmt: skip
    table = cells(results, ordering="las", multi_gpu=True, load=5.5)
    made.append(judged(PAPER, "Section 5.3.2", "95th percentile of long jobs, proportional over tune, "
                       "LAS", effect(2, none=1), gain(table, "long_p95_h"), unit="x",
                       why="the paper does not print the load"))  # fmt: skip
    return made


def _ftf(results: Results) -> list[Claim]:
    """FTF with the most delayed first, as printed, and with the least delayed, as released."""
    made = []
    for released in (False, True):
        for multi, load, value in ((False, 9.0, 2.3), (True, 5.5, 2.0)):
            table = cells(results, ordering="ftf", multi_gpu=multi, load=load, released=released)
            if table.empty:
                continue
            kind = "several GPUs" if multi else "single GPU"
            order = "in the released order" if released else "the most delayed first"
            why = "load and window are not printed"
            made.append(judged(PAPER, "Section 5.3.2", "average JCT, proportional over tune, FTF "
                               f"{order}, {kind}", effect(value, none=1), gain(table), unit="x",
                               why=why if released else f"{why}; {FTF_ORDER}"))  # fmt: skip
    return made
