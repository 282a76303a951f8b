"""Data of one run for the player, from any source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from experiments.scenario.facts import machines_of
from simulator.errors import InputError
from simulator.metrics.decision_table import RESERVED, is_measured

if TYPE_CHECKING:
    from pandas import DataFrame

    from simulator import Result

HOW_TO_KEEP = (
    'expected a run that kept its schedule: simulate(.., record_schedule=True), or "schedule" among '
    "the tables of a sweep"
)


@dataclass(frozen=True)
class Recording:
    """One run as tables.

    Attributes
    ----------
    name : what the page calls the run, mostly its policy.
    schedule : one row a share: job_id, node, node_type, gpus, cpus, memory_gb, start_s, end_s.
    jobs : one row a job: job_id, arrival_s, completion_s, tardiness_s, ..
    decision_s : times of the decisions, s, ascending.
    machines : see `machines_of`; None where it is not known: the page then shows no cost.
    facts : what the policy noted of its decisions, one list a name, as long as ``decision_s``.
    """

    name: str
    schedule: DataFrame
    jobs: DataFrame
    decision_s: list[float]
    machines: dict[str, Any] | None = None
    facts: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result, name: str = "") -> Recording:
        """The recording of a result in memory.

        Raises
        ------
        InputError
            The run did not keep its schedule.
        """
        if result.schedule is None:
            raise InputError(f"replay of {name or result.policy}: no schedule, {HOW_TO_KEEP}")
        return cls(
            name or result.policy,
            result.schedule_table(),
            result.jobs_table(),
            list(result.decisions.time_s),
            machines_of(result.workload, result.cluster),
            facts_of(result.decisions_table()) if result.decisions.info else {},
        )


def facts_of(decisions: DataFrame) -> dict[str, list[Any]]:
    """Facts that the policy recorded, from a table of decisions; None where it noted nothing."""
    from pandas import isna

    return {
        str(name): [None if isna(value) else value for value in decisions[name].tolist()]
        for name in decisions
        if name not in RESERVED and not is_measured(str(name)) and not decisions[name].isna().all()
    }
