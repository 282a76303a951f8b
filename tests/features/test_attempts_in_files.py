"""Attempts of Philly's log in scenario files: beside shared GPUs, and where nothing can fail."""

import json

import pandas as pd
import pytest

from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.output import write_result
from experiments.scenario.run import run
from experiments.scenario.schema import read_scenario
from simulator import InputError

SHARED = """policy = "complementary"
policy_options = { share = "always", least_speed = 0.1 }
[workload]
kind = "philly"
path = "log.json"
attempts = true
[cluster]
kind = "nodes"
num_nodes = 1
gpus_per_node = 1
[colocation]
part = 0.5
interference = "linear"
utilisation = { a = 1.0 }
draw = { a = 1 }
"""


def log_of(path, *jobs):
    """Philly's log: of each job the minutes that its attempts ran; each on one GPU, one second after the other."""
    entries = []
    for k, minutes in enumerate(jobs):
        attempts, hour = [], 10
        for m in minutes:
            attempts.append({"start_time": f"2017-10-01 {hour}:00:00",
                             "end_time": f"2017-10-01 {hour}:{m:02d}:00",
                             "detail": [{"ip": "m", "gpus": ["gpu0"]}]})  # fmt: skip
            hour += 1
        entries.append({"jobid": f"j{k}", "status": "Pass", "vc": "v", "user": "u",
                        "submitted_time": f"2017-10-01 09:00:{k:02d}", "attempts": attempts})  # fmt: skip
    path.write_text(json.dumps(entries))


def test_an_attempt_beside_a_neighbour(tmp_path):
    """Two jobs of 40 min on one GPU, the second comes a second later; then each is at half speed.

    The attempt of 10 min of j0 fails after 20 min less that second. Its other 30 min take an hour.
    """
    log_of(tmp_path / "log.json", [10, 30], [40])
    (tmp_path / "s.toml").write_text(SHARED)
    (tmp_path / "out").mkdir()
    write_result(run(read_scenario(tmp_path / "s.toml")), tmp_path / "out")
    shares = pd.read_csv(tmp_path / "out" / "schedule.csv")
    own = shares[shares["job_id"] == "j0"]
    assert own["end_s"].tolist() == pytest.approx([20 * 60.0 - 1, 80 * 60.0 - 1])
    jobs = pd.read_csv(tmp_path / "out" / "jobs.csv").set_index("job_id")
    assert jobs["failures"].tolist() == [1, 0]
    assert jobs.loc["j0", "lost_gpu_s"] == pytest.approx(0.5 * (20 * 60 - 1))


def test_attempts_on_a_rental_pool_are_one_line(tmp_path):
    """A pool has no nodes on which a job could fail."""
    log_of(tmp_path / "log.json", [10, 30], [20])
    (tmp_path / "s.toml").write_text(
        'policy = "rental-equi"\n[workload]\nkind = "philly"\npath = "log.json"\nattempts = true\n'
        '[cluster]\nkind = "pool"\n[adapt]\nmodels = "uniform"\nspeedup_curve = "calibrated"\n'
    )
    scenario = read_scenario(tmp_path / "s.toml")
    ScenarioChecks()(scenario)  # names what is wrong in the file alone
    with pytest.raises(InputError, match=r"workload\.attempts: given with a rental pool"):
        run(scenario)
