"""Outages of nodes from the events of Slurm's accounting, ``sacctmgr -P show event``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from experiments.importing.imported import Imported
from experiments.importing.slurm_limits import of_cluster, piped
from experiments.text import counted
from simulator.errors import InputError

UNKNOWN = ("Unknown", "None", "N/A", "")
NEVER = "2100-01-01T00:00:00"
"""The end of an outage that is not over."""


def write_outages(
    made: Imported, events: Path, names: Sequence[str], cluster: str, to: Path
) -> None:
    """The events of these nodes as a table of outages, which the scenario beside it names; those of other nodes are counted.

    Events of the cluster as a whole name no node, and are none. Slurm lets jobs on a drained node end, an outage stops them.
    """
    number = {name: k for k, name in enumerate(names)}
    rows, others, drained = ["node,from,to"], 0, 0
    table = piped(events, "sacctmgr -P show event", "NodeName", "TimeStart", "TimeEnd")
    for at, row in of_cluster(made, events, table, cluster):
        name, begin, end = (row[key].strip() for key in ("nodename", "timestart", "timeend"))
        if not name:
            continue
        if name not in number:
            others += 1
            continue
        if begin in UNKNOWN:
            raise InputError(f"{events}: row {at} has no TimeStart, expected a date")
        if not _is_long(f"{events}: row {at}", begin, end):
            continue
        drained += "DRAIN" in row.get("state", "").upper()
        rows.append(f"{number[name]},{begin},{NEVER if end in UNKNOWN else end}")
    if others:
        made.unused.append(
            f"{counted(others, 'event')} of {events}, of nodes without GPUs, or of other names"
        )
    if drained:
        made.unused.append(
            f"that jobs on drained nodes end first, in {counted(drained, 'event')} of {events}: here they are stopped and start again"
        )
    if len(rows) > 1:
        made.set("outages", "path", to.name, f"{counted(len(rows) - 1, 'event')} of {events}")
        made.files[to] = "\n".join(rows) + "\n"


def _is_long(where: str, begin: str, end: str) -> bool:
    """Whether an event ends after it begins; raises InputError where it ends before, or a time is no date."""
    times = []
    for key, text in (("TimeStart", begin), ("TimeEnd", NEVER if end in UNKNOWN else end)):
        try:
            times.append(datetime.fromisoformat(text).replace(tzinfo=None))
        except ValueError:
            raise InputError(
                f"{where}: {key} is {text!r}, expected a date like 2026-01-05T08:00:00"
            ) from None
    if times[1] < times[0]:
        raise InputError(
            f"{where}: TimeEnd {end} is before TimeStart {begin}, expected a later one"
        )
    return times[1] > times[0]
