"""Runs of a task: a comparison of its policies and of one's own, and folders of schedules to submit."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.bench.check import Checked, check_schedule, rules_of
from experiments.bench.future import looks_ahead
from experiments.bench.task import official_seeds, scenario_of_task, task_of
from experiments.comparison.comparing import compare_scenario
from experiments.comparison.plan import Plan
from simulator.errors import InputError
from simulator.files.inputs import MOST_CONFIG_BYTES

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.comparison.answer import Comparison
    from experiments.scenario.schema import Scenario


class ScheduleChecks:
    """The check of the benchmark's own runs, each against jobs and machines that are made anew, not those of the run.

    Attributes
    ----------
    unchecked : sentences on what no row tells.
    """

    def __init__(self) -> None:
        self.unchecked: dict[str, None] = {}

    def __call__(self, scenario: Scenario, schedule: DataFrame, claimed: Mapping[str, Any]) -> None:
        """Raise InputError for the first fault of a run's schedule, or of the metrics that it claims."""
        found = checked(scenario, schedule, claimed)
        self.unchecked |= dict.fromkeys(found.unchecked)
        for fault in found.faults:
            raise InputError(
                f"{scenario.policy}: its schedule under seed {scenario.seed} is wrong: {fault}"
            )


def checked(scenario: Scenario, schedule: Path | DataFrame, claimed: Mapping[str, Any]) -> Checked:
    """Check a schedule against the jobs, machines and rules of a scenario."""
    from experiments.scenario.build import build

    workload, cluster = build(scenario)
    rules = rules_of(scenario, workload, cluster)
    claimed = {name: value for name, value in claimed.items() if name not in rules.untold}
    return check_schedule(schedule, workload, cluster, rules, claimed=claimed)


def run_task(
    name: str,
    size: str,
    policies: Sequence[str] = (),
    *,
    trace: Path | None = None,
    key: str | None = None,
    **options: Any,
) -> Comparison:
    """The task's policies, and these, on the same jobs.

    Parameters
    ----------
    policies : ``NAME`` or ``FILE.py:NAME``, with ``LABEL=`` before it or not.
    key : that of the official table, which draws its seeds; None: the seeds 0, 1, 2, ..
    options : of `compare_scenario`: store, progress, check, workers, dask, time_limit_s.

    Raises
    ------
    InputError
        The task, the size, a policy or the trace is wrong; one line.
    """
    task, scenario = task_of(name), scenario_of_task(name, size, trace)
    seeds = task.sizes[size].seeds
    plan = Plan(
        [*policies, *(own for own in task.policies if own not in policies)],
        task.rank,
        draws=seeds,
        seeds=official_seeds(name, seeds, key) if key else range(seeds),
    )
    return compare_scenario(f"{name} ({size})", scenario, plan, **options)


def submitted(name: str, size: str, policy: str, folder: Path, trace: Path | None = None) -> Path:
    """Make the folder that `check_folder` reads: the run of a policy under the task's first seed."""
    from experiments.scenario.options import parse_policy
    from experiments.scenario.output import new_folder, write_result
    from experiments.scenario.run import run

    scenario = scenario_of_task(name, size, trace)
    own, options = parse_policy(policy)
    scenario = scenario.model_copy(update={"policy": own, "policy_options": options, "seed": 0})
    with new_folder(folder):
        write_result(run(scenario), folder, scenario.window)
    return folder


def check_folder(source: Path, name: str, size: str, trace: Path | None = None) -> Checked:
    """Check a run's folder, or a CSV file of another program, against the jobs of a task under its first seed.

    Raises
    ------
    InputError
        There is no schedule, or the file is no table; one line.
    """
    scenario = scenario_of_task(name, size, trace).model_copy(update={"seed": 0})
    if not source.is_dir():
        return checked(scenario, source, {})
    return checked(scenario, source / "schedule.csv", _claimed(source / "summary.json"))


def _claimed(path: Path) -> dict[str, Any]:
    from experiments.scenario.reading import read_run_json

    return read_run_json(path, MOST_CONFIG_BYTES) if path.exists() else {}


def checked_policy(
    folder: Path, name: str, size: str, policy: str, trace: Path | None = None
) -> list[str]:
    """Faults of a policy: it sees the future, or its schedule is another one than that of the folder."""
    from experiments.scenario.options import parse_policy

    own, options = parse_policy(policy)
    scenario = scenario_of_task(name, size, trace)
    scenario = scenario.model_copy(update={"policy": own, "policy_options": options, "seed": 0})
    ahead = looks_ahead(scenario)
    faults = [f"{policy}: {ahead}"] if ahead else []
    with tempfile.TemporaryDirectory() as again:
        submitted(name, size, policy, Path(again) / "run", trace)
        same = (Path(again) / "run" / "schedule.csv").read_bytes()
    if same != (folder / "schedule.csv").read_bytes():
        faults.append("schedule.csv: the policy was run again, and gave a different schedule")
    return faults
