"""The answer to each question that the papers left open, in words; its numbers are those of the runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.report.contents import Text
from experiments.studies.cross.controllers import HOUR, NO_TIME, TIMES
from experiments.studies.cross.figures_of_studies import study
from experiments.studies.cross.ratios import back, differs, in_words, over_round_robin, paired
from experiments.studies.cross.studies import (
    BOUNDED,
    EVENTS,
    MOVED,
    MOVED_ELASTIC,
    WITH_HYSTERESIS,
)
from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    from experiments.sweep.results import Results

INTERVALS = (
    "Geometric means on the same jobs, in brackets the 95 % interval over the seeds; where it holds 1, no "
    "difference is shown."
)


def findings(results: Results) -> list[Text]:
    """One passage a question, below its figure; those without runs are left out."""
    functions = (
        _dispatching, _controllers, _predictions, _delays, _hysteresis, _periods, _bounds,
        _elasticity,
    )  # fmt: skip
    return [text for function in functions if (text := function(results))]


def _told(ratios: Mapping[str, Estimate]) -> tuple[str, ...]:
    """A line of what is shown to differ, and one of what is not."""
    lines = []
    for shown, words in ((True, "A difference is shown"), (False, "No difference is shown")):
        names = [f"{n} {in_words(r)}" for n, r in ratios.items() if differs(r) == shown]
        if names:
            lines.append(f"{words}: {'; '.join(names)}.")
    return tuple(lines)


def _dispatching(results: Results) -> Text | None:
    """Rules over round robin."""
    table = study(results, "dispatching")
    if table.empty:
        return None
    lines = [
        f"Under {policy}. {line}"
        for policy in sorted(set(table["policy"]))
        for line in _told(over_round_robin(table, policy))
    ]
    return Text(
        "Which rule sends jobs to controllers?",
        f"Total cost over that of round robin, over all loads and numbers of controllers. {INTERVALS}",
        tuple(lines),
        "dispatching",
    )


def _controllers(results: Results) -> Text | None:
    """Cost of partitioning, the optimum, and the number of servers that moves it."""
    table = study(results, "controllers")
    if table.empty:
        return None
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
    return Text(
        "Where is the optimum, and how many servers move it?",
        f"The cheapest number of controllers K has the least geometric mean of cost. Behind a K above 1 stands its "
        f"cost over that of K = 1. It was chosen from the same runs, so its lead is rather smaller. {INTERVALS}",
        tuple(lines),
        "controllers",
    )


def _with_k(table: pd.DataFrame, name: str, value: str | int) -> str:
    """The cheapest number of controllers at one setting; above 1 with its cost over that of one."""
    part = table[table[name] == value]
    k = _cheapest(part)
    if k == 1:
        return f"{value}: K = 1"
    ratio = paired(part, "total_cost", {"controllers": k}, {"controllers": 1})
    shown = "" if differs(ratio) else ", no difference is shown"
    return f"{value}: K = {k}, {in_words(ratio)}{shown}"


def _cheapest(table: pd.DataFrame) -> int:
    """The number of controllers with the least geometric mean over seeds."""
    logs = np.log(table["total_cost"]).groupby(table["controllers"]).mean()
    return int(logs.idxmin())


def _predictions(results: Results) -> Text | None:
    """Errors of predicted times, and policies that see none."""
    table = study(results, "predictions")
    if table.empty:
        return None
    values = {"SRTF": "mean_jct_s", "SRTF, learned": "mean_jct_s"}
    values |= dict.fromkeys(("greedy", "greedy, learned", "MILP", "EDF"), "total_cost")
    lines = []
    for error in sorted({0.1, float(table["error"].max())} & set(table["error"])):
        for kind in ("noise", "bias"):
            ratios = {
                method: paired(
                    table,
                    value,
                    {"method": method, "kind": kind, "error": error},
                    {"method": method, "kind": kind, "error": 0.0},
                )
                for method, value in values.items()
            }
            lines += [
                f"{kind.capitalize()} of {100 * error:.0f} %. {line}" for line in _told(ratios)
            ]
    exact = {"method": "SRTF", "kind": "noise", "error": 0.0}
    blind = {
        method: paired(table, "mean_jct_s", {**exact, "method": method}, exact)
        for method in ("LAS", "Gittins", "SJF by history")
    }
    lines += [f"Without predictions, over exact SRTF. {line}" for line in _told(blind)]
    return Text(
        "Who suffers from wrong predictions?",
        f"Completion time of SRTF, cost of the others, over the same with exact times. {INTERVALS}",
        tuple(lines),
        "predictions",
    )


def _delays(results: Results) -> Text | None:
    """Policies that lose most from the longest delay."""
    table = study(results, "delays")
    if table.empty:
        return None
    most = float(table["delay_s"].max())
    ratios = {
        method: paired(
            table,
            "mean_jct_s" if method in MOVED else "total_cost",
            {"method": method, "delay_s": most},
            {"method": method, "delay_s": 0.0},
        )
        for method in (*MOVED, *MOVED_ELASTIC)
        if _ends(table, method, most)
    }
    return Text(
        f"Who suffers from {most / 60:g} min a reconfiguration?",
        f"Completion time (greedy and EDF: cost) over the same without a delay. {INTERVALS}",
        (*_told(ratios), *_never_ended(table[table["delay_s"] == most])),
        "delays",
    )


def _never_ended(runs: pd.DataFrame) -> tuple[str, ...]:
    """A line of the runs that no ratio counts, if there are any: these methods suffer most."""
    by_method = runs.groupby("method")["stuck"].agg(["sum", "size"])
    stuck = by_method[by_method["sum"] > 0]
    if stuck.empty:
        return ()
    names = [
        f"{stuck.loc[m, 'sum']:.0f} of {stuck.loc[m, 'size']} runs of {m}" for m in stuck.index
    ]
    return (f"Never ended, and in no ratio: {'; '.join(names)}.",)


def _ends(table: pd.DataFrame, method: str, delay_s: float) -> bool:
    """True where some run of the method ends with this delay."""
    part = table[(table["method"] == method) & (table["delay_s"] == delay_s)]
    return bool((part["stuck"] == 0).any())


def _hysteresis(results: Results) -> Text | None:
    """Gain from hysteresis with the longest delay."""
    table = study(results, "delays")
    if table.empty:
        return None
    most = float(table["delay_s"].max())
    at = {"delay_s": most}
    ratios = {
        f"{method} over {plain}": paired(
            table,
            "total_cost" if method.startswith("greedy") else "mean_jct_s",
            {**at, "method": method},
            {**at, "method": plain},
        )
        for method, plain in WITH_HYSTERESIS.items()
        if _ends(table, method, most) and _ends(table, plain, most)
    }
    return Text(
        f"Does hysteresis help, with {most / 60:g} min a reconfiguration?",
        f"Completion time (greedy: cost); only runs that ended both with it and without. {INTERVALS}",
        _told(ratios),
        "delays",
    )


def _periods(results: Results) -> Text | None:
    """Periods over events."""
    table = study(results, "periods")
    if table.empty:
        return None
    lines = []
    for period in (900.0, 7200.0):
        ratios = {
            method: paired(
                table,
                "mean_jct_s" if method == "SRTF" else "total_cost",
                {"method": method, "period_s": period},
                {"method": method, "period_s": EVENTS},
            )
            for method in dict.fromkeys(table["method"])
        }
        lines += [f"Every {period / 60:g} min. {line}" for line in _told(ratios)]
    return Text(
        "Events or periods?",
        f"Completion time of SRTF, cost of the greedy and EDF, over the same at events. {INTERVALS}",
        tuple(lines),
        "periods",
    )


def _bounds(results: Results) -> Text | None:
    """Distance of each method from the lower bound."""
    table = results.where("run_bound").table("ratios")
    if table.empty:
        return None
    lines = []
    for load, part in table.groupby("load"):
        above = {
            method: back(student(np.log(own["ratio"].to_numpy(dtype=float))))
            for method in BOUNDED
            if len(own := part[part["method"] == method])
        }
        told = "; ".join(f"{method} {in_words(ratio)}" for method, ratio in above.items())
        lines.append(f"Load {load:g}: {told}.")
    return Text(
        "How much could a far-sighted policy gain?",
        "At most what lies above 1: total cost over the lower bound, geometric means with 95 % intervals over the "
        "seeds.",
        tuple(lines),
        "bounds",
    )


def _elasticity(results: Results) -> Text | None:
    """Fixed demands over elastic ones, and what remains of Synergy's gain."""
    table = study(results, "elasticity")
    if table.empty:
        return None
    lines = []
    for load, part in table.groupby("load"):
        ratios = {
            text: paired(part, "mean_jct_s", {"method": one}, {"method": other})
            for text, (one, other) in GAINS.items()
        }
        lines += [f"Load {load:g}. {line}" for line in _told(ratios)]
    return Text(
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
