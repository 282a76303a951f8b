"""The folder of a comparison: its tables, the answer in words, and pictures, beside its run database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.comparison.answer import latex_of, text_of
from experiments.files import replacing, write_whole

if TYPE_CHECKING:
    from experiments.comparison.answer import Comparison


def write_comparison(found: Comparison, folder: Path) -> Iterator[Path]:
    """Write the files of a comparison; yields their paths.

    answer.txt: what the command prints. comparison.csv, .parquet: the estimates. ranks.csv: ranks. runs.csv: one
    row a run. excluded.csv: policies that cannot run. comparison.tex: tables for LaTeX. Pictures as SVG.
    """
    from experiments.comparison.pictures import pictures_of
    from experiments.pictures.saving import save_picture

    yield _written(folder / "answer.txt", text_of(found) + "\n")
    yield _written(folder / "comparison.tex", latex_of(found))
    tables = {"comparison": found.shown, "ranks": found.ranks, "runs": found.runs}
    tables |= {"bounds": found.bounds, "excluded": found.excluded}
    for name, table in tables.items():
        if len(table):
            text = table.to_csv(index=False, float_format="%.9g", lineterminator="\n")
            yield _written(folder / f"{name}.csv", text)
    with replacing(folder / "comparison.parquet") as file:
        found.shown.to_parquet(file, index=False)
    yield folder / "comparison.parquet"
    for name, figure in pictures_of(found):
        save_picture(figure, folder / f"{name}.svg")
        yield folder / f"{name}.svg"


def _written(path: Path, text: str) -> Path:
    write_whole(path, text)
    return path
