"""The Gymnasium environment, and the policy that a learning agent brings back."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from experiments.replay import replay
from experiments.scenario.build import build
from experiments.scenario.run import run
from experiments.scenario.schema import read_scenario
from policies import make_policy
from policies.wrappers.learned import FEATURES, LinearScore, features
from simulator import InputError, simulate

pytest.importorskip("gymnasium", reason="the extra 'rl' is not installed")

from experiments.learning import register_environments
from experiments.learning.environment import SchedulingEnv

FILE = Path(__file__).parents[2] / "examples" / "learn.toml"


def play(env, seed, choose):
    observation, info = env.reset(seed=seed)
    total, steps, over = 0.0, [], False
    while not over:
        action = choose(info["action_mask"])
        observation, reward, over, _, info = env.step(action)
        total += reward
        steps.append((action, reward, observation.tobytes()))
    return total, steps


def first(mask):
    able = np.flatnonzero(mask[:-1])
    return int(able[0]) if len(able) else len(mask) - 1


def test_gymnasiums_own_checker():
    from gymnasium.utils.env_checker import check_env

    for reward in ("time", "cost"):
        env = SchedulingEnv(FILE, reward=reward)
        check_env(env, skip_render_check=True)
        env.close()


def test_gymnasium_makes_it_by_name():
    import gymnasium
    from gymnasium.envs.registration import namespace

    with namespace("schedlab"):  # as Gymnasium does for the entry point
        register_environments()
    env = gymnasium.make("schedlab/Scheduling-v0", scenario=FILE, window=4)
    assert env.unwrapped.window == 4
    assert env.reset(seed=1)[1]["action_mask"].any()
    env.close()
    entries = tomllib.loads((FILE.parents[1] / "pyproject.toml").read_text())["project"]
    assert entries["entry-points"]["gymnasium.envs"] == {
        "schedlab": f"{register_environments.__module__}:{register_environments.__name__}"
    }


def test_the_return_is_the_time_spent_and_the_first_that_fits_is_backfilling():
    env = SchedulingEnv(FILE, window=200)
    total, steps = play(env, 3, first)
    assert -total == pytest.approx(env.result.jct_s.sum() / 3600)
    scenario = read_scenario(FILE).model_copy(update={"seed": 3})
    jobs, cluster = build(scenario)
    plain = simulate(jobs, cluster, make_policy("fifo-backfill"), seed=3)
    assert env.result.completion_s == pytest.approx(plain.completion_s)
    again_total, again = play(env, 3, first)
    assert (again_total, again) == (total, steps)


ALL_PARTS = """policy = "fifo-backfill"
seed = 4
reconfiguration_s = 5.0
[workload]
kind = "poisson"
num_jobs = 60
arrival_rate_per_h = 12.0
num_gpus = [1, 2, 4]
[cluster]
nodes_per_rack = 2
kind = "nodes"
num_nodes = 4
gpus_per_node = 4
price_per_hour = 2.0
[adapt]
due = "factor:1.5,4"
weights = "printed"
[decisions]
period_s = 600
[failures]
time_to_failure = "exponential:20000"
repair = "deterministic:600"
[checkpoints]
interval_s = 900
cost_s = 20
[tenants]
draw = { a = 1, b = 1 }
quota = { a = 8, b = 10 }
[admission]
rule = "downgrade"
[network]
same_rack = 1.3
across_racks = 1.6
[predictions]
noise = 0.3
"""


@pytest.mark.parametrize("reward", ["time", "cost"])
def test_all_tables_of_the_scenario_are_in_force(tmp_path, reward):
    """Failures, tenants, the network and others: the run is that of the command under the same policy."""
    path = tmp_path / "s.toml"
    path.write_text(ALL_PARTS)
    env = SchedulingEnv(path, window=60, reward=reward, record=True)
    total, _ = play(env, 4, first)
    plain = run(read_scenario(path))
    assert plain.summary()["outages"] > 0
    assert plain.summary()["held_jobs"] > 0
    assert env.result.schedule_table().equals(plain.schedule_table())
    assert env.result.policy == "agent"
    spent = {"time": plain.jct_s.sum() / 3600, "cost": plain.total_cost}
    assert -total == pytest.approx(spent[reward])
    assert replay(env.result, tmp_path / "replay.html").stat().st_size > 1000


def test_a_step_costs_what_was_spent_since_the_step_before(tmp_path):
    """Two nodes of one GPU at 3 an hour each. Both jobs run for an hour; b is due half an hour after it came.

    a is started at once. b comes after 10 min, waits 20 min in which the agent does nothing, and costs 6 an hour late.
    """
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_time_s,duration_s,num_gpus,due_s,tardiness_weight_per_h\n"
        "a,0,3600,1,9000,1\nb,600,3600,1,2400,6\n"
    )
    path = tmp_path / "s.toml"
    path.write_text(
        'policy = "fifo-strict"\n[workload]\nkind = "csv"\npath = "jobs.csv"\n[decisions]\nperiod_s = 1800\n'
        '[cluster]\nkind = "nodes"\nnum_nodes = 2\ngpus_per_node = 1\nprice_per_hour = 3\n'
    )
    env = SchedulingEnv(path, window=2, reward="cost")
    env.reset()
    spent, now_s = [], []
    for action in (0, 2, 0):
        _, reward, over, _, info = env.step(action)
        spent.append(-reward)
        now_s.append(info["now_s"])
    assert over
    assert now_s[:2] == [600.0, 1800.0]
    # Two nodes cost 6 an hour: for 10 min, for 20 min, then to the end at 5400 s; b is late by 3000 s.
    assert spent == pytest.approx([1.0, 2.0, 6.0 + 5.0])


def test_an_episode_can_be_left():
    env = SchedulingEnv(FILE)
    env.reset(seed=1)
    env.reset(seed=2)
    env.close()
    total, _ = play(env, 2, first)
    assert -total == pytest.approx(env.result.jct_s.sum() / 3600)
    env.close()


def test_doing_nothing_does_not_hang_and_an_impossible_action_ends_the_decision():
    env = SchedulingEnv(FILE, window=4)
    env.reset(seed=1)
    for _ in range(5):
        _, reward, over, _, info = env.step(env.window)
        assert reward <= 0
        assert not over
        assert info["action_mask"][-1] == 1
    env.close()


def test_scenarios_that_are_no_environment(tmp_path):
    for text, told in (
        (FILE.read_text() + "[decisions]\nround_s = 300\n", "decisions.round_s"),
        ('policy = "milp"\n[workload]\nkind = "hierarchical"\n', "fixed demand"),
    ):
        path = tmp_path / "s.toml"
        path.write_text(text)
        with pytest.raises(InputError, match=told):
            SchedulingEnv(path)
    with pytest.raises(InputError, match="window is 0"):
        SchedulingEnv(FILE, window=0)
    with pytest.raises(InputError, match="reward is 'money', expected one of time, cost"):
        SchedulingEnv(FILE, reward="money")


def test_linear_score_is_a_policy_of_the_registry():
    scenario = read_scenario(FILE)
    found = "-0.585,-1.723,-5.776,-0.618,0.047,0.370,0.220"  # by examples/learn.py
    learned = fifo = 0.0
    for seed in range(101, 111):
        jobs, cluster = build(scenario.model_copy(update={"seed": seed}))
        policy = make_policy("linear-score", weights=found)
        learned += simulate(jobs, cluster, policy).jct_s.mean()
        fifo += simulate(jobs, cluster, make_policy("fifo-backfill")).jct_s.mean()
    assert learned < 0.96 * fifo
    seen = []

    class Looks(LinearScore):
        def decide(self, view):
            if view.waiting:
                seen.append(features(view, list(view.waiting)))
            return super().decide(view)

    simulate(jobs.head(30), cluster, Looks((0.0,) * len(FEATURES)))
    assert all((np.abs(rows) <= 1).all() for rows in seen)
    for wrong in ("1,2", "a" + ",0" * 6, "inf" + ",0" * 6):
        with pytest.raises(InputError, match="linear-score: weights is"):
            make_policy("linear-score", weights=wrong)
