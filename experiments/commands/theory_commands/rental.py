"""`schedlab theory rental`: optimal fixed widths of rented GPUs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import AllowCode, in_words


@in_words
def rental(
    types: Annotated[Path, typer.Argument(help="Types of jobs (TOML): rate, mean size, speed-up.")],
    budgets: Annotated[str, typer.Option(help="Time-average GPUs, comma-separated: 0.8,1,2,5.")],
    allow_code: AllowCode = False,
) -> None:
    """Compute the optimal fixed widths and mean response times at each budget, as CSV on stdout.

    Example: schedlab theory rental examples/rental_figure1.toml --budgets 0.8,1,2,5
    """
    from experiments.papers.rental.frontier import rental_csv

    text, notes = rental_csv(types, budgets, allow_code=allow_code)
    for note in notes:
        print(f"schedlab: note: {note}", file=sys.stderr)
    print(text, end="")
