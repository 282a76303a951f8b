"""Rules of tasks, one by one, with numbers by hand."""

import numpy as np
import pytest

from experiments.bench import task
from experiments.bench.check import TaskRules, check_schedule, rules_of
from experiments.bench.check.rules import outages_of
from experiments.scenario.build import build
from experiments.scenario.schema import Scenario
from simulator import Cluster, NodeType, Workload
from simulator.features.failures import Outages
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from simulator.model.performance import DurationByType
from simulator.statistics import Streams
from tests.bench.test_attacks import TYPED, faults, table
from tests.core.jobs import elastic, fixed, nodes


def ends(end_s, jobs, rules, gpus=1, start_s=0.0):
    return faults(table(("j0", 0, gpus, start_s, end_s)), jobs, nodes(4), rules)


def test_an_end_that_is_noticed_late():
    """At whole seconds, say: less than a second of GPUs without work is right, more is not."""
    rules, jobs = TaskRules(late_s=1.0), fixed([0], [9.3])
    assert ends(10.0, jobs, rules) == []
    assert ends(10.4, jobs, rules) == ["job j0: holds GPUs for 111.827957% of its work"]


def test_a_delay_that_grows_with_the_gpus():
    """5 s, and 10 s for each of two doublings."""
    rules = TaskRules(delays=Delays(first_s=5.0, doubling_s=10.0))
    jobs = fixed([0], [100.0], [4])
    assert ends(125.0, jobs, rules, gpus=4) == []
    assert ends(115.0, jobs, rules, gpus=4) == ["job j0: does 90.000000% of its work"]


def test_work_that_is_saved_all_the_time():
    """Interval 0: after the failure at 40 s, 60 s are left."""
    down = np.array([[0, 40.0, 50.0]])
    rules = TaskRules(interval_s=0.0, outages=lambda until_s: down)
    rows = table(("j0", 0, 1, 0, 40), ("j0", 0, 1, 50, 110))
    assert faults(rows, fixed([0], [100.0]), nodes(4), rules) == []
    lost = TaskRules(outages=lambda until_s: down)
    assert faults(rows, fixed([0], [100.0]), nodes(4), lost) == [
        "job j0: does 60.000000% of its work"
    ]


def test_outages_are_drawn_as_each_cause_says():
    """10 s up, 5 s down; the second group begins 3 s later; none that begins after 30 s."""
    cause = Outages(Deterministic(10.0), Deterministic(5.0), [[0, 1], [2]], stagger_s=3.0)
    found = outages_of([cause], Streams(0), 1.0, 30.0).tolist()
    assert found == [
        [0, 11, 16], [1, 11, 16], [0, 26, 31], [1, 26, 31], [2, 14, 19], [2, 29, 34]
    ]  # fmt: skip


def test_outages_of_a_task_are_those_of_the_engine():
    """llm-v1 draws them from the seed, whatever the policy does."""
    scenario = task.scenario_of_task("llm-v1", "s")
    first, again = (rules_of(scenario, *build(scenario)).outages(1e6) for _ in range(2))
    assert first.tolist() == again.tolist()
    other = scenario.model_copy(update={"seed": 1})
    assert first.tolist() != rules_of(other, *build(other)).outages(1e6).tolist()


JOBS = {
    "kind": "poisson",
    "num_jobs": 5,
    "arrival_rate_per_h": 10,
    "duration_s": "deterministic:100",
}
MACHINES = {"kind": "nodes", "num_nodes": 2, "gpus_per_node": 4}


@pytest.mark.parametrize(
    ("more", "expected", "unchecked"),
    [
        ({}, TaskRules(), ()),
        ({"decisions": {"round_s": 60, "finish_at_round": True}}, TaskRules(late_s=60.0, round_s=60.0), ()),
        ({"decisions": {"least_gap_s": 7}}, TaskRules(least_gap_s=7.0), ()),
        (
            {"reconfiguration_s": 9, "checkpoints": {"interval_s": 50, "cost_s": 2, "restart_s": 3}},
            TaskRules(delays=Delays.of(9), interval_s=50.0, cost_s=2.0, restart_s=3.0),
            (),
        ),
        (
            {"failures": {"job_time_to_failure": "exponential:1e9"}, "checkpoints": {"interval_s": "daly", "cost_s": 1}},
            TaskRules(cost_s=1.0),
            ("checkpoints are not checked here", "failures of jobs by themselves are not checked here"),
        ),
        (
            {"server": {"service": "exponential:4"}, "cluster": MACHINES | {"num_controllers": 2}},
            TaskRules(),
            ("which controller has which nodes and jobs is not checked here", "the time that decisions take is not checked here"),
        ),
        (
            {"decisions": {"round_s": 60, "round_ends": "last-finisher"}},
            TaskRules(),
            ("rounds that end with their last job are not checked here",),
        ),
        (
            {"maintenance": {"every_s": 1000, "duration_s": 10, "notice_s": 60}},
            TaskRules(),
            ("notice of outages is not checked here",),
        ),
        ({"predictions": {"noise": 0.1}}, TaskRules(), ("[predictions] is not checked here",)),
    ],
)  # fmt: skip
def test_rules_of_a_scenario(more, expected, unchecked):
    config = {"workload": JOBS, "cluster": MACHINES, "policy": "fifo-strict", **more}
    scenario = Scenario.model_validate(config)
    found = rules_of(scenario, *build(scenario))
    for name in (
        "delays",
        "interval_s",
        "cost_s",
        "restart_s",
        "late_s",
        "least_gap_s",
        "round_s",
        "tells",
    ):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.unchecked == unchecked
    assert found.is_exact == (not unchecked)


def test_a_job_on_nodes_of_two_types_is_as_slow_as_on_the_slower():
    types = Cluster((NodeType("fast", "V100", 1), NodeType("slow", "K80", 1)), 2, (0, 1))
    times = DurationByType(np.array([10.0]), np.array([2]), times_s=np.array([[10.0, 20.0]]))
    jobs = Workload(["j0"], [0], times)
    for end_s, expected in ((20, []), (10, ["job j0: does 50.000000% of its work"])):
        rows = table(("j0", 0, 1, 0, end_s), ("j0", 1, 1, 0, end_s))
        assert faults(rows, jobs, types) == expected


def test_a_type_of_gpu_that_will_not_do():
    types = Cluster((NodeType("fast", "V100", 1), NodeType("slow", "K80", 1)), 2, (0, 1))
    jobs = fixed([0], [10], gpu_types=["V100|A100"])
    assert faults(table(("j0", 0, 1, 0, 10)), jobs, types) == []
    assert faults(table(("j0", 1, 1, 0, 10)), jobs, types) == [
        "row 1: job j0: is on a node with K80, asks for V100|A100"
    ]


def test_costs_and_short_jobs_by_hand():
    """Half an hour at 3 an hour on a node at half the price; the bounded slowdown takes a job of 2 s for one of 10 s."""
    machine = Cluster(
        (NodeType("small", "V100", 2, price_per_hour=1.0), NodeType("big", "V100", 4, price_per_hour=3.0)),
        1, price_factor=(0.5,),
    )  # fmt: skip
    jobs = elastic([[[np.inf] * 5, [np.inf, np.inf, np.inf, np.inf, 1800.0]]])
    rows = table(("j0", 0, 4, 0, 1800, "big"), names=TYPED)
    assert check_schedule(rows, jobs, machine).metrics["total_cost"] == pytest.approx(0.75)
    found = check_schedule(table(("j0", 0, 1, 20, 22)), fixed([0], [2.0]), nodes(1)).metrics
    assert found["mean_bounded_slowdown"] == pytest.approx(2.2)
    assert found["mean_slowdown"] == pytest.approx(11)


def test_a_schedule_of_many_jobs_may_be_larger(tmp_path):
    path = tmp_path / "schedule.csv"
    with path.open("wb") as file:
        file.truncate(40_000_001)
    with pytest.raises(ValueError, match="has 40,000,001 bytes, expected at most 40,000,000"):
        check_schedule(path, fixed([0] * 2000, [1] * 2000), nodes(1))
