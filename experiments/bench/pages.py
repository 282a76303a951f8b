"""Pages of the benchmark: one a task, one over all, and a picture of the whole table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.bench.table import sheet
from experiments.bench.task import BenchTask, task_of
from experiments.comparison.metrics import metric_of
from experiments.files import write_whole
from simulator.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = 3
"""Panels in a row."""
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:16px/1.5 sans-serif;margin:2em auto;max-width:75em;padding:0 1em}}
table{{border-collapse:collapse;font-size:14px}}td,th{{padding:.2em .6em;text-align:left;border-bottom:1px solid #ccc}}
img{{max-width:100%}}</style></head><body><h1>{title}</h1>
"""


def write_pages(folder: Path) -> list[Path]:
    """Pages of the runs that a folder holds, one task in each folder of it.

    Raises
    ------
    InputError
        It holds none.
    """
    from experiments.pictures.saving import save_picture

    tables = {
        path.parent.name: _read(path)
        for path in sorted(folder.glob("*/table.csv"))
    }  # fmt: skip
    if not tables:
        raise InputError(f"{folder}: no */table.csv, expected folders of `schedlab bench run`")
    save_picture(picture(tables), folder / "table.png")
    written = []
    parts = [HEAD.format(title="Benchmark"), _image("table.png", "Every policy in every task")]
    for name, table in tables.items():
        task = task_of(name)
        answer = (folder / name / "answer.txt").read_text("utf-8").partition("\n\n")[0]
        body = f"<p>{escape(answer)}</p>{_about(task)}{_table(table, task)}"
        pictures = "".join(
            _image(f"{name}/{path.name}", f"{task.title}: {path.stem}")
            for path in sorted((folder / name).glob("*.svg"))
        )
        written.append(
            _write(folder / f"{name}.html", HEAD.format(title=escape(task.title)) + body + pictures)
        )
        parts.append(
            f'<h2><a href="{name}.html">{escape(name)}</a>: {escape(task.title)}</h2><p>{escape(answer)}</p>'
        )
    return [*written, _write(folder / "index.html", "".join(parts))]


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    table = pd.read_csv(path)
    if "informed" not in table:  # written before runs were marked
        table["informed"] = table["policy"].map(task_of(path.parent.name).knows)
    return table.assign(
        **{name: table[name].astype(object).fillna("") for name in ("exact", "informed")}
    )


def _write(path: Path, text: str) -> Path:
    write_whole(path, text + "</body></html>\n")
    return path


def _image(path: str, text: str) -> str:
    return f'<p><img src="{escape(path)}" alt="{escape(text)}"></p>'


def _about(task: BenchTask) -> str:
    lists = {
        "Exact, that is, equal to published results job by job": task.exact,
        "Informed, that is, they know more than the jobs submitted so far": task.knows,
    }
    told = "".join(
        f"<p>{title}:</p><ul>{''.join(f'<li>{escape(name)}: {escape(what)}</li>' for name, what in of.items())}</ul>"
        for title, of in lists.items()
        if of
    )
    return f"<p>Jobs: {escape(task.source)}. Licence: {escape(task.licence)}.</p>{told}"


def _table(table: pd.DataFrame, task: BenchTask) -> str:
    made: str = sheet(table, task).to_html(index=False, border=0)
    return made


def picture(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """A panel a task: the ratio of each policy in the metric that orders the table, with its interval."""
    from experiments.pictures.plots import PALETTE, canvas, draw_estimates, log_ticks

    most = max(len(_first(name, table)) for name, table in tables.items())
    columns = min(COLUMNS, len(tables))
    rows_of = -(-len(tables) // columns)
    figure, axes = canvas(rows_of, columns, width=4.4, height=1.3 + 0.24 * most)
    for ax in axes[len(tables) :]:
        ax.remove()
    for ax, (name, table) in zip(axes, tables.items(), strict=False):
        task, rows = task_of(name), _first(name, table)
        at = np.arange(len(rows))
        ends = np.array([rows["ratio"] - rows["lower"], rows["upper"] - rows["ratio"]])
        is_exact, knows = (
            (rows["exact"] != "").to_numpy(),
            (rows["informed"] != "").to_numpy(),
        )
        for index, (mark, chosen, label) in enumerate(
            (
                ("o", ~is_exact & ~knows, "other policies"),
                ("s", is_exact, "equal to published results"),
                ("^", knows & ~is_exact, "informed: knows more than the jobs submitted so far"),
            )
        ):
            if chosen.any():
                draw_estimates(
                    ax, rows["ratio"][chosen], at[chosen], xerr=ends[:, chosen], marker=mark,
                    color=PALETTE[index], linestyle="none", label=label,
                )  # fmt: skip
        ax.set_yticks(at, rows["policy"])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.axvline(1, color="0.5", linewidth=0.8)
        if rows["ratio"].max() > 5 and math.isfinite(rows["ratio"].max()):
            log_ticks(ax, "x")
        once = ", one draw" if rows["lower"].isna().all() else ""
        ax.set_xlabel(f"{metric_of(task.rank[0]).words},\nover the {rows['base'].iloc[0]}{once}")
        ax.set_title(f"{name}\n{fill(task.title, 40)}", fontsize="medium")
    handles: dict[str, Any] = {}
    for ax in axes[: len(tables)]:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend([*handles.values()], [*handles], loc="outside lower right")
    return figure


def _first(name: str, table: pd.DataFrame) -> pd.DataFrame:
    return table[table["metric"] == task_of(name).rank[0]].reset_index(drop=True)
