"""Learning agents on schedlab's scenarios: Gymnasium environments (extra ``rl``).

Gymnasium finds them by its entry-point group ``gymnasium.envs``; nothing else imports this package.

    env = gymnasium.make("schedlab/Scheduling-v0", scenario="examples/learn.toml", window=16)
"""


def register_environments() -> None:
    """Register ``Scheduling-v0``; Gymnasium calls this and puts the namespace ``schedlab`` before it."""
    from gymnasium import register

    register(
        "Scheduling-v0",
        entry_point="experiments.learning.environment:SchedulingEnv",
        disable_env_checker=True,
    )
