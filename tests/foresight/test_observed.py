"""Speeds that foresight observes: ratios by hand, and runs whose predictions are wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from policies.foresight.observed import ObservedSpeeds
from simulator.model.contract import Placement

ONE, TWO = (Placement(7, 0, 1, node_type=0),), (Placement(7, 0, 2, node_type=0),)
MACHINES = SimpleNamespace(config_index=np.array([[-1, 0, 1]]))
PREDICTED = np.array([[100.0, 60.0]])


def views(*seen, **keys):
    """Views of one job: remaining work, GPU-seconds and shares at each decision."""
    for remaining, gpu_s, shares in seen:
        yield SimpleNamespace(
            jobs=np.array([7]),
            remaining=np.array([remaining]),
            attained_gpu_s=np.array([gpu_s]),
            running={7: shares} if shares else {},
            cluster=SimpleNamespace(node_type_of=None),
            **keys,
        )


def ratios(*seen, **keys):
    observed = ObservedSpeeds(MACHINES)
    return [float(observed.ratio(view, PREDICTED)[0]) for view in views(*seen, **keys)]


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        # 10 s for a twentieth, where 5 s were predicted; then 12 s on two GPUs for a fifth: 22 s over 17 s.
        ([(1.0, 0, None), (0.95, 10, ONE), (0.75, 34, TWO)], [1, 2, 22 / 17]),
        # As predicted, but for a rounding.
        ([(1.0, 0, None), (0.9, 10.001, ONE)], [1, 1]),
        # Half a hundredth is too little; the whole counts as soon as there is more of it.
        ([(1.0, 0, None), (0.995, 1, ONE), (0.985, 3, ONE)], [1, 1, 2]),
        # Work that a failure took back is no observation.
        ([(1.0, 0, None), (0.9, 20, ONE), (1.0, 30, None), (0.9, 50, ONE)], [1, 2, 1, 2]),
    ],
)
def test_by_hand(seen, found):
    assert ratios(*seen) == pytest.approx(found)


def test_a_delay_is_no_observation():
    """Until a job has got on between two decisions on the same GPUs, a delay may be a part of the time."""
    seen = [(1.0, 0, None), (0.95, 15, ONE), (0.9, 25, ONE), (0.8, 45, ONE), (0.75, 75, TWO)]
    assert ratios(*seen, reconfiguration=5.0) == pytest.approx([1, 1, 1, 2, 2])
    seen += [(0.7, 81, TWO), (0.6, 93, TWO)]
    assert ratios(*seen, reconfiguration=5.0)[-2:] == pytest.approx([2, (20 + 6) / (10 + 6)])


def test_what_is_corrected_already_stays():
    seen = [(1.0, 0, None), (0.95, 10, ONE)]
    assert ratios(*seen, learned=True) == [1, 1]


@pytest.mark.long
@pytest.mark.parametrize("delay_s", [0.0, 20.0])
def test_exact_predictions_are_observed_as_exact(monkeypatch, delay_s):
    """Roundings of the clock, moves and resized jobs are no errors."""
    found: list[float] = []
    ratio = ObservedSpeeds.ratio

    def noted(self, view, times_s):
        each = ratio(self, view, times_s)
        found.extend(each.tolist())
        return each

    monkeypatch.setattr(ObservedSpeeds, "ratio", noted)
    scenario = {"policy": "foresight", "seed": 3, "reconfiguration_s": delay_s}
    scenario |= {"workload": {"kind": "hierarchical", "num_nodes": 3}, "cluster": {"kind": "vms"}}
    assert run(Scenario.model_validate(scenario)).reconfigurations.sum() > 0
    assert len(found) > 100
    assert {*found} == {1.0}


def test_wrong_predictions_cost_less_than_they_did():
    """Each job takes thrice what is predicted, on energy nodes: late jobs are noticed at work."""
    cost = {}
    for learned in (False, True):
        keys = {"kind": "andreas", "num_nodes": 3, "arrivals": "mixed"}
        scenario = {"policy": "foresight", "workload": keys, "seed": 2}
        scenario["predictions"] = {"bias": -2 / 3, "learned": learned}
        cost[learned] = run(Scenario.model_validate(scenario)).summary()["total_cost"]
    assert cost[False] == pytest.approx(cost[True], rel=0.2)
