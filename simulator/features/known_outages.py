"""Outages that a file lists, in a scenario file: [outages].

[outages]
path = "outages.csv"        # node,from,to
notice_s = 3600

A row is an outage: the nodes ("3", "0-7", "1 4" or "all", counted from 0), and from when until when, in s on the clock of the
jobs, or as dates where the jobs have dates.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar

import numpy as np
from pydantic import Field

from simulator.features.failures import Failures, ListedOutages
from simulator.features.failures.keys import FailureTable
from simulator.features.table import Scene
from simulator.files.keys import InputFile, NonNegative
from simulator.model.cluster import FloatArray
from simulator.workloads.tables import InputColumn, Table

NODES = 'nodes from 0 on: "3", "0-7", "1 4" or "all"'
OUTAGES = (
    InputColumn("node", "", NODES, "text", aliases=("nodes",)),
    InputColumn("from", "s", "from when, s or a date", "time", aliases=("start_s", "start", "begin")),
    InputColumn("to", "s", "until when, s or a date", "time", aliases=("end_s", "end", "until")),
)  # fmt: skip
_NODES = re.compile(r"\d{1,6}(-\d{1,6})?( \d{1,6}(-\d{1,6})?)*", re.ASCII)


class OutageKeys(FailureTable):
    """Outages of nodes that a file lists: maintenance, failures, and reservations of a site."""

    table: ClassVar[str] = "outages"

    path: InputFile = Field(examples=["outages.csv"])
    """file with columns node, from, to: an outage a row"""
    notice_s: NonNegative = 0.0
    """time before an outage in which jobs save their work"""
    warn: bool = False
    """whether policies are told at the notice"""

    def make(self, scene: Scene) -> Failures:
        """The outages of the file."""
        table = Table.read(self.path, OUTAGES)
        groups = [
            _nodes(table, row, text, scene.cluster.num_nodes)
            for row, text in enumerate(table.texts("node"))
        ]
        start_s, end_s = (_seconds(table, name, scene) for name in ("from", "to"))
        table.require("to", end_s > start_s, "a time after that of the column from")
        listed = ListedOutages(groups, start_s.tolist(), end_s.tolist(), self.notice_s, self.warn)
        return Failures([listed])


def _seconds(table: Table, name: str, scene: Scene) -> FloatArray:
    """``(R,)`` times on the clock of the jobs."""
    if not table.is_dated(name):
        return table.times(name)
    if math.isnan(scene.origin_s):
        none = np.zeros(len(table), dtype=np.bool_)
        table.require(name, none, "seconds on the clock of the jobs, which have no dates")
    return table.dates(name) - scene.origin_s


def _nodes(table: Table, row: int, text: str, num_nodes: int) -> list[int]:
    """The nodes of a row."""
    if text.strip().lower() == "all":
        return list(range(num_nodes))
    if not _NODES.fullmatch(text.strip()):
        raise table.error(row, "node", NODES)
    found: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise table.error(row, "node", NODES)
        found += range(int(first), int(last or first) + 1)
    if not found or max(found) >= num_nodes:
        raise table.error(row, "node", f"nodes from 0 to {num_nodes - 1}")
    return sorted(set(found))
