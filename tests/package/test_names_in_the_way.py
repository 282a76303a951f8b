"""Files of a user that have the names of schedlab's packages: one line that names the file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "name", ["policies.py", "simulator.py", "experiments.py", "policies/__init__.py"]
)
def test_a_file_beside_the_script(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("MINE = 1\n")
    script = tmp_path / "mine.py"
    script.write_text("import schedlab\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env)
    assert ran.returncode == 1
    package = name.partition("/")[0].removesuffix(".py")
    line = f"ImportError: {path} is in the way of schedlab's package {package!r}: rename it, or start in another folder"
    assert ran.stderr.splitlines()[-1] == line


def test_the_command_says_it_in_one_line(tmp_path):
    (tmp_path / "policies.py").write_text("MINE = 1\n")
    code = "import sys; sys.argv = ['schedlab', '--version']; import experiments.cli"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, env=env
    )
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"schedlab: {tmp_path / 'policies.py'} is in the way")


def test_a_plain_folder_is_not_in_the_way(tmp_path):
    (tmp_path / "experiments").mkdir()
    script = tmp_path / "mine.py"
    script.write_text("import schedlab; print(len(schedlab.policy_names()) > 40)\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env)
    assert (ran.stdout, ran.returncode) == ("True\n", 0)
