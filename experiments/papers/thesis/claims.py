"""The thesis's numbers, and what came out here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.thesis.figures import (
    LABELS,
    SMALL_UP_TO,
    TIMES_S,
    costs,
    decision_table,
    gains,
)
from experiments.papers.thesis.runs import DUE_LAWS
from experiments.report.contents import Claim
from experiments.report.verdict import amount, at_least, effect, judged, measured
from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    import pandas as pd

    from experiments.sweep.results import Results

PAPER = "thesis"
OTHER_JOBS = (
    "the thesis's traces, weights and due dates are not public: jobs here are those of the "
    "hierarchical paper's setup with the released weights"
)
OTHER_TIMES = "compiled Python on one thread here; C++ on an older machine there"


def claims(results: Results) -> list[Claim]:
    """The table of claims."""
    return [
        *_gains(results),
        *_at_wide_gaps(results),
        *_hierarchical(results),
        *_times(results),
        *_speeds(results),
        *_scale_and_errors(results),
        *_findings(results),
    ]


def _by_trace(
    results: Results, study: str, over: str, method: str, due: str, sizes: range | None = None
) -> Estimate | None:
    """A gain, of each trace the mean over its settings and random seeds."""
    table = gains(results, study, over, (method,), due, more=True)
    if sizes is not None and not table.empty:
        table = table[table["num_nodes"].isin(sizes)]
    if table.empty:
        return None
    return student(table.groupby("trace")["gain"].mean().to_numpy())


# -- gains -----------------------------------------------------------------------------------


def _gains(results: Results) -> list[Claim]:
    made = []
    for due, law in DUE_LAWS.items():
        for place, study, over, method, text, value in (
            ("Figure 4.3", "gap", "edf", "randomised-greedy", "gain of RG over EDF", 95.99),
            ("Figure 4.3", "gap", "edf", "greedy", "gain of the greedy over EDF", 95.05),
            ("Section 4.3.3", "gap", "greedy", "randomised-greedy",
             "gain of RG over the greedy, by gap", 9.56),
            ("Figure 4.4", "size", "greedy", "randomised-greedy",
             "gain of RG over the greedy, 30,000 s, by size", 3.0),
        ):  # fmt: skip
            ours = _by_trace(results, study, over, method, due)
            if ours is not None:
                why = (
                    _over_edf(results, due) if over == "edf" else _over_greedy(results, study, due)
                )
                made.append(
                    judged(
                        PAPER, place, f"{text}, {law}", effect(value, none=0), ours,
                        unit="%", why=why,
                    )
                )  # fmt: skip
    return made


WIDE_GAP_S = 20_000.0
"""Mean gaps, times N, from which the clusters are loosely loaded."""


def _at_wide_gaps(results: Results) -> list[Claim]:
    """The gain over EDF where jobs come seldom: under one law of due dates EDF is late there."""
    made = []
    for due, law in DUE_LAWS.items():
        table = gains(results, "gap", "edf", ("randomised-greedy",), due, more=True)
        if table.empty or table["mean_gap_s"].max() < WIDE_GAP_S:
            continue
        part = table[table["mean_gap_s"] >= WIDE_GAP_S]
        runs = results.where("run_scenario", study="gap", method="edf", due=due).scalars()
        late = runs.loc[runs["mean_gap_s"] >= WIDE_GAP_S, "late_jobs"].mean()
        made.append(
            measured(
                PAPER,
                "Figure 4.3",
                f"gain of RG over EDF at gaps of {WIDE_GAP_S:,.0f} s / N and more, {law}",
                student(part.groupby("trace")["gain"].mean().to_numpy()),
                unit="%",
                why=f"EDF has {late:.1f} jobs late there ({_traces(runs)})",
            )
        )
    return made


def _over_edf(results: Results, due: str) -> str:
    """Where EDF is late here, and so can be beaten by as much as the thesis reports."""
    runs = results.where("run_scenario", study="gap", method="edf", due=due).scalars()
    table = gains(results, "gap", "edf", ("randomised-greedy",), due)
    parts = []
    for gap_s, part in runs.groupby("mean_gap_s"):
        gain = table.loc[table["mean_gap_s"] == gap_s, "gain"].mean()
        late = part["late_jobs"].mean()
        parts.append(f"{gain:.0f} % at {gap_s:,.0f} s, where EDF has {late:.1f} jobs late")
    return f"RG gains {'; '.join(parts)} ({_traces(runs)}). Once few are late there is little to gain; {OTHER_JOBS}"


def _over_greedy(results: Results, study: str, due: str) -> str:
    """What other candidates and another objective cost on the same jobs."""
    others = []
    for method in ("randomised-all", "randomised-own", "randomised-no-h"):
        found = _by_trace(results, study, "greedy", method, due)
        if found is not None:
            others.append(f"{LABELS[method]} {found.mean:.0f} %")
    runs = results.where("run_scenario", study=study, method="greedy", due=due).scalars()
    late = runs["late_jobs"].mean()
    listed = f" (others: {', '.join(others)})" if others else ""
    return (
        f"the greedy has {late:.1f} jobs late{listed}, {_traces(runs)}: where none is, the plan of one decision can be "
        f"better by its proxy and the run no cheaper; {OTHER_JOBS}"
    )


def _traces(runs: pd.DataFrame) -> str:
    """Which traces a reason rests on; the gain itself may have more."""
    return f"on traces {runs['trace'].min()} to {runs['trace'].max()}"


def _hierarchical(results: Results) -> list[Claim]:
    made = []
    for due, law in DUE_LAWS.items():
        over, method = "randomised-greedy", "hierarchical-randomised"
        ours = _by_trace(results, "size", over, method, due)
        plain = _by_trace(results, "size", "greedy", "hierarchical-greedy", due)
        if ours is None or plain is None:
            continue
        why = (
            f"the hierarchical greedy over the central one: {plain.mean:.1f} %. It depends on the size: "
            f"see the two regimes; {OTHER_JOBS}"
        )
        made.append(
            judged(
                PAPER,
                "Figure 4.6",
                f"gain of the hierarchical RG over the central one, {law}",
                effect(-15.0, none=0),
                ours,
                unit="%",
                why=why,
            )
        )
        for sizes, text in (
            (range(SMALL_UP_TO + 1), f"up to {SMALL_UP_TO} nodes"),
            (range(SMALL_UP_TO + 1, 1000), f"above {SMALL_UP_TO} nodes"),
        ):
            part = _by_trace(results, "size", over, method, due, sizes)
            if part is not None:
                made.append(
                    measured(PAPER, "Figure 4.6", f"the same, {text}, {law}", part, unit="%")
                )
        made += _almost_equal(results, due, law)
    return made


def _almost_equal(results: Results, due: str, law: str) -> list[Claim]:
    wide = costs(results, "gap", due, more=True)
    if wide.empty or not {"hierarchical-milp", "randomised-greedy"} <= set(wide.columns):
        return []
    ratio = (wide["randomised-greedy"] / wide["hierarchical-milp"]).dropna().map(math.log)
    return [
        judged(
            PAPER,
            "Figure 4.2",
            f"total cost of RG over that of the hierarchical model, {law}",
            amount(1.0, text="almost equal"),
            _geometric(ratio.groupby("trace").mean().to_numpy()),
            unit="x",
            why="the hierarchical model is solved to optimality here, theirs stopped at a gap; "
            + OTHER_JOBS,
        )
    ]


def _geometric(logs: np.ndarray) -> Estimate:
    e = student(logs)
    mean, low, high = np.exp([e.mean, e.lower, e.upper]).tolist()
    return Estimate(mean, low, high, e.n)


# -- times -----------------------------------------------------------------------------------


def _times(results: Results) -> list[Claim]:
    table = decision_table(results)
    if table.empty:
        return []
    size = int(table["num_nodes"].iloc[0])
    made = [
        judged(
            PAPER,
            "Section 4.4",
            f"time of a call, {method}, {size} nodes and {10 * size} jobs here",
            amount(theirs),
            student(table[f"{method} cpu_s"].to_numpy()),
            unit="s",
            why=OTHER_TIMES,
            times_of_another_machine=True,
        )
        for method, theirs in TIMES_S.items()
    ]
    ratio = table["local-search cpu_s"] / table["randomised-greedy cpu_s"]
    plain_s, search_s = (
        table[f"{method} cpu_s"].mean() for method in ("randomised-greedy", "local-search")
    )
    made.append(
        judged(
            PAPER,
            "Section 4.4",
            "time of local search over RG",
            effect(3.6, none=0),
            student(100 * (ratio - 1).to_numpy()),
            unit="%",
            why=f"RG takes {plain_s:.4f} s here, local search {search_s:.4f} s; there 3.04 and 3.15 s",
            times_of_another_machine=True,
        )
    )
    return [*made, *_exact_times(results)]


def _exact_times(results: Results) -> list[Claim]:
    """The exact model on the same decisions, central and for one controller."""
    runs = results.where("run_decision", homogeneous=False).scalars()
    if "exact cpu_s" not in runs or not runs["exact cpu_s"].notna().any():
        return []
    timed = runs.dropna(subset=["exact cpu_s"])
    largest, five = (timed[timed["num_nodes"] == n] for n in (timed["num_nodes"].max(), 5))
    made = []
    for part, text, published in (
        (largest, "central model", amount(14 * 60, text="about 14 min at 40 nodes")),
        (five, "model of one controller", amount(40.0)),
    ):
        if part.empty:
            continue
        n = int(part["num_nodes"].iloc[0])
        made.append(
            judged(
                PAPER,
                "Section 4.4",
                f"time of the {text}, {n} nodes and {10 * n} jobs here",
                published,
                student(part["exact cpu_s"].to_numpy()),
                unit="s",
                why="another formulation, solved exactly by one thread of HiGHS",
                times_of_another_machine=True,
            )
        )
    return made


def _speeds(results: Results) -> list[Claim]:
    """How much faster the greedy methods are than the hierarchical model, in the same runs."""
    runs = results.where("run_scenario", study="size", due="min-2max").scalars()
    if runs.empty:
        return []
    wide = runs.pivot_table(
        index=["num_nodes", "trace"], columns="method", values="mean_decision_cpu_s"
    )
    made = []
    for method, text, published in (
        ("randomised-greedy", "RG", at_least(6, text="> 6")),
        ("greedy", "the greedy", amount(40.0)),
    ):
        ratio = (wide["hierarchical-milp"] / wide[method]).dropna().map(math.log)
        made.append(
            judged(
                PAPER,
                "Section 4.4",
                f"how many times faster than a decision of the hierarchical model {text} is",
                published,
                _geometric(ratio.groupby("trace").mean().to_numpy()),
                unit="x",
                why="the hierarchical model is solved in its exact pattern form here, in milliseconds; "
                "the thesis's literal model took 40 s",
                times_of_another_machine=True,
            )
        )
    return made


def _scale_and_errors(results: Results) -> list[Claim]:
    made = []
    largest = results.where("run_largest").scalars()
    if not largest.empty:
        spent = float(largest["randomised-greedy cpu_s"].iloc[0])
        made.append(
            judged(
                PAPER,
                "Section 4.4",
                f"nodes up to which RG decides in seconds; here {spent:.2f} s for 6,000 jobs, equal nodes",
                at_least(600),
                float(largest["num_nodes"].iloc[0]) if spent < 10 else 0.0,
                unit="nodes",
                why=f"a decision at 600 nodes takes {spent:.2f} s here",
                times_of_another_machine=True,
            )
        )
    wrong = results.where("run_scenario", study="error").scalars()
    right = results.where(
        "run_scenario", study="gap", method="randomised-greedy", due="min-2max"
    ).scalars()
    if not wrong.empty and not right.empty:
        right = right[right["mean_gap_s"] == wrong["mean_gap_s"].iloc[0]]
        plain = right.groupby("trace")["total_cost"].mean()
        both = wrong.set_index("trace")["total_cost"] / plain
        if both.notna().any():
            made.append(
                measured(
                    PAPER,
                    "Section 4.1",
                    "error of the execution-time model, %; ours is what a mean error of 10 % of each "
                    "predicted time adds to the cost of RG",
                    student(100 * (both.dropna().to_numpy() - 1)),
                    unit="%",
                    paper_value="about 10",
                    why="the thesis's model is not public; its effect can be run",
                )
            )
    return made


# -- beyond the thesis -----------------------------------------------------------------------


def _findings(results: Results) -> list[Claim]:
    made = []
    for method in (
        "randomised-all", "randomised-own", "randomised-no-h", "local-search", "path-relinking",
    ):  # fmt: skip
        ours = _by_trace(results, "gap", "greedy", method, "min-2max")
        if ours is not None:
            text = f"gain of {LABELS[method]} over the greedy, {DUE_LAWS['min-2max']}"
            made.append(measured(PAPER, "beyond the thesis", text, ours, unit="%"))
    runs = results.where("run_proxies").scalars()
    if not runs.empty:
        for (due, drawn, num_nodes), part in runs.groupby(["due", "method", "num_nodes"]):
            made.append(
                measured(
                    PAPER,
                    "beyond the thesis",
                    f"decisions at which {LABELS[str(drawn)]} finds a better proxy than the greedy, "
                    f"{num_nodes} nodes, "
                    f"{DUE_LAWS[str(due)]}",
                    student(100 * part["better_share"].to_numpy()),
                    unit="%",
                    why=f"a job waits at {100 * part['queue_share'].mean():.0f} % of the decisions",
                )
            )
    return made
