"""Plug-in of pytest for a copy without a family (`benchmarks.without`): tests that name what is not there are skipped.

A file of tests that imports a module of the family is not collected. A test is skipped where a text in its own code, in
what this uses of its file, in its fixtures or in its parameters is a name of the family's policies, of its kinds of
workload, of tasks of the benchmark with them, or of its files. The name of one of its pages or examples may be that of a kind of workload which stays
(hierarchical): it means the file where the test reads examples, or its file of tests imports pages.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(os.environ["SCHEDLAB_LEFT_OUT"]).parents[1]
GONE: dict[str, list[str]] = json.loads(Path(os.environ["SCHEDLAB_LEFT_OUT"]).read_text("utf-8"))
MODULES = frozenset(GONE["modules"])
NAMES = frozenset(GONE["names"])
TASKS = frozenset(GONE["tasks"])
PARAMETERS = frozenset(GONE["parameters"])
STAYING = frozenset(GONE["staying"])
PAGES = ("experiments.papers", "experiments.studies", "tests.papers")
FILES = (*(file for file in GONE["files"] if not file.endswith(".py")), *GONE["naming"])
COMMANDS = tuple(
    f"theory {Path(file).stem.replace('_', '-')}"
    for file in GONE["files"]
    if file.startswith("experiments/commands/theory_commands/")
)
WRITTEN = tuple(name if name[0] in "+@" else f'"{name}"' for name in NAMES)
BEGINNINGS = tuple(name if name[0] in "+@" else f'"{name}' for name in NAMES)
_PARTS = re.compile(r"[+@]?[\w.-]+")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def named(text: str) -> str:
    """The name of the family's in a text, else nothing."""
    for part in _PARTS.findall(text):
        if part in NAMES or part in TASKS:
            return str(part)
    for module in MODULES:
        if "." in module and text.startswith(module):
            return module
    for command in COMMANDS:
        if command in text:
            return command
    return next((file for file in FILES if text and (file in text or Path(file).name == text)), "")


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules that code imports, and names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The code of a file."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def missing_module(path: Path) -> str:
    """A module that a file, or a helper of the tests that it imports, imports at its top, and that is not there."""
    top = [node for node in parsed(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in top:
        for module in imported(node):
            if module in MODULES:
                return module
            helper = ROOT / f"{module.replace('.', '/')}.py"
            if module.startswith("tests.") and helper.exists() and missing_module(helper):
                return missing_module(helper)
    return ""


@functools.cache
def definitions(path: Path) -> dict[str, ast.AST]:
    """Definitions at the top of a file, by name."""
    found: dict[str, ast.AST] = {}
    for node in parsed(path).body:
        if isinstance(node, Definition):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                each.id: node for t in targets for each in ast.walk(t) if isinstance(each, ast.Name)
            }
    return found


def body_of(node: ast.AST) -> list[ast.AST]:
    """The code of a definition without its decorators (values of parameters are looked at one by one) and docstring."""
    if isinstance(node, ast.ImportFrom):
        return []
    if not isinstance(node, Definition):
        return [node]
    body: list[ast.AST] = list(node.body)
    if ast.get_docstring(node) is not None:
        body = body[1:]
    return body if isinstance(node, ast.ClassDef) else [node.args, *body]


def page_of(node: ast.AST) -> str:
    """A page that an import takes from, and whose runs name the family's policies; else nothing.

    Its modules are passed over but for those that read its files of runs, or name the policies themselves.
    """
    if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("experiments.")):
        return ""
    for module in imported(node):
        parts = module.split(".")
        path = ROOT / f"{module.replace('.', '/')}.py"
        if len(parts) > 2 and parts[2] in PARAMETERS:
            text = path.read_text("utf-8") if path.exists() else ""
            whole = len(parts) == 3 or any(each in text for each in ('.toml"', *BEGINNINGS))
            if whole and (ROOT / "/".join(parts[:3])).is_dir():
                return parts[2]
    return ""


def reached(path: Path, name: str) -> Iterator[ast.AST]:
    """The code of the definition of a name in a file, and of what this uses of the file."""
    seen, todo = set(), [name]
    here = definitions(path)
    while todo:
        each = todo.pop()
        if each in seen or each not in here:
            continue
        seen.add(each)
        if isinstance(here[each], ast.ImportFrom):
            yield here[each]
        for node in (node for part in body_of(here[each]) for node in ast.walk(part)):
            yield node
            if isinstance(node, ast.Name | ast.arg):
                todo.append(node.id if isinstance(node, ast.Name) else node.arg)


@functools.cache
def missing_name(path: Path, name: str) -> str:
    """The family's name in what a definition reaches, else nothing."""
    top = definitions(path).values()
    for node in reached(path, name):
        if page := page_of(node):
            return page
        if node not in top:
            for module in imported(node):
                if module in MODULES:
                    return module
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and (found := named(text)):
            return found
    return ""


@functools.cache
def reads_files(path: Path, name: str) -> bool:
    """Whether a test is about pages or examples, so that a word which is a kind of workload as well means a file."""
    pages = any(m.startswith(PAGES) for m in imported(parsed(path)))
    texts = (n.value for n in reached(path, name) if isinstance(n, ast.Constant))
    return pages or any(isinstance(text, str) and "examples" in text for text in texts)


def in_value(value: Any, words: frozenset[str] = PARAMETERS) -> str:
    """The family's name in a parameter of a test, else nothing; ``words`` are those that mean its files."""
    if isinstance(value, Path) and value.is_file() and value.suffix == ".toml":
        text = value.read_text("utf-8")
        return next((name for name in WRITTEN if name in text), "")
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        value = value.relative_to(ROOT)
    if isinstance(value, str | Path):
        return str(value) if str(value) in words else named(str(value))
    if isinstance(value, list | tuple | dict | set):
        inner = (*value, *value.values()) if isinstance(value, dict) else value
        return next((found for each in inner if (found := in_value(each, words))), "")
    return ""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Files that import what is not there."""
    if collection_path.suffix == ".py" and missing_module(collection_path):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that name what is not there."""
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        name = item.originalname
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        words = PARAMETERS if reads_files(item.path, name) else PARAMETERS - STAYING
        found = missing_name(item.path, name) or next(
            (f for v in values if (f := in_value(v, words))), ""
        )
        if found:
            item.add_marker(pytest.mark.skip(reason=f"names {found}, which is not there"))
