"""Families of docs/architecture.md: nothing imports a family, and each can be taken out of the repository."""

import ast
import tomllib
from collections import Counter

import pytest

from benchmarks import mutants
from benchmarks.without import ROOT, check, families, files, files_of, module_of

FAMILIES = {
    name: parts for name, parts in families().items() if any(any(ROOT.glob(p)) for p in parts)
}
"""Those that are there."""
FAMILY_OF = {file: name for name, parts in FAMILIES.items() for file in files_of(parts)}


def imports_of(file: str) -> set[str]:
    """Modules that a file imports, wherever in it; names that it takes from them may be modules."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.long
def test_nothing_imports_a_family_but_itself():
    owner = {module_of(file): name for file, name in FAMILY_OF.items() if file.endswith(".py")}
    code = [file for file in files() if file.endswith(".py") and not file.startswith("tests/")]
    across = [
        f"{file} ({FAMILY_OF.get(file, 'of no family')}) imports {module} ({owner[module]})"
        for file in code
        for module in sorted(imports_of(file))
        if module in owner and owner[module] != FAMILY_OF.get(file)
    ]
    assert across == []


def test_each_part_is_there_and_of_one_family():
    parts = Counter(file for each in FAMILIES.values() for file in files_of(each))
    assert [file for file, count in parts.items() if count > 1] == []
    listed = [part for each in FAMILIES.values() for part in each]
    assert [part for part in listed if not any(ROOT.glob(part))] == []


def test_every_package_of_a_family_is_held_apart_by_import_linter():
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    apart = {m for c in contracts if c["type"] == "independence" for m in c["modules"]}
    code = [part.removesuffix(".py") for parts in FAMILIES.values() for part in parts]
    rooms = ("policies/", "experiments/papers/", "experiments/studies/", "simulator/workloads/")
    assert apart == {part.replace("/", ".") for part in code if part.startswith(rooms)}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_left_without_a_family_passes_lint_and_its_tests(family, tmp_path):
    assert check(family, tmp_path / "copy", ["-q", "-n", "2", "tests"])


def test_the_modules_and_tests_that_get_mutants_are_there():
    """A folder that is not there is of a family that was taken out."""
    named = {ROOT / path for pair in mutants.PACKAGES.values() for path in (*pair[0], *pair[1])}
    assert [p for p in named if p.parent.is_dir() and not p.exists()] == []
