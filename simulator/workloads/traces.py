"""Formats of files of jobs by name, as scenario files give it: one table of readers and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path

from simulator.model.workload import Workload
from simulator.workloads import alibaba, gavel, helios, philly, plain_csv, swf
from simulator.workloads.tables import InputColumn


@dataclass(frozen=True)
class Format:
    """A format of files of jobs.

    Attributes
    ----------
    name : as in ``workload.kind`` of a scenario file.
    read : the jobs of a file, or `InputError`.
    columns : what is read of each job.
    example : a file with one job.
    """

    name: str
    read: Callable[[Path], Workload]
    columns: Sequence[InputColumn]
    example: str

    @property
    def description(self) -> str:
        """The first line of the reader's docstring."""
        return (getdoc(self.read) or "").partition("\n")[0]


FORMATS: Mapping[str, Format] = {
    f.name: f
    for f in (
        Format("csv", plain_csv.read_csv_jobs, plain_csv.COLUMNS, plain_csv.EXAMPLE),
        Format("philly-table", plain_csv.read_csv_jobs, plain_csv.COLUMNS, plain_csv.EXAMPLE),
        Format("philly", philly.read_philly, philly.COLUMNS, philly.EXAMPLE),
        Format("gavel", gavel.read_gavel, gavel.COLUMNS, gavel.EXAMPLE),
        Format("alibaba", alibaba.read_alibaba, alibaba.COLUMNS, alibaba.EXAMPLE),
        Format("swf", swf.read_swf, swf.COLUMNS, swf.EXAMPLE),
        Format("helios", helios.read_helios, helios.COLUMNS, helios.EXAMPLE),
    )
}
"""The formats by name; ``philly-table`` is another name of ``csv``.

The authors' instances bring machines too and have a reader of their own: `authors`.
"""
