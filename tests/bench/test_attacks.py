"""Schedules that no machine can run, and that earlier or simpler checks let through: each is found."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest

from experiments.bench import task
from experiments.bench.check import TaskRules, check_schedule, rules_of
from experiments.scenario.build import build
from simulator import Cluster, NodeType, Workload
from simulator.features.reconfiguration import Delays
from simulator.model.performance import DurationByType, Sensitivity, SensitivityMatrix
from simulator.workloads.training import TrainingTimes
from tests.bench.test_independent import HONEST, gangs
from tests.core.jobs import elastic, fixed, nodes, sharing
from tests.core.steps import jobs_of
from tests.errors import input_error


@functools.cache
def made(name):
    """Jobs, machines and rules of a task."""
    scenario = task.scenario_of_task(name, "s")
    jobs, machines = build(scenario)
    return jobs, machines, rules_of(scenario, jobs, machines)


@functools.cache
def honest(name):
    """The same with an independent schedule."""
    jobs, machines, rules = made(name)
    return jobs, machines, rules, pd.DataFrame(HONEST[name](jobs, machines))


def faults_in(name, rows):
    jobs, machines, rules, _ = honest(name)
    return faults(rows, jobs, machines, rules)


def faults(rows, jobs, machines, rules=None):
    found = check_schedule(rows, jobs, machines, rules or TaskRules())
    return [str(fault) for fault in found.faults]


def table(*rows, names=("job_id", "node", "gpus", "start_s", "end_s")):
    return pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows])


def anywhere(texts, found):
    """Each text begins, or is in, one of the faults."""
    missing = [text for text in texts if not any(text in line for line in found)]
    assert not missing, (missing, found)


def cut(rows, index, pieces, gap_s=0.0):
    """The rows with one of them in so many pieces, each followed by a pause."""
    row = rows.loc[index]
    edges = np.linspace(row["start_s"], row["end_s"], pieces + 1)
    parts = pd.DataFrame([row] * pieces)
    parts["start_s"], parts["end_s"] = edges[:-1], edges[1:] - gap_s
    return pd.concat([rows.drop(index), parts], ignore_index=True)


# -- names and numbers ------------------------------------------------------------------------------


def test_a_node_is_one_however_it_is_written(tmp_path):
    """All jobs start at their submission on node 0, as 0, 00, 000, .."""
    jobs, machines, rules = made("philly-v1")
    lines = ["job_id,node,gpus,start_s,end_s"]
    for job, (name, start_s, gpus) in enumerate(
        zip(jobs.job_id, jobs.submit_s, jobs.num_gpus, strict=True)
    ):
        end_s = start_s + jobs.performance.duration_s[job]
        zeros = "0" * (job + 1)
        lines.append(f"{name},{zeros},{min(gpus, 8)},{float(start_s)!r},{float(end_s)!r}")
    path = tmp_path / "schedule.csv"
    path.write_text("\n".join(lines) + "\n")
    anywhere(["node 0: ", " gpus in use at "], faults(path, jobs, machines, rules))


def test_amounts_that_swallow_others():
    """10^17 + 1 - 10^17 is 0 in floating-point numbers."""
    rows = table(("j0", 0, 1e17, 0, 10), ("j0", 0, 1, 0, 10))
    assert faults(rows, fixed([0], [10]), nodes(4)) == [
        "row 1: job j0: holds 1e+17 gpus of a node that has 4"
    ]


def test_a_name_of_a_job_that_is_long_is_cut():
    rows = table(("x" * 10**6, 0, 1, 0, 10))
    (line,) = faults(rows, fixed([0], [10]), nodes(4))
    assert len(line) < 120


# -- work -------------------------------------------------------------------------------------------


def test_llm_jobs_that_pay_for_nothing():
    """Durations alone: no checkpoints, starts at any time, on nodes that are down."""
    jobs, machines, rules = made("llm-v1")
    rows = pd.DataFrame(gangs(jobs, machines))
    found = faults(rows, jobs, machines, rules)
    anywhere(["of its work", "is down from"], found)
    work = [line for line in found if "of its work" in line]
    assert all(": does 9" in line for line in work)


DOWN = np.array([[0, 2000.0, 3000.0], [0, 9000.0, 9100.0]])
AS_LLM = TaskRules(
    Delays.of(300.0), 1800.0, 30.0, 300.0, least_gap_s=60.0, outages=lambda until_s: DOWN[DOWN[:, 1] <= until_s]
)  # fmt: skip
"""Rules of llm-v1; node 0 goes down at 2000 s and is back at 3000 s, and again at 9000 s for 100 s."""
PAID = {
    # 5,000 s of work with two checkpoints of 30 s.
    "without a break": [("j0", 1, 1, 0, 5060)],
    "in two rows": [("j0", 1, 1, 0, 1000), ("j0", 1, 1, 1000, 5060)],
    # 4,000 s are left at 5,000 s; the node fails 3,700 s after the delay, two checkpoints later: 400 s are left.
    "failed later": [("j0", 1, 1, 0, 1000), ("j0", 0, 1, 5000, 9000), ("j0", 1, 1, 9060, 10060)],
    "ends as its node fails": [("j0", 1, 1, 0, 1000), ("j0", 0, 1, 4640, 9000)],
    # After 1,000 s it goes on at 2,000 s: 300 s to resume, 4,000 s of work, two checkpoints.
    "resumed": [("j0", 1, 1, 0, 1000), ("j0", 1, 1, 2000, 6360)],
    "moved": [("j0", 1, 1, 0, 1000), ("j0", 0, 1, 1000, 1999), ("j0", 1, 1, 2060, 5691)],
    # Its node fails at 2,000 s: 1,800 s are saved. Then 600 s to restart, 3,200 s of work, one checkpoint.
    "failed": [("j0", 0, 1, 0, 2000), ("j0", 1, 1, 2040, 5870)],
}
UNPAID = {
    "no checkpoints": ([("j0", 1, 1, 0, 5000)], "job j0: does 98.800000% of its work"),
    "resumed for nothing": (
        [("j0", 1, 1, 0, 1000), ("j0", 1, 1, 2000, 6060)],
        "job j0: does 94.000000% of its work",
    ),
    "moved for nothing": (
        [("j0", 1, 1, 0, 1000), ("j0", 2, 1, 1000, 5060)],
        "job j0: does 94.000000% of its work",
    ),
    "work that a failure destroyed is kept": (
        [("j0", 0, 1, 0, 2000), ("j0", 1, 1, 2040, 5670)],
        "job j0: does 96.000000% of its work",
    ),
    "restarted as if it had been stopped": (
        [("j0", 0, 1, 0, 2000), ("j0", 1, 1, 2040, 5570)],
        "job j0: does 94.000000% of its work",
    ),
    "on a node that is down": (
        [("j0", 0, 1, 2500, 7560)],
        "node 0: is in use at 2500 s, is down from 2000 to 3000 s",
    ),
    "on a node that goes down": (
        [("j0", 0, 1, 0, 5060)],
        "node 0: is in use at 2000 s, is down from 2000 to 3000 s",
    ),
    "stopped and started within the gap": (
        [("j0", 1, 1, 0, 1000), ("j0", 1, 1, 1030, 5390)],
        "decision at 1030 s: comes 30 s after the one before, expected 60 s at least",
    ),
    "GPUs held for longer": ([("j0", 1, 1, 0, 5160)], "job j0: holds GPUs for 102.000000% of"),
}


@pytest.mark.parametrize("name", PAID)
def test_what_a_job_pays_for(name):
    assert faults(table(*PAID[name]), fixed([0], [5000]), nodes(1, 3), AS_LLM) == []


@pytest.mark.parametrize("name", UNPAID)
def test_what_a_job_does_not_pay_for(name):
    rows, expected = UNPAID[name]
    found = faults(table(*rows), fixed([0], [5000]), nodes(1, 3), AS_LLM)
    assert [line for line in found if line.startswith(expected)], found


@pytest.mark.parametrize("pieces", [2, 2343])
def test_a_job_in_thousands_of_rows_is_forgiven_once(pieces):
    """Rows that follow each other are one: cut into pieces, a job is neither forgiven more nor less."""
    jobs, machines, rules, rows = honest("hpc-v1")
    index = rows[~rows["job_id"].duplicated(keep=False)].index[7]
    whole = cut(rows, index, pieces)
    assert faults(whole, jobs, machines, rules) == []
    length_s = float(rows.loc[index, "end_s"] - rows.loc[index, "start_s"])
    # A hundredth of a piece is left out of each; the gap is within what two equal times may differ by where there are many.
    left_out = cut(rows, index, pieces, gap_s=0.01 * length_s / pieces)
    (line,) = faults(left_out, jobs, machines, rules)
    assert line == f"job {rows.loc[index, 'job_id']}: does 99.000000% of its work"


def test_rows_too_short_to_count_do_no_work():
    """Two jobs on one GPU by turns of a microsecond, each counted as if it had it all the time."""
    turns = [(f"j{k % 2}", 0, 1, 1e-6 * k, 1e-6 * (k + 2)) for k in range(2000)]
    found = faults(table(*turns), fixed([0, 0], [0.002, 0.002]), nodes(1))
    anywhere(["node 0: 2 gpus in use"], found)
    turns = [(f"j{k % 2}", 0, 1, 1e-6 * k, 1e-6 * (k + 1)) for k in range(2000)]
    found = faults(table(*turns), fixed([0, 0], [0.002, 0.002]), nodes(1))
    assert found, "each has half the time that it needs"


def test_times_that_are_equal_one_by_one_do_not_drift():
    """Each start is within what counts as equal of the end before, 2,000 times: a chain is no instant."""
    rows = [("j0", 0, 1, 0.0, 10.0)]
    rows += [(f"j{k}", 0, 1, 10.0 * k - 1e-6 * k, 10.0 * k - 1e-6 * k + 10) for k in range(1, 50)]
    found = faults(table(*rows), fixed([0] * 50, [10.0] * 50), nodes(1))
    assert found == []  # a microsecond each is forgiven ..
    rows = [(f"j{k}", 0, 1, (10 - 1e-5) * k, (10 - 1e-5) * k + 10) for k in range(50)]
    anywhere(
        ["node 0: 2 gpus in use"], faults(table(*rows), fixed([0] * 50, [10.0] * 50), nodes(1))
    )


def test_gpus_that_are_held_without_work():
    """Nine tenths of the work now, the rest much later, and GPUs held in between: more than the work."""
    rows = table(("j0", 0, 1, 0, 90), ("j0", 0, 1, 500, 600))
    assert faults(rows, fixed([0], [100]), nodes(1)) == [
        "job j0: holds GPUs for 190.000000% of its work"
    ]


# -- CPUs and memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["cpus", "memory_gb"])
@pytest.mark.parametrize("held", [0.0, 0.01])
def test_speed_without_cpus_or_memory(column, held):
    """The model's speed at the least measured share goes on below it: nothing runs with 0 CPUs."""
    *_, rows = honest("synergy-v1")
    found = faults_in("synergy-v1", rows.assign(**{column: held}))
    assert found[0].startswith(f"row 1: job 0: holds {held:g} {column}, expected ")


def test_cpus_of_another_node():
    """A job of two nodes has all its CPUs on the one, and none beside the GPUs of the other."""
    matrix = SensitivityMatrix(np.array([1.0, 3.0]), np.array([10.0]), np.array([[0.5], [1.0]]))
    times = Sensitivity(np.array([100.0]), np.array([2]), np.array([0]), [matrix])
    jobs, machine = Workload(["j0"], [0], times), nodes(1, 2, cpus=6, memory_gb=20)
    names = ("job_id", "node", "gpus", "start_s", "end_s", "cpus", "memory_gb")
    for cpus, expected in (
        ((3, 3), []),
        ((6, 0), ["row 2: job j0: holds 0 cpus, expected 1 at least"]),
    ):
        rows = [("j0", node, 1, 0, 100, cpus[node], 10) for node in (0, 1)]
        assert faults(table(*rows, names=names), jobs, machine) == expected


@pytest.mark.parametrize("column", ["cpus", "memory_gb"])
def test_no_job_of_a_schedule_holds_cpus_or_memory(column):
    """A column of zeros is not the absence of a limit."""
    *_, rows = honest("fractions-v1")
    found = faults_in("fractions-v1", rows.assign(**{column: 0.0}))
    assert found[0].startswith("job pod-0: from ")
    assert f" holds 0 {column}, asks for " in found[0]


def test_fewer_cpus_than_a_job_asks_for_is_too_few_also_where_it_asks_for_none_of_memory():
    jobs = fixed([0], [10], num_cpus=[4.0])
    machine = nodes(1, cpus=8, memory_gb=10)
    rows = table(("j0", 0, 1, 0, 10, 3.0, 0.0), names=("job_id", "node", "gpus", "start_s", "end_s", "cpus", "memory_gb"))  # fmt: skip
    assert faults(rows, jobs, machine) == ["job j0: from 0 s holds 3 cpus, asks for 4"]


# -- GPUs -------------------------------------------------------------------------------------------

SHARED = ("job_id", "node", "gpus", "start_s", "end_s", "gpu_ids")


def shared_faults(*rows, part=0.6, gpus=None):
    count = len({row[0] for row in rows})
    jobs = sharing([0] * count, [10.0] * count, part=part, gpus=gpus)
    return faults(table(*rows, names=SHARED), jobs, nodes(4, 2))


def test_five_jobs_of_more_than_half_a_gpu_on_four():
    """3 of 4 GPUs in sum; which GPU each has is named, and one is given away twice."""
    rows = [(f"j{k}", 0, 0.6, 0, 10, str(k % 4)) for k in range(5)]
    assert shared_faults(*rows) == ["node 0: 1.2 of GPU 0 in use at 0 s"]
    assert shared_faults(*rows[:4]) == []


@pytest.mark.parametrize(
    ("ids", "gpus", "told"),
    [
        ("", 0.6, "gpu_ids is empty, expected 1 of the node's GPUs 0 to 3"),
        ("0 1", 0.6, "gpu_ids is 0 1, expected 1 of"),
        ("4", 0.6, "gpu_ids is 4, expected 1 of"),
        ("0", 2, "gpu_ids is 0, expected 2 of"),
        ("0 0", 2, "gpu_ids is 0 0, expected 2 of"),
        ("0 1", 1.5, "holds 1.5 GPUs, several in parts"),
    ],
)
def test_gpus_that_are_named_wrongly(ids, gpus, told):
    wanted = [math.ceil(gpus)]
    anywhere([f"row 1: job j0: {told}"], shared_faults(("j0", 0, gpus, 0, 10, ids), gpus=wanted))


@pytest.mark.parametrize("ids", ["a", "-1", "0,1", "0|1", "\u0663", "1e0", "0  1", "9999999"])
def test_gpus_that_are_no_numbers(ids):
    with input_error("row 1: gpu_ids is", "numbers of GPUs"):
        shared_faults(("j0", 0, 0.6, 0, 10, ids))


def test_who_has_a_part_of_a_gpu_has_it_on_one():
    rows = ("j0", 0, 0.3, 0, 10, "0"), ("j0", 1, 0.3, 0, 10, "0")
    anywhere(["job j0: is on 2 nodes from 0 s, expected 1"], shared_faults(*rows))


def test_whole_gpus_need_no_names_where_nobody_shares_one():
    assert shared_faults(("j0", 0, 2, 0, 10, ""), gpus=[2]) == []
    mixed = ("j0", 0, 2, 0, 10, ""), ("j1", 0, 0.6, 0, 10, "0")
    anywhere(["row 1: job j0: gpu_ids is empty"], shared_faults(*mixed, gpus=[2, 1]))


def test_columns_that_are_left_out_of_fractions_v1():
    *_, rows = honest("fractions-v1")
    assert faults_in("fractions-v1", rows) == []
    assert "gpu_ids is empty" in faults_in("fractions-v1", rows.drop(columns="gpu_ids"))[0]


def test_half_gpus_on_many_nodes():
    """A gang of two GPUs as halves of four: there is no fragmentation then, and no such machine."""
    rows = table(*[("j0", node, 0.5, 0, 10) for node in range(4)])
    assert faults(rows, fixed([0], [10], [2]), nodes(1, 4))[0] == (
        "row 1: job j0: holds 0.5 GPUs, expected a whole number"
    )


def test_half_a_gpu_at_full_speed():
    """The performance model of training jobs knows pairs of jobs on one GPU; a task of whole GPUs has none."""
    times = DurationByType(np.array([10.0, 10.0]), np.array([1, 1]), times_s=np.full((2, 1), 10.0))
    jobs = Workload(["j0", "j1"], [0, 0], times)
    rows = table(("j0", 0, 0.5, 0, 10), ("j1", 0, 0.5, 0, 10))
    anywhere(["holds 0.5 GPUs"], faults(rows, jobs, nodes(1)))


def test_nodes_and_racks_that_a_job_asks_for():
    """Four GPUs on two nodes of one rack, two on each; nodes 0 and 1 are a rack, 2 and 3 the other."""
    jobs = fixed([0], [10], [4], num_nodes=[2], one_rack=[True])
    machines = Cluster((NodeType("n", "GPU", 4),), 4, (0,) * 4, nodes_per_rack=2)
    of = {
        ((0, 2), (1, 2)): [],
        ((1, 2), (2, 2)): ["job j0: is in 2 racks from 0 s, expected one"],
        ((0, 4),): ["job j0: is on 1 nodes from 0 s, expected 2"],
        ((0, 3), (1, 1)): ["job j0: holds 3 GPUs of node 0 from 0 s, expected 2"],
    }
    for shares, expected in of.items():
        rows = table(*[("j0", node, gpus, 0, 10) for node, gpus in shares])
        found = faults(rows, jobs, machines)
        assert [line for line in found if line in expected] == expected
        assert bool(found) == bool(expected), found


# -- machines whose type is chosen ------------------------------------------------------------------

VMS = Cluster.of_vms(
    [NodeType("small", "V100", 2, price_per_hour=1.0), NodeType("big", "V100", 4, price_per_hour=3.0)], 2
)  # fmt: skip
TYPED = ("job_id", "node", "gpus", "start_s", "end_s", "node_type")
TIMES_S = [[[math.inf, 40, 20, math.inf, math.inf], [math.inf, 40, 20, 15, 10]]]


def test_machines_without_a_type():
    with input_error("column 'node_type' is missing"):
        faults(table(("j0", 0, 1, 0, 40)), elastic(TIMES_S), VMS)


def test_two_types_of_a_node_at_a_time():
    """The cheap one for the one job, the large one for the other."""
    rows = table(("j0", 0, 2, 0, 20, "small"), ("j1", 0, 4, 10, 20, "big"), names=TYPED)
    anywhere(["node 0: has two types at 10 s"], faults(rows, elastic(TIMES_S * 2), VMS))
    one_by_one = table(("j0", 0, 2, 0, 20, "small"), ("j1", 0, 4, 20, 30, "big"), names=TYPED)
    assert faults(one_by_one, elastic(TIMES_S * 2), VMS) == []


def test_a_time_of_one_node_holds_on_one_node():
    """Two cheap machines of two GPUs do not make one of four: the table is of the GPUs of one node."""
    rows = table(("j0", 0, 2, 0, 10, "big"), ("j0", 1, 2, 0, 10, "big"), names=TYPED)
    anywhere(["job j0: is on 2 nodes from 0 s, expected 1"], faults(rows, elastic(TIMES_S), VMS))


def test_a_type_that_is_spelled_otherwise_is_none():
    rows = table(("j0", 0, 2, 0, 20, "SMALL"), names=TYPED)
    assert faults(rows, elastic(TIMES_S), VMS) == [
        "row 1: job j0: node type 'SMALL', expected one of small, big"
    ]


# -- decisions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["starts", "stops", "changes"])
def test_rounds_that_are_not_kept(what):
    """synergy-v1 decides at multiples of 300 s: who starts, stops or moves in between is found."""
    jobs, machines, rules, rows = honest("synergy-v1")
    rows = rows.copy()
    lasts_s = rows["end_s"] - rows["start_s"]
    index = lasts_s.idxmax()
    if what == "starts":
        rows.loc[index, ["start_s", "end_s"]] += 20.0
    else:
        second, at_s = rows.loc[index].copy(), rows.loc[index, "start_s"] + 450.0
        rows.loc[index, "end_s"] = at_s
        second["start_s"] = at_s if what == "changes" else at_s + 150
        second["end_s"] += second["start_s"] - at_s
        second["cpus"] += what == "changes"
        rows = pd.concat([rows, pd.DataFrame([second])], ignore_index=True)
    anywhere(["rounds begin at multiples of 300 s"], faults(rows, jobs, machines, rules))


def test_the_end_of_a_job_is_no_decision_and_a_failure_is_none():
    rules = TaskRules(least_gap_s=60.0, outages=lambda until_s: np.array([[0, 70.0, 80.0]]))
    jobs = fixed([0, 0, 0], [65, 100, 5])
    # j0 ends at 65, j1 fails with its node at 70 and begins anew, j2 starts 60 s after the first decision.
    rows = [("j0", 1, 1, 0, 65), ("j1", 0, 1, 0, 70), ("j1", 1, 1, 120, 220), ("j2", 1, 1, 60, 65)]
    machines = nodes(2, 2)
    assert faults(table(*rows), jobs, machines, rules) == []
    rows[1] = ("j1", 0, 1, 0, 69)  # stopped by a decision, just before
    assert faults(table(*rows), jobs, machines, rules) == [
        "decision at 69 s: comes 9 s after the one before, expected 60 s at least",
        "decision at 120 s: comes 51 s after the one before, expected 60 s at least",
        "job j1: holds GPUs for 169.000000% of its work",
    ]


LAST_FINISHER = TaskRules(tells="rounds", round_s=120.0)
KEPT = [
    ("j0", 0, 1, 0, 120),
    ("j1", 0, 1, 120, 240),
    ("j0", 0, 1, 240, 440),
    ("j1", 0, 1, 440, 490),
]
"""One GPU at a step a second; rounds of 120 s, of which a job that did not run before loses 20 s.

``j0`` does 120 of its 300 steps in the first round, where nothing is lost, 100 in the third, and the last 80 in the fourth, which
ends at 440 s. ``j1`` does 100 of its 150 in the second, and 50 in a short one, where nothing is lost either.
"""


@pytest.mark.parametrize(
    ("row", "changed", "expected"),
    [
        (None, None, ""),
        (3, (440, 480), "job j1: ends at 480 s, but its work is done at 490 s"),
        (3, (440, 500), "job j1: ends at 500 s, but its work is done at 490 s"),
        (2, (240, 420), "job j0: ends at 420 s, but its work is done at 440 s"),
        (0, (0, 100), "job j0: stops at 100 s, but the round lasts until 120 s"),
        (2, (250, 430), "job j0: starts or changes at 250 s, but the next round begins at 360 s"),
        (3, (450, 500), "job j1: starts or changes at 450 s, but the next round begins at 560 s"),
        (3, None, "job j1: ends at 240 s, but its work is done at 290 s"),
        (2, None, "job j0: stops at 120 s, before its work is done"),
        (4, (610, 730), "job j1: holds GPUs from 610 s, after its work is done"),
    ],
)
def test_rounds_that_end_with_their_last_job(row, changed, expected):
    rows = [*KEPT, ("j1", 0, 1, 0, 0)]  # a row of no length is none
    if changed is not None:
        rows[row] = (*rows[row][:3], *changed)
    elif row is not None:
        del rows[row]
    steps = jobs_of([300, 150], [1, 1])
    jobs = Workload(["j0", "j1"], [0, 0], TrainingTimes.of(steps, ("v100",)))
    machine = Cluster.of_nodes(NodeType("v100", "v100", 1), 1)
    assert faults(table(*rows), jobs, machine, LAST_FINISHER) == ([expected] if expected else [])


def test_a_round_begins_with_a_submission_where_no_job_is_left():
    """Not at a multiple of 120 s after the end of the last one, at 60 s."""
    steps = jobs_of([60, 60], [1, 1])
    jobs = Workload(["j0", "j1"], [0, 100], TrainingTimes.of(steps, ("v100",)))
    machine = Cluster.of_nodes(NodeType("v100", "v100", 1), 1)
    rows = table(("j0", 0, 1, 0, 60), ("j1", 0, 1, 100, 160))
    assert faults(rows, jobs, machine, LAST_FINISHER) == []


def test_a_row_that_never_ends_is_over_with_its_work():
    steps = jobs_of([300], [1])
    jobs = Workload(["j0"], [0], TrainingTimes.of(steps, ("v100",)))
    machine = Cluster.of_nodes(NodeType("v100", "v100", 1), 1)
    for rows in ([("j0", 0, 1, 0, 9e9)], [("j0", 0, 1, 0, 120), ("j0", 0, 1, 9e9, 9.1e9)]):
        assert faults(table(*rows), jobs, machine, LAST_FINISHER)


# -- the size of things -----------------------------------------------------------------------------


def test_many_rows_of_one_job_are_sorted_once(monkeypatch):
    """No step looks at each pair of rows: 20,000 rows of one job are summed over a few times their number."""
    from experiments.bench.check import changes

    seen = []
    grouped = changes.grouped
    monkeypatch.setattr(
        changes, "grouped", lambda keys, values: seen.append(len(values)) or grouped(keys, values)
    )
    count = 20_000
    at_s = np.linspace(0, 1000, count)
    rows = pd.DataFrame(
        {"job_id": "j0", "node": 0, "gpus": 1, "start_s": at_s, "end_s": at_s + 500.0}
    )
    found = faults(rows, fixed([0], [1500.0]), nodes(8))
    anywhere(["gpus in use"], found)
    assert max(seen) <= 2 * count
    assert len(seen) < 20
    assert len(list(itertools.islice(found, 30))) <= 20
