"""A policy, a format, a column, a table of a feature or a figure is added in one place: no file lists all of them by hand."""

import re
from collections.abc import Collection

import pytest

from benchmarks.without import ROOT, files
from experiments.papers.registry import chosen_papers, load
from policies.registry.registration import modules
from simulator.features.registry import KEYS
from simulator.metrics.job_table import JOBS
from simulator.workloads.kinds import FORMATS, KINDS

MADE = re.findall(r">(docs/\S+\.md)", (ROOT / "Makefile").read_text("utf-8"))
"""Pages that `make pages` makes."""
NAMES: dict[str, Collection[str]] = {
    "policies": modules(),
    "formats": FORMATS,
    "kinds of workload": KINDS,
    "columns": [column.name for column in JOBS.columns if not column.when],
    "features": [table.table for table in KEYS],
} | {
    f"figures of {paper.name}": {figure.name for figure in load(paper).registered}
    for paper in chosen_papers(["all"])
}
HOMES = {"columns": "simulator/metrics/job_table.py"}
"""Files in which they are made, all together; figures are made in their page's folder."""


@pytest.fixture(scope="module")
def words():
    """What stands in quotes or backticks in each file of code and each page."""
    texts = {
        file: (ROOT / file).read_text("utf-8")
        for file in files()
        if file.endswith((".py", ".md", ".toml")) and file not in MADE
    }
    return {file: {*re.findall(r"[\"'`]([@+\w-]+)[\"'`]", text)} for file, text in texts.items()}


@pytest.mark.parametrize("what", [what for what, names in NAMES.items() if len(names) > 1])
def test_no_file_lists_all(what, words):
    folder = f"/{what.removeprefix('figures of ')}/"
    assert [
        file
        for file, found in words.items()
        if len({*NAMES[what]} - found)
        <= (len(NAMES[what]) > 3)  # a list that lacks the newest is one, too
        if file != HOMES.get(what) and not (file.startswith("experiments/") and folder in file)
    ] == []
