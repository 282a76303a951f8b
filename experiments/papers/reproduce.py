"""``reproduce``: run the papers' experiments, draw their figures, write the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from experiments.files import write_whole
from experiments.papers.registry import load, papers
from experiments.report.contents import VERDICTS, Claim, Figure, Paper, Scale, Text
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.sweep.results import Results
    from experiments.sweep.task import Task


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

    All runs of all papers go through one store, the long ones first; what an earlier call
    computed is not computed again, what failed is tried again. Each paper is then drawn in a
    process of its own.

    Parameters
    ----------
    names : of ``available()``; all of them where empty.

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

    if scale not in get_args(Scale):
        raise InputError(f"--scale: got {scale!r}, expected one of {', '.join(get_args(Scale))}")
    there = papers()
    known = [paper.name for paper in there]
    for name in names:
        if name not in known:
            raise InputError(f"paper: got {name!r}, expected one of {', '.join(known) or 'none'}")
    chosen = [paper for paper in there if paper.name in names or not names]
    tasks = {paper: load(paper).tasks(cast(Scale, scale)) for paper in chosen}
    folder = out or Path("results") / scale
    # The page for a class goes with the queueing laboratory.
    lesson = classroom_tasks(scale) if "queueing" in {paper.name for paper in chosen} else []

    def work() -> int:
        with Store(folder / "store", create=True) as store:
            # Figures and claims may be committed, the runs behind them need not be.
            write_whole(store.folder / ".gitignore", "*\n")
            summary = run_tasks(
                [task for of_paper in [*tasks.values(), lesson] for task in of_paper],
                store,
                workers=workers,
                dask=dask,
                progress=progress,
                retry_failed=True,
            )
            if lesson:
                write_classroom(Results(store, lesson, scale), folder / "classroom.html")
        problems = _draw_all(tasks, scale, folder, workers)
        _report(folder, scale, summary.done, summary.failed, summary.wall_s, problems)
        return 1 if summary.failed or problems else 0

    return exit_code(work)


def _draw_all(
    tasks: Mapping[Paper, list[Task]], scale: str, out: Path, workers: int | None
) -> list[str]:
    """Draw the papers side by side; returns what went wrong, a line each."""
    import os

    from experiments.sweep.executors import LocalPool

    with LocalPool(min(workers or os.cpu_count() or 1, len(tasks))) as pool:
        drawn = [
            pool.submit(draw_paper, paper, of_paper, scale, str(out))
            for paper, of_paper in tasks.items()
        ]
        return [problem for future in drawn for problem in future.result()]


def draw_paper(paper: Paper, tasks: Sequence[Task], scale: str, out: str) -> list[str]:
    """Figures, claims and page of one paper from its finished runs; returns the problems.

    The tasks are those that were run, keys included, whatever has been edited meanwhile.
    An error in one paper's drawings is reported on its page and keeps no other paper from its own.
    """
    import sys
    import traceback

    import matplotlib as mpl

    from experiments.report.site import RUNS, Page, write_page
    from experiments.sweep.results import Results
    from experiments.sweep.store import Store

    mpl.use("Agg")
    experiment, name = load(paper), paper.name
    folder = Path(out) / name
    folder.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    claims: list[Claim] = []
    texts: list[Text] = []
    problems: list[str] = []
    with Store(Path(out) / "store") as store:
        results = Results(store, tasks, scale)
        if results.missing:
            problems.append(f"{name}: {len(results.missing)} runs failed or are missing")
        try:
            figures = experiment.figures(results, folder)
            claims = experiment.claims(results)
            texts = getattr(experiment, "texts", lambda _: [])(results)
        except Exception as error:
            print(traceback.format_exc(), file=sys.stderr)
            problems.append(f"{name}: cannot be drawn: {type(error).__name__}: {error}")
        code = _write_runs(results, folder / RUNS)
        runs = len(results.tasks)
        write_page(Path(out), Page(paper, figures, claims, problems, runs, code, texts))
    return problems


def _write_runs(results: Results, path: Path) -> str:
    """One row a run, what figures and intervals are made from; returns the version of its code.

    Measurements of the machine are left out: the file has the same bytes everywhere.
    """
    import hashlib

    from experiments.sweep.export import MEASURED
    from experiments.text import with_safe_cells

    table = results.scalars()
    table = table[[name for name in table.columns if not name.endswith(MEASURED)]]
    if "function" not in table:
        table.insert(0, "function", [task.function.partition(":")[2] for task in results.tasks])
    text = with_safe_cells(table).to_csv(index=False, float_format="%.9g", lineterminator="\n")
    write_whole(path, text)
    versions = "".join(sorted({task.code for task in results.tasks}))
    return hashlib.sha256(versions.encode()).hexdigest()[:12]


def _report(
    out: Path, scale: str, done: int, failed: int, wall_s: float, problems: Sequence[str]
) -> None:
    from experiments.report.site import write_site

    pages = write_site(out, scale, papers())
    figures = sum(len(page.figures) for page in pages)
    claims = [claim for page in pages for claim in page.claims]
    counts = {verdict: sum(c.verdict == verdict for c in claims) for verdict in VERDICTS}
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    print(f"{done} runs done, {failed} failed, in {wall_s:.0f} s")
    for problem in problems:
        print(f"  {problem}")
    print(f"{out / 'index.html'}: {figures} figures, {len(claims)} claims ({counted or 'none'})")
