"""What is known of one run that is to be watched, wherever it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.scenario.facts import machines_of
from simulator.errors import InputError

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
    """

    name: str
    schedule: DataFrame
    jobs: DataFrame
    decision_s: list[float]
    machines: dict[str, Any] | None = None

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
        )
