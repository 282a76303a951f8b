"""The answer to each question that the papers left open, in words; its numbers are those of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from experiments.report.contents import Text
from experiments.studies.cross.controllers import HOUR, NO_TIME, TIMES
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import (
    cheapest,
    in_words,
    of_method,
    of_methods,
    over_bounds,
    over_round_robin,
    study,
    value_of,
)
from experiments.studies.cross.studies import (
    BOUNDED,
    EVENTS,
    MOVED,
    MOVED_ELASTIC,
    WITH_HYSTERESIS,
)
from experiments.studies.same_jobs import differs, geometric, paired
from simulator.statistics import Estimate

if TYPE_CHECKING:
    from experiments.sweep.results import Results

INTERVALS = (
    "Geometric means on the same jobs, in brackets the 95 % interval over the seeds; where it holds 1, no "
    "difference is shown."
)


def _told(ratios: Mapping[str, Estimate], where: str = "") -> Iterator[str]:
    """A line of what is shown to differ, and one of what is not."""
    for shown, words in ((True, "A difference is shown"), (False, "No difference is shown")):
        names = [f"{n} {in_words(r)}" for n, r in ratios.items() if differs(r) == shown]
        if names:
            yield f"{where}{words}: {'; '.join(names)}."


@PAGE.text
def dispatching(results: Results) -> Iterator[Text]:
    """Rules over round robin."""
    table = study(results, "dispatching")
    lines = [
        line
        for policy in sorted(set(table["policy"]))
        for line in _told(over_round_robin(table, policy), f"Under {policy}. ")
    ]
    yield Text(
        "Which rule sends jobs to controllers?",
        f"Total cost over that of round robin, over all loads and numbers of controllers. {INTERVALS}",
        tuple(lines),
        "dispatching",
    )


@PAGE.text
def controllers(results: Results) -> Iterator[Text]:
    """Cost of partitioning, the optimum, and the number of servers that moves it."""
    table = study(results, "controllers")
    most = int(table["controllers"].max())
    lines = []
    for load, part in table.groupby("load"):
        at_once = part[part["solver"] == NO_TIME]
        split = paired(at_once, "total_cost", {"controllers": most}, {"controllers": 1})
        one, more = part[part["servers"] == 1], part[part["servers"] > 1]
        by_time = [_with_k(one, "solver", time) for time in TIMES if (one["solver"] == time).any()]
        lines += [
            f"Load {load:g}: where decisions take no time, a controller for each of {most} nodes costs "
            f"{in_words(split)} times one.",
            f"Load {load:g}, one server, the cheapest K by the time of a decision: {'; '.join(by_time)}.",
        ]
        if not more.empty:
            by_servers = [_with_k(more, "servers", s) for s in sorted(set(more["servers"]))]
            lines.append(
                f"Load {load:g}, {HOUR} a decision, the cheapest K by servers: {'; '.join(by_servers)}."
            )
    yield Text(
        "Where is the optimum, and how many servers move it?",
        f"The cheapest number of controllers K has the least geometric mean of cost. Behind a K above 1 stands its "
        f"cost over that of K = 1. It was chosen from the same runs, so its lead is rather smaller. {INTERVALS}",
        tuple(lines),
        "controllers",
    )


def _with_k(table: pd.DataFrame, name: str, value: str | int) -> str:
    """The cheapest number of controllers at one setting; above 1 with its cost over that of one."""
    part = table[table[name] == value]
    k = cheapest(part)
    if k == 1:
        return f"{value}: K = 1"
    ratio = paired(part, "total_cost", {"controllers": k}, {"controllers": 1})
    shown = "" if differs(ratio) else ", no difference is shown"
    return f"{value}: K = {k}, {in_words(ratio)}{shown}"


@PAGE.text
def predictions(results: Results) -> Iterator[Text]:
    """Errors of predicted times, and policies that see none."""
    table = study(results, "predictions")
    lines: list[str] = []
    for error in sorted({0.1, float(table["error"].max())} & set(table["error"])):
        for kind in ("noise", "bias"):
            of_kind = table[table["kind"] == kind]
            ratios = {
                method: of_method(of_kind, method, {"error": error}, {"error": 0.0})
                for method in ("SRTF", "SRTF, learned", "greedy", "greedy, learned", "MILP", "EDF")
            }
            lines += _told(ratios, f"{kind.capitalize()} of {100 * error:.0f} %. ")
    exact = table[(table["kind"] == "noise") & (table["error"] == 0.0)]
    blind = {
        method: of_methods(exact, "mean_jct_s", method, "SRTF")
        for method in ("LAS", "Gittins", "SJF by history")
    }
    lines += _told(blind, "Without predictions, over exact SRTF. ")
    yield Text(
        "Who suffers from wrong predictions?",
        f"Completion time of SRTF, cost of the others, over the same with exact times. {INTERVALS}",
        tuple(lines),
        "predictions",
    )


@PAGE.text
def delays(results: Results) -> Iterator[Text]:
    """Policies that lose most from the longest delay, and what hysteresis gains them."""
    table = study(results, "delays")
    most = float(table["delay_s"].max())
    longest = table[table["delay_s"] == most]
    ended = set(longest.loc[longest["stuck"] == 0, "method"])
    ratios = {
        method: of_method(table, method, {"delay_s": most}, {"delay_s": 0.0})
        for method in (*MOVED, *MOVED_ELASTIC)
        if method in ended
    }
    yield Text(
        f"Who suffers from {most / 60:g} min a reconfiguration?",
        f"Completion time (greedy and EDF: cost) over the same without a delay. {INTERVALS}",
        (*_told(ratios), *_never_ended(longest)),
        "delays",
    )
    ratios = {
        f"{method} over {plain}": of_methods(longest, value_of(method), method, plain)
        for method, plain in WITH_HYSTERESIS.items()
        if {method, plain} <= ended
    }
    yield Text(
        f"Does hysteresis help, with {most / 60:g} min a reconfiguration?",
        f"Completion time (greedy: cost); only runs that ended both with it and without. {INTERVALS}",
        tuple(_told(ratios)),
        "delays",
    )


def _never_ended(runs: pd.DataFrame) -> Iterator[str]:
    """A line of the runs that no ratio counts, if there are any: these methods suffer most."""
    by_method = runs.groupby("method")["stuck"].agg(["sum", "size"])
    stuck = by_method[by_method["sum"] > 0]
    if not stuck.empty:
        names = [f"{row['sum']:.0f} of {row['size']} runs of {m}" for m, row in stuck.iterrows()]
        yield f"Never ended, and in no ratio: {'; '.join(names)}."


@PAGE.text
def periods(results: Results) -> Iterator[Text]:
    """Periods over events."""
    table = study(results, "periods")
    lines: list[str] = []
    for period in (900.0, 7200.0):
        ratios = {
            method: of_method(table, method, {"period_s": period}, {"period_s": EVENTS})
            for method in table["method"].unique()
        }
        lines += _told(ratios, f"Every {period / 60:g} min. ")
    yield Text(
        "Events or periods?",
        f"Completion time of SRTF, cost of the greedy and EDF, over the same at events. {INTERVALS}",
        tuple(lines),
        "periods",
    )


@PAGE.text
def bounds(results: Results) -> Iterator[Text]:
    """Distance of each method from the lower bound."""
    lines = []
    for load, part in over_bounds(results).groupby("load"):
        of_method = dict(list(part.groupby("method")["ratio"]))
        told = [f"{m} {in_words(geometric(of_method[m]))}" for m in BOUNDED if m in of_method]
        lines.append(f"Load {load:g}: {'; '.join(told)}.")
    yield Text(
        "How much could a far-sighted policy gain?",
        "At most what lies above 1: total cost over the lower bound, geometric means with 95 % intervals over the "
        "seeds.",
        tuple(lines),
        "bounds",
    )


@PAGE.text
def elasticity(results: Results) -> Iterator[Text]:
    """Fixed demands over elastic ones, and what remains of Synergy's gain."""
    lines: list[str] = []
    for load, part in study(results, "elasticity").groupby("load"):
        ratios = {
            text: of_methods(part, "mean_jct_s", one, other) for text, (one, other) in GAINS.items()
        }
        lines += _told(ratios, f"Load {load:g}. ")
    yield Text(
        "What do fixed demands cost, and how much of Synergy's gain remains when jobs are elastic?",
        f"Ratios of mean completion times. {INTERVALS}",
        tuple(lines),
        "elasticity",
    )


GAINS = {
    "SRTF on fixed demands over the greedy on elastic jobs": ("fixed, SRTF", "elastic, greedy"),
    "SRTF on fixed demands over EDF on elastic jobs, a job a node": ("fixed, SRTF", "elastic, EDF"),
    "FIFO on fixed demands over elastic widths in FIFO": ("fixed, FIFO", "elastic, FIFO widths"),
    "proportional over tune on fixed demands": ("fixed, SRTF", "fixed, SRTF, tune"),
    "proportional over tune on elastic jobs": ("elastic, greedy", "elastic, greedy, tune"),
    "tune on fixed demands over the greedy with tune on elastic jobs": (
        "fixed, SRTF, tune",
        "elastic, greedy, tune",
    ),
}
"""Two methods of the question of elasticity for each ratio."""
