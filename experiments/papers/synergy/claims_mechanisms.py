"""Claims on the mechanisms: tune beside opt, splits, use of the cluster, DRF and Tetris, a round."""

from __future__ import annotations

import math
import warnings
from typing import Any

from experiments.papers.synergy.estimates import gain
from experiments.papers.synergy.panels import cells
from experiments.papers.synergy.reasons import SORTED
from experiments.report.contents import Claim
from experiments.report.verdict import amount, at_least, at_most, effect, judged, measured
from experiments.sweep.results import Results
from simulator.errors import InputError
from simulator.statistics import Estimate, batch_means, mser5

PAPER = "synergy"


def mechanism_claims(results: Results) -> list[Claim]:
    """Those for which there are runs."""
    return [
        *_tune_over_opt(results),
        *_splits(results),
        *_utilisation(results),
        *_big_data(results),
        *_round_times(results),
    ]


def _name(mechanism: str) -> str:
    return "tune" if mechanism == "tune" else "tune, sorted by GPUs, spare shares regranted,"


def per_cent_over(ratio: Estimate) -> Estimate:
    """A ratio as per cent above 1."""
    mean, lower, upper = (100 * (x - 1) for x in (ratio.mean, ratio.lower, ratio.upper))
    return Estimate(mean, lower, upper, ratio.n, ratio.level)


def _tune_over_opt(results: Results) -> list[Claim]:
    """Average JCT of tune over that of opt, Figures 7 to 9."""
    made = []
    for ordering, multi_gpu, load in (
        ("fifo", False, 8.0), ("las", True, 5.5), ("srtf", True, 5.5), ("fifo", False, 9.0),
    ):  # fmt: skip
        table = cells(results, ordering=ordering, multi_gpu=multi_gpu, load=load, ratio=3,
                      split="20-70-10")  # fmt: skip
        for mechanism in ("tune", "tune-by-gpus"):
            if not {mechanism, "opt"} <= set(table.get("mechanism", ())):
                continue
            over = per_cent_over(gain(table, base=mechanism, over="opt"))
            text = (
                f"{_name(mechanism)} over opt, average JCT, {ordering.upper()}, "
                f"{'several GPUs' if multi_gpu else 'single GPU'}, {load:g} jobs/h"
            )
            if mechanism == "tune":
                why = (
                    "the GPUs are overloaded, so a tenth of the throughput that tune leaves adds up in "
                    f"the queue; at loads that tune keeps up with it stays within 10 %. {SORTED}"
                )
                made.append(judged(PAPER, "Section 5.3.2", text, at_most(10, text="within 10 %"),
                                   over, unit="%", why=why))  # fmt: skip
            else:
                made.append(measured(PAPER, "Section 5.3.2", text, over, unit="%",
                                     why="CPU-hungry jobs do not meet on the first servers"))  # fmt: skip
    return made


def _splits(results: Results) -> list[Claim]:
    table = cells(results, ordering="fifo", multi_gpu=True, split="50-0-50", load=5.5)
    if table.empty:
        return []
    why = "a queue builds up with some seeds only"
    return [
        judged(PAPER, "Figure 11c", "greedy over proportional, average JCT, split 50-0-50, 5.5 jobs/h",
               at_least(1, text="above 1"), gain(table, base="greedy", over="proportional"),
               unit="x", why=why),
        judged(PAPER, "Figure 11c", "proportional over tune, average JCT, split 50-0-50, 5.5 jobs/h",
               at_least(1, text="at least 1"), gain(table), unit="x", why=why),
    ]  # fmt: skip


def _settled(per_cent: Any) -> Estimate:
    """The mean of one run over time after its warm-up, with an interval by batch means.

    Without an interval where the run is too short for one, or its batches hang together.
    """
    unknown = Estimate(float(per_cent.mean()), -math.inf, math.inf, 1)
    with warnings.catch_warnings(record=True) as too_short:
        warnings.simplefilter("always")
        try:
            found = batch_means(per_cent.to_numpy()[mser5(per_cent) :])
        except InputError:
            return unknown
    return unknown if too_short else found


def _utilisation(results: Results) -> list[Claim]:
    """Figure 10b, and the gain in JCT beside it."""
    part = results.where("run_timeline", ordering="fifo", split="50-0-50", multi_gpu=True)
    if not part.tasks:
        return []
    timeline: Any = part.table("timeline")
    low = float(timeline["load"].min())
    used = timeline[timeline["load"] == low].sort_values("hour").groupby("mechanism")["cpus_used"]
    why = "the paper prints neither load nor time; where GPUs are free, so are their CPUs"
    made = [
        judged(PAPER, "Figure 10b", f"CPUs in use, {mechanism}, {low:g} jobs/h", amount(value),
               _settled(100 * used.get_group(mechanism)), unit="%", why=why)
        for mechanism, value in (("proportional", 60.0), ("tune", 90.0))
    ]  # fmt: skip
    table = cells(results, ordering="fifo", split="50-0-50", multi_gpu=True, load=low)
    made.append(judged(PAPER, "Section 5.4", f"average JCT, proportional over tune, 50-0-50, {low:g} "
                       "jobs/h", effect(1.5, none=1), gain(table), unit="x", why=why))  # fmt: skip
    return made


def _big_data(results: Results) -> list[Claim]:
    made = []
    for ordering, value in (("drf", 7.2), ("tetris", 1.8)):
        table = cells(results, ordering=ordering, split="50-0-50")
        if not table.empty:
            made.append(judged(PAPER, "Figure 13, Section 5.7", f"{ordering.upper()}: static over "
                               "tuned demands, average JCT, 50-0-50", effect(value, none=1),
                               gain(table, base="static"), unit="x",
                               why="load and GPU demands of this figure are not printed; under "
                               "overload the ratio depends on the window"))  # fmt: skip
    return made


def _round_times(results: Results) -> list[Claim]:
    table: Any = results.where("run_round_times", nodes=16).scalars()
    if table.empty:
        return []
    row = table[~table["multi_gpu"]].iloc[0]
    times = float(row["opt_round_cpu_s"] / row["tune_round_cpu_s"])
    made = [
        judged(PAPER, "Section 5.6", "opt slower than tune, one round at 128 GPUs",
               effect(200, none=1), times, unit="x", times_of_another_machine=True,
               why="jobs of one model are counted together, exactly, so the ILP stays small"),
    ]  # fmt: skip
    for multi_gpu, jobs in ((False, "single GPU"), (True, "up to 16 GPUs")):
        part = table[table["multi_gpu"] == multi_gpu].iloc[0]
        for column, text in (
            ("tune", "throughput of tune below opt, one round"),
            ("tune_released", "the same as the released simulator sorts"),
        ):
            mean, high, low = (
                100 * (1 - float(part[f"{column}_of_opt{end}"])) for end in ("", "_low", "_high")
            )
            made.append(judged(PAPER, "Section 5.6", f"{text}, {jobs}", at_most(10, text=
                               "within 10 %"), Estimate(mean, low, high, 20), unit="%",
                               why=SORTED))  # fmt: skip
    made.append(
        judged(PAPER, "A.1.3", "jobs that LP 2 cuts on 16 servers, the most in 20 rounds",
               at_most(48, text="at most 3s = 48"), float(table["opt_most_cut"].max()),
               why="the LP did not end at a vertex")
    )  # fmt: skip
    return made
