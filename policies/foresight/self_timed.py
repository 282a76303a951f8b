"""Other policies with foresight's wake-ups: ``greedy@self-timed`` is greedy, asked as often.

A comparison is honest where nobody wins by being asked more often. The wrapped policy decides as
ever; its decisions ask for the next one after the same time as foresight's do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from policies.foresight.ledger import Ledger
from policies.foresight.machines import Machines
from policies.registry import SELF_TIMED
from simulator.errors import InputError
from simulator.model.contract import LEAST_AGAIN_S, Decision, Policy, View


@dataclass
class SelfTimed:
    """A policy that asks to be asked again after one mean gap between arrivals."""

    policy: Policy
    name: str
    _ledger: Ledger | None = None

    @property
    def gives_parts(self) -> bool:
        """Whether the policy gives parts of GPUs."""
        return bool(getattr(self.policy, "gives_parts", False))

    def decide(self, view: View) -> Decision:
        """The policy's own decision, and when it wants to be asked again."""
        if self._ledger is None:
            self._ledger = Ledger(Machines.of(view.cluster, view.nodes))
        self._ledger.update(view)
        again_s = max(self._ledger.mean_gap_s(view.now_s), LEAST_AGAIN_S)
        return replace(self.policy.decide(view), again_s=again_s)


def self_timed(name: str, factory: Callable[..., Any]) -> Callable[..., Any]:
    """A factory with the same options whose policies ask for wake-ups.

    Raises
    ------
    InputError
        A policy that is a plain function.
    """
    required = [p for p in inspect.signature(factory).parameters.values() if p.default is p.empty]
    if required:
        raise InputError(f"policy {name!r}: a plain function, expected one that makes a policy")

    @functools.wraps(factory)
    def made(**options: Any) -> SelfTimed:
        return SelfTimed(factory(**options), name + SELF_TIMED)

    return made
