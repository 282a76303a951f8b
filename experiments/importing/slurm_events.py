"""Outages of nodes from the events of Slurm's accounting, ``sacctmgr -P show event``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.importing.imported import Imported
from experiments.importing.slurm_limits import piped
from simulator.errors import InputError

UNKNOWN = ("Unknown", "None", "N/A", "")
NEVER = "2100-01-01T00:00:00"
"""The end of an outage that is not over."""


def write_outages(made: Imported, events: Path, names: Sequence[str], to: Path) -> None:
    """The events of these nodes as a table of outages, which the scenario names; events of other nodes are counted.

    Events of the cluster as a whole name no node, and are none. Slurm lets jobs on a drained node end, an outage stops them.
    """
    number = {name: k for k, name in enumerate(names)}
    rows, others, drained = ["node,from,to"], 0, 0
    table = piped(events, "sacctmgr -P show event", "NodeName", "TimeStart", "TimeEnd")
    for at, row in enumerate(table, start=1):
        name, begin, end = (row[key].strip() for key in ("nodename", "timestart", "timeend"))
        if not name:
            continue
        if name not in number:
            others += 1
            continue
        if begin in UNKNOWN:
            raise InputError(f"{events}: row {at} has no TimeStart, expected a date")
        if end == begin:
            continue
        drained += "DRAIN" in row.get("state", "").upper()
        rows.append(f"{number[name]},{begin},{NEVER if end in UNKNOWN else end}")
    if others:
        made.unused.append(f"{others} events of {events}, of nodes without GPUs, or of other names")
    if drained:
        made.unused.append(
            f"that jobs on drained nodes end first, in {drained} events of {events}: here they are stopped and start again"
        )
    if len(rows) > 1:
        made.set("outages", "path", str(to), f"{len(rows) - 1} events of {events}")
        made.files[to] = "\n".join(rows) + "\n"
