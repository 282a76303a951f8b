"""The workload of a scenario, and the machines that it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.config import KeyedError
from experiments.scenario.schema import Scenario
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator import Cluster, Workload

Built = tuple["Workload", "Cluster | None"]


def jobs_and_machines(scenario: Scenario) -> Built:
    """The workload of a scenario's table, and the machines that it brings."""
    jobs = scenario.workload
    try:
        made = jobs.make(scenario.setting)
        return made if isinstance(made, tuple) else (made, None)
    except KeyedError:
        raise
    except InputError as error:
        path = getattr(jobs, "path", None)
        if path is None:
            raise KeyedError("workload", str(error)) from None
        if str(error).startswith(path):
            raise  # It names the file and the line in it.
        raise KeyedError("workload", f"{path}: {error}") from None
