"""Keys of a scenario that changed nothing: the run without the key has the same tables and scalars.

Each key is taken away in turn, and the scenario is run again, until a job starts or ends at another time. So a key
that matters costs little, and of each the run itself tells, whatever the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from experiments.scenario.build import build
from experiments.scenario.run import run, summarise
from experiments.scenario.schema import Scenario
from experiments.scenario.steps import Setup
from policies import describe
from simulator import InfeasibleDecision, InputError
from simulator.core.feature import Feature
from simulator.metrics.decision_table import is_measured
from simulator.metrics.run_tables import TABLES

if TYPE_CHECKING:
    from simulator import Result
    from simulator.core.execution import Execution
    from simulator.core.plan import DecisionPlan
    from simulator.core.simulation import Simulation

AFTER_THE_JOBS = (
    "policy_options",
    "decisions",
    "server",
    "dispatcher",
    "reconfiguration_s",
    "window",
)
"""Keys that do not change jobs and machines, which are then not built again."""

Path = tuple[str, ...]


class _Differs(Exception):
    """The run without the key is another one, or takes too long."""


class _Watch(Feature):
    """Ends a run where it leaves the course of another, or at a time of the CPU."""

    name = "watch"

    def __init__(self, other: Result, until_s: float) -> None:
        self._start_s, self._end_s = other.first_start_s.tolist(), other.completion_s.tolist()
        self._until_s = until_s

    def attach(self, simulation: Simulation) -> None:
        """Keep the simulation, whose clock is read."""
        self._simulation = simulation

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """Compare the first start of a job."""
        if self._simulation.jobs.first_start_s[execution.job] != self._start_s[execution.job]:
            raise _Differs
        if time.process_time() > self._until_s:
            raise _Differs

    def on_end(self, job: int) -> None:
        """Compare the end of a job."""
        if self._simulation.clock.now != self._end_s[job]:
            raise _Differs


def without_effect(
    scenario: Scenario, result: Result, most_s: float, as_read: Setup | None = None
) -> Iterator[str]:
    """A line for each key that is given, is not its default, and changed nothing in this run.

    Parameters
    ----------
    as_read : the jobs of the scenario, as `steps.read` has read them; None: they are read again.
    most_s : CPU seconds for all keys; of those that are left then nothing is said.
    """
    until_s = time.process_time() + most_s
    config = scenario.model_dump(exclude_unset=True)
    told: list[Path] = []
    for path in _given(scenario, ()):
        if any(path[: len(table)] == table for table in told):
            continue  # its table changes nothing
        if time.process_time() > until_s:
            return
        try:
            other = Scenario.model_validate(_without(config, path))
            same = _is_same(other, scenario, result, path, until_s, as_read)
        except (ValidationError, InputError, InfeasibleDecision, _Differs):
            continue  # it needs the key
        if same:
            told.append(path)
            yield f"{'.'.join(path)}: has no effect here; all numbers are the same without it"


def _given(model: BaseModel, path: Path) -> Iterator[Path]:
    """Keys that can be left out and are given, tables before their keys, in the order in which they are declared."""
    for name, field in type(model).model_fields.items():
        value, here = getattr(model, name), (*path, name)
        if name not in model.model_fields_set or name in ("policy", "policy_label", "seed"):
            continue
        if value == field.get_default(call_default_factory=True):
            continue
        if not field.is_required() and name != "policy_options":
            yield here
        if isinstance(value, BaseModel):
            yield from _given(value, here)
        elif isinstance(value, dict):
            usual = describe(model.policy).options if isinstance(model, Scenario) else {}
            yield from ((*here, key) for key in value if value[key] != usual.get(key))


def _without(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The configuration without one of its keys."""
    name, *rest = path
    if not rest:
        return {key: value for key, value in config.items() if key != name}
    return config | {name: _without(config[name], tuple(rest))}


def _is_same(
    other: Scenario,
    scenario: Scenario,
    result: Result,
    path: Path,
    until_s: float,
    as_read: Setup | None,
) -> bool:
    """Whether a scenario gives the same result."""
    if path[0] in AFTER_THE_JOBS:
        jobs, machines = result.workload, result.cluster
    else:
        others = ("workload", "cluster") if scenario.workload.of_machines else ("workload",)
        jobs, machines = build(other, None if path[0] in others else as_read)
    if jobs.submit_s.tolist() != result.workload.submit_s.tolist():
        return False
    watch = _Watch(result, until_s)
    found = run(other, built=(jobs, machines), measure=False, features=[watch])
    return _scalars(found, other) == _scalars(result, scenario) and all(
        found.table(name).equals(result.table(name)) for name in TABLES if name != "timing"
    )


def _scalars(result: Result, scenario: Scenario) -> dict[str, Any]:
    found = summarise(result, scenario.window)
    return {name: value for name, value in found.items() if not is_measured(name)}
