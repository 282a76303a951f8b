"""Runs that would not end: one line that names the key, after a bounded number of events; runs that do end, do."""

from typing import Any

import pytest

from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator import InfeasibleDecision, InputError
from simulator.features.failures import guard

BASE: dict[str, Any] = {
    "policy": "fifo-backfill",
    "seed": 1,
    "workload": {"kind": "poisson", "num_jobs": 20, "arrival_rate_per_h": 4, "duration_s": "exponential:3600"},
    "cluster": {"kind": "nodes", "num_nodes": 2, "gpus_per_node": 4},
}  # fmt: skip
OFTEN = {"job_time_to_failure": "exponential:100"}
LONG = {**BASE["workload"], "duration_s": "exponential:1e11"}
VERY_OFTEN = "exponential:1e-6"
BY_ITSELF, PERIOD = "failures.job_time_to_failure", "decisions: period_s (or round_s) is"

ENDLESS: list[tuple[dict[str, Any], str]] = [
    ({"failures": OFTEN}, BY_ITSELF),
    ({"failures": OFTEN, "policy": "srpt"}, BY_ITSELF),
    ({"failures": OFTEN, "tenants": {"draw": {"a": 1.0, "b": 1.0}}}, BY_ITSELF),
    ({"failures": OFTEN, "server": {"service": "exponential:30"}}, BY_ITSELF),
    ({"failures": {"job_time_to_failure": "deterministic:100"}}, BY_ITSELF),
    ({"maintenance": {"every_s": 1000.0, "duration_s": 1000.0, "nodes_at_a_time": 2}}, "maintenance.every_s"),
    ({"maintenance": {"every_s": 1000.0001, "duration_s": 1000.0, "nodes_at_a_time": 2}}, "maintenance.every_s"),
    ({"checkpoints": {"interval_s": 1e-9}}, "checkpoints: interval_s is 1e-09"),
    ({"checkpoints": {"interval_s": 1e-9, "cost_s": 1.0}}, "checkpoints: interval_s is 1e-09"),
    (
        {"checkpoints": {"interval_s": 1e-9}, "failures": {"time_to_failure": "exponential:5000", "repair": "deterministic:60"}},
        "checkpoints: interval_s is 1e-09",
    ),
    ({"failures": {"time_to_failure": VERY_OFTEN, "repair": VERY_OFTEN}}, "failures.time_to_failure"),
    ({"failures": {"time_to_failure": VERY_OFTEN, "repair": "deterministic:600"}}, "failures.time_to_failure"),
    ({"spot": {"nodes": 2, "time_to_reclaim": VERY_OFTEN, "down": VERY_OFTEN}}, "spot.time_to_reclaim"),
    ({"decisions": {"period_s": 0.001}}, PERIOD),
    ({"decisions": {"round_s": 0.001}}, PERIOD),
    ({"decisions": {"since_last_s": 0.001}}, "decisions: since_last_s is"),
    ({"workload": LONG, "decisions": {"period_s": 1.0}}, PERIOD),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "told"), ENDLESS)
def test_one_line_that_names_the_key(keys, told, monkeypatch):
    monkeypatch.setattr(guard, "HOPELESS", 500)
    with pytest.raises((InputError, InfeasibleDecision)) as error:
        run(Scenario.model_validate({**BASE, **keys}))
    assert told in str(error.value)


RARE = {"time_to_failure": "exponential:600", "repair": "deterministic:60"}
LATE = {**BASE["workload"], "num_jobs": 200, "arrival_rate_per_h": 0.01}


@pytest.mark.parametrize(
    "keys",
    [
        {"failures": {"job_time_to_failure": "exponential:1800"}},
        {"checkpoints": {"interval_s": 1.0}},
        {"decisions": {"period_s": 1.0}},
        {"failures": RARE, "checkpoints": {"interval_s": 60.0, "cost_s": 1.0}},
        {"workload": LATE, "decisions": {"period_s": 3600.0}},
    ],
)
def test_many_events_with_progress_are_no_mistake(keys):
    result = run(Scenario.model_validate({**BASE, **keys}))
    assert (result.completion_s > 0).all()
