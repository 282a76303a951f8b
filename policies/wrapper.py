"""The base of wrappers: policies around another policy, named behind an ``@``."""

from __future__ import annotations

from typing import ClassVar

from simulator.model.contract import Decision, Policy, View


class Wrapper:
    """A policy that changes what another one sees or answers.

    The further parameters of its constructor are its options (``hysteresis.threshold``).

    Parameters
    ----------
    policy : the policy that decides.
    inner_name : its name.

    Attributes
    ----------
    key : the name under which it is registered, ``@hysteresis``.
    name : of the whole, ``greedy@hysteresis``.
    fractional_gpus : whether the policy gives parts of GPUs.
    """

    requires: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str] = ""

    def __init__(self, policy: Policy, inner_name: str) -> None:
        self.policy = policy
        self.inner_name = inner_name
        self.name = inner_name + self.key
        self.fractional_gpus = bool(getattr(policy, "fractional_gpus", False))

    def decide(self, view: View) -> Decision:
        """The policy's decision."""
        return self.policy.decide(view)
