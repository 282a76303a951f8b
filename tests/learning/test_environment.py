"""The Gymnasium environment, and the policy that a learning agent brings back."""

from pathlib import Path

import numpy as np
import pytest

from experiments.scenario.build import build
from experiments.scenario.schema import read_scenario
from policies import make_policy
from policies.learned import FEATURES, LinearScore, features
from simulator import InputError, simulate

pytest.importorskip("gymnasium", reason="the extra 'rl' is not installed")

from experiments.analysis.environment import SchedulingEnv

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

    env = SchedulingEnv(FILE)
    check_env(env, skip_render_check=True)
    env.close()


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
