"""``reproduce``: run the papers' experiments, draw their figures, write the report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from experiments.files import write_whole
from experiments.papers.registry import chosen_papers, load, papers
from experiments.report.contents import Claim, Figure, Paper, Scale, Text
from experiments.report.outcomes import OUTCOMES
from simulator.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from experiments.report.site import Page
    from experiments.sweep.executors import LocalPool
    from experiments.sweep.results import Results
    from experiments.sweep.task import Task

LONG_S = 30.0
"""CPU seconds. Such a run starts first, beside the short ones of the first page. At the quick scale it
is the one that compiles the kernels of the greedy family after an installation."""
KERNELS = "policies.greedy"
"""Runs under these policies wait for that run, so pages that have some come after the others."""


def reproduce(
    names: Sequence[str] = (),
    *,
    scale: str = "quick",
    workers: int | None = None,
    out: Path | None = None,
    dask: str | None = None,
    progress: bool = True,
) -> int:
    """Run, draw and compare; leaves ``out`` (results/<scale>) with figures, claims and the site.

    All runs go through one store, page by page, the cheapest page first, those that wait for compiled kernels
    last. A page is drawn, in a process of its own, as soon as its runs have ended. What an earlier call computed is not computed again, what
    failed is tried again.

    Parameters
    ----------
    names : of papers and studies; the five papers where empty; "all" for the studies, too.

    Returns
    -------
    The exit code: 0, 1 where runs or drawings failed or the disk is full, 128 + signal where
    it was stopped.

    Raises
    ------
    InputError
        Unknown paper or scale.
    """
    from experiments.classroom import tasks as classroom_tasks
    from experiments.classroom import write_classroom
    from experiments.sweep.results import Results
    from experiments.sweep.runner import exit_code, run_tasks
    from experiments.sweep.store import Store

    tasks = dict(sorted(tasks_of(names, scale).items(), key=lambda page: _rank(page[1])))
    folder = out or Path("results") / scale
    count = workers or os.cpu_count() or 1
    # The page for a class goes with the queueing laboratory.
    lesson = classroom_tasks(scale) if "queueing" in {paper.name for paper in tasks} else []

    def work() -> int:
        with (
            Store(folder / "store", create=True) as store,
            _Drawing(tasks, scale, folder) as drawing,
        ):
            # Figures and claims may be committed, the runs behind them need not be.
            write_whole(store.folder / ".gitignore", "*\n")
            summary = run_tasks(
                _in_order([*tasks.values(), lesson], count),
                store,
                workers=count,
                dask=dask,
                progress=progress,
                retry_failed=True,
                in_order=True,
                watch=drawing.begin,
            )
            if lesson:
                write_classroom(Results(store, lesson, scale), folder / "classroom.html")
            problems = drawing.problems()
        print(f"{summary.done} runs done, {summary.failed} failed, in {summary.wall_s:.0f} s")
        _report(folder, scale, problems)
        return 1 if summary.failed or problems else 0

    return exit_code(work)


def tasks_of(names: Sequence[str], scale: str) -> dict[Paper, list[Task]]:
    """The runs of pages at a scale; raises InputError at an unknown name or scale."""
    if scale not in get_args(Scale):
        raise InputError(f"--scale: got {scale!r}, expected one of {', '.join(get_args(Scale))}")
    return {paper: load(paper).tasks(cast(Scale, scale)) for paper in chosen_papers(names)}


def _rank(tasks: Sequence[Task]) -> tuple[bool, float]:
    """Whether a page needs compiled kernels; its CPU seconds but for the very long runs, which start before the first page."""
    cost_s = sum(task.cost_s for task in tasks if task.cost_s < LONG_S)
    return any(KERNELS in task.sources for task in tasks), cost_s


def _in_order(pages: Sequence[Sequence[Task]], workers: int) -> list[Task]:
    """The runs of all pages, page by page; where there are several workers, very long ones first."""
    from experiments.sweep.progress import in_good_order

    ordered = [task for page in pages for task in in_good_order(page)]
    if workers == 1:
        return ordered
    return sorted(ordered, key=lambda task: task.cost_s < LONG_S)


class _Drawing:
    """Draws each page in a process beside the workers, once its runs have ended."""

    def __init__(self, tasks: Mapping[Paper, list[Task]], scale: str, out: Path) -> None:
        self._tasks, self._scale, self._out = tasks, scale, out
        self._waiting = {
            paper: {task.key for task in of_paper} for paper, of_paper in tasks.items()
        }
        self._pool: LocalPool | None = None
        self._drawn: dict[Paper, Future[list[str]]] = {}

    def __enter__(self) -> _Drawing:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.kill() if error else self._pool.shutdown()

    def begin(self, ended: Set[str]) -> None:
        """Begin to draw the pages of which all runs are among ``ended``."""
        from experiments.sweep.executors import LocalPool

        for paper in [paper for paper, keys in self._waiting.items() if keys <= ended]:
            del self._waiting[paper]
            self._pool = self._pool or LocalPool(1)
            self._drawn[paper] = self._pool.submit(
                draw_paper, paper, self._tasks[paper], self._scale, str(self._out)
            )

    def problems(self) -> list[str]:
        """Errors, a line each, once all pages are drawn."""
        return [line for paper in self._tasks for line in self._drawn[paper].result()]


def draw_paper(paper: Paper, tasks: Sequence[Task], scale: str, out: str) -> list[str]:
    """Figures, claims and page of one paper from its finished runs; returns the problems.

    The tasks are those that were run, keys included, whatever has been edited meanwhile.
    An error in one paper's drawings is reported on its page and keeps no other paper from its own.
    """
    import hashlib

    from experiments.report.kept import digest, write_results
    from experiments.report.site import write_page, write_site
    from experiments.sweep.results import Results
    from experiments.sweep.store import Store

    with Store(Path(out) / "store") as store:
        results = Results(store, tasks, scale)
        page = _page(paper, results, Path(out))
        versions = "".join(sorted({task.code for task in results.tasks}))
        code = hashlib.sha256(versions.encode()).hexdigest()[:12]
        write_results(results, Path(out) / paper.name)
        write_page(Path(out), replace(page, code=code, digest=digest(Path(out) / paper.name)))
    write_site(Path(out), scale, papers())
    return list(page.problems)


def redraw(names: Sequence[str], *, scale: str, kept: Path, out: Path | None = None) -> int:
    """Draw pages again from what the results in ``kept`` hold of their runs; runs nothing.

    The page for a class is not drawn.

    Returns
    -------
    The exit code: 0; 1 where something could not be drawn, which is told in one line each.

    Raises
    ------
    InputError
        Unknown paper or scale; nothing is kept of a page; ``out`` is ``kept``.
    """
    from experiments.files import is_same
    from experiments.report.kept import copy_kept, digest
    from experiments.report.site import write_page

    folder = out or Path("results") / scale
    if is_same(kept, folder):
        raise InputError(f"--out: got {folder}, expected another folder than --from")
    problems: list[str] = []
    for before, results in kept_pages(names, scale, kept):
        name = before.paper.name
        page = _page(before.paper, results, folder, left_out=[])
        copy_kept(kept / name, folder / name)
        write_page(folder, replace(page, code=before.code, digest=digest(folder / name)))
        print(
            f"{name}: {len(page.figures)} figures, {len(page.claims)} rows drawn again; "
            f"in {kept}: {len(before.figures)}, {len(before.claims)}"
        )
        problems += page.problems
    _report(folder, scale, problems)
    return 1 if problems else 0


def kept_pages(names: Sequence[str], scale: str, kept: Path) -> list[tuple[Page, Results]]:
    """Pages of a folder, with what it keeps of their runs; raises as `redraw`."""
    from experiments.report.kept import kept_results
    from experiments.report.site import read_pages

    chosen = tasks_of(names, scale)
    pages = read_pages(kept, chosen)
    if without := [paper.name for paper in chosen if paper not in {page.paper for page in pages}]:
        raise InputError(f"--from: got {kept}, which has no page of {', '.join(without)}")
    return [
        (page, kept_results(kept / page.paper.name, chosen[page.paper], scale)) for page in pages
    ]


def _page(paper: Paper, results: Results, out: Path, left_out: list[str] | None = None) -> Page:
    """The page of a paper, its figures drawn; ``left_out`` as for `Experiment.figures`."""
    import sys
    import traceback

    import matplotlib as mpl

    from experiments.report.site import Page

    mpl.use("Agg")
    experiment, name = load(paper), paper.name
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    claims: list[Claim] = []
    texts: list[Text] = []
    problems: list[str] = []
    if results.missing:
        why = f", the first with {results.error}" if results.error else ""
        problems.append(f"{name}: {len(results.missing)} runs failed or are missing{why}")
    try:
        figures = experiment.figures(results, folder, left_out)
        claims = experiment.claims(results, left_out)
        texts = experiment.texts(results, left_out)
    except Exception as error:
        print(traceback.format_exc(), file=sys.stderr)
        problems.append(f"{name}: cannot be drawn: {type(error).__name__}: {error}")
    problems += [f"{name}: {line}" for line in left_out or []]
    return Page(paper, figures, claims, problems, len(results.tasks), texts=texts)


def _came_out(page: Page) -> Iterator[str]:
    """Counts of a paper's printed numbers by outcome and its digest, then one line for each that did not come out."""
    outcomes = Counter(one.outcome for one in page.printed)
    if not outcomes:
        return
    counted = ", ".join(f"{outcomes[name]} {name}" for name in OUTCOMES if outcomes[name])
    yield f"{page.paper.name}: of {outcomes.total()} printed numbers {counted}; runs {page.digest or 'not kept'}"
    for one in page.printed:
        if one.outcome in ("undetermined", "excluded", "open"):
            row = one.row
            ours = "" if row.ours is None else f", here {row.ours:.4g} {row.unit}".rstrip()
            yield f"  {one.outcome}: {row.claim}: printed {row.paper_value}{ours}. {one.because}"


def _report(out: Path, scale: str, problems: Sequence[str]) -> None:
    from experiments.report.site import write_report

    pages = write_report(out, scale, papers())
    figures = sum(len(page.figures) for page in pages)
    counts = Counter(one.outcome for page in pages for one in page.numbers)
    counted = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    for page in pages:
        for line in _came_out(page):
            print(line)
    for problem in problems:
        print(f"  {problem}")
    rows = sum(len(page.claims) for page in pages)
    print(
        f"{out / 'index.html'}: {figures} figures, {counts.total()} numbers ({counted or 'none'}), {rows} rows"
    )
