"""A result as files: summary.json, machines.json with what tables do not say, and the tables of docs/files.md as CSV.

One run writes into a folder at a time, and never over a file that it has read.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.files import is_same, not_there, taken_away, write_whole
from experiments.scenario.run import summarise
from experiments.sweep.store import DATABASE, is_sweep
from experiments.text import percent, with_safe_cells, write_csv
from simulator.errors import InputError
from simulator.metrics import run_tables
from simulator.metrics.decision_table import is_measured
from simulator.metrics.job_metrics import beyond
from simulator.metrics.limits import limits

if TYPE_CHECKING:
    from simulator import Cluster, Result, Workload


SUMMARY = "summary.json"
MACHINES = "machines.json"
LOCK = ".lock"
"""There while a run writes into the folder."""
FORMAT = 2
"""Version of the files of a run, in ``summary.json``; 1 had none."""
WAITED_FOR = {
    "GPUs": "too few GPUs free",
    "fragmentation": "GPUs free, not on one node",
    "quota": "quota used up",
    "order": "resources free, other jobs before them",
}
"""Reasons of `simulator.metrics.limits` in words."""
TABLES = tuple(f"{name}.csv" for name in run_tables.TABLES)
PARQUET = tuple(f"{name}.parquet" for name in run_tables.STREAMED)
"""What `simulator.metrics.streaming` writes in place of the CSV files of the same names."""
FILES = (SUMMARY, MACHINES, *TABLES, *PARQUET)
"""Of a run; nothing else takes the place of one."""


@contextlib.contextmanager
def new_folder(folder: Path, inputs: Sequence[Path] = ()) -> Iterator[None]:
    """Make the folder for what the block writes, and take it away again where the block fails.

    Parameters
    ----------
    inputs : files and folders that the run reads; none of them is written over.

    Raises
    ------
    InputError
        It cannot be written, holds a sweep or an input, or another run writes into it; before any
        work.
    """
    if is_sweep(folder):
        raise InputError(f"--out {folder}: holds a sweep ({DATABASE}), expected another folder")
    _expect_no_input(folder, inputs)
    made = not_there(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError:
        raise InputError(f"--out {folder}: is a file, expected a folder") from None
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be written ({error.strerror})") from None
    with taken_away(made), _alone(folder):
        yield


def _expect_no_input(folder: Path, inputs: Sequence[Path]) -> None:
    """Raise InputError where an output would take the place of an input."""
    for path in inputs:
        if path.is_dir() and is_same(path, folder):
            raise InputError(f"--out {folder}: is the folder of the instance, expected another one")
        for name in FILES:
            if is_same(path, folder / name):
                raise InputError(
                    f"--out {folder}: {name} there is an input of this run, expected another folder"
                )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder; raises InputError where one is at work there."""
    from filelock import FileLock, Timeout

    path = folder / LOCK
    try:
        with FileLock(path, timeout=0):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):  # open files stay, on some systems
                    path.unlink()
    except Timeout:
        raise InputError(
            f"--out {folder}: another run is writing into it, expected one at a time"
        ) from None


def expect_no_records(folder: Path, streams: bool) -> None:
    """Raise InputError where tables of two kinds, or of two runs, would lie side by side.

    Parameters
    ----------
    streams : whether this run streams its records; they are never written over.
    """
    for name in (*(TABLES if streams else ()), *PARQUET):
        if (folder / name).exists():
            raise InputError(
                f"--out {folder}: holds {name} of another run, expected a folder without it"
                f"{' for --stream' if streams else ''}"
            )


def clear_unfinished(folder: Path) -> None:
    """Take away what a run that was killed left of its streamed tables, or somebody planted there.

    A link goes, and what it leads to stays.
    """
    for path in folder.glob(".*.parquet.*.tmp"):
        path.unlink(missing_ok=True)


def write_result(
    result: Result, folder: Path, window: Sequence[int] | None = None, *, raw: bool = False
) -> list[str]:
    """Write the files, each whole or not at all; returns notes on what they cannot hold.

    A folder with a ``summary.json`` holds one whole result: an old one goes first, the new one
    comes last. Where a run streamed its records, its tables are there already. ``timing.csv`` is there where
    CPU times of decisions were measured; the same scenario and seed give the same bytes in all other files.

    Parameters
    ----------
    raw : texts as they are; without it, names that a spreadsheet would take for a formula
        ("=1+1") get a ``'`` before them.
    """
    scalars = {k: v for k, v in summarise(result, window).items() if not is_measured(k)}
    summary, notes = finite({"format": FORMAT, **scalars})
    contents: dict[str, bytes | None] = {}  # all of them before any is written: it may fail
    for name, (_, make) in run_tables.TABLES.items():
        streamed = result.streamed_to is not None and name in run_tables.STREAMED
        unmeasured = name == "timing" and not result.decisions.cpu_s
        table = None if streamed or unmeasured else make(result)
        content = io.BytesIO()
        if table is not None:
            write_csv(table if raw else with_safe_cells(table), content)
        contents[f"{name}.csv"] = None if table is None else content.getvalue()
    (folder / SUMMARY).unlink(missing_ok=True)
    for name, written in contents.items():
        if written is None:
            (folder / name).unlink(missing_ok=True)
        else:
            _write(folder / name, written)
    known = machines_of(result.workload, result.cluster) | demands_of(
        result.workload, result.cluster
    )
    _write_json(folder / MACHINES, known, separators=(",", ":"))
    _write_json(folder / SUMMARY, summary, indent=2, allow_nan=False)
    return notes


def finite(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The values as JSON can hold them, None for what is infinite or no number; and notes on it."""
    plain, notes = dict(values), []
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            plain[name] = None
            notes.append(f"{name} is {value}, null in {SUMMARY}: JSON has finite numbers only")
    return plain, notes


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _write_json(path: Path, values: Mapping[str, Any], **how: Any) -> None:
    _write(path, (json.dumps(values, **how) + "\n").encode())


def one_paragraph(result: Result, folder: Path, window: Sequence[int] | None = None) -> str:
    """Lines that the command prints at its end."""
    import numpy as np

    served, hours = result.served(window), 3600.0
    mean_s, wait_s = float(result.jct_s[served].mean()), result.total_wait_s[served]
    of = "" if window is None else f" of jobs {window[0]}:{window[1]}"
    told = [
        f"{result.policy}: {len(result.workload)} jobs",
        f"mean completion time{of} {mean_s / hours:.2f} h",
        f"total wait {wait_s.mean() / hours:.2f} h (95th percentile {np.quantile(wait_s, 0.95) / hours:.2f} h, "
        f"which rests on {beyond(0.95, len(wait_s))} of them)",
        f"makespan {result.makespan_s / hours:.2f} h",
    ]
    used = result.gpu_utilisation
    if used is not None:
        told.append(f"{percent(used)} of GPU time in use")
    if result.total_cost:  # neither prices nor weights: nothing to tell
        told.append(f"total cost {result.total_cost:.2f} {result.cluster.currency}")
    if result.workload.due_s.min() < math.inf:
        told.append(f"{int((result.tardiness_s > 0).sum())} jobs late")
    if killed := sum(outcome == "killed" for outcome in result.workload.outcome):
        told.append(f"{killed} jobs killed")
    line = f"{', '.join(told)}, {len(result.decisions)} decisions -> {folder}"
    return "\n".join([line, *_of_waits(result)])


def _of_waits(result: Result) -> list[str]:
    """A line on what jobs waited for; none where no job waited, or it is not known."""
    lacking = limits(result)
    parts = {} if lacking is None else lacking.shares()
    listed = [f"{percent(part)} {WAITED_FOR.get(why, why)}" for why, part in parts.items()]
    return [f"of the time that jobs waited: {', '.join(listed)}"] if listed else []


def machines_of(workload: Workload, cluster: Cluster) -> dict[str, Any]:
    """Facts of a run beside its tables: machines, prices, due dates, weights; as JSON holds it.

    Prices are per hour, weights per second; ``None`` in place of an infinite number, and of the due
    dates and weights where no job has a due date.
    """
    due = bool((workload.due_s < math.inf).any())
    types = []
    for index, spec in enumerate(cluster.node_types):
        entry: dict[str, Any] = {
            "name": spec.name,
            "gpus": None if math.isinf(spec.gpus) else int(spec.gpus),
            "per_hour": spec.price_per_hour,
            "per_gpu_hour": spec.price_per_gpu_hour,
        }
        if any(workload.gpu_types):
            entry["gpu_type"] = spec.gpu_type
        if spec.power_w and cluster.energy_price_per_kwh:
            counts = range(len(spec.power_w))
            entry["energy_per_hour"] = [cluster.rates(index, g).energy_per_hour for g in counts]
        types.append(entry)
    fixed, factor = cluster.node_type_of, cluster.price_factor
    return {
        "currency": cluster.currency,
        "num_nodes": cluster.num_nodes,
        "num_controllers": cluster.num_controllers,
        "node_types": types,
        "type_of": None if fixed is None else list(fixed),
        "due_s": [None if math.isinf(t) else t for t in workload.due_s.tolist()] if due else None,
        "weight_per_s": workload.weight_per_s.tolist() if due else None,
        **({} if factor is None else {"price_factor": list(factor)}),
    }


def demands_of(workload: Workload, cluster: Cluster) -> dict[str, Any]:
    """Facts on machines and jobs for `schedlab show explain`.

    ``limits`` are CPUs and GB of each node type, 0 where they are not modelled; ``elastic`` says whether
    policies choose the GPUs of all jobs.
    """
    limits = [
        [0.0 if math.isinf(amount) else amount for amount in (spec.cpus, spec.memory_gb)]
        for spec in cluster.node_types
    ]
    return {"limits": limits, "elastic": workload.is_elastic}
