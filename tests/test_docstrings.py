"""Docstrings name the thing."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("simulator", "policies", "experiments", "benchmarks", "examples", "docs")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

QUESTION = re.compile(r"(What|Who|How)\b")


def test_the_first_line_of_a_docstring_names_the_thing():
    """Not a question: "Number of servers", not "How many servers"."""
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if QUESTION.match(text):
                    found.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")
    assert not found, found
