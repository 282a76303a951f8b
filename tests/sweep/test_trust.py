"""A sweep file and a run database are data: functions of the user's own need leave."""

from pathlib import Path

import pytest

from experiments.sweep.store import Store
from experiments.sweep.sweep import retry
from experiments.sweep.sweepfile import read_sweep
from experiments.sweep.task import Task
from experiments.sweep.trust import expect_trusted
from simulator import plugins
from simulator.errors import InputError
from tests.command import schedlab
from tests.sweep.runs import install


def write(folder: Path, function: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(f'function = "{function}"\nseeds = 2\n[scenario]\nx = 1\n')
    return path


def test_a_function_of_one_s_own_needs_leave(tmp_path, monkeypatch):
    """Its module is not even imported without; with --allow-code it runs."""
    (tmp_path / "own_model.py").write_text(
        "from pathlib import Path\nfrom experiments.sweep.task import Outcome\n"
        f"Path({str(tmp_path / 'imported')!r}).touch()\n"
        "def run(config):\n    return Outcome({'x': config['x'] + config['seed']})\n"
    )
    write(tmp_path, "own_model:run")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(plugins.CODE_ALLOWED, "")
    words = ["sweep", "run", "sweep.toml", "--out", "out", "--workers", 1]
    refused = schedlab(*words, cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "sweep.toml: function: got 'own_model:run', which would run code" in refused.stderr
    assert not (tmp_path / "imported").exists()
    assert not (tmp_path / "out").exists()
    ran = schedlab(*words, "--allow-code", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "2 of 2 runs done" in ran.stdout


def test_a_registered_function_needs_no_leave(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "functions", "mine = my_model:run")
    (tmp_path / "my_model.py").write_text(
        "from experiments.sweep.task import Outcome\ndef run(config):\n    return Outcome({})\n"
    )
    _, tasks = read_sweep(write(tmp_path, "my_model:run"))
    assert len(tasks) == 2
    with pytest.raises(InputError, match="got 'my_model:other'"):
        read_sweep(write(tmp_path, "my_model:other"))


def test_a_run_database_is_no_way_around(tmp_path):
    """A folder from somebody else may name any function; retry does not call it."""
    with Store(tmp_path / "out", create=True) as store:
        store.plan([Task("sweep_functions:draw", {"seed": 1})])
    with pytest.raises(InputError, match="got 'sweep_functions:draw', which would run code"):
        retry(tmp_path / "out", workers=1, progress=False)


def test_schedlab_s_own_task_functions_are_trusted_and_nothing_else_of_it():
    expect_trusted(["experiments.scenario.run:run_scenario"], "x", allow_code=False)
    for function in (
        "experiments.config:read_toml", "experiments.sweep.worker:prepare", "subprocess:run",
    ):  # fmt: skip
        with pytest.raises(InputError, match="which would run code"):
            expect_trusted([function], "x", allow_code=False)


@pytest.mark.parametrize("code", ["def f(:", "raise SystemExit(0)", "import nowhere_at_all", "1/0"])
def test_a_module_that_breaks_on_import_is_one_line(tmp_path, monkeypatch, code):
    name = f"broken_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="function"):
        read_sweep(write(tmp_path, f"{name}:f"), allow_code=True)
