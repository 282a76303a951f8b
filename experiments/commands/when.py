"""`schedlab when`: the start of a job, from a log's own past."""

from __future__ import annotations

import math
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import Kind, Settings
from simulator.errors import InputError

_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(s|min|m|h|d)?", re.ASCII)
_UNITS = {None: 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def when(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Jobs in one of the formats of docs/files.md, with recorded starts.")
    ],
    gpus: Annotated[float, typer.Option(min=0.001, max=1e6, help="GPUs that the job asks for.")] = 1,
    time: Annotated[str, typer.Option(metavar="TIME", help="Time limit that it asks for: 8h, 30min, 2d, or seconds.")] = "",
    partition: Annotated[str, typer.Option(help="Partition, queue or virtual cluster.")] = "",
    user: Annotated[str, typer.Option(help="User.")] = "",
    at: Annotated[
        str,
        typer.Option(metavar="TIME", help="When it is submitted: a date and time, or seconds on the clock of the log. Default: after the last job."),
    ] = "",
    kind: Kind = None,
    settings: Settings = None,
) -> None:  # fmt: skip
    """Estimate when a job would start: median and interval, and how often such intervals held for the log's last jobs.

    Example: schedlab when jobs.swf --gpus 4 --time 8h
    """
    from experiments.analysis.trace import read_trace
    from experiments.commands.progress import shown
    from experiments.starts.answer import answer, lines
    from experiments.starts.history import History, Request
    from experiments.text import printable

    asked_s = seconds_of(time) if time else math.nan
    workload, _, _ = read_trace(log, kind, settings or [])
    for note in workload.notes:
        print(f"schedlab: note: {printable(note)}", file=sys.stderr)
    history = History.of(workload, str(log))
    at_s = time_of(at, history.origin_s) if at else None
    done = [0, 1]

    def told(now: int, of_all: int) -> None:
        done[:] = now, of_all

    with shown(lambda: f"{done[0]} of {done[1]} parts of the measurement are done"):
        found = answer(history, Request(gpus, asked_s, partition, user), at_s, told)
    print("\n".join(printable(line) for line in lines(found)))


def seconds_of(text: str) -> float:
    """Seconds of "8h", "30 min", "2d" or "3600"; raises InputError: another text, or no time."""
    found = _SPAN.fullmatch(text.strip())
    if not found or float(found[1]) <= 0:
        raise InputError(f"--time: got {text!r}, expected a time such as 8h, 30min, 2d or 3600")
    return float(found[1]) * _UNITS[found[2]]


def time_of(text: str, origin_s: float) -> float:
    """Seconds on the clock of a log; raises InputError: neither a number nor a date, or a date where the log has none."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--at: got {text!r}, expected a date and time, or seconds") from None
    if date.tzinfo is not None:
        raise InputError(
            f"--at: got {text!r}, expected a time without a zone, as clocks of the site show it"
        )
    if math.isnan(origin_s):
        raise InputError(f"--at: got {text!r}, expected seconds: the log has no dates")
    return date.replace(tzinfo=UTC).timestamp() - origin_s
