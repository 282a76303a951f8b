"""Values of a wrong kind, given to constructors in Python, are one line each; good ones stay as they were."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from simulator import (
    Cluster,
    DecisionPoints,
    FixedDuration,
    InputError,
    NodeType,
    ServerSpec,
    TimeTable,
    Workload,
)
from simulator.adaptation import Rules
from simulator.features.admission import Admission
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.network import Network
from simulator.features.predictions import Predictions
from simulator.features.reconfiguration import Delays
from simulator.features.tenants import Tenants
from simulator.laws import Bimodal, Exponential
from simulator.model.speedup import Amdahl, Power
from tests.core.jobs import fixed, nodes, run
from tests.errors import input_error

ONES = np.ones(2)
GIVEN: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (Rules, dict.fromkeys(("models", "speedup", "demand", "due", "weights", "load", "prices"))),
    (Predictions, {"bias": 0.0, "noise": 0.0, "learned": False}),
    (Outages, {"time_to": Exponential(1), "duration": Exponential(1), "groups": [(0,)], "notice_s": 0}),
    (Checkpoints, {"interval_s": 1.0, "cost_s": 0.0, "cost_of_model": {}}),
    (Admission, {"rule": "reject"}),
    (Tenants, {"names": ("a", "b"), "of": np.zeros(2, int), "weight": ONES, "quota": ONES}),
    (Network, {"rack_of": np.zeros(2, int), "same_rack": ONES, "across_racks": ONES}),
    (NodeType, {"name": "a", "gpu_type": "b", "gpus": 1, "cpus": 1.0, "power_w": ()}),
    (
        Cluster,
        {"node_types": (NodeType("a", "b", 1),), "num_nodes": 2, "node_type_of": (0, 0), "pue": 1.0},
    ),
    (ServerSpec, {"service": "measured", "servers": 1}),
    (FixedDuration, {"duration_s": ONES, "num_gpus": ONES}),
    (TimeTable, {"times_s": np.ones((2, 1, 2))}),
    (
        Workload,
        {
            "job_id": ["a", "b"], "submit_s": np.zeros(2), "performance": FixedDuration(ONES, ONES),
            "num_cpus": ONES, "due_s": ONES, "model": ("", ""), "patience_s": ONES,
        },
    ),
    (Exponential, {"mean": 1.0}),
    (Bimodal, {"small": 1.0, "large": 2.0, "p_large": 0.5}),
    (Amdahl, {"parallel_fraction": 0.5}),
    (Power, {"exponent": 0.5}),
]  # fmt: skip
WRONG = [
    "x", None, [], {}, object(), -1, float("nan"), 1j, "1.5", [1, "a"], b"x", (1, 2, 3), np.array("q"),
    10**400,
]  # fmt: skip
ANYTHING = range(len(WRONG))
NONE, EMPTY, TABLE, MIXED, THREE, HUGE = 1, 2, 3, 9, 11, 13
TEXTS = (0, 8)
"""Places in `WRONG`."""

ACCEPTED: dict[tuple[Callable[..., Any], str], Iterable[int]] = {
    (Rules, "models"): (NONE, THREE),  # names of models are looked up where jobs are drawn
    **{(Rules, name): (NONE,) for name in ("speedup", "demand", "due", "load")},
    (Rules, "weights"): (NONE, TABLE),
    (Rules, "prices"): (NONE,),
    (Checkpoints, "interval_s"): (NONE,),
    (Checkpoints, "cost_of_model"): (TABLE,),
    (Tenants, "names"): (MIXED,),
    (Tenants, "of"): (EMPTY, THREE),  # held against the jobs where they meet
    (Network, "rack_of"): (EMPTY, THREE),  # held against the nodes where they meet
    (NodeType, "name"): TEXTS,
    (NodeType, "gpu_type"): TEXTS,
    (NodeType, "power_w"): (EMPTY, TABLE),
    (Cluster, "node_type_of"): (NONE,),
    (ServerSpec, "servers"): (HUGE,),
    (Workload, "job_id"): (MIXED,),
    (Workload, "model"): (*TEXTS, EMPTY, TABLE, MIXED, 10, THREE),
    **{(Workload, name): (NONE,) for name in ("num_cpus", "due_s", "patience_s")},
}
"""Of `WRONG`, what a parameter takes all the same; every other value is refused."""
IN_OTHER_WORDS = re.compile(
    r"no nodes, expected|no node types, expected|-1 nodes, expected|indices below 1|has shape"
    r"|no jobs, expected|values for|rows, expected|shape is|of a wrong kind"
)
"""Messages that say what is wrong without the parameter's name."""


@pytest.mark.parametrize(("make", "given"), GIVEN, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_refused_is_refused_in_one_line(make, given):
    """Each parameter refuses each wrong value, and names itself."""
    make(**given)
    for name in given:
        for place in sorted(set(ANYTHING) - set(ACCEPTED.get((make, name), ()))):
            with pytest.raises(InputError) as caught:
                make(**{**given, name: WRONG[place]})
            message = str(caught.value)
            assert message
            assert "\n" not in message
            assert name in message or IN_OTHER_WORDS.search(message), (name, place, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Cluster((NodeType("a", "b", 1),), "ten"), "cluster: num_nodes is 'ten', expected a whole number"),
        (lambda: NodeType("a", "b", "4"), "node type: gpus is '4', expected a number"),
        (lambda: Rules(load="high"), 'load: got "high", expected a number > 0'),
        (lambda: Rules(weights={"research": "much"}), 'weights.research: got "much", expected a number >= 0'),
        (lambda: FixedDuration(np.array(["1", "2"]), ONES), "jobs of one duration: duration_s is array(['1', '2']"),
        (lambda: FixedDuration(np.array(["1", "2"], object), ONES), "expected an array of numbers"),
        (lambda: FixedDuration(np.array([1j, 2]), ONES), "expected an array of numbers"),
        (lambda: Predictions(learned="yes"), 'learned: got "yes", expected true or false'),
        (lambda: Exponential("ten"), "exponential law: mean is 'ten', expected a positive number"),
        (lambda: Rules(prices="cheap"), "prices: catalogue 'cheap': not known, expected hierarchical, "),
        (lambda: Rules(prices=-1.0), "prices: got -1.0, expected a number >= 0 or text"),
        (lambda: Outages(7, Exponential(1), [(0,)]), "failure: time_to is 7, expected a law of seconds"),
        (lambda: Outages.of_each_node(2, Exponential(1), "1h"), "failure: duration is '1h', expected a law"),
        (lambda: Outages(Exponential(1), Exponential(1), "x"), "failure: groups has the node 'x', expected numbers"),
        (lambda: Outages(lambda _: 9.0, Exponential(1), [(0,)]), "failure: time_to is <function"),
        (lambda: Failures(job_time_to_failure=lambda _: 9.0), "failures: job_time_to_failure is <function"),
        (lambda: Failures(job_time_to_failure=7), "failures: job_time_to_failure is 7, expected a law"),
        (lambda: Workload(["a"], ONES[:1], -1), "workload: performance is -1, expected a model of"),
        (lambda: run(fixed([0], [1]), nodes(), period_s="hour"), "period_s: got \"hour\", expected a number"),
        (lambda: Delays.of("soon"), 'resume_s: got "soon", expected a number'),
        (lambda: Delays(first_s=float("nan")), "first_s: got NaN, expected a finite number"),
        (lambda: DecisionPoints(round_s=1e-9), "round_s: got 1e-09, expected a number >= 0.001"),
        (lambda: ServerSpec(service="fast"), "service: law 'fast': expected deterministic, "),
    ],
)  # fmt: skip
def test_the_message_names_the_parameter_its_value_and_what_was_expected(call, message):
    with input_error(message):
        call()


def test_numbers_of_numpy_and_lists_of_numbers_are_as_good_as_before():
    kind = NodeType("a", "b", np.int64(4), price_per_hour=np.float32(1.5), cpus=np.array(8.0))
    assert Cluster((kind,), np.int64(2), num_controllers=np.int32(1)).num_nodes == 2
    times, columns = FixedDuration(ONES, [1, 2]), {"num_cpus": [None, 2]}
    jobs = Workload(["a", "b"], [0, 1], times, **columns)
    assert jobs.num_gpus.tolist() == [1, 2]
    assert np.isnan(jobs.num_cpus[0])
