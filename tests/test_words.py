"""Words: standard terms of the field in place of words of our own, and docstrings that name the thing."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("simulator", "policies", "experiments", "benchmarks", "examples", "docs")
TEXTS = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".md", ".toml", ".html") and "node_modules" not in path.parts
)
MODULES = [path for path in TEXTS if path.suffix == ".py"]

REPLACED = {
    r"first_principles|FirstPrinciple": "list scheduling",
    r"gives_parts|on_parts|OnParts": "fractional GPUs",
    r"between_tenants|readout": "tenant metrics, metrics",
    r"NEEDED_BEHIND|\bLacks?\b": "missing requirement",
    r"kind_of_controller|short_answers|\bOccasions\b": "decision triggers, incremental decisions",
    r"GateRecord|make gate\b|--gate\b": "admission control; make bench-check",
    r"\b[Ss]eating\b|\bNodeLevels\b|\bmake_room\b": "assignment, index of free GPUs, eviction",
    r"\b_?Room\b(?! for)": "free capacity, package",
    r"\bLedger\b": "arrival statistics",
    r"\bNeighbours\(|neighbours_of|SharingKeys|\[sharing\]": "colocation",
    r"\bShown\(|gpus_asked|RuleError": "predicted workload; demanded GPUs; error of a key",
    r"\b[Tt]he floor\b|\bfloors\b|\b[Bb]ottleneck\b|\b[Hh]eadline\b": "lower bound; what limits; printed",
    r"\b([Oo]ne job's|whole) story\b|CPU-hungry|\bthe proof in\b": "history; many CPUs; evaluation",
    r"idle_keys|\.asked\(\)|[Nn]eighbours? (slow|halve|on a GPU)|by neighbours:": "unused; noting; colocated",
    r"\bthe bracket from above\b|\bOne door\b": "upper bound; errors of the command line",
}
"""Words of our own (regular expressions), and what stands in their place."""

QUESTION = re.compile(r"(What|Who|How)\b")


@pytest.mark.parametrize("words", REPLACED)
def test_words_of_our_own_do_not_return(words):
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in TEXTS
        for match in re.finditer(words, path.read_text("utf-8"))
    ]
    assert not found, f"write {REPLACED[words]}: {found}"


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
