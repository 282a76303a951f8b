"""``reproduce --again``: a share of the kept runs of pages made again, and compared with what was kept."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.files import write_whole
from experiments.papers.reproduce import kept_pages
from experiments.sweep.export import MEASURED
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.sweep.store import Run
    from experiments.sweep.task import Scalar

CLOSE = 1e-8
"""Relative difference of numbers that are equal; nine digits are kept."""
MOST_LINES = 5


def make_again(
    names: Sequence[str],
    *,
    scale: str,
    kept: Path,
    share: float,
    workers: int | None = None,
    out: Path | None = None,
) -> int:
    """Make runs of pages again, drawn at random, and say for each page how many are as they were kept.

    Scalars that were not kept are passed over, and those that were measured. The runs are in ``again`` of the folder
    of results, where the same call goes on after a stop.

    Parameters
    ----------
    names, scale, kept, out : as for `experiments.papers.reproduce.redraw`.
    share : of the kept runs of each page, in (0, 1].

    Returns
    -------
    The exit code: 0; 1 where a number is another, or a run fails; 128 + signal where it was stopped.

    Raises
    ------
    InputError
        As `redraw`; a share outside (0, 1].
    """
    from experiments.sweep.runner import exit_code, run_tasks
    from experiments.sweep.store import Store

    if not 0 < share <= 1:
        raise InputError(f"--again: got {share:g}, expected a share in (0, 1]")
    drawn = {}
    for page, results in kept_pages(names, scale, kept):
        count = math.ceil(share * len(results.tasks))
        drawn[page.paper.name] = results, random.Random(0).sample(results.tasks, count)

    def work() -> int:
        others = 0
        with Store((out or Path("results") / scale) / "again", create=True) as store:
            write_whole(store.folder / ".gitignore", "*\n")
            run_tasks([t for _, tasks in drawn.values() for t in tasks], store, workers=workers)
            for name, (results, tasks) in drawn.items():
                runs = [store.run(task.key) for task in tasks]
                found = [
                    f"{task.columns()}: {line}"
                    for task, run in zip(tasks, runs, strict=True)
                    for line in _differences(results.outcome(task).scalars, run)
                ]
                cpu_s = sum(run.cpu_s for run in runs if run is not None)
                told = f"{len(found)} numbers are others" if found else "all numbers are the same"
                made = f"{len(tasks)} of {len(results.tasks)} runs made again in {cpu_s:.0f} CPU s"
                print(f"{name}: {made}: {told}")
                for line in found[:MOST_LINES]:
                    print(f"  {line}")
                others += len(found)
        return 1 if others else 0

    return exit_code(work)


def _differences(before: dict[str, Scalar], run: Run | None) -> Iterator[str]:
    """Scalars of a run that are not as they were kept, a line each."""
    if run is None or run.status != "done":
        yield "the run failed"
        return
    for name, kept in before.items():
        now = run.scalars.get(name)
        if not name.endswith(MEASURED) and not _is_same(kept, now):
            yield f"{name} is {now}, kept is {kept}"


def _is_same(kept: Scalar, now: Scalar) -> bool:
    if isinstance(kept, float) and isinstance(now, int | float):
        return math.isclose(kept, now, rel_tol=CLOSE, abs_tol=1e-12)
    return kept == now
