"""All features: their tables in a scenario file, their data, and the tables of a run that they make.

A package adds a feature by an entry point, which names its table:

    [project.entry-points."schedlab.features"]
    power_cap = "my_package:PowerCapKeys"       # a `simulator.features.table.FeatureTable`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from simulator.core.feature import Feature
from simulator.errors import InputError
from simulator.features.admission.control import Admission, AdmissionControl
from simulator.features.calendar import CalendarKeys
from simulator.features.changing_rates import ChangingRates
from simulator.features.colocation.keys import ColocationKeys
from simulator.features.colocation.run_time import ColocatedJobs
from simulator.features.colocation.spec import Colocation
from simulator.features.dependencies import Dependencies
from simulator.features.failures import checkpoints, jobs, spec
from simulator.features.failures.keys import (
    CheckpointKeys,
    FailureKeys,
    FailureTable,
    ReliabilityKeys,
    failures_of,
)
from simulator.features.failures.spec import Failures
from simulator.features.known_outages import OutageKeys
from simulator.features.maintenance import MaintenanceKeys
from simulator.features.network import Network, NetworkKeys, NetworkSlowdown
from simulator.features.places import KeptPlaces
from simulator.features.predictions import (
    LearnedTimes,
    PredictedTimes,
    PredictedWorkload,
    Predictions,
)
from simulator.features.reconfiguration import Delays, ReconfigurationDelay
from simulator.features.reneging import Reneging
from simulator.features.rounds import Rounds
from simulator.features.spot import SpotKeys
from simulator.features.table import FeatureTable, Scene
from simulator.features.tenants import tables as tenant_tables
from simulator.features.tenants.quotas import Quotas
from simulator.features.tenants.tenants import TenantKeys, Tenants
from simulator.model.performance import Performance
from simulator.model.workload import Workload
from simulator.plugins import installed, table_of
from simulator.schema import Column, RunTable

GROUP = "schedlab.features"
"""Entry points of features."""

KEYS: tuple[type[FeatureTable], ...] = (
    Predictions, FailureKeys, ReliabilityKeys, CheckpointKeys, MaintenanceKeys, OutageKeys, SpotKeys, TenantKeys,
    CalendarKeys, Admission, ColocationKeys, NetworkKeys,
)  # fmt: skip
"""Tables of the features that are here."""

FEATURES: Mapping[type, Callable[[Any], Sequence[Feature]]] = {
    Rounds: lambda rounds: [rounds],
    PredictedWorkload: lambda s: [(LearnedTimes if s.learned else PredictedTimes)(s.workload)],
    Delays: lambda delays: [ReconfigurationDelay(delays)] if delays != Delays() else [],
    Failures: Failures.features,
    Admission: lambda admission: [AdmissionControl(admission)],
    Tenants: lambda tenants: [Quotas(tenants)],
    Network: lambda network: [NetworkSlowdown(network)],
    Colocation: lambda colocation: [ColocatedJobs(colocation)],
}
"""By the data of a feature: what acts on a simulation. Features act in this order, those of packages last."""

COLUMNS: tuple[Column, ...] = (*jobs.COLUMNS, *checkpoints.COLUMNS)
"""Columns that these features may add to the table of jobs."""

RUN_TABLES: tuple[RunTable, ...] = (*spec.TABLES, *tenant_tables.TABLES)
"""Tables of a run that these features make."""


@cache
def tables() -> Mapping[str, type[FeatureTable]]:
    """The tables of all features by name, those of packages among them."""
    found = {keys.table: keys for keys in KEYS}
    for entry in installed(GROUP):
        if entry.name not in found:
            found[entry.name] = table_of(entry, FeatureTable)
    return found


def parts_of(scene: Scene) -> list[Any]:
    """Parts that the tables of a scenario make, data or features; several tables of failures make one."""
    tables = scene.tables.values()
    made = [table.make(scene) for table in tables if not isinstance(table, FailureTable)]
    if len(made) < len(tables):
        made.append(failures_of(scene))
    return [part for part in made if part is not None]


def features_of(workload: Workload, parts: Sequence[Any]) -> list[Feature]:
    """The features of a run, in the order in which they act.

    Parameters
    ----------
    parts : data of features, or features; None counts for nothing.

    Raises
    ------
    InputError
        Something that is neither.
    """
    given = [part for part in parts if part is not None]
    return [*_known(workload, given), *_others(given)]


def _known(workload: Workload, parts: Sequence[Any]) -> Iterator[Feature]:
    given = {type(part): part for part in parts}
    if (
        Rounds in given
        and workload.performance.progress() is not None
        and given.get(Delays, Delays()) != Delays()
    ):
        raise InputError(
            "reconfiguration_s: these jobs lose time in rounds by rules of their own (workload.resume_s, ..), "
            "expected 0"
        )
    if workload.has_places:
        yield KeptPlaces()
    if any(workload.after):
        yield Dependencies()
    if workload.fails_at:
        given.setdefault(Failures, Failures())
    model = type(workload.performance)
    if model.next_change is not Performance.next_change or workload.performance.time_unit_s:
        yield ChangingRates()
    for kind, make in FEATURES.items():
        if kind in given:
            yield from make(given[kind])
    if workload.patience_s is not None:
        yield Reneging()


def _others(parts: Sequence[Any]) -> Iterator[Feature]:
    for part in parts:
        if isinstance(part, Feature) and type(part) not in FEATURES:
            yield part
        elif type(part) not in FEATURES:
            raise InputError(f"features: got {part!r}, expected a feature, or the data of one")
