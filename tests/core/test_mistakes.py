"""Mistakes in a user's own policy, plug-in or setting, each told in one line."""

import math
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from policies import make_policy
from policies.registry import making
from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    InputError,
    NodeType,
    Performance,
    Placement,
    Sensitivity,
    SensitivityMatrix,
    SpeedupCurve,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.features.colocation import colocation_of
from simulator.features.network import network_of
from simulator.features.tenants import tenants_of
from simulator.workloads.plain_csv import CsvJobs
from tests.core.jobs import fixed, nodes, run

ONE = nodes()
VM = Cluster.of_vms([NodeType("vm", "GPU", 1)], 1)


def jobs(count: int = 1) -> Workload:
    """Jobs of one GPU and a second, all at 0 s."""
    return fixed([0] * count, [1] * count)


# -- decisions -------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", [ONE, VM], ids=["node", "vm"])
@pytest.mark.parametrize("keep_running", [False, True])
@pytest.mark.parametrize(
    ("placements", "complaint"),
    [
        ([(0, 0, 1)], "has a tuple among its placements, expected a Placement"),
        (Placement(0, 0, 1), "has one Placement as placements, expected a sequence"),
        (5, "has one int as placements, expected a sequence"),
        ([None], "has a NoneType among its placements"),
        ([Placement([0], 0, 1)], r"has a placement with job \[0\], expected a whole number"),
        ([Placement(0.0, 0, 1)], "has a placement with job 0.0, expected a whole number"),
        ([Placement(0, 0.0, 1)], "has a placement with node 0.0, expected a whole number"),
        ([Placement(0, "0", 1)], "has a placement with node '0', expected a whole number"),
        ([Placement(0, 0, 1, 0.0)], "has a placement with node_type 0.0"),
        ([Placement(0, 0, "1", 0)], "has a placement with gpus '1', expected a number"),
        ([Placement(0, 0, True, 0)], "has a placement with gpus True, expected a number"),
        ([Placement(0, 0, np.array([1, 1]), 0)], r"has a placement with gpus array\(.*, expected a number"),
        ([Placement(0, 0, 1, 0, None)], "has a placement with cpus None, expected a number"),
        ([Placement(True, 0, 1, 0)], "has a placement with job True, expected a whole number"),
    ],
)  # fmt: skip
def test_a_decision_that_is_none(cluster, keep_running, placements, complaint):
    def wrong(view: View) -> Decision:
        return Decision(placements, keep_running)

    with pytest.raises(InfeasibleDecision, match="^policy wrong at 0 s: " + complaint):
        run(jobs(), cluster, wrong)


def test_facts_that_are_none():
    with pytest.raises(InfeasibleDecision, match="has str as info, expected a mapping"):
        run(jobs(), ONE, lambda view: Decision([Placement(0, 0, 1)], info="gap"))


# -- policies --------------------------------------------------------------------------------


class Counter:
    """Runs one job, and counts how often it was asked; an object that can also be called."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, view: View) -> Decision:
        self.asked += 1
        return Decision([Placement(int(view.jobs[0]), int(view.nodes[0]), 1)])


class Decides(Counter):
    decide = Counter.__call__

    def __call__(self, view: View) -> Decision:
        raise AssertionError("decide is what a policy is asked by")


@pytest.mark.parametrize("given", [Counter(), Decides(), Counter().__call__])
def test_neither_an_object_given_nor_that_of_a_method_is_changed(given):
    run(jobs(2), nodes(1, 2, 2), given)
    assert getattr(given, "__self__", given).asked == 0


class Locked:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def decide(self, view: View) -> Decision:
        return NO_CHANGE


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        (Counter, r"policy is the class Counter, expected an object of it: Counter\(...\)"),
        ("fifo", "policy is 'fifo', expected an object with decide"),
        (None, "policy is None, expected an object with decide"),
        (Locked(), "policy Locked: cannot be copied for each controller .TypeError"),
    ],
)
def test_what_is_no_policy(policy, complaint):
    with pytest.raises(InputError, match=complaint):
        simulate(jobs(), ONE, policy)


# -- plug-ins --------------------------------------------------------------------------------


def plain(view: View, gpus: int = 1) -> Decision:
    """The first job on the first node."""
    return Decision([Placement(int(view.jobs[0]), int(view.nodes[0]), gpus)])


class Demanding:
    """A policy that cannot be made without being told something."""

    def __init__(self, quota: int, ageing: float = 0.0) -> None:
        self.quota = quota


def nothing() -> None:
    """Makes no policy."""


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Register an object of this file as the policy ``mine``."""

    def plug(attribute: str) -> None:
        entry = EntryPoint("mine", f"here:{attribute}", making.ENTRY_POINTS)
        monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[attribute])
        monkeypatch.setattr(making, "installed", lambda group: [entry])

    return plug


def test_a_plain_function_is_a_policy(plugged):
    plugged("plain")
    info = making.describe("mine")
    assert (info.summary, info.options) == ("The first job on the first node.", {"gpus": 1})
    result = run(jobs(2), ONE, "mine")
    assert (result.policy, result.completion_s.tolist()) == ("mine", [1, 2])
    with pytest.raises(InfeasibleDecision, match="2 GPUs used of 1"):
        run(jobs(), ONE, make_policy("mine", gpus=2))


@pytest.mark.parametrize(
    ("attribute", "complaint"),
    [
        ("Demanding", "policy 'mine': here:Demanding has no default for quota, expected one"),
        ("nothing", "policy 'mine': made a NoneType, expected a policy"),
    ],
)
def test_plug_ins_that_make_no_policy(plugged, attribute, complaint):
    plugged(attribute)
    with pytest.raises(InputError, match=complaint):
        make_policy("mine")


# -- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"period_s": -1}, r"period_s: got -1, expected a number >= 0\.001 and < "),
        ({"period_s": 9.9e-4}, r"period_s: got 0\.00099, expected a number >= 0\.001"),
        ({"since_last_s": 0.0}, r"since_last_s: got 0\.0, expected"),
        ({"round_s": 1e-9}, "round_s: got 1e-09, expected"),
        ({"round_s": 1e12}, "round_s: got 1000000000000"),
        ({"on_arrival": False}, "wait for ever"),
        ({"finish_at_round": True}, "finish_at_round: given without round_s"),
        ({"round_s": 5.0, "period_s": 5.0}, "both round_s and period_s given"),
        ({"round_s": 5.0, "least_gap_s": 5.0}, "both round_s and least_gap_s given"),
        ({"round_ends": "last-finisher"}, "round_ends: expected round_s"),
    ],
)
def test_times_of_decisions_that_are_none(keys, complaint):
    with pytest.raises(InputError, match=complaint):
        DecisionPoints(**keys)


# -- workloads -------------------------------------------------------------------------------

ONES = np.ones(1)
FIRST = np.zeros(1, dtype=np.int64)


@pytest.mark.parametrize(
    "model",
    [
        FixedDuration(ONES, FIRST + 1),
        TimeTable(np.ones((1, 1, 2))),
        SpeedupCurve(ONES, FIRST, [math.sqrt]),
        Sensitivity(ONES, FIRST + 1, FIRST, [SensitivityMatrix(ONES, ONES, np.ones((1, 1)))]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_performance_model_of_fewer_jobs(model):
    with pytest.raises(InputError, match="the performance model has times of 1 jobs, expected 2"):
        Workload(["a", "b"], [0, 0], model)


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (tenants_of(jobs(2)), "^tenants: made for 2 jobs, expected 3$"),
        (network_of(jobs(2), 1), "^network: made for 2 jobs, expected 3$"),
        (network_of(jobs(3), 1), "^network: made for 1 nodes, expected 2$"),
        (colocation_of(jobs(2)), "^colocation: made for 2 jobs, expected 3$"),
    ],
)
def test_parts_made_for_others(part, complaint):
    with pytest.raises(InputError, match=complaint):
        run(jobs(3), nodes(1, 2), "fifo-strict", part)


def test_a_model_of_one_s_own_needs_no_length():
    class Own(Performance):
        def time_s(self, *configuration: float) -> float:
            return 5.0

    workload = Workload(["a", "b"], [0, 0], Own())
    assert run(workload, ONE, plain).completion_s.tolist() == [5, 10]


def test_models_keep_what_they_were_given():
    duration_s, demand, index = np.array([1.0]), np.array([1]), np.array([0])
    matrix = SensitivityMatrix(ONES, ONES, np.ones((1, 1)))
    models = (
        FixedDuration(duration_s, demand),
        SpeedupCurve(duration_s, index, [math.sqrt]),
        Sensitivity(duration_s, demand, index, [matrix]),
    )
    duration_s[0] = demand[0] = index[0] = 99
    for model in models:
        assert model.time_s(0, 0, 1, 1, 1) == 1
        with pytest.raises(ValueError, match="read-only"):
            model.duration_s[0] = 99


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: FixedDuration(ONES, np.ones(2)), "num_gpus has 2 rows, expected 1"),
        (lambda: SpeedupCurve(ONES, FIRST + 1, [math.sqrt]), "curve_of has a 1, expected 0 to 0"),
        (lambda: Sensitivity(ONES, FIRST + 1, FIRST - 1, []), "matrix_of has a -1"),
    ],
)
def test_models_whose_columns_do_not_fit(make, complaint):
    with pytest.raises(InputError, match=complaint):
        make()


@pytest.mark.parametrize(
    ("column", "row"), [("submit_time_s", "1e308,1,1"), ("duration_s", "0,1e308,1")]
)
def test_times_that_no_clock_can_hold(tmp_path, column, row):
    path = tmp_path / "huge.csv"
    path.write_text(f"job_id,submit_time_s,duration_s,num_gpus\na,0,1,1\nb,{row}\n")
    complaint = rf"huge.csv, line 3: {column} is '1e308', expected a number >=? 0 and below 1e\+12"
    with pytest.raises(InputError, match=complaint):
        CsvJobs(path=path).read()
    with pytest.raises(InputError, match=r"job 'a': submit_s is 1e\+300, expected seconds below"):
        Workload(["a"], [1e300], FixedDuration(ONES, FIRST + 1))
