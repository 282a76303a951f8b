"""Tasks, runs and tables that several tests of sweeps make."""

from pathlib import Path

import pytest

from experiments.sweep.runner import RunSummary, run_tasks
from experiments.sweep.store import Store
from experiments.sweep.sweep import export
from experiments.sweep.task import Task


def draws(count: int, function: str = "draw", **config: object) -> list[Task]:
    """Tasks of `sweep_functions`, one a seed."""
    name = f"sweep_functions:{function}"
    return [Task(name, {"seed": s, **config}, {"seed": s}) for s in range(count)]


def run(tasks: list[Task], folder: Path, workers: int = 2, **options: object) -> RunSummary:
    with Store(folder, create=True) as store:
        return run_tasks(tasks, store, workers=workers, progress=False, **options)


def only_failure(folder: Path) -> str:
    """The error of the run of seed 3, which is the only one that failed."""
    with Store(folder) as store:
        ((labels, error),) = store.failures()
    assert labels == {"seed": 3}
    return error


def exported(folder: Path) -> bytes:
    """The table of runs and the one of their values, as bytes."""
    export(folder)
    export(folder, table="values")
    return (folder / "runs.csv").read_bytes() + (folder / "values.csv").read_bytes()


def install(folder: Path, patch: pytest.MonkeyPatch, group: str, *points: str) -> None:
    """The modules of a folder as an installed package, ``plugs`` 1.0, with these entry points."""
    info = folder / "plugs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join([f"[schedlab.{group}]", *points, ""]))
    patch.syspath_prepend(folder)
