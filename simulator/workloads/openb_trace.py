"""Alibaba's GPU-sharing trace of 2023 as a workload over time: pods with their parts of GPUs, and the machines.

    pods = OpenbJobs(path="openb_pod_list_default.csv", num_nodes=100)
    jobs, cluster = pods.make(Setting(seed=1))

A pod is submitted when it was created. It holds its GPUs, or its part of one, for as long as from when it was
scheduled to when it was deleted. Some of the trace's lists have no times; then they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simulator.errors import InputError
from simulator.files.keys import InputFile, Positive, PositiveInt, at_key
from simulator.laws import parse_law
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.places import BETWEEN, types_of
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.openb import (
    PODS,
    TIMES,
    fit_somewhere,
    openb_machines,
    pods_of,
    poisson_s,
    read_nodes,
    some_of,
)
from simulator.workloads.pods import MachineTable, shared_cluster, shared_workload
from simulator.workloads.recorded import recorded_by
from simulator.workloads.selection import Selected
from simulator.workloads.table import AskedPlaces, Setting
from simulator.workloads.tables import Table

_COLUMNS = (*PODS, *(replace(column, required=False) for column in TIMES))


class OpenbJobs(Selected):
    """Pods of Alibaba's openb trace with their parts of GPUs, from its files; brings its nodes.

    Pods without GPUs, those that never ran, and those that fit on none of the machines are left out. A pod that asks
    for GPU models of which there is none may go to any. `Workload.notes` counts all of these.
    """

    kind: Literal["openb"] = "openb"
    path: InputFile = Field(examples=["openb_pod_list_default.csv"])
    """list of pods of the trace"""
    nodes: InputFile | None = Field(default=None, examples=["openb_node_list_gpu_node.csv"])
    """list of machines; left out: the trace's 1,213 machines"""
    num_nodes: PositiveInt | None = Field(default=None, examples=[100])
    """so many of the machines, drawn by the seed; left out: all"""
    oversized: Literal["leave-out"] = "leave-out"
    """pods that fit on none of the machines are left out"""
    places: AskedPlaces = "as-asked"
    """whether pods keep to the GPU models that they ask for"""
    load: Positive | None = Field(default=None, examples=[0.9])
    """offered load; times are drawn then, with duration_s"""
    duration_s: str | None = Field(default=None, examples=["lognormal:3600,cv=2"])
    """law of the durations, with load; left out: the file's own times"""

    file_keys = ("nodes",)

    @model_validator(mode="after")
    def _load_and_durations(self) -> Self:
        if (self.load is None) != (self.duration_s is None):
            raise InputError("load and duration_s belong together, expected both or none")
        for key in ("from", "until"):
            if self.load is not None and getattr(self, key) is not None:
                raise InputError(f"{key}: times are drawn with load, expected one of the two")
        return self

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The pods that ask for GPUs, and machines for them.

        Raises InputError: the first thing wrong with a file, one without times where none are to be drawn, or
        no pod is left.
        """
        with at_key("workload.duration_s"):
            law = None if self.duration_s is None else parse_law(self.duration_s)
        streams = setting.streams
        (demands, created, scheduled, times_s), bad = Table.of_file(self.path, _COLUMNS).readable(
            lambda table: (pods_of(table), *_times(table, drawn=law is not None)), self.skip
        )
        machines = _machines(self.nodes, self.num_nodes, streams)
        asked = demands.gpu_spec
        demands = replace(demands, gpu_spec=_models(asked, machines, self.places))
        has_gpus, fits = demands.num_gpus > 0, fit_somewhere(demands, machines)
        ran = times_s > 0
        kept = np.flatnonzero(has_gpus & fits & ran)
        kept = kept[np.argsort(created[kept], kind="stable")]
        if not len(kept):
            raise InputError(
                f"{self.path}: no pod that ran on a GPU of these machines, expected one at least"
            )
        begin_s = created[kept[0]]
        submit_s = created[kept] - begin_s
        rows = self.rows_asked_for(submit_s)
        kept, submit_s = kept[rows], submit_s[rows]
        times_s = times_s[kept]
        chosen = demands.take(kept)
        if law is not None and self.load is not None:
            submit_s = poisson_s(chosen, machines, self.load, law, streams)
            times_s = law.sample(streams.generator("durations"), len(kept))
        counts = {
            "pods without GPUs, left out": np.count_nonzero(~has_gpus),
            "pods that never ran, left out": np.count_nonzero(has_gpus & ~ran),
            "pods that fit on none of the machines, left out": np.count_nonzero(
                has_gpus & ran & ~fits
            ),
            "pods ask for a GPU model; here they may run on any model": sum(
                bool(asked[j]) and not demands.gpu_spec[j] for j in kept.tolist()
            ),
        }
        notes = [f"{self.path}: {count} {what}" for what, count in counts.items() if count]
        notes += bad
        workload = shared_workload(chosen, submit_s, times_s)
        if law is None:
            start_s = scheduled[kept] - begin_s
            workload = recorded_by(workload, start_s, start_s + times_s)
        return workload.noted(*notes), shared_cluster(machines)

    @property
    def is_fixed(self) -> bool:
        """Unless times or machines are drawn."""
        return self.load is None and self.num_nodes is None


def _models(asked: Sequence[str], machines: MachineTable, places: AskedPlaces) -> list[str]:
    """Models that pods ask for, "" where there is none of them."""
    known = types_of(BETWEEN.join(machines.model_names))
    here = {text: bool(types_of(text) & known) and places == "as-asked" for text in {*asked}}
    return [text if here[text] else "" for text in asked]


def _machines(nodes: str | Path | None, num_nodes: int | None, streams: Streams) -> MachineTable:
    """Those of a list, or of the default one, that have GPUs: all, or so many of them, drawn."""
    machines = openb_machines() if nodes is None else read_nodes(nodes)
    machines = machines.take(np.flatnonzero(machines.num_gpus > 0))
    if not len(machines):
        raise InputError(f"{nodes}: no machine has a GPU, expected one at least")
    if num_nodes is None:
        return machines
    if num_nodes > len(machines):
        raise InputError(f"num_nodes is {num_nodes}, the list has {len(machines)} with GPUs")
    return some_of(machines, num_nodes, streams)


def _times(table: Table, drawn: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Creation time, start and running time of each pod, s; not a number: it never ran.

    Parameters
    ----------
    drawn : whether they are drawn later, so that here only the order of the rows counts.
    """
    if drawn:
        count = len(table)
        return np.arange(count, dtype=np.float64), np.full(count, np.nan), np.ones(count)
    for column in TIMES:
        if column.name not in table:
            raise InputError(
                f"{table.path}: has no column {column.name!r}, expected the times of each pod "
                "(or load and duration_s, from which times are drawn)"
            )
    created, scheduled = table.numbers("creation_time"), table.numbers("scheduled_time")
    return created, scheduled, table.numbers("deletion_time") - scheduled
