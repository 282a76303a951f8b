"""Recommended policies, and the gain of each paper's users from the others, from the comparison's runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.report.contents import Text
from experiments.studies.cross.comparison import ANDREAS, HIERARCHICAL, METHODS, TRACES, WORKLOADS
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import COMMON, EVERYWHERE, POOLS, in_words, methods_of_cells
from experiments.studies.same_jobs import differs, of_logs
from experiments.sweep.results import Results
from policies.naming import PolicyName
from simulator.statistics import Estimate

VERBS = {"total_cost": "costs {} times as much", "mean_jct_s": "takes {} times as long"}
LEAST = {"total_cost": "total cost", "mean_jct_s": "mean completion time"}
NAMED = 4
"""Policies that are listed by name."""

PLAIN = {False: "FIFO, a job a node", True: "FIFO, backfill"}
"""The plain policy to compare with, on elastic jobs and on traces of fixed demand."""


@dataclass(frozen=True)
class Idea:
    """Policy that a paper proposes, and the jobs of its users."""

    users: str
    workloads: tuple[str, ...]
    methods: tuple[str, ...]


IDEAS = (
    Idea(
        "the hierarchical paper",
        tuple(HIERARCHICAL),
        tuple(m.label for m in METHODS if m.policy == "milp"),
    ),
    Idea(
        "ANDREAS and the thesis",
        tuple(ANDREAS),
        ("greedy", "randomised greedy", "local search", "path relinking"),
    ),
    Idea(
        "Synergy",
        tuple(TRACES),
        tuple(m.label for m in METHODS if PolicyName.parse(m.policy).mechanism),
    ),
    Idea("the rental paper", EVERYWHERE, ("rental widths on nodes",)),
)
"""First-principle policies and backfill are the baselines of all, other schedulers' policies and `foresight` no paper's of the five."""


@PAGE.text
def recommendations(results: Results) -> Iterator[Text]:
    """Recommendations: a policy for each workload, and the gain of each paper's users."""
    cells = methods_of_cells(results)
    yield who_should_use_which(cells)
    yield gains(cells)


def who_should_use_which(cells: pd.DataFrame) -> Text:
    """The best policy for each workload, how much better than a plain one, and which are not shown to be worse."""
    lines = [
        f"{workload}: {' '.join(_best(cells, workload, value) for value in LEAST)}"
        for workload in WORKLOADS
        if (cells["workload"] == workload).any()
    ]
    return Text(
        "Who should use which",
        "For each workload the policy on nodes with the least geometric mean over loads and seeds; in brackets "
        "the 95 % interval over the seeds. It was chosen from the same runs. So where others are not shown to be "
        "worse, its lead may be chance, and simplicity or CPU time may decide. Each of the others is compared with it "
        "alone, without a correction for so many comparisons.",
        tuple(lines),
    )


def gains(cells: pd.DataFrame) -> Text:
    """The best of a paper's own policies over the best of the other papers', on the jobs of its users."""
    lines = [
        f"Users of {idea.users} ({', '.join(idea.workloads)}): "
        + " ".join(_gain(cells, idea, value) for value in LEAST)
        for idea in IDEAS
        if set(idea.workloads) <= set(cells["workload"])
    ]
    if set(EVERYWHERE) <= set(cells["workload"]):
        lines.append(_fractions(cells))
    return Text(
        "What the users of each paper would gain from the others",
        "The best policy that a paper proposes, over the best that another paper proposes, on the jobs of its "
        "users. Both are chosen by their geometric mean in these runs. Policies of Synergy have jobs of fixed "
        "demand, all others choose the GPUs of each job.",
        tuple(lines),
    )


def _logs(cells: pd.DataFrame, workloads: Iterable[str], value: str) -> pd.DataFrame:
    """Seeds x methods: mean logarithm over these workloads and all loads.

    A method that has not run everywhere is left out: its mean would be over easier or harder cells.
    """
    part = cells[cells["workload"].isin(list(workloads))]
    logs = part.assign(log=np.log(part[value])).pivot(
        index="seed", columns=["method", "workload", "load"], values="log"
    )
    means = logs.T.groupby(level="method").mean().T
    runs = logs.notna().T.groupby(level="method").sum().T
    everywhere: pd.DataFrame = means.loc[:, (runs == runs.to_numpy().max()).all()]
    return everywhere


def _least(logs: pd.DataFrame, among: Iterable[str]) -> str:
    there = [m for m in among if m in logs]
    return str(logs[there].mean().idxmin())


def _over(logs: pd.DataFrame, one: str, other: str) -> Estimate:
    return of_logs(logs[one] - logs[other])


def _best(cells: pd.DataFrame, workload: str, value: str) -> str:
    """Sentences on one workload and one value."""
    logs = _logs(cells, [workload], value)
    best = _least(logs, COMMON)
    said = f"Least {LEAST[value]}: “{best}”."
    plain = PLAIN[workload in TRACES]
    if plain != best:
        said += f" “{plain}” {VERBS[value].format(in_words(_over(logs, plain, best)))}."
    others = [m for m in COMMON if m in logs and m != best]
    alike = [m for m in others if not _worse(_over(logs, m, best))]
    return f"{said} Not shown to be worse: {_listed(logs, alike)} (of {len(others)} others)."


def _worse(ratio: Estimate) -> bool:
    return differs(ratio) and ratio.mean > 1


def _listed(logs: pd.DataFrame, methods: Sequence[str]) -> str:
    """The first by their mean, and how many more."""
    ordered = logs[list(methods)].mean().sort_values().index.tolist()
    if not ordered:
        return "none"
    more = len(ordered) - NAMED
    return "; ".join(ordered[:NAMED]) + (f"; and {more} more" if more > 0 else "")


def _gain(cells: pd.DataFrame, idea: Idea, value: str) -> str:
    logs = _logs(cells, idea.workloads, value)
    own = _least(logs, idea.methods)
    other = _least(logs, [m for i in IDEAS if i is not idea for m in i.methods])
    ratio = _over(logs, own, other)
    said = (
        f"By {LEAST[value]}, their own “{own}” {VERBS[value].format(in_words(ratio))} as “{other}”"
    )
    if not differs(ratio):
        return f"{said}; no difference is shown."
    return f"{said}." if ratio.mean > 1 else f"{said}; there is nothing to gain."


def _fractions(cells: pd.DataFrame) -> str:
    """Gain from fractions of GPUs, as only the rental paper's pool has them."""
    logs = _logs(cells, EVERYWHERE, "mean_jct_s")
    pool, nodes = _least(logs, POOLS), _least(logs, COMMON)
    ratio = _over(logs, nodes, pool)
    said = (
        f"All users, if GPUs could be shared in fractions at no loss, as on the rental paper's pool: over the six "
        f"workloads of nodes, “{nodes}” {VERBS['mean_jct_s'].format(in_words(ratio))} as “{pool}”"
    )
    return f"{said}." if differs(ratio) else f"{said}; no difference is shown."
