"""The readers of workloads by the name of their format, as scenario files say it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simulator.model.workload import Workload
from simulator.workloads.alibaba import read_alibaba
from simulator.workloads.gavel import read_gavel
from simulator.workloads.philly import read_philly, read_philly_table
from simulator.workloads.plain_csv import read_csv_jobs
from simulator.workloads.swf import read_helios, read_swf

READERS: dict[str, Callable[[Path], Workload]] = {
    "csv": read_csv_jobs,
    "philly": read_philly,
    "philly-table": read_philly_table,
    "gavel": read_gavel,
    "alibaba": read_alibaba,
    "swf": read_swf,
    "helios": read_helios,
}
"""A file of each format -> its jobs. The authors' instances bring machines too: `authors`."""
