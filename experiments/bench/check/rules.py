"""Rules of a task that rows have to keep: when decisions are made, and what starts, checkpoints and failures cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from simulator.features.failures import Cause, Checkpoints, Failures
from simulator.features.failures.keys import failures_of
from simulator.features.reconfiguration import Delays
from simulator.features.table import Scene
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.performance import Performance
from simulator.model.workload import Workload
from simulator.statistics import Streams

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario

Tells = Literal["work", "rounds", "stay"]
STAY = (
    "the work is not checked here: it depends on the batch sizes of the jobs, which no row tells",
    "delays after starts and moves are not checked here, since the work is not",
)
"""Sentences on what is not checked where rows tell of a job that it holds GPUs, and no more."""
CHECKED = ("failures", "checkpoints", "maintenance", "spot")
"""Tables of a scenario whose rules are looked for in the rows."""


def _none(until_s: float) -> FloatArray:
    return np.empty((0, 3))


@dataclass(frozen=True)
class TaskRules:
    """Rules beside jobs and machines.

    Attributes
    ----------
    delays : seconds without progress after a start.
    interval_s, cost_s, restart_s : seconds of work between checkpoints, seconds of one, and seconds without progress when
        a job that failed starts again.
    late_s : a job may hold its GPUs for less than so many seconds after its work.
    least_gap_s : between two decisions at least.
    round_s : decisions are made at its multiples alone, or, where ``tells`` is "rounds", at the ends of rounds of at most this
        length; None: at any time.
    outages : ``(O, 3)`` node, begin and end (s) of each time that a node is down until a time.
    tells : what rows tell of a job: "work", the work that is done on its GPUs; "rounds", the same, as it is counted in rounds that
        end with their last job; "stay", no work.
    untold : metrics of ``summary.json`` that no row tells.
    unchecked : sentences on what no row tells.
    is_exact : False where something that no row tells takes time: a job may then hold its GPUs for longer than its work.
    """

    delays: Delays = field(default_factory=Delays)
    interval_s: float = math.inf
    cost_s: float = 0.0
    restart_s: float = 0.0
    late_s: float = 0.0
    least_gap_s: float = 0.0
    round_s: float | None = None
    outages: Callable[[float], FloatArray] = _none
    tells: Tells = "work"
    untold: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    is_exact: bool = True


def rules_of(scenario: Scenario, workload: Workload, cluster: Cluster) -> TaskRules:
    """The rules of a scenario for these jobs and machines, which are its own."""
    decisions, unit_s = scenario.decisions, workload.performance.time_unit_s
    failures = failures_of(Scene(workload, cluster, scenario.streams, scenario.features))
    saving = failures.checkpoints or Checkpoints()
    interval_s, cost_s = saving.plan("", math.inf)
    tells = _tells(scenario, workload)
    others = list(_others(scenario, cluster, failures, tells))
    return TaskRules(
        delays=Delays.of(scenario.reconfiguration_s),
        interval_s=interval_s,
        cost_s=cost_s,
        restart_s=saving.restart_s,
        late_s=max(unit_s, (decisions.tick_s or 0.0) if decisions.finish_at_round else 0.0),
        least_gap_s=decisions.least_gap_s if cluster.num_controllers == 1 else 0.0,
        round_s=decisions.round_s if tells == "rounds" or decisions.round_ends == "grid" else None,
        outages=lambda until_s: outages_of(
            failures.outages, scenario.streams, float(workload.submit_s[0]), until_s
        ),
        tells=tells,
        # It is of the nodes that were up.
        untold=("gpu_utilisation",) if failures.outages else (),
        unchecked=(*(STAY if tells == "stay" else ()), *others),
        is_exact=not others,
    )


def _tells(scenario: Scenario, workload: Workload) -> Tells:
    performance = workload.performance
    if type(performance).rate is not Performance.rate:
        return "stay"
    in_rounds = scenario.decisions.round_ends == "last-finisher"
    return "rounds" if in_rounds and performance.progress() is not None else "work"


def _others(
    scenario: Scenario, cluster: Cluster, failures: Failures, tells: Tells
) -> Iterator[str]:
    """Sentences on what else is not checked: none of the tasks has any of it."""
    saving = failures.checkpoints or Checkpoints()
    if scenario.decisions.round_ends == "last-finisher" and tells != "rounds":
        yield "rounds that end with their last job are not checked here"
    if cluster.num_controllers > 1:
        yield "which controller has which nodes and jobs is not checked here"
    if scenario.server is not None:
        yield "the time that decisions take is not checked here"
    if isinstance(saving.interval_s, str) or saving.cost_of_model or saving.cost_per_gpu_s:
        yield "checkpoints are not checked here"
    if failures.job_time_to_failure is not None:
        yield "failures of jobs by themselves are not checked here"
    if any(cause.notice_s for cause in failures.outages):
        yield "notice of outages is not checked here"
    for name in scenario.features:
        if name not in CHECKED:
            yield f"[{name}] is not checked here"


def outages_of(
    causes: Sequence[Cause], streams: Streams, begin_s: float, until_s: float
) -> FloatArray:
    """``(O, 3)`` node, begin and end (s) of all outages that begin until a time, drawn as each cause says."""
    found = []
    for cause in causes:
        for number, group in enumerate(cause.groups):
            rng = streams.generator(cause.name, number)
            for down_s, up_s in cause.times(number, begin_s, rng):
                if down_s > until_s:
                    break
                found += [(node, down_s, up_s) for node in group]
    return np.array(found, dtype=np.float64).reshape(-1, 3)
