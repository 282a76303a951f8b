"""The base of wrappers: policies around another policy, named behind an ``@``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, cast

from simulator.model.contract import Decision, Policy, View

Ordered = Callable[[View], Iterable[int]]


class Wrapper:
    """A policy that changes what another one sees or answers.

    The further parameters of its constructor are its options (``hysteresis.threshold``). What is true of the
    policy that decides is true of the wrapper, unless its constructor says otherwise.

    Parameters
    ----------
    policy : the policy that decides.
    inner_name : its name.

    Attributes
    ----------
    key : the name under which it is registered, ``@hysteresis``.
    name : of the whole, ``greedy@hysteresis``.
    fractional_gpus : whether the policy gives parts of GPUs.
    plans_anew : whether it plans all nodes anew, by whole GPUs.
    by, ordered : by what it orders waiting jobs, and the jobs of a view in that order (`policies.decision_trace`);
        "" and None where it does not say.
    """

    requires: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str] = ""

    def __init__(self, policy: Policy, inner_name: str) -> None:
        self.policy = policy
        self.inner_name = inner_name
        self.name = inner_name + self.key
        self.fractional_gpus = bool(getattr(policy, "fractional_gpus", False))
        self.plans_anew = bool(getattr(policy, "plans_anew", False))
        self.by = str(getattr(policy, "by", ""))
        self.ordered = cast(Ordered | None, getattr(policy, "ordered", None))

    def decide(self, view: View) -> Decision:
        """The policy's decision."""
        return self.policy.decide(view)
