"""`schedlab explain`: the history of one job of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def explain(
    folder: Annotated[Path, typer.Argument(help="Folder of a run (schedlab run --out).")],
    job: Annotated[str, typer.Argument(help="The job_id of the job.")],
) -> None:
    """The history of one job: when it waited, who passed it, where it ran.

    Example: schedlab explain out j17
    """
    from experiments.analysis.explain import explain as history

    for line in history(folder, job):
        print(line)
