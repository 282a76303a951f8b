"""Other policies with foresight's wake-ups: ``greedy@self-timed`` is greedy, asked as often.

Gives a rival the wake-ups of foresight, so that both decide equally often: its decisions ask for the next
one after the same time as foresight's do.
"""

from __future__ import annotations

from dataclasses import replace

from policies.foresight.arrival_statistics import ArrivalStatistics
from policies.foresight.machines import Machines
from policies.registration import register
from policies.wrapper import Wrapper
from simulator.model.contract import LEAST_AGAIN_S, Decision, Policy, View


@register("@self-timed", requires=("nodes", "one-node"))
class SelfTimed(Wrapper):
    """A policy that asks to be asked again after one mean gap between arrivals."""

    def __init__(self, policy: Policy, inner_name: str) -> None:
        super().__init__(policy, inner_name)
        self._statistics: ArrivalStatistics | None = None

    def decide(self, view: View) -> Decision:
        """The policy's own decision, and when it wants to be asked again."""
        if self._statistics is None:
            self._statistics = ArrivalStatistics(Machines.of(view.cluster, view.nodes))
        self._statistics.update(view)
        again_s = max(self._statistics.mean_gap_s(view.now_s), LEAST_AGAIN_S)
        return replace(self.policy.decide(view), again_s=again_s)
