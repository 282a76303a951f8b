"""The page from its finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import webpage
from experiments.classroom import runs
from experiments.classroom.runs import tasks
from experiments.estimates import estimate_of
from experiments.files import write_whole
from experiments.replay.page import MODULES as PLAYER
from experiments.replay.page import WEB as PLAYER_WEB
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.sweep.results import Results

WEB = Path(__file__).parent / "web"
MODULES = (
    *PLAYER,
    webpage.HERE / "chart.js",
    *(WEB / f"{name}.js" for name in ("random", "formulas", "queues", "queue_panels", "film_panels", "classroom")),
)  # fmt: skip
STYLES = (webpage.HERE / "base.css", PLAYER_WEB / "player.css", WEB / "classroom.css")
SCALES = ("quick", "paper")


def classroom(
    scale: str = "quick",
    *,
    out: Path | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> int:
    """Run what the store does not have yet, and write the page; returns the exit code.

    Parameters
    ----------
    scale : ``"quick"`` or ``"paper"``: how long the runs are.
    out : the HTML file; ``results/<scale>/classroom.html`` where None. The runs are kept beside it.

    Raises
    ------
    InputError
        Another scale, or a path that cannot be written.
    """
    from experiments.sweep.results import Results
    from experiments.sweep.runner import exit_code, run_tasks
    from experiments.sweep.store import Store

    if scale not in SCALES:
        raise InputError(f"--scale: got {scale!r}, expected one of {', '.join(SCALES)}")
    path = out or Path("results") / scale / "classroom.html"
    wanted = tasks(scale)

    def work() -> int:
        with Store(path.parent / "classroom_store", create=True) as store:
            write_whole(store.folder / ".gitignore", "*\n")
            summary = run_tasks(
                wanted, store, workers=workers, progress=progress, retry_failed=True
            )
            write_classroom(Results(store, wanted, scale), path)
        print(path)
        return 1 if summary.failed else 0

    return exit_code(work)


def write_classroom(results: Results, path: Path) -> Path:
    """Write the page from runs."""
    html = webpage.page(
        WEB / "classroom.html", STYLES, MODULES, page_data(results),
        player=webpage.markup((PLAYER_WEB / "player_body.html").read_text(encoding="utf-8")),
    )  # fmt: skip
    return webpage.write(path, html)


def page_data(results: Results) -> dict[str, Any]:
    """All that the page does not compute itself: simulated means with 95 % intervals, and films."""
    queues, films = results.where("run_queue").scalars(), results.where("run_film")
    return {
                "seeds": list(runs.SEEDS[results.scale]),
        "student": [None, None, *(_student_factor(n) for n in range(2, 101))],
        "queues": _means(
            queues, ["panel", "servers", "load", "gaps", "service"], ["mean_wait", "p95_wait"]
        ),
        "orders": _means(
            results.where("run_order").scalars(),
            ["order", "load"],
            ["mean_response", "urgent_response", "normal_response",
             *(f"{what}_{k}" for what in ("slowdown", "size") for k in range(len(runs.SIZE_EDGES) - 1))],
        ),
        "server": _means(
            results.where("run_server").scalars(), ["controllers", "service"], ["mean_response"]
        ),
        "films": {
            task.config["film"]: json.loads(str(films.outcome(task).scalars["events"]))
            for task in films.tasks
        },
    }  # fmt: skip


def _means(table: DataFrame, by: list[str], values: list[str]) -> list[dict[str, Any]]:
    """One entry a setting: its labels, and ``[mean, low, high]`` of each value."""
    found = []
    for _, part in table.groupby(by, sort=False):
        entry: dict[str, Any] = {name: part[name].iloc[0] for name in by}
        entry = {k: v.item() if hasattr(v, "item") else v for k, v in entry.items()}
        for value in values:
            if value not in part or part[value].isna().any():
                continue
            estimate = estimate_of(part[value].tolist(), is_difference=False)
            entry[value] = [
                float(f"{x:.6g}") for x in (estimate.mean, estimate.lower, estimate.upper)
            ]
        found.append(entry)
    return found


def _student_factor(count: int) -> float:
    """Half width of a 95 % interval over the standard error, of so many observations."""
    from scipy import special

    return float(special.stdtrit(count - 1, 0.975))
