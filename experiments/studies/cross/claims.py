"""Claims: a row for each comparison and for each question, all of them new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.studies.cross.comparison import METHODS
from experiments.studies.cross.controllers import HOUR, NO_TIME, TIMES
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import (
    COMMON,
    EVERYWHERE,
    cheapest,
    methods_of_cells,
    of_method,
    of_methods,
    over_bounds,
    over_round_robin,
    study,
    to_the_best,
    value_of,
)
from experiments.studies.cross.studies import BOUNDED, EVENTS, WITH_HYSTERESIS
from experiments.studies.same_jobs import differs, geometric, of_logs, paired
from simulator.statistics import Estimate

if TYPE_CHECKING:
    from experiments.report.contents import Claim
    from experiments.sweep.results import Results

NO_DIFFERENCE = "the interval holds 1: no difference is shown"
LEAST_MEAN = " (the least mean; a difference to other K may be chance)"
WORDS = {"total_cost": "cost", "mean_jct_s": "completion time"}


def _row(place: str, text: str, ours: Estimate, why: str = "") -> Claim:
    """One row; with a note where the interval holds 1."""
    if not differs(ours):
        why = f"{NO_DIFFERENCE}; {why}" if why else NO_DIFFERENCE
    return PAGE.new(place, text, ours, why=why)


IDEAS = (
    ("hierarchical", "MILP, central", "greedy", "total_cost",
     "hierarchical jobs: cost of the greedy over the central MILP"),
    ("hierarchical", "SRTF, tune", "MILP, central", "mean_jct_s",
     "hierarchical jobs: completion time of the MILP over SRTF with tune, demands fixed"),
    ("Synergy, multi-GPU", "SRTF, tune", "SRTF, proportional", "mean_jct_s",
     "Synergy's jobs: completion time of proportional over tune"),
    ("Synergy, multi-GPU", "SRTF, tune", "MILP, central", "mean_jct_s",
     "Synergy's jobs: completion time of the MILP on elastic jobs over tune on fixed demands"),
    ("Philly-like", "FIFO, backfill", "MILP, central", "total_cost",
     "Philly-like jobs: cost of the MILP on elastic jobs over FIFO with backfill"),
    ("Philly-like", "FIFO, backfill", "rental widths on nodes", "mean_jct_s",
     "Philly-like jobs: completion time of rental widths over FIFO with backfill"),
    ("ANDREAS 1", "MILP, central", "randomised greedy", "total_cost",
     "ANDREAS: cost of the randomised greedy over the MILP"),
    ("Synergy, 1 GPU", "greedy", "rental widths on nodes", "mean_jct_s",
     "users of rental widths: their completion time on full nodes over that of the greedy"),
)  # fmt: skip
"""Workload, two methods, a value, and what the second over the first is called."""
assert {name for idea in IDEAS for name in idea[1:3]} <= {m.label for m in METHODS}


@PAGE.rows
def comparison(results: Results) -> Iterator[Claim]:
    """Each paper's users, and what another paper's idea would bring them."""
    cells = methods_of_cells(results)
    for workload, one, other, value, text in IDEAS:
        part = cells[cells["workload"] == workload]
        ratio = paired(part, value, {"method": other}, {"method": one}, ("load", "seed"))
        yield _row("comparison", text, ratio)
    on_nodes = cells[cells["method"].isin(COMMON)]
    for value, name in (("total_cost", "total cost"), ("mean_jct_s", "mean completion time")):
        ratios = to_the_best(on_nodes, value)
        logs = np.log(ratios["ratio"]).groupby([ratios["workload"], ratios["method"]]).mean()
        winners = logs.unstack().idxmin(axis=1)
        yield PAGE.new(
            "comparison",
            f"policies that are best in {name} on some workload",
            float(winners.nunique()),
            why="; ".join(f"{workload}: {method}" for workload, method in winners.items()),
        )
    part = on_nodes[on_nodes["workload"].isin(EVERYWHERE)]
    cpu = part.groupby("method")["mean_decision_cpu_s"].mean()
    text = "CPU time of a decision of the slowest policy, s"
    yield PAGE.new("comparison", text, float(cpu.max()), "s", f"it is {cpu.idxmax()}")


@PAGE.rows
def dispatching(results: Results) -> Iterator[Claim]:
    """Each rule over round robin."""
    table = study(results, "dispatching")
    for policy in sorted(set(table["policy"])):
        ratios = over_round_robin(table, policy)
        best = min(ratios, key=lambda rule: ratios[rule].mean)
        for rule, ratio in ratios.items():
            text = f"total cost of {rule} over round robin, {policy}, all settings"
            least = rule == best and ratio.mean < 1
            yield _row("dispatching", text, ratio, "the least mean of the seven" if least else "")


@PAGE.rows
def controllers(results: Results) -> Iterator[Claim]:
    """Splitting, deciding late, the cheapest number of controllers, and what servers change in it."""
    table = study(results, "controllers")
    most, servers = int(table["controllers"].max()), int(table["servers"].max())
    for load, part in table.groupby("load"):
        one = {"solver": NO_TIME, "controllers": 1}
        split = paired(part, "total_cost", {**one, "controllers": most}, one)
        yield _row("controllers", f"cost of a controller a node over one, load {load:g}", split)
        for time in TIMES[1:]:
            ratio = paired(part, "total_cost", {**one, "solver": time, "servers": 1}, one)
            best = "; ".join(
                f"cheapest K with {count} server{'' if count == 1 else 's'}: {cheapest(of_count)}"
                for count, of_count in part[part["solver"] == time].groupby("servers")
            )
            text = f"cost of one controller whose decisions take {time} over no time, load {load:g}"
            yield _row("controllers", text, ratio, f"{best}{LEAST_MEAN}")
        hour = {"solver": HOUR, "controllers": most}
        ratio = paired(part, "total_cost", {**hour, "servers": 1}, {**hour, "servers": servers})
        text = f"cost of one server over {servers}, {most} controllers, an hour a decision, load {load:g}"
        yield _row("controllers", text, ratio)


PREDICTED = {
    "SRTF": "completion time of SRTF",
    "SRTF, learned": "completion time of SRTF that learns",
    "greedy": "cost of the greedy",
    "MILP": "cost of the MILP",
    "EDF": "cost of EDF",
}


@PAGE.rows
def predictions(results: Results) -> Iterator[Claim]:
    """Noise of predicted times, and policies that see none."""
    table = study(results, "predictions")
    noise = table[table["kind"] == "noise"]
    for method, text in PREDICTED.items():
        for error in sorted({0.1, float(table["error"].max())} & set(table["error"])):
            ratio = of_method(noise, method, {"error": error}, {"error": 0.0})
            yield _row("predictions", f"{text} with {error:.0%} noise over none", ratio)
    exact = noise[noise["error"] == 0.0]
    for method in ("LAS", "Gittins", "SJF by history"):
        ratio = of_methods(exact, "mean_jct_s", method, "SRTF")
        yield _row("predictions", f"completion time of {method} over exact SRTF", ratio)


@PAGE.rows
def delays(results: Results) -> Iterator[Claim]:
    """The longest delay over none, and hysteresis with it; runs that never ended are left out of both."""
    table = study(results, "delays")
    most = float(table["delay_s"].max())
    longest = table[table["delay_s"] == most]
    for method, part in table.groupby("method", sort=False):
        value = value_of(str(method))
        ratio = paired(part, value, {"delay_s": most}, {"delay_s": 0.0})
        text = f"{WORDS[value]} of {method} with {most / 60:g} min a reconfiguration over none"
        stuck = int(part["stuck"].sum())
        why = f"{stuck} runs never ended and are left out" if stuck else ""
        yield _row("delays", text, ratio, why)
    for method, plain in WITH_HYSTERESIS.items():
        value = value_of(method)
        ratio = of_methods(longest, value, method, plain)
        text = f"{WORDS[value]} of {method} over {plain}, {most / 60:g} min a reconfiguration"
        without, own = (
            int(longest.loc[longest["method"] == m, "stuck"].sum()) for m in (plain, method)
        )
        why = f"never ended and left out: {without} without it, {own} with it"
        yield _row("delays", text, ratio, why if without or own else "")


@PAGE.rows
def periods(results: Results) -> Iterator[Claim]:
    """Decisions every so often over decisions at events."""
    table = study(results, "periods")
    for method in table["method"].unique():
        for period in (900.0, 7200.0):
            ratio = of_method(table, method, {"period_s": period}, {"period_s": EVENTS})
            text = f"{WORDS[value_of(method)]} of {method}, decisions every {period / 60:g} min over events"
            yield _row("periods", text, ratio)


@PAGE.rows
def bounds(results: Results) -> Iterator[Claim]:
    """Cost over the lower bound."""
    for load, part in over_bounds(results).groupby("load"):
        for method in BOUNDED:
            ratio = geometric(part.loc[part["method"] == method, "ratio"])
            yield PAGE.new("bounds", f"cost of {method} over the lower bound, load {load:g}", ratio)


ELASTIC = (
    ("fixed, FIFO", "elastic, FIFO widths", "fixed demands over elastic widths, both FIFO"),
    ("fixed, SRTF", "elastic, greedy", "SRTF on fixed demands over the greedy on elastic"),
    ("fixed, SRTF", "elastic, EDF", "SRTF on fixed demands over EDF on elastic, a job a node"),
    ("fixed, SRTF", "fixed, SRTF, tune", "proportional over tune, fixed demands"),
    ("fixed, SRTF, tune", "elastic, greedy", "tune on fixed demands over greedy on elastic"),
    ("elastic, greedy", "elastic, greedy, tune",
     "proportional over tune, elastic jobs under the greedy"),
    ("elastic, FIFO widths", "elastic, FIFO widths, tune",
     "proportional over tune, elastic jobs in FIFO widths"),
    ("fixed, SRTF, tune", "elastic, greedy, tune",
     "tune on fixed demands over the greedy with tune on elastic"),
)  # fmt: skip
"""Two methods, and what the first over the second is called."""


@PAGE.rows
def elasticity(results: Results) -> Iterator[Claim]:
    """Fixed demands over elastic ones, and what remains of the gain of tune."""
    for load, part in study(results, "elasticity").groupby("load"):
        for one, other, text in ELASTIC:
            ratio = of_methods(part, "mean_jct_s", one, other)
            yield _row("elasticity", f"completion time of {text}, load {load:g}", ratio)
        yield _what_remains(part, f"load {load:g}")


def _what_remains(table: pd.DataFrame, where: str) -> Claim:
    """Gain of tune on fixed demands over its gain on elastic jobs: above 1, less of it remains."""
    logs = np.log(table.pivot_table(index="seed", columns="method", values="mean_jct_s"))
    fixed = logs["fixed, SRTF"] - logs["fixed, SRTF, tune"]
    elastic = logs["elastic, greedy"] - logs["elastic, greedy, tune"]
    text = f"gain of tune on fixed demands over its gain on elastic jobs (greedy), {where}"
    ours = of_logs((fixed - elastic).dropna())
    return _row("elasticity", text, ours, "above 1: elastic jobs leave less to gain")
