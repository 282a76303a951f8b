"""A plan: what a policy has decided, checked, and the state that it was decided for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from simulator.model.contract import Choose, Configuration, Placement

NOTHING: Mapping[Any, Any] = MappingProxyType({})
"""What a plan has of the things that few decisions name."""


class DecisionPlan:
    """A decision that can be carried out, now or after a service of the optimization server.

    Attributes
    ----------
    number : plans of a controller are numbered in the order in which they are made.
    after : number of the last plan that had been carried out when this one was made.
    shares_of : placements by job, in the order of the decision.
    keep_running : jobs that are not named go on as they are, but for those that are ``stopped``.
    before : placements of the named jobs at that time; None: the job waited.
    again_s : seconds after which the controller decides again; None: no wake-up.
    cpu_s : CPU seconds of the decision, where they are measured.
    gpus_of : numbers of the GPUs that jobs get, where the decision names them.
    configuration_of : what jobs run with beside their GPUs, where the policy chose it.
    choose : how such jobs choose anew when their rates change; None: they keep it.
    notes : what features keep about the plan, by the feature's name.
    """

    shares_of: Mapping[int, tuple[Placement, ...]] = NOTHING
    keep_running: bool = True
    stopped: Collection[int] = ()
    before: Mapping[int, tuple[Placement, ...] | None] = NOTHING
    again_s: float | None = None
    cpu_s: float = 0.0
    gpus_of: Mapping[int, tuple[int, ...]] = NOTHING
    configuration_of: Mapping[int, Configuration] = NOTHING
    choose: Choose | None = None
    notes: Mapping[str, Any] = NOTHING

    def __init__(self, number: int, after: int) -> None:
        self.number, self.after = number, after

    @property
    def changes_nothing(self) -> bool:
        """Whether all goes on as it is."""
        return self.keep_running and not self.shares_of and not self.stopped
