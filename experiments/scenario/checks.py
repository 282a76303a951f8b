"""Checks of a scenario without running it, made before the first run of a sweep.

A sweep may have a hundred thousand combinations of few distinct parts; each part is looked at
once. Jobs that are drawn are checked by their parameters, files of jobs are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import BaseModel

from experiments.scenario.build import (
    check_window,
    dispatcher_of,
    policy_of,
    requirements_of,
)
from experiments.scenario.schema import Scenario
from experiments.scenario.steps import (
    FITTED,
    Setup,
    read,
    requirement_notes,
    shared_in_time,
    through,
)


class ScenarioChecks:
    """Raises `InputError` for a scenario that cannot be run; remembers what it has seen."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._read: dict[str, Setup] = {}
        self._fitted: dict[str, Setup] = {}

    def __call__(self, scenario: Scenario) -> None:
        """Check the parts that no earlier scenario had."""
        self._once(
            f"policy {scenario.policy} {scenario.policy_options}", lambda: policy_of(scenario)
        )
        self._once(f"dispatcher {scenario.dispatcher}", lambda: dispatcher_of(scenario.dispatcher))
        jobs, setting = scenario.workload, scenario.setting
        machines = _said(scenario.cluster) if jobs.of_machines else ""
        self._once(f"jobs {_said(jobs)} {machines}", lambda: jobs.check(setting))
        self._check_machines(scenario)

    def _once(self, part: str, check: Callable[[], object]) -> None:
        if part not in self._seen:
            check()
            self._seen.add(part)

    def _check_machines(self, scenario: Scenario) -> None:
        """Machines that go with the jobs, jobs that fit on them, a window within the jobs."""
        small = _with_few_jobs(scenario)
        jobs, cluster = _said(small.workload), _said(scenario.cluster)
        adapt = _said(small.adapt)
        jobs_read = f"{jobs} {cluster}" if small.workload.of_machines else jobs
        # Whole iterations depend on the round.
        said = " ".join(_said(table) for table in scenario.features.values())
        machines = f"{jobs} {cluster} {adapt} {scenario.decisions.round_s} {said}"
        self._once(f"machines {machines}", lambda: self._fit(small, jobs_read, machines))
        self._once(
            f"requirements {scenario.policy} {machines}",
            lambda: self._requirements(scenario, machines),
        )
        if scenario.window is not None:
            check_window(
                scenario.window, scenario.workload.num_drawn or len(self._read[jobs_read].workload)
            )

    def _fit(self, small: Scenario, jobs_read: str, machines: str) -> None:
        if jobs_read not in self._read:
            self._read[jobs_read] = read(small)
        setup = through(FITTED, replace(self._read[jobs_read], scenario=small))
        for table in setup.scene.tables.values():
            table.check(setup.scene)
        self._fitted[machines] = setup

    def _requirements(self, scenario: Scenario, machines: str) -> None:
        """Requirements of the policy, but for a rate of arrivals, which a few jobs do not have."""
        wanted = [name for name in requirements_of(scenario.policy) if name != "arrivals"]
        setup = shared_in_time(replace(self._fitted[machines], scenario=scenario))
        requirement_notes(setup, wanted)


def _said(part: BaseModel | None) -> str:
    return part.model_dump_json() if part is not None else ""


def _with_few_jobs(scenario: Scenario) -> Scenario:
    """The scenario with so few jobs that drawing them costs nothing; a file's jobs are all there."""
    # A load needs several submissions; it can be had for any jobs that have them.
    adapt = scenario.adapt and scenario.adapt.model_copy(update={"load": None})
    few = scenario.workload.with_few_jobs()
    return scenario.model_copy(update={"workload": few, "adapt": adapt, "seed": 0})
