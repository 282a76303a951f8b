"""A paper's plain simulations are data: sweep files, the same runs by `schedlab sweep`."""

from pathlib import Path

import pytest

from experiments import papers, studies
from experiments.sweep.sweepfile import RUN_SCENARIO, read_sweep
from tests.families import Absent, module

PAPERS = Path(papers.__file__).parent
STUDIES = Path(studies.__file__).parent


@pytest.fixture
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of draws has its jobs drawn once to check it: from fewer jobs of the log."""
    draw = module("simulator.workloads.synergy.draw")
    if not isinstance(draw, Absent):
        monkeypatch.setattr(draw, "LOG_JOBS", 100)


SCENARIOS = ("published", "servers", "philly_log")
"""Files that are no sweeps: printed numbers, scenarios that sweeps vary."""


@pytest.mark.long
@pytest.mark.usefixtures("short_log")
@pytest.mark.parametrize(
    "file",
    sorted(
        f
        for folder in (PAPERS, STUDIES)
        for f in folder.rglob("*.toml")
        if f.stem not in SCENARIOS and f.parent.name != "clusters"
    ),
    ids=lambda f: f"{f.parent.name}-{f.stem}",
)
def test_every_file_is_a_sweep_by_itself(file):
    _, tasks = read_sweep(file)
    assert tasks
    assert all(task.function == RUN_SCENARIO for task in tasks)
    assert len({task.config_json for task in tasks}) == len(tasks)
    assert "# " in file.read_text().splitlines()[0]
