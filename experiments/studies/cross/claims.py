"""Claims: a row for each comparison and for each question, all of them new."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.report.verdict import measured
from experiments.studies.cross.comparison import METHODS
from experiments.studies.cross.controllers import HOUR, NO_TIME, TIMES
from experiments.studies.cross.figures_of_studies import study
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import (
    COMMON,
    EVERYWHERE,
    back,
    over_round_robin,
    paired,
    to_the_best,
)
from experiments.studies.cross.studies import (
    BOUNDED,
    EVENTS,
    WITH_HYSTERESIS,
)
from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    from experiments.report.contents import Claim
    from experiments.sweep.results import Results

PAPER = "cross"
NO_DIFFERENCE = "the interval holds 1: no difference is shown"
LEAST_MEAN = " (the least mean; a difference to other K may be chance)"


@PAGE.rows
def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    made: list[Claim] = []
    for ask in (
        _comparison, _dispatching, _controllers, _predictions, _delays, _periods, _bounds,
        _elasticity,
    ):  # fmt: skip
        made += ask(results)
    return made


def _row(place: str, text: str, ours: Estimate, why: str = "") -> Claim:
    """One row; with a note where the interval holds 1."""
    if math.isfinite(ours.lower) and ours.lower <= 1 <= ours.upper:
        why = f"{NO_DIFFERENCE}; {why}" if why else NO_DIFFERENCE
    return measured(PAPER, place, text, ours, why=why)


def _comparison(results: Results) -> list[Claim]:
    """Each paper's users, and what another paper's idea would bring them."""
    cells = results.where("run_cell").table("methods")
    if cells.empty:
        return []
    own = {m.label for m in METHODS}
    pairs = (
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
    made = []
    for workload, one, other, value, text in pairs:
        assert {one, other} <= own
        part = cells[cells["workload"] == workload]
        ratio = paired(part, value, {"method": other}, {"method": one}, ("load", "seed"))
        made.append(_row("comparison", text, ratio))
    return [*made, *_least(cells)]


def _least(cells: pd.DataFrame) -> list[Claim]:
    """Number of policies that come first somewhere: none is best everywhere."""
    on_nodes = cells[cells["method"].isin(COMMON)]
    made = []
    for value, name in (("total_cost", "total cost"), ("mean_jct_s", "mean completion time")):
        ratios = to_the_best(on_nodes, value)
        logs = np.log(ratios["ratio"]).groupby([ratios["workload"], ratios["method"]]).mean()
        winners = logs.unstack().idxmin(axis=1)
        best = "; ".join(f"{w}: {m}" for w, m in winners.items())
        made.append(
            measured(
                PAPER, "comparison", f"policies that are best in {name} on some workload",
                float(winners.nunique()), why=best,
            )
        )  # fmt: skip
    part = on_nodes[on_nodes["workload"].isin(EVERYWHERE)]
    cpu = part.groupby("method")["mean_decision_cpu_s"].mean()
    slow = str(cpu.idxmax())
    made.append(
        measured(PAPER, "comparison", "CPU time of a decision of the slowest policy, s",
                 float(cpu.max()), unit="s", why=f"it is {slow}")
    )  # fmt: skip
    return made


def _dispatching(results: Results) -> list[Claim]:
    table = study(results, "dispatching")
    if table.empty:
        return []
    made = []
    for policy in sorted(set(table["policy"])):
        ratios = over_round_robin(table, policy)
        best = min(ratios, key=lambda rule: ratios[rule].mean)
        made += [
            _row("dispatching", f"total cost of {rule} over round robin, {policy}, all settings", ratio,
                 "the least mean of the seven" if rule == best and ratio.mean < 1 else "")
            for rule, ratio in ratios.items()
        ]  # fmt: skip
    return made


def _controllers(results: Results) -> list[Claim]:
    """Splitting, deciding late, the cheapest number of controllers, and what servers change in it."""
    table = study(results, "controllers")
    if table.empty:
        return []
    most = int(table["controllers"].max())
    made = []
    for load in sorted(set(table["load"])):
        at = {"load": load, "solver": NO_TIME}
        one = {**at, "controllers": 1}
        split = paired(table, "total_cost", {**at, "controllers": most}, one)
        made.append(
            _row("controllers", f"cost of a controller a node over one, load {load:g}", split)
        )
        for time in TIMES[1:]:
            own = table[(table["load"] == load) & (table["solver"] == time)]
            late = {**one, "solver": time, "servers": 1}
            ratio = paired(table, "total_cost", late, one)
            best = "; ".join(
                f"cheapest K with {servers} server{'s' if servers > 1 else ''}: {_cheapest(part)}"
                for servers, part in own.groupby("servers")
            )
            made.append(_row("controllers", f"cost of one controller whose decisions take {time} "
                             f"over no time, load {load:g}", ratio, f"{best}{LEAST_MEAN}"))  # fmt: skip
        made.append(_more_servers(table, load, most))
    return made


def _cheapest(table: pd.DataFrame) -> int:
    """The number of controllers with the least cost, geometric mean over seeds."""
    logs = np.log(table["total_cost"].to_numpy(dtype=float))
    counts = table["controllers"].to_numpy(dtype=int)
    return int(min(np.unique(counts), key=lambda k: float(logs[counts == k].mean())))


def _more_servers(table: pd.DataFrame, load: float, most: int) -> Claim:
    """Gain from a server for each controller where decisions take an hour and all nodes are split."""
    at = {"load": load, "solver": HOUR, "controllers": most}
    servers = int(table["servers"].max())
    ratio = paired(table, "total_cost", {**at, "servers": 1}, {**at, "servers": servers})
    text = (
        f"cost of one server over {servers}, {most} controllers, an hour a decision, load {load:g}"
    )
    return _row("controllers", text, ratio)


def _predictions(results: Results) -> list[Claim]:
    table = study(results, "predictions")
    if table.empty:
        return []
    worst = float(table["error"].max())
    made = []
    for method, value, text in (
        ("SRTF", "mean_jct_s", "completion time of SRTF"),
        ("SRTF, learned", "mean_jct_s", "completion time of SRTF that learns"),
        ("greedy", "total_cost", "cost of the greedy"),
        ("MILP", "total_cost", "cost of the MILP"),
        ("EDF", "total_cost", "cost of EDF"),
    ):
        for error in sorted({0.1, worst} & set(table["error"])):
            at = {"method": method, "kind": "noise"}
            ratio = paired(table, value, {**at, "error": error}, {**at, "error": 0.0})
            made.append(_row("predictions", f"{text} with {error:.0%} noise over none", ratio))
    exact = {"method": "SRTF", "kind": "noise", "error": 0.0}
    for method in ("LAS", "Gittins", "SJF by history"):
        blind = {"method": method, "kind": "noise", "error": 0.0}
        ratio = paired(table, "mean_jct_s", blind, exact)
        made.append(_row("predictions", f"completion time of {method} over exact SRTF", ratio))
    return made


def _delays(results: Results) -> list[Claim]:
    table = study(results, "delays")
    if table.empty:
        return []
    most = float(table["delay_s"].max())
    made = []
    for method in dict.fromkeys(table["method"]):
        value = "total_cost" if method.startswith(("greedy", "EDF")) else "mean_jct_s"
        name = "cost" if value == "total_cost" else "completion time"
        ratio = paired(
            table, value, {"method": method, "delay_s": most}, {"method": method, "delay_s": 0.0}
        )
        stuck = int(table.loc[table["method"] == method, "stuck"].sum())
        text = f"{name} of {method} with {most / 60:g} min a reconfiguration over none"
        why = f"{stuck} runs never ended and are left out" if stuck else ""
        made.append(_row("delays", text, ratio, why))
    return [*made, *_hysteresis(table)]


def _hysteresis(table: pd.DataFrame) -> list[Claim]:
    """Gain from hysteresis with the longest delay; runs that never ended are left out of both."""
    most = float(table["delay_s"].max())
    made = []
    for method, plain in WITH_HYSTERESIS.items():
        value = "total_cost" if method.startswith("greedy") else "mean_jct_s"
        name = "cost" if value == "total_cost" else "completion time"
        at = {"delay_s": most}
        ratio = paired(table, value, {**at, "method": method}, {**at, "method": plain})
        text = f"{name} of {method} over {plain}, {most / 60:g} min a reconfiguration"
        part = table[table["delay_s"] == most]
        stuck = [int(part.loc[part["method"] == m, "stuck"].sum()) for m in (plain, method)]
        why = ""
        if any(stuck):
            why = f"never ended and left out: {stuck[0]} without it, {stuck[1]} with it"
        made.append(_row("delays", text, ratio, why))
    return made


def _periods(results: Results) -> list[Claim]:
    table = study(results, "periods")
    if table.empty:
        return []
    made = []
    for method in dict.fromkeys(table["method"]):
        value = "mean_jct_s" if method == "SRTF" else "total_cost"
        for period in (900.0, 7200.0):
            at = {"method": method}
            ratio = paired(table, value, {**at, "period_s": period}, {**at, "period_s": EVENTS})
            name = "completion time" if method == "SRTF" else "cost"
            text = f"{name} of {method}, decisions every {period / 60:g} min over events"
            made.append(_row("periods", text, ratio))
    return made


def _bounds(results: Results) -> list[Claim]:
    table = results.where("run_bound").table("ratios")
    if table.empty:
        return []
    made = []
    for load in sorted(set(table["load"])):
        for method in BOUNDED:
            part = table[(table["load"] == load) & (table["method"] == method)]
            ours = back(student(np.log(part["ratio"].to_numpy(dtype=float))))
            text = f"cost of {method} over the lower bound, load {load:g}"
            made.append(measured(PAPER, "bounds", text, ours))
    return made


def _elasticity(results: Results) -> list[Claim]:
    table = study(results, "elasticity")
    if table.empty:
        return []
    made = []
    for load in sorted(set(table["load"])):
        at = {"load": load}
        for one, other, text in (
            ("fixed, FIFO", "elastic, FIFO widths", "fixed demands over elastic widths, both FIFO"),
            ("fixed, SRTF", "elastic, greedy", "SRTF on fixed demands over the greedy on elastic"),
            (
                "fixed, SRTF",
                "elastic, EDF",
                "SRTF on fixed demands over EDF on elastic, a job a node",
            ),
            ("fixed, SRTF", "fixed, SRTF, tune", "proportional over tune, fixed demands"),
            (
                "fixed, SRTF, tune",
                "elastic, greedy",
                "tune on fixed demands over greedy on elastic",
            ),
            (
                "elastic, greedy",
                "elastic, greedy, tune",
                "proportional over tune, elastic jobs under the greedy",
            ),
            (
                "elastic, FIFO widths",
                "elastic, FIFO widths, tune",
                "proportional over tune, elastic jobs in FIFO widths",
            ),
            (
                "fixed, SRTF, tune",
                "elastic, greedy, tune",
                "tune on fixed demands over the greedy with tune on elastic",
            ),
        ):
            ratio = paired(table, "mean_jct_s", {**at, "method": one}, {**at, "method": other})
            made.append(_row("elasticity", f"completion time of {text}, load {load:g}", ratio))
        made.append(_what_remains(table, load))
    return made


def _what_remains(table: pd.DataFrame, load: float) -> Claim:
    """Gain of tune on fixed demands over its gain on elastic jobs: above 1, less of it remains."""
    part = table[table["load"] == load]
    logs = np.log(part.pivot_table(index="seed", columns="method", values="mean_jct_s"))
    fixed = logs["fixed, SRTF"] - logs["fixed, SRTF, tune"]
    elastic = logs["elastic, greedy"] - logs["elastic, greedy, tune"]
    ours = back(student((fixed - elastic).dropna().to_numpy(dtype=float)))
    text = f"gain of tune on fixed demands over its gain on elastic jobs (greedy), load {load:g}"
    return _row("elasticity", text, ours, "above 1: elastic jobs leave less to gain")
