"""The package as others get it: a wheel, installed in a fresh environment, used elsewhere."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from simulator import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = ["pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder]
    made = subprocess.run(
        [sys.executable, "-m", *map(str, words)], cwd=ROOT, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr[-2000:]
    (path,) = folder.glob("schedlab-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the command of an environment that has the wheel, in a folder of its own.

    The libraries are those of the tests: only their folder is on the path, so that the editable
    installation in it is not.
    """
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "env", symlinks=True)
    bin_folder = folder / "env" / "bin"
    into = [sys.executable, "-m", "pip", "--python", bin_folder / "python"]
    words = [*into, "install", "--no-deps", "--no-index", "--no-compile", wheel]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    (packages / "libraries.pth").write_text("\n".join(site.getsitepackages()) + "\n")

    def run(*words: str, program: str = "schedlab") -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        return subprocess.run(
            [str(bin_folder / program), *words], cwd=folder, env=environment,
            capture_output=True, text=True, timeout=1200,
        )  # fmt: skip

    return run


@pytest.mark.long
def test_what_is_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for package in ("simulator", "policies", "experiments"):
        assert f"{package}/py.typed" in names
    for name in ("simulator/data/vm_catalog.csv", "experiments/report/templates/report.html"):
        assert name in names
    assert not any(re.match(r"(tests|benchmarks|results|docs)/", name) for name in names)
    sources = {str(p.relative_to(ROOT)) for p in (ROOT / "experiments").rglob("*") if p.is_file()}
    missing = {name for name in sources if "__pycache__" not in name} - set(names)
    assert not missing


@pytest.mark.long
def test_it_works_outside_the_checkout(installed: Run, tmp_path: Path) -> None:
    assert installed("--version").stdout == f"schedlab {__version__}\n"
    (tmp_path / "some.toml").write_text(
        'policy = "edf"\n[workload]\nkind = "hierarchical"\nnum_nodes = 2\n'
    )
    ran = installed("run", str(tmp_path / "some.toml"), "--out", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "summary.json").exists()


@pytest.mark.slow
def test_every_paper_finds_its_files(installed: Run) -> None:
    """Its tables and studies: listing the runs reads them; no checkout is at hand."""
    code = (
        "import experiments; from experiments.papers.registry import load, papers\n"
        "for p in papers(): print(p.name, len(load(p).tasks('quick')))\n"
        "print(experiments.__file__)"
    )
    ran = installed("-c", code, program="python")
    assert ran.returncode == 0, ran.stderr
    *papers, where = ran.stdout.splitlines()
    assert {"hierarchical", "andreas", "thesis", "rental", "synergy"} <= {
        p.split()[0] for p in papers
    }
    assert str(ROOT) not in where


@pytest.mark.slow
def test_a_paper_is_reproduced_from_it(installed: Run, tmp_path: Path) -> None:
    ran = installed("reproduce", "hierarchical", "--workers", "2", "--out", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "hierarchical" / "figure_3.png").exists()
    assert (tmp_path / "out" / "report.html").exists()


def pinned(name: str = "constraints.txt") -> dict[str, str]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if line and line[0] != "#")


def requirements() -> list[Requirement]:
    extras = [r for group in PROJECT["optional-dependencies"].values() for r in group]
    found = map(Requirement, [*PROJECT["dependencies"], *extras])
    return [requirement for requirement in found if requirement.name != "schedlab"]


def test_the_tested_versions_lie_in_the_ranges_and_have_no_address() -> None:
    """Each direct dependency is a range, and pinned once in constraints.txt."""
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert "://" not in text
    assert "@" not in text
    versions = pinned()
    for requirement in requirements():
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators & {">=", ">"}, f"{requirement} is no range"
        name = requirement.name.lower()
        assert name in versions, f"{name} is not in constraints.txt"
        assert requirement.specifier.contains(versions[name], prereleases=True), requirement


def test_lower_bounds_are_the_lowest_tested_versions() -> None:
    """Of the libraries that users need; the bounds of tools are those of their features."""
    versions = pinned("constraints-lowest.txt")
    for requirement in map(Requirement, PROJECT["dependencies"]):
        tested = versions[requirement.name.lower()]
        (bound,) = (s.version for s in requirement.specifier if s.operator == ">=")
        assert tested.split(".")[: bound.count(".") + 1] == bound.split("."), requirement


def test_the_conda_environment_has_the_same_ranges() -> None:
    environment = (ROOT / "environment.yml").read_text("utf-8")
    lines = re.findall(r"^  - ([\w:-]+)([<>=]\S+)$", environment, re.M)
    named = {"gurobi::gurobi": "gurobipy", "matplotlib-base": "matplotlib"}
    ranges = {named.get(name, name): bounds for name, bounds in lines}
    for requirement in map(Requirement, PROJECT["dependencies"]):
        assert Requirement(f"x{ranges[requirement.name]}").specifier == requirement.specifier
