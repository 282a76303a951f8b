"""All kinds of workload: their tables in a scenario file, formats of files among them.

A package adds a kind by an entry point, which names it:

    [project.entry-points."schedlab.workloads"]
    day-and-night = "my_package:DayAndNight"       # a `simulator.workloads.table.WorkloadTable`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.plugins import installed, table_of
from simulator.workloads.acme_like import AcmeLikeJobs
from simulator.workloads.andreas import AndreasJobs
from simulator.workloads.authors import InstanceJobs
from simulator.workloads.cells import beginning
from simulator.workloads.elastic import ElasticJobs
from simulator.workloads.elasticflow import ElasticflowJobs
from simulator.workloads.gavel import TrainingJobs
from simulator.workloads.gavel_like import GavelLikeJobs
from simulator.workloads.hierarchical import HierarchicalJobs
from simulator.workloads.lublin import LublinJobs
from simulator.workloads.openb import OpenbLikeJobs
from simulator.workloads.openb_trace import OpenbJobs
from simulator.workloads.poisson import PoissonJobs
from simulator.workloads.pollux import PolluxJobs
from simulator.workloads.synergy import PhillyLikeJobs, SynergyJobs
from simulator.workloads.table import Setting, WorkloadTable
from simulator.workloads.trace import Trace
from simulator.workloads.traces import FORMATS

GROUP = "schedlab.workloads"
"""Entry points of kinds of workload."""

KINDS: tuple[type[WorkloadTable], ...] = (
    HierarchicalJobs, InstanceJobs, PoissonJobs, ElasticJobs, SynergyJobs, AndreasJobs, PhillyLikeJobs,
    LublinJobs, AcmeLikeJobs, OpenbLikeJobs, OpenbJobs, *FORMATS, TrainingJobs, GavelLikeJobs, PolluxJobs, ElasticflowJobs,
)  # fmt: skip
"""The kinds that are here."""


@cache
def kinds() -> Mapping[str, type[WorkloadTable]]:
    """All kinds by name, those of packages behind the others."""
    found = {table.model_fields["kind"].default: table for table in KINDS}
    for entry in installed(GROUP):
        if entry.name not in found:
            name = (Literal[entry.name], entry.name)
            found[entry.name] = table_of(entry, WorkloadTable, kind=name)
    return found


def formats() -> Mapping[str, type[Trace]]:
    """The kinds that are formats of files of jobs."""
    return {name: table for name, table in kinds().items() if issubclass(table, Trace)}


def recognised(path: Path) -> str:
    """The format of a file of jobs, by its first lines; ``instance`` for a folder, ``csv`` in doubt.

    Raises
    ------
    InputError
        No such file, or JSON of no format.
    """
    if path.is_dir():
        return "instance"
    text = beginning(path, "a file of jobs")
    alike = {name: table.likeness(text) for name, table in formats().items()}
    best = max(alike, key=alike.__getitem__)
    if alike[best] >= 0.5:
        return best
    if text[:1] in ("[", "{"):
        keys = ", ".join(dict.fromkeys(re.findall(r'"([^"\n]{1,40})"\s*:', text[:10_000])[:8]))
        raise InputError(
            f"{path}: JSON with the keys {keys or 'of none'}: no format of jobs is recognised; formats: "
            f"{', '.join(alike)}"
        )
    return "csv"  # whose reader says what is missing


def read_jobs(path: str | Path, kind: str | None = None) -> Workload:
    """The jobs of a file, in the format that is recognised where ``kind`` is None.

    Raises
    ------
    InputError
        No such file or format, or a mistake in the file; one line.
    """
    made = table_for(Path(path), kind).make(Setting())
    return made[0] if isinstance(made, tuple) else made


def table_for(path: Path, kind: str | None = None) -> WorkloadTable:
    """The table of a file of jobs, of the format that is recognised where ``kind`` is None.

    Raises
    ------
    InputError
        No such file or format.
    """
    known = [*formats(), "instance"]
    if kind is not None and kind not in known:
        raise InputError(f"kind: got {kind!r}, expected one of {', '.join(known)}")
    return kinds()[kind or recognised(path)](path=str(path))  # type: ignore[call-arg]
