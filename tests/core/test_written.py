"""Folders of runs with all features at random: everything in them is worked out anew from the files."""

import numpy as np
import pytest

from benchmarks.oracle_runs import drawn, examples
from experiments.scenario.output import write_result
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator import InfeasibleDecision, InputError
from tests.core.written import Folder

OFTEN = {"time_to_failure": "exponential:6000", "repair": "exponential:1500"}


MORE = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(306, 360)]


@pytest.mark.parametrize("seed", [*range(300, 306), *MORE])
def test_random_scenarios(seed, tmp_path):
    data, _ = drawn(np.random.default_rng((7, seed)), seed)
    try:
        result = run(Scenario.model_validate(data))
    except (InputError, InfeasibleDecision):
        return  # parts that do not go together, or jobs that never end
    write_result(result, tmp_path)
    tenants = data.get("tenants", {})
    Folder(tmp_path, limited="quota" in tenants and not tenants.get("borrowing")).check()


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [pytest.param(e["scenario"], id=e["name"]) for e in examples() if "stream" not in e]
)
def test_examples(data, tmp_path):
    write_result(run(Scenario.model_validate(data)), tmp_path)
    Folder(tmp_path).check()


@pytest.mark.parametrize("policy", ["fifo-backfill", "srpt", "capacity", "las+proportional"])
@pytest.mark.parametrize("saving", [{}, {"interval_s": 600, "cost_s": 20, "restart_s": 30}])
def test_held_time_is_work_loss_and_overhead(policy, saving, tmp_path):
    data = {
        "policy": policy,
        "seed": 3,
        "workload": {
            "kind": "poisson", "num_jobs": 30, "arrival_rate_per_h": 14, "num_gpus": [1, 1, 2, 4],
            "duration_s": "exponential:2000",
        },
        "cluster": {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4, "price_per_hour": 3},
        "failures": OFTEN,
        "spot": {"nodes": 1, "time_to_reclaim": "exponential:9000", "down": "exponential:2000"},
        "checkpoints": saving,
        "reconfiguration_s": 20,
        "tenants": {"draw": {"a": 1, "b": 1}},
        "decisions": {"round_s": 300} if "+" in policy else {},
    }  # fmt: skip
    write_result(run(Scenario.model_validate(data)), tmp_path)
    folder = Folder(tmp_path)
    folder.check()
    folder.work_is_held_less_lost_and_overhead()
    assert folder.summary["lost_gpu_h"] > 0
    assert folder.summary["availability"] < 0.95
