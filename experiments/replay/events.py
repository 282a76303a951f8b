"""The events of one or several runs as compact JSON, version 1. docs/replay.md says what each key is.

Jobs, nodes and types are indices; times count from the first submission, in seconds, with ten
significant digits. The player reads nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.pictures.lanes import Piece, lanes_of
from experiments.scenario.output import machines_of
from simulator.errors import InputError
from simulator.metrics.decision_table import RESERVED, is_measured
from simulator.metrics.job_table import NEVER_STARTED

if TYPE_CHECKING:
    from pandas import DataFrame

    from simulator import Result


HOW_TO_KEEP = (
    'expected a run that kept its schedule: simulate(.., record_schedule=True), or "schedule" among '
    "the tables of a sweep"
)


@dataclass(frozen=True)
class Recording:
    """One run as tables.

    Attributes
    ----------
    name : what the page calls the run, mostly its policy.
    schedule : one row a share: job_id, node, node_type, gpus, cpus, memory_gb, start_s, end_s.
    jobs : one row a job: job_id, arrival_s, completion_s, tardiness_s, ..
    decision_s : times of the decisions, s, ascending.
    machines : see `machines_of`; None where it is not known: the page then shows no cost.
    facts : what the policy noted of its decisions, one list a name, as long as ``decision_s``.
    """

    name: str
    schedule: DataFrame
    jobs: DataFrame
    decision_s: list[float]
    machines: dict[str, Any] | None = None
    facts: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result, name: str = "") -> Recording:
        """The recording of a result in memory.

        Raises
        ------
        InputError
            The run did not keep its schedule.
        """
        if result.schedule is None:
            raise InputError(f"replay of {name or result.policy}: no schedule, {HOW_TO_KEEP}")
        return cls(
            name or result.policy,
            result.schedule_table(),
            result.jobs_table(),
            list(result.decisions.time_s),
            machines_of(result.workload, result.cluster),
            facts_of(result.decisions_table()) if result.decisions.info else {},
        )


def facts_of(decisions: DataFrame) -> dict[str, list[Any]]:
    """Facts that the policy recorded, from a table of decisions; None where it noted nothing."""
    from pandas import isna

    return {
        str(name): [None if isna(value) else value for value in decisions[name].tolist()]
        for name in decisions
        if name not in RESERVED and not is_measured(str(name)) and not decisions[name].isna().all()
    }


FORMAT = "schedlab-replay"
VERSION = 1


def events_of(recordings: Sequence[Recording]) -> dict[str, Any]:
    """The events of runs on the same jobs, to be played in step.

    Raises
    ------
    InputError
        No runs, or runs whose jobs differ; one line with the first difference.
    """
    if not recordings:
        raise InputError("replay: no runs, expected at least one")
    first = recordings[0]
    for other in recordings[1:]:
        _check_same_jobs(first, other)
    origin_s = float(first.jobs["arrival_s"].min())
    names = _distinct([recording.name for recording in recordings])
    machines = next((r.machines for r in recordings if r.machines is not None), None)
    return {
        "format": FORMAT,
        "version": VERSION,
        "origin_s": origin_s,
        "jobs": _jobs(first, machines, origin_s),
        "runs": [
            _run(recording, name, origin_s)
            for recording, name in zip(recordings, names, strict=True)
        ],
    }


def _check_same_jobs(first: Recording, other: Recording) -> None:
    """The same jobs at the same times, so that the runs can be laid beside each other."""
    what = f"replay: {other.name} and {first.name} ran different jobs"
    if len(first.jobs) != len(other.jobs):
        raise InputError(
            f"{what} ({len(other.jobs)} and {len(first.jobs)}), expected runs on the same jobs"
        )
    for column in ("job_id", "arrival_s"):
        differ = first.jobs[column].to_numpy() != other.jobs[column].to_numpy()
        if differ.any():
            row = int(differ.argmax())
            here, there = other.jobs[column].iloc[row], first.jobs[column].iloc[row]
            raise InputError(
                f"{what} ({column} of job {row + 1} is {here} and {there}), expected runs on the "
                "same jobs, e.g. the same file and seed"
            )


def _distinct(names: Iterable[str]) -> list[str]:
    """The names, numbered where one comes again."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made


def _jobs(recording: Recording, machines: dict[str, Any] | None, origin_s: float) -> dict[str, Any]:
    jobs = recording.jobs
    found: dict[str, Any] = {
        "id": jobs["job_id"].astype(str).tolist(),
        "arrival": _times(jobs["arrival_s"], origin_s),
    }
    if machines is not None and machines["due_s"] is not None:
        found["due"] = [None if t is None else _short(t - origin_s) for t in machines["due_s"]]
        found["weight"] = [_short(w) for w in machines["weight_per_s"]]
    return found


def _run(recording: Recording, name: str, origin_s: float) -> dict[str, Any]:
    jobs, machines = recording.jobs, recording.machines
    shares, lines = _shares(recording, origin_s)
    run: dict[str, Any] = {
        "name": name,
        "end": _times(jobs["completion_s"], origin_s),
        "late": [_short(t) if t == t else 0 for t in jobs["tardiness_s"].tolist()],
        "lines": lines,
        "shares": shares,
        "decisions": [_short(t - origin_s) for t in recording.decision_s],
    }
    if recording.facts:
        run["noted"] = {name: _noted(values) for name, values in recording.facts.items()}
    if "status" in jobs and jobs["status"].isin(NEVER_STARTED).any():
        run["left"] = np.flatnonzero(jobs["status"].isin(NEVER_STARTED)).tolist()
    if machines is not None:
        run["types"] = machines["node_types"]
        run["type_of"] = machines["type_of"]
        run["currency"] = machines["currency"]
        if "price_factor" in machines:
            run["price_factor"] = machines["price_factor"]
    return run


def _noted(values: list[Any]) -> list[Any]:
    """Numbers with four significant digits, texts and truth values as they are."""
    return [
        (float(f"{v:.4g}") if math.isfinite(v) else str(v)) if isinstance(v, float) else v
        for v in values
    ]


def _shares(recording: Recording, origin_s: float) -> tuple[dict[str, Any], list[int]]:
    """The shares as columns, in order of start, and how many lines each node has."""
    table = recording.schedule.sort_values(["start_s", "end_s", "job_id"], kind="stable")
    machines = recording.machines
    index = {str(name): j for j, name in enumerate(recording.jobs["job_id"])}
    nodes = [int(n) for n in table["node"]]
    gpus = [float(g) for g in table["gpus"]]
    whole = all(g.is_integer() for g in gpus)
    counts = [int(g) if whole else 1 for g in gpus]
    start_s, end_s = table["start_s"].tolist(), table["end_s"].tolist()
    pieces, needed = _place(nodes, start_s, end_s, counts)
    types = {name: v for v, name in enumerate(_type_names(recording))}
    columns: dict[str, Any] = {
        "job": [index[str(name)] for name in table["job_id"]],
        "node": nodes,
        "type": [types[name] for name in table["node_type"]],
        "gpus": [_short(g) for g in gpus],
        "line": [share[0][0] for share in pieces],
        "from": _times(start_s, origin_s),
        "to": _times(end_s, origin_s),
    }
    if any(table["cpus"]):
        columns["cpus"] = [_short(c) for c in table["cpus"].tolist()]
    split = {str(i): [list(piece) for piece in share] for i, share in enumerate(pieces)
             if len(share) > 1}  # fmt: skip
    if split:
        columns["split"] = split
    count = max([*needed, -1]) + 1 if machines is None else machines["num_nodes"]
    return columns, [_lines(n, needed, machines, whole) for n in range(count)]


def _type_names(recording: Recording) -> list[str]:
    if recording.machines is not None:
        return [entry["name"] for entry in recording.machines["node_types"]]
    return list(dict.fromkeys(recording.schedule["node_type"]))


def _place(
    nodes: list[int], start_s: list[float], end_s: list[float], counts: list[int]
) -> tuple[list[list[Piece]], dict[int, int]]:
    """Pieces of every share; lines that each node in use needs."""
    rows: dict[int, list[int]] = {}
    for row, node in enumerate(nodes):
        rows.setdefault(node, []).append(row)
    pieces: list[list[Piece]] = [[] for _ in nodes]
    needed = {}
    for node, of_node in rows.items():
        found, needed[node] = lanes_of(
            [start_s[r] for r in of_node], [end_s[r] for r in of_node], [counts[r] for r in of_node]
        )
        for row, share in zip(of_node, found, strict=True):
            pieces[row] = share
    return pieces, needed


def _lines(node: int, needed: dict[int, int], machines: dict[str, Any] | None, whole: bool) -> int:
    """Lines of a node's row: its GPUs; the jobs at once where GPUs are shared; 1 where unknown."""
    used = needed.get(node, 0)
    if machines is None or not whole:
        return max(used, 1)
    types, fixed = machines["node_types"], machines["type_of"]
    offered = types if fixed is None else [types[fixed[node]]]
    return max(used, 1, *(entry["gpus"] or 0 for entry in offered))


def _times(values: Iterable[float], origin_s: float) -> list[float | int | None]:
    """From the first submission; None for what never happened."""
    return [None if t != t else _short(t - origin_s) for t in values]


def _short(value: float) -> float | int:
    """Ten significant digits; a whole number without its point."""
    if not math.isfinite(value):
        raise InputError(f"replay: a value is {value}, expected a finite number")
    rounded = float(f"{value:.10g}")
    return int(rounded) if rounded.is_integer() else rounded
