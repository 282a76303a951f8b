"""Docstrings name the thing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("simulator", "policies", "experiments", "benchmarks", "examples", "docs")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

QUESTION = re.compile(r"(What|Who|How)\b")


def definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """Classes and functions, also those within others; expressions hold none."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node
        yield from definitions([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)])


def test_the_first_line_of_a_docstring_names_the_thing():
    """Not a question: "Number of servers", not "How many servers"."""
    found = []
    for path in MODULES:
        module = ast.parse(path.read_text("utf-8"))
        for node in (module, *definitions(module.body)):
            text = ast.get_docstring(node) or ""
            if QUESTION.match(text):
                found.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")
    assert not found, found
