"""A copy of the repository without one family, checked: ``python -m benchmarks.without synergy``.

A family is a set of folders and files (docs/architecture.md lists them): the policies, workloads, pages, data and tests of a
paper or a group. The copy is made in a temporary folder, or in ``--out DIR``. What is left there passes ruff, mypy and
import-linter, and its tests pass. A test that names what was taken out is skipped (`benchmarks.left_out`).
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = "docs/architecture.md"
LINT = (
    ("ruff", "check", "-q", "."),
    ("ruff", "format", "--check", "-q", "."),
    ("lint-imports",),
    ("mypy",),
)
_NAMED = re.compile(r'^@register\(\s*"([^"]+)"|^    kind: Literal\["([^"]+)"\] = ', re.M)
_ROW = re.compile(r"^\| \*\*([\w-]+)\*\* \|.*\| (.+) \|$", re.M)


def families(root: Path = ROOT) -> Mapping[str, Sequence[str]]:
    """Folders and files of each family by its name, as patterns from the root of the repository."""
    text = (root / TABLE).read_text("utf-8")
    return {name: re.findall(r"`([^`]+)`", parts) for name, parts in _ROW.findall(text)}


@functools.cache
def files(root: Path = ROOT) -> list[str]:
    """Files of the repository, those that are not committed yet among them."""
    command = ("git", "ls-files", "-co", "--exclude-standard", "-z")
    told = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return [file for file in told.split("\0") if file and (root / file).exists()]


def files_of(patterns: Iterable[str], root: Path = ROOT) -> set[str]:
    """Files of the repository that a family's patterns name, alone or with their folder."""
    named = [path.relative_to(root).as_posix() for each in patterns for path in root.glob(each)]
    return {file for file in files(root) if any(f"{file}/".startswith(f"{n}/") for n in named)}


def module_of(file: str) -> str:
    """The dotted name of a module by its file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _registered(code: Iterable[str], root: Path) -> set[str]:
    """Names of the policies and the kinds of workload of some files."""
    texts = ((root / file).read_text("utf-8") for file in code if not file.startswith("tests/"))
    return {first or second for text in texts for first, second in _NAMED.findall(text)}


def taken_out(name: str, root: Path = ROOT) -> dict[str, list[str]]:
    """The parts of a family: its files and modules, names of its policies and kinds of workload, and what names these.

    Examples that name them are ``naming``, tasks of the benchmark ``tasks``; examples and the pages whose runs name them are ``parameters`` of tests. Of these,
    ``staying`` are names of policies and kinds of workload that stay.
    """
    gone = files_of(families(root)[name], root)
    code = sorted(file for file in gone if file.endswith(".py"))
    names = _registered(code, root)
    written = [each if each[0] in "+@" else f'"{each}' for each in names]
    naming = [
        file
        for file in files(root)
        if file.startswith(("examples/", "experiments/")) and file.endswith((".py", ".toml"))
        if file in gone or any(name in (root / file).read_text("utf-8") for name in written)
    ]
    parameters = {Path(file).stem for file in naming if file.startswith("examples/")}
    parameters |= {
        Path(file).parts[2] for file in naming if (root / file).with_name("published.toml").exists()
    }
    others = [file for file in files(root) if file.endswith(".py") and file not in gone]
    return {
        "naming": [file for file in naming if file.startswith("examples/")],
        "files": sorted(gone),
        "modules": [module_of(file) for file in code],
        "names": sorted(names),
        "parameters": sorted(parameters),
        "tasks": sorted(Path(f).stem for f in naming if f.startswith("experiments/bench/tasks/")),
        "staying": sorted(parameters & _registered(others, root)),
    }


def copy_without(name: str, to: Path, root: Path = ROOT) -> Path:
    """Copy all but a family; returns the list of what went, which `benchmarks.left_out` reads.

    In pyproject.toml the modules and files that went are taken out of the lists that name them, and the pages of docs/ that
    are made from the code (`make pages`) are made anew.
    """
    gone = taken_out(name, root)
    for file in sorted({*files(root)} - {*gone["files"]}):
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / file, to / file)
    project = to / "pyproject.toml"
    listed = "|".join(re.escape(each) for each in (*gone["modules"], *gone["files"]))
    text = re.sub(rf'\n  "(?:{listed})",(?=\n)', "", project.read_text("utf-8"))
    project.write_text(re.sub(rf', "(?:{listed})"', "", text), "utf-8")
    if (root / ".mypy_cache").is_dir():
        shutil.copytree(root / ".mypy_cache", to / ".mypy_cache")
    subprocess.run(("git", "init", "-q"), cwd=to, check=True)
    for page, target in re.findall(r"-m (\S+) >(docs/\S+)", (to / "Makefile").read_text("utf-8")):
        made = subprocess.run(
            (sys.executable, "-m", page), cwd=to, env=of_copy(to), capture_output=True, check=True
        )
        (to / target).write_bytes(made.stdout)
    told = to / "build" / "left_out.json"
    told.parent.mkdir(exist_ok=True)
    told.write_text(json.dumps(gone, indent=1), "utf-8")
    return told


def of_copy(copy: Path) -> dict[str, str]:
    """Environment in which Python finds the packages of a copy."""
    return {**os.environ, "PYTHONPATH": str(copy)}


def passes(copy: Path, *words: str, told: Path) -> bool:
    """Whether a command of this environment succeeds on the copy."""
    program, *arguments = words
    command = [str(Path(sys.executable).parent / program), *arguments]
    where = of_copy(copy) | {"SCHEDLAB_LEFT_OUT": str(told)}
    print(f"$ {' '.join(words)}", flush=True)
    return subprocess.run(command, cwd=copy, env=where, check=False).returncode == 0


def check(name: str, copy: Path, tests: Sequence[str], root: Path = ROOT) -> bool:
    """Whether lint and the tests pass on a copy without a family.

    Parameters
    ----------
    tests : further words of pytest, for example the tests to run.
    """
    told = copy_without(name, copy, root)
    pytest = ("python", "-m", "pytest", "-p", "benchmarks.left_out", "-p", "no:cacheprovider")
    return False not in [passes(copy, *words, told=told) for words in (*LINT, (*pytest, *tests))]


def main() -> None:
    """Read the command line, and exit with 1 where a check fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("family", choices=sorted(families()))
    parser.add_argument("--out", type=Path, help="an empty or new folder in which the copy stays")
    given, tests = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(not check(given.family, (given.out or Path(folder)).resolve(), tests))


if __name__ == "__main__":
    main()
