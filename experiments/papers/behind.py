"""The runs behind the figures of pages whose results are there without a run database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from experiments.papers.registry import load, papers
from experiments.report.contents import Scale

if TYPE_CHECKING:
    from experiments.sweep.task import Task


def runs_behind(folder: Path) -> list[Task]:
    """Runs of a page, or of all pages of a folder of results, as this version makes them; none where no page is there.

    Each has a further label, ``page``. Their scale is the one that has as many runs as the page.
    """
    from experiments.report.site import PAGE, read_pages

    is_page = (folder / PAGE).is_file()
    chosen = [paper for paper in papers() if not is_page or paper.name == folder.absolute().name]
    found = []
    for page in read_pages(folder.absolute().parent if is_page else folder, chosen):
        of_scale = [load(page.paper).tasks(scale) for scale in get_args(Scale)]
        tasks = min(of_scale, key=lambda tasks: abs(len(tasks) - page.runs))
        name = {"page": page.paper.name}
        found += [replace(task, labels=name | task.columns()) for task in tasks]
    return found
