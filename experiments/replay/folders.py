"""Recordings from folders: of ``schedlab run``, and of sweeps that kept their schedules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import webpage
from experiments.files import expect_no_input
from experiments.replay.events import Recording, facts_of
from experiments.replay.page import player_html
from experiments.scenario.output import FILES
from experiments.scenario.reading import read_run, read_run_json, read_run_table
from experiments.sweep.chosen import runs_with, with_schedule
from experiments.sweep.export import expect_no_part
from experiments.sweep.store import Store, is_sweep
from simulator.arguments import short
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.sweep.task import Task

MOST_RUNS = 6
"""More runs than this side by side cannot be told apart."""


def replay_folders(
    folders: Sequence[Path], out: Path, where: Mapping[str, str] | None = None, title: str = ""
) -> Path:
    """Write a page that plays the runs in some folders, in step; returns its path.

    Parameters
    ----------
    folders : each written by ``schedlab run --out`` or by ``schedlab sweep``.
    where : of a sweep, the runs with these labels only, e.g. ``{"seed": "1"}``.

    Raises
    ------
    InputError
        No run there, no schedule, too many runs, runs with other jobs, or a page in the place of a file of
        a run or a sweep; one line.
    """
    for folder in folders:
        expect_no_input(out, (folder / name for name in FILES))
        if is_sweep(folder):
            expect_no_part(out, folder)
    if where and not any(is_sweep(folder) for folder in folders):
        raise InputError("--where: given with single runs, expected a sweep among the folders")
    recordings = [r for folder in folders for r in _recordings(folder, dict(where or {}))]
    if len(recordings) > MOST_RUNS:
        raise InputError(
            f"replay: {len(recordings)} runs, expected at most {MOST_RUNS}; --where policy=NAME or "
            "--where seed=1 chooses among the runs of a sweep"
        )
    return webpage.write(out, player_html(recordings, title))


def _recordings(folder: Path, where: dict[str, str]) -> list[Recording]:
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder, expected one that `schedlab run --out` wrote")
    if is_sweep(folder):
        return _of_sweep(folder, where)
    return [_of_run(folder)]


def _of_run(folder: Path) -> Recording:
    """The run that ``schedlab run`` left."""
    if not (folder / "schedule.csv").exists():
        raise InputError(f"{folder}: no schedule.csv, expected a folder that `schedlab run` wrote")
    _, jobs, schedule, machines = read_run(folder, "cpus")
    decisions = read_run_table(folder / "decisions.csv", ("time_s",), ("time_s",))
    summary = folder / "summary.json"
    name = (read_run_json(summary) if summary.exists() else {}).get("policy") or folder.name
    if not isinstance(name, str):
        raise InputError(f"{summary}: policy is {short(name)}, expected a name")
    return Recording(
        name, schedule, jobs, decisions["time_s"].tolist(), machines, facts_of(decisions)
    )


def _of_sweep(folder: Path, where: dict[str, str]) -> list[Recording]:
    """The chosen runs of a sweep that are finished."""
    with Store(folder) as store:
        tasks = store.tasks()
        known = {name for task in tasks for name in task.columns()}
        for name in where:
            if name not in known:
                raise InputError(
                    f"--where {name}: the sweep has no such label, expected one of "
                    f"{', '.join(sorted(known))}"
                )
        chosen = runs_with(store, where)
        if not chosen:
            raise InputError(
                f"{folder}: no run with these labels, see `schedlab sweep export {folder}`"
            )
        if len(chosen) > MOST_RUNS:
            raise InputError(
                f"{folder}: {len(chosen)} runs, expected at most {MOST_RUNS}; --where LABEL=VALUE "
                f"chooses some of them, labels are {', '.join(sorted(known))}"
            )
        several = list(chosen.values())
        return [_of_task(store, key, t, _name(t, several)) for key, t in chosen.items()]


def _name(task: Task, chosen: Sequence[Task]) -> str:
    """The labels in which the chosen runs differ; the policy where there is only one run."""
    labels = {
        name: value
        for name, value in task.columns().items()
        if len({str(other.columns().get(name)) for other in chosen}) > 1
    }
    return ", ".join(
        str(v) if k == "policy" else f"{k} {v}"
        for k, v in (labels or {"policy": task.columns().get("policy", "run")}).items()
    )


def _of_task(store: Store, key: str, task: Task, name: str) -> Recording:
    run = with_schedule(store, key, name)
    decision_s: list[float] = []
    facts: dict[str, list[Any]] = {}
    if "decisions" in run.tables:
        decisions = store.table(key, "decisions")
        decision_s, facts = decisions["time_s"].tolist(), facts_of(decisions)
    return Recording(
        name,
        store.table(key, "schedule"),
        store.table(key, "jobs"),
        decision_s,
        _machines(task),
        facts,
    )


def _machines(task: Task) -> dict[str, Any] | None:
    """Built anew from the scenario; None where its input files are gone."""
    from experiments.scenario.build import build
    from experiments.scenario.output import machines_of
    from experiments.scenario.schema import Scenario

    try:
        return machines_of(*build(Scenario.model_validate(dict(task.config))))
    except (InputError, ValueError, OSError):
        return None


def default_out(folders: Sequence[Path]) -> Path:
    """``DIR/replay.html`` of one folder; of several, beside them."""
    if len(folders) == 1:
        return folders[0] / "replay.html"
    return (
        Path(os.path.commonpath([folder.absolute().parent for folder in folders])) / "replay.html"
    )
