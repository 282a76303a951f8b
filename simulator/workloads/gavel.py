"""Gavel's public traces (stanford-futuredata/gavel): training steps, made seconds by a rate.

A trace has one job a line, its fields between tabs, in one of four generations; the last is that of
Shockwave (uw-mad-dash/shockwave), whose jobs have a mode:

    type command arg needs_data steps arrival gpus                                    (7 fields)
    type command arg needs_data steps gpus priority slo arrival                       (9 fields)
    type command folder arg needs_data steps gpus priority slo arrival               (10 fields)
    type command folder arg needs_data steps gpus mode weight slo duration arrival    (12 fields)

Steps become seconds with the measured steps/s of the job's type on one kind of GPU, from one of
Gavel's throughput files (JSON), e.g. ``oracle_throughputs_v2.json``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from simulator.arguments import is_number, short
from simulator.errors import InputError
from simulator.files.inputs import read_json
from simulator.files.keys import InputFile
from simulator.model.cluster import Cluster, FloatArray, IntArray, NodeType
from simulator.model.workload import Workload
from simulator.workloads.selection import Selected
from simulator.workloads.table import Setting
from simulator.workloads.tables import InputColumn, Layout, Table
from simulator.workloads.trace import Trace
from simulator.workloads.training import (
    MODES,
    SAMPLES,
    PairRates,
    Steps,
    TrainingServers,
    TrainingTimes,
    known_gpus,
    split_job_type,
)

COLUMNS = (
    InputColumn("type", "", "model and batch size; has a rate in the throughputs", "text"),
    InputColumn("command", "", "not read", "text"),
    InputColumn("folder", "", "not read", "text", required=False),
    InputColumn("arg", "", "not read", "text"),
    InputColumn("needs_data", "", "not read", "text"),
    InputColumn("steps", "", "training steps", "number", more_than=0),
    InputColumn("gpus", "", "GPUs", "integer", at_least=1, gives="num_gpus"),
    InputColumn("priority", "", "not read", "number", required=False),
    InputColumn("mode", "", "how the batch size changes", "text",
                required=False, empty="static", choices=MODES),
    InputColumn("weight", "", "weight of the job", "number", required=False, empty=1.0, more_than=0),
    InputColumn("slo", "", "due date in durations after arrival; not above 0: none", "number",
                required=False, empty=-1.0),
    InputColumn("duration", "s", "not read", "number", required=False),
    InputColumn("arrival", "s", "time of submission", "number", at_least=0, gives="submit_s"),
)  # fmt: skip

LAYOUTS = {
    7: ("type", "command", "arg", "needs_data", "steps", "arrival", "gpus"),
    9: ("type", "command", "arg", "needs_data", "steps", "gpus", "priority", "slo", "arrival"),
    10: (
        "type", "command", "folder", "arg", "needs_data", "steps", "gpus", "priority", "slo",
        "arrival",
    ),
    12: (
        "type", "command", "folder", "arg", "needs_data", "steps", "gpus", "mode", "weight", "slo",
        "duration", "arrival",
    ),
}  # fmt: skip
"""Columns of a line by their number."""

LAYOUT = Layout("one of Gavel's traces, 7, 9, 10 or 12 fields between tabs", LAYOUTS, "\t")

THROUGHPUTS = (
    "simulation_throughputs.json",
    "oracle_throughputs_v3.json",
    "oracle_throughputs_v2.json",
    "oracle_throughputs.json",
    "tacc_throughputs.json",
)
"""Names under which the rates are looked for, also with .gz, in the trace's folder and the four above it."""


class GavelJobs(Trace):
    """Jobs of a Gavel trace.

    Jobs ``0, 1, ..`` by line, each with its GPUs and its duration on them. An SLO of ``x`` puts
    the due date ``x`` durations after arrival. `Workload.model` stays empty: there is no
    sensitivity to CPUs for these networks. A type of job without a rate is a mistake.
    """

    kind: Literal["gavel"] = "gavel"
    throughputs: InputFile | None = Field(default=None, examples=["throughputs.json"])
    """table of training steps/s; left out: found near the trace"""
    gpu_type: str = "v100"
    """type of GPU whose rates count"""

    file_keys: ClassVar[tuple[str, ...]] = ("throughputs",)
    reads = COLUMNS
    layout = LAYOUT
    written = "Gavel's trace"
    example = "LM (batch size 5)\tpython3 main.py\ttext\t--steps\t0\t2000\t2\tstatic\t120.5\t3600\n"
    is_log = False

    def parse(self, table: Table) -> dict[str, Any]:
        """Steps become seconds by the rate of the job's type."""
        arrival_s, gpus = table.numbers("arrival"), table.whole_numbers("gpus")
        rates = read_rates(_rates_of(table.path, self.throughputs), (self.gpu_type,))[self.gpu_type]
        duration_s = table.numbers("steps") / _rate_of(table, gpus, rates, self.gpu_type)
        slo = table.numbers("slo")
        return super().parse(table) | {
            "duration_s": duration_s,
            "due_s": np.where(slo > 0, arrival_s + slo * duration_s, np.inf),
            "job_id": [str(j) for j in range(len(table))],
            "gpu_type": [self.gpu_type] * len(table),
        }


def _rates_of(path: Path, throughputs: str | Path | None) -> Path:
    """The file of rates, where it is not given the one nearest to a trace."""
    if throughputs is not None:
        return Path(throughputs)
    for folder in list(path.resolve().parents)[:5]:
        for name in (n + end for n in THROUGHPUTS for end in ("", ".gz")):
            if (folder / name).is_file():
                return folder / name
    raise InputError(
        f"{path}: no rates beside it, expected Gavel's {THROUGHPUTS[0]} or {THROUGHPUTS[2]}"
    )


def read_training(
    path: str | Path,
    throughputs: str | Path | None = None,
    gpu_types: Sequence[str] = ("v100",),
    skip: bool = False,
) -> tuple[Steps, list[str]]:
    """Jobs of a Gavel trace as steps, with their rates on several types of GPU; and notes on rows left out.

    Parameters
    ----------
    path, throughputs : as for `GavelJobs`.
    gpu_types : the kinds of GPU whose rates are read, of jobs alone and of pairs on one GPU.
    skip : whether rows that cannot be read are left out.

    Raises
    ------
    InputError
        As `GavelJobs`, and a mode or a model with changes of batch size that nobody knows.
    """
    whole_steps = [replace(c, type="integer") if c.name == "steps" else c for c in COLUMNS]
    rows = Table.of_file(path, whole_steps, LAYOUT)
    source = _rates_of(rows.path, throughputs)
    rates, pair_rates = read_rates(source, gpu_types), read_pair_rates(source, gpu_types)
    return rows.readable(lambda table: _steps(table, rates, pair_rates), skip)


def _steps(
    table: Table, rates: dict[str, dict[tuple[str, int], float]], pair_rates: PairRates
) -> Steps:
    gpus, steps = table.whole_numbers("gpus"), table.whole_numbers("steps")
    submit_s = table.numbers("arrival")
    kinds = table.texts("type")
    known = set().union(*rates.values())
    found = [pair in known for pair in zip(kinds, gpus.tolist(), strict=True)]
    where = " or ".join(rates)
    table.require("type", np.array(found), f"a type with a rate on {where} for its number of GPUs")
    names = [split_job_type(kind) for kind in kinds]
    mode = table.texts("mode")
    fixed = [m == "static" or model in SAMPLES for m, (model, _) in zip(mode, names, strict=True)]
    table.require("type", np.array(fixed), f"a model whose epochs are known: {', '.join(SAMPLES)}")
    slo, weight = table.numbers("slo"), table.numbers("weight")
    order = np.argsort(submit_s, kind="stable")
    return Steps(
        job_id=[str(table.lines[j] - 1) for j in order],
        model=[names[j][0] for j in order],
        batch_size=[names[j][1] for j in order],
        num_gpus=gpus[order],
        steps=steps[order],
        mode=[mode[j] for j in order],
        submit_s=submit_s[order],
        weight=weight[order],
        slo=np.where(slo > 0, slo, np.inf)[order],
        rates=rates,
        pair_rates=pair_rates,
    )


class TrainingJobs(Selected, TrainingServers):
    """A trace in Gavel's format as training steps; brings its servers, by type of GPU.

    With ``round_s`` and ``round_ends = "last-finisher"`` in ``[decisions]``, steps are whole, and batch sizes
    change between rounds. An SLO of ``x`` puts the due date ``x`` durations on the job's fastest type after
    arrival; a weight becomes `Workload.weight_per_s`, which shares of time may follow.
    """

    kind: Literal["training"] = "training"
    oversized: Literal["refuse", "leave-out"] = "refuse"
    """jobs that need more GPUs than any type has: refused, or left out"""
    path: InputFile = Field(examples=["trace.tsv"])
    """trace in Gavel's format"""
    throughputs: InputFile | None = Field(default=None, examples=["throughputs.json"])
    """table of training steps/s; left out: found beside the trace"""

    file_keys: ClassVar[tuple[str, ...]] = ("throughputs",)

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The jobs and their servers.

        Raises InputError: as `read_training`; GPUs that do not fill nodes; a job that needs more GPUs than any
        type has.
        """
        jobs, notes = read_training(self.path, self.throughputs, tuple(self.gpus), self.skip)
        jobs = jobs.take(self.rows_asked_for(jobs.submit_s))
        workload, cluster = with_servers(
            jobs, self, lambda job: f"{self.path}, line {int(jobs.job_id[job]) + 1}", self.oversized
        )
        return workload.noted(*notes), cluster

    @property
    def is_fixed(self) -> bool:
        """Always."""
        return True


def with_servers(
    jobs: Steps,
    servers: TrainingServers,
    place: Callable[[int], str],
    oversized: Literal["refuse", "leave-out"] = "refuse",
) -> tuple[Workload, Cluster]:
    """The workload of these jobs, and servers of several types for them.

    Parameters
    ----------
    place : where a job is described, for messages.
    oversized : whether jobs that need more GPUs than any type has are an error, or left out.

    Raises InputError where GPUs do not fill nodes, where a job needs too many GPUs, where no job is left.
    """
    gpus, gpus_per_node = servers.gpus, servers.gpus_per_node
    for name, count in gpus.items():
        if count < 1 or count % gpus_per_node:
            expected = f"a multiple of gpus_per_node, which is {gpus_per_node}"
            raise InputError(f"gpus.{name}: got {count}, expected {expected}")
    runs = (jobs.rates_by_type(tuple(gpus)) > 0) & (
        jobs.num_gpus[:, None] <= np.array(list(gpus.values()))
    )
    fits, notes = runs.any(axis=1), []
    if oversized == "leave-out" and fits.any() and not fits.all():
        jobs = jobs.take(np.flatnonzero(fits))
        notes = [f"workload: {np.sum(~fits)} jobs do not fit on the machines, left out"]
    elif not fits.all():
        job = int(np.argmin(fits))
        raise InputError(
            f"{place(job)}: {jobs.num_gpus[job]} GPUs, expected a type of GPU "
            f"with as many and a rate above 0: {', '.join(f'{n} {name}' for name, n in gpus.items())}"
        )
    times = TrainingTimes.of(jobs, tuple(gpus), servers)
    types = tuple(NodeType(name, name, gpus_per_node) for name in gpus)
    node_type_of = tuple(v for v, n in enumerate(gpus.values()) for _ in range(n // gpus_per_node))
    workload = Workload(
        job_id=jobs.job_id,
        submit_s=jobs.submit_s,
        performance=times,
        due_s=jobs.submit_s + jobs.slo * times.duration_s,
        weight_per_s=jobs.weight,
        model=jobs.model,
        notes=(*_noted(jobs), *notes),
    )
    return workload, Cluster(types, len(node_type_of), node_type_of=node_type_of)


def _noted(jobs: Steps) -> tuple[str, ...]:
    """A note where batch sizes follow the schedule of another number of GPUs."""
    kinds = {
        (model, size, gpus)
        for mode, model, size, gpus in zip(
            jobs.mode, jobs.model, jobs.batch_size, jobs.num_gpus.tolist(), strict=True
        )
        if known_gpus(mode, model, size, gpus) != gpus
    }
    if not kinds:
        return ()
    named = ", ".join(f"{m} ({b}) on {g} GPUs" for m, b, g in sorted(kinds))
    return (
        f"workload: batch sizes of mode gns follow the nearest known number of GPUs for {named}",
    )


def read_rates(
    path: str | Path, gpu_types: Sequence[str]
) -> dict[str, dict[tuple[str, int], float]]:
    """Steps/s of jobs alone: by GPU type, then by type of job and number of GPUs.

    Raises InputError where the file is no table of throughputs, or lacks a type of GPU.
    """
    path = Path(path)
    rates: dict[str, dict[tuple[str, int], float]] = {}
    for gpu_type, rows in _measured(path, gpu_types).items():
        rates[gpu_type] = {
            _key(path, key): _rate(row["null"], f"{path}: {gpu_type} {key}")
            for key, row in rows.items()
            if isinstance(row, dict) and "null" in row
        }
    return rates


def read_pair_rates(path: str | Path, gpu_types: Sequence[str]) -> PairRates:
    """Steps/s of jobs of one GPU beside each other: by GPU type, then by both types of job.

    Raises InputError as `read_rates`, and where a pair has no two rates.
    """
    path = Path(path)
    found: dict[str, dict[tuple[str, str], float]] = {}
    for gpu_type, rows in _measured(path, gpu_types).items():
        rates = found[gpu_type] = {}
        for key, row in rows.items():
            kind, gpus = _key(path, key)
            for other, pair in row.items() if isinstance(row, dict) and gpus == 1 else ():
                if other != "null":
                    rates[kind, _key(path, other)[0]] = _own_rate(pair, f"{path}: {key} {other}")
    return found


def _own_rate(pair: Any, where: str) -> float:
    """The first of the two rates of a pair."""
    if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_rate, pair))):
        raise InputError(f"{where}: {short(pair)}, expected two rates of at least 0")
    return float(pair[0])


def _is_rate(value: Any) -> bool:
    return not isinstance(value, bool) and is_number(value) and 0 <= value < math.inf


def _rate(rate: Any, where: str) -> float:
    """A rate of steps/s, 0 where a job does not fit."""
    if not _is_rate(rate):
        raise InputError(f"{where}: got {short(rate)} steps/s, expected a number >= 0")
    return float(rate)


def _measured(path: Path, gpu_types: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The rows of a file of throughputs, by type of GPU."""
    measured: Any = read_json(path, "Gavel's throughputs in JSON")
    known = ", ".join(measured) if isinstance(measured, dict) else "none"
    for gpu_type in gpu_types:
        if not isinstance(measured, dict) or not isinstance(measured.get(gpu_type), dict):
            raise InputError(f"{path}: no rates of {gpu_type!r}, found {known}")
    return {gpu_type: measured[gpu_type] for gpu_type in gpu_types}


def _key(path: Path, key: str) -> tuple[str, int]:
    """``"('LM (batch size 5)', 2)"`` -> type and GPUs; older files name the type alone."""
    if not key.startswith("("):
        return key, 1
    try:
        name, gpus = ast.literal_eval(key)
        return str(name), int(gpus)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, OverflowError):
        raise InputError(f"{path}: {key!r}, expected a type of job and a number of GPUs") from None


def _rate_of(
    table: Table, gpus: IntArray, rates: dict[tuple[str, int], float], gpu_type: str
) -> FloatArray:
    """``(J,)`` steps/s of each job."""
    kinds = zip(table.texts("type"), gpus.tolist(), strict=True)
    found = np.array([rates.get(kind, 0.0) for kind in kinds])
    table.require("type", found > 0, f"a type with a rate on {gpu_type} for its number of GPUs")
    return found
