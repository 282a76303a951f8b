"""The thesis's runs."""

import sys

import numpy as np
import pandas as pd
import pytest

from experiments.papers.thesis import PAGE
from experiments.papers.thesis.claims import call_times
from experiments.papers.thesis.figures import costs, gains
from experiments.papers.thesis.runs import DUE_LAWS, run_decision, tasks
from experiments.sweep.results import Results
from experiments.sweep.task import resolve
from simulator.statistics import mean_of_skewed
from tests.papers.listed import listed
from tests.papers.toy import MadeUp


def at_paper_scale():
    return listed(tasks, "paper")


def test_a_run_is_a_function_of_trace_and_seed():
    config = {"study": "size", "num_nodes": 5, "due": "min-2max", "trace": 1}
    named = {
        (task.columns()["method"], task.columns()["seed"]): task
        for task in at_paper_scale()
        if task.function.endswith("run_scenario") and config.items() <= task.columns().items()
    }
    cost = {
        key: resolve(named[key].function)(few_jobs(named[key].config)).scalars["total_cost"]
        for key in (
            ("greedy", 1), ("randomised-all", 1), ("randomised-all", 2), ("hierarchical-greedy", 1)
        )
    }  # fmt: skip
    assert cost["randomised-all", 1] != cost["randomised-all", 2]
    # Five nodes are one controller's.
    assert cost["hierarchical-greedy", 1] == cost["greedy", 1]


def few_jobs(config):
    return {**config, "workload": {**config["workload"], "jobs_per_node": 4}}


def test_a_decision_is_timed_and_better_methods_have_better_objectives():
    for homogeneous in (False, True):
        found = run_decision({"num_nodes": 5, "homogeneous": homogeneous, "seed": 1}).scalars
        assert found["jobs"] == 50
        assert found["greedy cpu_s"] > 0
        assert found["randomised-greedy cpu_s"] > 0
        assert found["local-search proxy"] <= found["greedy proxy"] * (1 + 1e-9)


@pytest.mark.long
def test_tasks_that_share_a_run_have_labels_of_their_own():
    for made in (listed(tasks, "quick"), at_paper_scale()):
        named = [(task.key, tuple(sorted(task.columns().items()))) for task in made]
        assert len(set(named)) == len(named)


@pytest.mark.long
def test_claims_count_traces():
    """Eight of the methods whose ratio the thesis prints, three of the others; a trace is one observation."""
    made = at_paper_scale()
    results = Results(MadeUp(made), made, "paper")
    for method, count in (("randomised-greedy", 8), ("randomised-all", 3)):
        table = gains(results, "gap", "edf", (method,))
        assert set(table["trace"]) == set(range(1, count + 1))
    rows = PAGE.claims(results)
    table = gains(results, "gap", "edf", ("randomised-greedy",))
    by_trace = mean_of_skewed(table.groupby("trace")["gain"].mean().to_numpy())
    row = next(c for c in rows if c.claim.startswith("gain of RG over EDF, due dates"))
    assert (row.ours, row.ci_low) == pytest.approx((by_trace.mean, by_trace.lower))
    for due, law in DUE_LAWS.items():
        wide = costs(results, "gap", due)
        logs = np.log(wide["randomised-greedy"] / wide["hierarchical-milp-5"])
        by_trace = mean_of_skewed(logs.groupby("trace").mean().to_numpy())
        assert by_trace.n == 8
        row = next(c for c in rows if "at a 5 % gap" in c.claim and c.claim.endswith(law))
        assert (row.ours, row.ci_high) == pytest.approx(np.exp([by_trace.mean, by_trace.upper]))
    assert {c.published for c in rows} - {""} == set(PAGE.numbers)


def test_local_search_over_rg_names_both_times(monkeypatch):
    """One is slower at one size and faster at another: a difference of the means would be below zero."""
    table = pd.DataFrame(
        {
            "num_nodes": 100,
            "greedy cpu_s": [0.1, 0.1],
            "randomised-greedy cpu_s": [1.0, 10.0],
            "local-search cpu_s": [1.2, 9.0],
        }
    )
    monkeypatch.setattr(sys.modules[call_times.__module__], "decision_table", lambda _: table)
    made = call_times(Results(MadeUp([]), [], "paper"))
    row = next(c for c in made if c.claim == "time of local search over RG")
    assert row.ours == pytest.approx(5.0)  # 20 % more and 10 % less
    assert "RG takes 5.5000 s here, local search 5.1000 s" in row.why
    assert row.verdict == "inconclusive"  # timed on one machine, so it is judged
