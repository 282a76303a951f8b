"""A plan: what a policy has decided, checked, and the state that it was decided for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.model.contract import Choose, Configuration, Placement


@dataclass(slots=True)
class Plan:
    """A decision that can be carried out, now or after a service of the optimization server.

    Attributes
    ----------
    shares_of : placements by job, in the order of the decision.
    keep_running : jobs that are not named go on as they are.
    number : plans of a controller are numbered in the order in which they are made.
    after : number of the last plan that had been carried out when this one was made.
    before : placements of the named jobs at that time; None: the job waited.
    again_s : seconds after which the controller decides again; None: no wake-up.
    cpu_s : CPU seconds of the decision, where they are measured.
    gpus_of : numbers of the GPUs that jobs get, where the decision names them.
    configuration_of : what jobs run with beside their GPUs, where the policy chose it.
    choose : how such jobs choose anew when their rates change; None: they keep it.
    notes : what a feature keeps about the plan, by the feature's name.
    """

    shares_of: Mapping[int, tuple[Placement, ...]]
    keep_running: bool
    number: int
    after: int
    before: Mapping[int, tuple[Placement, ...] | None] = field(default_factory=dict)
    again_s: float | None = None
    cpu_s: float = 0.0
    gpus_of: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    configuration_of: Mapping[int, Configuration] = field(default_factory=dict)
    choose: Choose | None = None
    notes: dict[str, Any] = field(default_factory=dict)
