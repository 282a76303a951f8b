"""Options that several commands share, and help in users' words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

Out = Annotated[Path, typer.Option(help="Folder for the results. It is made if it does not exist.")]
Source = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Scenario (TOML); or jobs in one of the formats of docs/files.md, with --nodes.",
    ),
]
NodeCount = Annotated[
    int | None, typer.Option("--nodes", min=1, help="Number of nodes: cluster.num_nodes.")
]
GpuCount = Annotated[
    int | None,
    typer.Option("--gpus", min=1, help="GPUs of each node: cluster.gpus_per_node. Default: 8."),
]
Kind = Annotated[
    str | None, typer.Option(help="Format of the jobs. Default: recognised from the file.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Worker processes. Default: one for each core.")
]


def _allowed(given: bool) -> bool:
    if given:
        from simulator.plugins import allow_code

        allow_code()
    return given


AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        callback=_allowed,
        help="Run code of files that are named here, for example policies. It has your rights: see SECURITY.md.",
    ),
]
Dask = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, or local; needs the extra 'dask'.")
]
Figure = Annotated[Path | None, typer.Option(help="Also draw the table (.png, .svg or .pdf).")]
Precision = Annotated[
    str | None,
    typer.Option(
        help="Make more runs until half of the interval is at most this part of the mean, e.g. 1%."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME,..",
        help="Numbers that the tables show, in this order: names of summary.json with commas between them, "
        "e.g. mean_jct_s,p95_total_wait_s.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=VALUE",
        help="Of a sweep: the run with this label, e.g. seed=1. Can be given more than once.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Another value of any key of a scenario, e.g. decisions.round_s=300 or "
        "policy_options.iterations=50. Can be given more than once; KEY= removes a key.",
    ),
]
POLICY = (
    "NAME, or FILE.py:NAME of your own (with --allow-code). Write options after it, NAME:OPTION=VALUE,.., and a name for "
    "tables and pictures before it, LABEL=NAME."
)
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        help=f"{POLICY} Default: that of the scenario; easy-backfill for a file of jobs.",
        metavar="POLICY",
    ),
]
WORDS = {bool: "", int: "N", float: "NUMBER", Path: "PATH", str: "TEXT"}
"""Values of options in the help, by type."""


Function = TypeVar("Function", bound=Callable[..., Any])


def in_words(command: Function) -> Function:
    """The command, whose help names values of options in words, and has every [bracket] of its texts."""
    command.__doc__ = _with_brackets(_with_whole_paragraphs(command.__doc__ or ""))
    command.__annotations__ = get_type_hints(command, include_extras=True)
    for hint in command.__annotations__.values():
        annotated, *infos = get_args(hint) or (hint,)
        for info in infos:
            if isinstance(info, ParameterInfo):
                info.help = _with_brackets(info.help)
            if isinstance(info, OptionInfo) and info.metavar is None:
                kinds = (annotated, *get_args(annotated))
                info.metavar = next((WORDS[kind] for kind in kinds if kind in WORDS), None)
    return command


def _with_whole_paragraphs(text: str) -> str:
    """A text that has no line breaks but those between paragraphs: rich would keep them at any width."""
    return re.sub(r"(?<=\S)\n *(?=\S)(?!Example:)", " ", text)


def _with_brackets(text: str | None) -> str | None:
    """A text that rich shows as it is: a [word] alone would be a style, and vanish."""
    return text and re.sub(r"(?<!\\)\[", r"\\[", text)


ValidationFile = Annotated[
    Path | None,
    typer.Option(
        "--validation",
        metavar="FILE",
        help="validation.json of `schedlab validate` on these jobs: start from the cluster that `validate` fitted, and widen "
        "the intervals by its error.",
    ),
]
