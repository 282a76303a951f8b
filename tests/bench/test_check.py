"""The check of schedules: a right one passes; each wrong one is found, by one line."""

import pandas as pd
import pytest

from experiments.bench.check import TaskRules, check_schedule
from simulator import Cluster, FixedDuration, NodeType, Workload
from simulator.features.reconfiguration import Delays
from tests.errors import input_error

JOBS = Workload(
    ["a", "b", "c"], [0.0, 10.0, 20.0], FixedDuration([100.0, 50.0, 30.0], [2, 1, 4]), num_cpus=[4.0, 2.0, 8.0]
)  # fmt: skip
"""Of two nodes with 2 GPUs and 4 CPUs each, ``c`` takes both: after ``a`` has ended at 100, from 100 to 130."""
MACHINES = Cluster.of_nodes(NodeType("2-GPU", "V100", 2, cpus=4.0), 2)
ROWS = [
    ("a", 0, "2-GPU", 2, 4, 0.0, 100.0), ("b", 1, "2-GPU", 1, 2, 10.0, 30.0), ("b", 1, "2-GPU", 1, 2, 40.0, 70.0),
    ("c", 0, "2-GPU", 2, 4, 100.0, 130.0), ("c", 1, "2-GPU", 2, 4, 100.0, 130.0),
]  # fmt: skip
"""``b`` is interrupted from 30 to 40."""
COLUMNS = ("job_id", "node", "node_type", "gpus", "cpus", "start_s", "end_s")


def table(changes=(), drop=(), add=()):
    """The right rows with other values, by row and column."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    for row, column, value in changes:
        rows[row][column] = value
    kept = [row for at, row in enumerate(rows) if at not in drop]
    return pd.DataFrame([*kept, *(dict(zip(COLUMNS, row, strict=True)) for row in add)])


def faults(schedule, **claims):
    return [str(f) for f in check_schedule(schedule, JOBS, MACHINES, claimed=claims).faults]


def test_a_right_schedule_and_its_metrics():
    found = check_schedule(table(), JOBS, MACHINES)
    assert not found.faults
    # Completion times 100, 60, 110; waits 0, 10, 80; 200 + 50 + 120 of 4 x 130 GPU-seconds.
    assert found.metrics["mean_jct_s"] == pytest.approx(90)
    assert found.metrics["mean_total_wait_s"] == pytest.approx(30)
    assert found.metrics["makespan_s"] == 130
    assert found.metrics["gpu_utilisation"] == pytest.approx(370 / 520)
    # Alone they take 100, 50 and 30 s.
    assert found.metrics["mean_slowdown"] == pytest.approx((1 + 1.2 + 11 / 3) / 3)
    # Beside a: b for 60 s, c for 80 s, so 2.4 jobs and 1.2 times on its 2 of 4 GPUs. Beside c: a for 80 s, b for 50 s.
    assert found.metrics["max_finish_time_fairness"] == pytest.approx(11 / 3 / (1 + 130 / 110))
    # From the first start: 100, 60 and 30 s.
    assert found.metrics["effective_training_ratio"] == pytest.approx(370 / 380)


WRONG = {
    "a job left out": (table(drop=[0]), "job a: is not in the schedule"),
    "a job of another task": (
        table(add=[("z", 1, "2-GPU", 1, 2, 70.0, 80.0)]),
        "row 6: job z: is none",
    ),
    "a job twice": (
        table(add=[("a", 1, "2-GPU", 2, 4, 130.0, 230.0)]),
        "job a: holds GPUs for 200",
    ),
    "two at a time": (
        table(add=[("b", 1, "2-GPU", 1, 2, 10.0, 30.0)]),
        "job b: holds 2 GPUs from 10 s",
    ),
    "before its submission": (
        table([(1, "start_s", 9.0), (1, "end_s", 29.0)]),
        "row 2: job b: starts at 9 s",
    ),
    "a node over its GPUs": (
        table(
            [
                (1, "node", 0),
                (1, "start_s", 50.0),
                (1, "end_s", 70.0),
                (2, "start_s", 70.0),
                (2, "end_s", 100.0),
            ]
        ),
        "node 0: 3 gpus in use at 50 s, 2-GPU has 2",
    ),
    "a node over its CPUs": (
        table([(1, "node", 0)]),
        "node 0: 6 cpus in use at 10 s, 2-GPU has 4",
    ),
    "half a gang": (table(drop=[4]), "job c: holds 2 GPUs from 100 s, asks for 4"),
    "a gang that starts in parts": (
        table([(4, "start_s", 110.0)]),
        "job c: holds 2 GPUs from 100 s",
    ),
    "too many GPUs": (table([(1, "gpus", 2)]), "job b: holds 2 GPUs from 10 s, asks for 1"),
    "a part of a GPU": (
        table([(1, "gpus", 0.5)]),
        "row 2: job b: holds 0.5 GPUs, expected a whole number",
    ),
    "more GPUs than a node has": (
        table([(0, "gpus", 3)]),
        "row 1: job a: holds 3 gpus of a node that has 2",
    ),
    "too little work": (table([(2, "end_s", 69.0)]), "job b: does 98.000000% of its work"),
    "a little too much work": (table([(2, "end_s", 70.001)]), "job b: holds GPUs for 100.002000%"),
    "a node that is not there": (table([(1, "node", 2)]), "row 2: job b: node 2, expected 0 to 1"),
    "a type that is not there": (
        table([(1, "node_type", "9-GPU")]),
        "row 2: job b: node 1 is of type 9-GPU, expected 2-GPU",
    ),
    "fewer CPUs than it asks for": (
        table([(0, "cpus", 3.0)]),
        "job a: from 0 s holds 3 cpus, asks for 4",
    ),
}
NO_SCHEDULE = {
    "half a node": (table([(1, "node", 0.5)]), "row 2: node is", "0.5", "a whole number >= 0"),
    "a node below 0": (table([(1, "node", -1)]), "row 2: node is", "-1", "a whole number >= 0"),
    "an end before the start": (
        table([(1, "end_s", 9.0)]),
        "row 2: end_s is",
        "9",
        "a time not before start_s",
    ),
    "no number": (
        table([(0, "end_s", float("nan"))]),
        "row 1: end_s is",
        "nan",
        "a number >= 0",
    ),
    "a time without an end": (
        table([(0, "end_s", float("inf"))]),
        "row 1: end_s is",
        "inf",
        "a number >= 0",
    ),
    "no GPUs": (table([(1, "gpus", 0)]), "row 2: gpus is", "0", "a number > 0"),
    "CPUs that are no number": (
        table([(0, "cpus", float("nan"))]),
        "row 1: cpus is",
        "nan",
        "a number >= 0",
    ),
    "CPUs below none": (table([(0, "cpus", -1.0)]), "row 1: cpus is", "-1", "a number >= 0"),
    "a column left out": (table().drop(columns="node"), "column 'node' is missing"),
    "no CPUs where they are limited": (table().drop(columns="cpus"), "column 'cpus' is missing"),
    "no rows": (table().head(0), "has no rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_schedule_is_found(name):
    schedule, expected = WRONG[name]
    found = faults(schedule)
    assert any(line.startswith(expected) for line in found), found


@pytest.mark.parametrize("name", NO_SCHEDULE)
def test_what_is_no_schedule_is_refused(name):
    schedule, *texts = NO_SCHEDULE[name]
    with input_error("schedule", *texts):
        faults(schedule)


def test_claims_that_the_rows_do_not_give():
    assert faults(table(), mean_jct_s=90.0, makespan_s=130.0) == []
    assert faults(table(), mean_jct_s=89.0) == ["summary.json: mean_jct_s is 89, the rows give 90"]
    for wrong in ("short", "130", True, None, float("nan"), 10**400, [130]):
        (line,) = faults(table(), makespan_s=wrong)
        assert line.startswith(f"summary.json: makespan_s is {repr(wrong)[:20]}"), line
        assert line.endswith("the rows give 130")


def test_another_type_than_the_node_has():
    types = Cluster((NodeType("slow", "K80", 2), NodeType("fast", "V100", 2)), 2, (0, 1))
    jobs = Workload(["a"], [0.0], FixedDuration([10.0], [2]))
    row = {"job_id": "a", "node": 0, "gpus": 2, "start_s": 0.0, "end_s": 10.0}
    (fault,) = check_schedule(pd.DataFrame([{**row, "node_type": "fast"}]), jobs, types).faults
    assert str(fault) == "row 1: job a: node 0 is of type fast, expected slow"


def test_starts_that_take_time_where_the_task_says_so():
    """``b`` is resumed once: with 10 s for that it ends at 80, and neither before nor after."""
    rules = TaskRules(delays=Delays(resume_s=10.0))
    found = {
        end_s: [str(f) for f in check_schedule(table([(2, "end_s", end_s)]), JOBS, MACHINES, rules).faults]
        for end_s in (70.0, 79.9, 80.0, 80.1)
    }  # fmt: skip
    assert found[80.0] == []
    assert [found[end_s][0] for end_s in (70.0, 79.9, 80.1)] == [
        "job b: does 80.000000% of its work",
        "job b: does 99.800000% of its work",
        "job b: holds GPUs for 100.200000% of its work",
    ]
