"""One simulation as data: run a scenario, and say in scalars what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config import KeyedError, configured_by
from experiments.scenario.build import (
    build,
    check_window,
    dispatcher_of,
    policy_of,
)
from experiments.scenario.schema import Scenario, file_keys
from experiments.sweep.task import Outcome
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features import registry
from simulator.features.reconfiguration import Delays
from simulator.features.table import Scene

if TYPE_CHECKING:
    from simulator import Cluster, Policy, Result, Workload


ADDED = "adapt: "
"""What the notes of `simulator.adaptation` begin with."""


def run(
    scenario: Scenario,
    record_schedule: bool = True,
    stream_to: Path | None = None,
    agent: Policy | None = None,
    built: tuple[Workload, Cluster] | None = None,
    measure: bool = True,
    features: Sequence[Feature] = (),
) -> Result:
    """Build what the scenario describes and simulate it.

    Parameters
    ----------
    agent : decides in place of the scenario's policy. Its CPU time is not measured.
    built : the workload and the cluster, where `build` has made them already.
    record_schedule : keep what ran where and when.
    stream_to : a folder for the records of a long run (`simulator.metrics.streaming`).
    measure : measure the CPU time of decisions.
    features : further features of the cluster.

    Raises
    ------
    KeyedError
        The parts do not fit together, or one of them is not there.
    InputError
        An input file has something wrong in it.
    """
    from simulator import simulate

    policy = policy_of(scenario) if agent is None else agent
    dispatcher = dispatcher_of(scenario.dispatcher)
    workload, cluster = build(scenario) if built is None else built
    check_window(scenario.window, len(workload))
    with _at_its_table():
        return simulate(
            workload,
            cluster,
            policy,
            seed=scenario.seed,
            decision_points=scenario.decisions,
            dispatcher=dispatcher,
            server=scenario.server,
            features=[
                Delays.of(scenario.reconfiguration_s),
                *registry.parts_of(Scene(workload, cluster, scenario.streams, scenario.features)),
                *features,
            ],
            policy_name=scenario.called if agent is None else "agent",
            record_schedule=record_schedule,
            measure_decisions=measure and agent is None,
            stream_to=stream_to,
        )


@contextmanager
def _at_its_table() -> Iterator[None]:
    """Errors of the simulator on a feature as errors of its table."""
    try:
        yield
    except KeyedError:
        raise
    except InputError as error:
        table, colon, text = str(error).partition(": ")
        if colon and (table == "decisions" or table in registry.tables()):
            raise KeyedError(table, text) from None
        raise


def _checks() -> Callable[[Scenario], None]:
    from experiments.scenario.checks import ScenarioChecks

    return ScenarioChecks()


def has_fixed_jobs(scenario: Scenario) -> bool:
    """Whether the jobs come from a file as they are, so that the seed may change nothing."""
    return scenario.workload.is_fixed


@configured_by(Scenario, _checks, file_keys, has_fixed_jobs)
def run_scenario(config: dict[str, Any]) -> Outcome:
    """Task function of sweeps: a scenario as JSON can say it -> its summary and tables."""
    scenario = Scenario.model_validate(config)
    needed = any(table.needs_schedule for table in scenario.features.values())
    keep = needed or "schedule" in scenario.tables
    result = run(scenario, record_schedule=keep)
    summary = summarise(result, scenario.window)
    if scenario.decision_facts:
        summary |= decision_facts(result)
    makers = {
        "jobs": result.jobs_table,
        "decisions": result.decisions_table,
        "schedule": result.schedule_table,
    }
    return Outcome(
        {k: v for k, v in summary.items() if k not in ("policy", "seed", "version")},
        {name: makers[name]() for name in scenario.tables},
    )


def decision_facts(result: Result) -> dict[str, float | int]:
    """Mean and maximum of each number that the policy reported of its decisions.

    A policy that reports "columns" gives ``mean_columns`` and ``max_columns``. Where it reports a
    solver's status, ``not_optimal`` counts the decisions that ended with another one than optimal.
    """
    import pandas as pd

    timing = result.timing_table().drop(columns=["time_s", "controller"])
    facts = result.decisions_table().drop(columns=["time_s", "controller"]).join(timing)
    reported = [name for name in facts if name not in ("active", "cpu_s")]
    if reported:  # Where there was nothing to decide, nothing is reported.
        facts = facts.dropna(subset=reported, how="all")
    found: dict[str, float | int] = {}
    for name in facts:
        column = facts[name].dropna()
        if pd.api.types.is_bool_dtype(column.infer_objects()):
            column = column.astype(float)
        if name == "status":
            found["not_optimal"] = int((column != "optimal").sum())
        elif pd.api.types.is_numeric_dtype(column.infer_objects()) and len(column):
            found |= {f"mean_{name}": float(column.mean()), f"max_{name}": float(column.max())}
    return found


def summarise(result: Result, window: Sequence[int] | None = None) -> dict[str, Any]:
    """The scalars of ``summary.json``: those of `Result.summary`, and what a scenario adds."""
    import numpy as np

    from simulator.metrics.operator_metrics import operator_summary

    check_window(window, len(result.workload))
    summary: dict[str, Any] = dict(result.summary(window)) | operator_summary(result, window)
    jct_s = result.jct_s[result.served(window)]
    summary |= {
        "p50_jct_s": float(np.quantile(jct_s, 0.5)),
        "p95_jct_s": float(np.quantile(jct_s, 0.95)),
        "rounds": summary["decisions"],
    }
    added = [n.removeprefix(ADDED) for n in result.workload.notes if n.startswith(ADDED)]
    if added:
        summary["adaptation"] = "; ".join(added)
    return summary


class RunProgress(Feature):
    """Tells how far a simulation is; changes nothing."""

    def __init__(self) -> None:
        self._simulation: Simulation | None = None

    def attach(self, simulation: Simulation) -> None:
        """Keep the simulation."""
        self._simulation = simulation

    def line(self) -> str:
        """Jobs that are over, and the simulated time."""
        simulation = self._simulation
        if simulation is None:
            return "reading and checking"
        over = sum(end == end for end in simulation.completion_s)
        days = (simulation.clock.now - simulation.begin_s) / 86400
        return f"{over:,} of {len(simulation.completion_s):,} jobs are over, {days:,.1f} days simulated"
