"""`schedlab import slurm`, `kueue`: settings of a scheduler in use as a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.options import in_words

if TYPE_CHECKING:
    from experiments.importing import Imported

app = typer.Typer(
    help="Write a scenario from the settings of a scheduler: slurm, kueue.", no_args_is_help=True
)
Jobs = Annotated[
    str, typer.Option(help="File of jobs that the scenario names, as seen from its folder.")
]
Out = Annotated[Path, typer.Option(help="Scenario to write.")]


@app.command()
@in_words
def slurm(
    conf: Annotated[
        Path,
        typer.Argument(
            metavar="SLURM.CONF", help="slurm.conf, or the output of scontrol show node or sinfo."
        ),
    ],
    qos: Annotated[
        Path | None, typer.Argument(metavar="QOS", help="Output of sacctmgr -P show qos.")
    ] = None,
    assoc: Annotated[
        Path | None,
        typer.Option(
            help="Output of sacctmgr -P show assoc: limits of users, or of accounts where users have none."
        ),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            help="Output of sacctmgr -P show event: outages of nodes, written beside the scenario as NAME-outages.csv."
        ),
    ] = None,
    jobs: Jobs = "jobs.csv",
    out: Out = Path("scenario.toml"),
) -> None:
    """Write a scenario from slurm.conf: nodes, backfilling, priorities, limits, outages; what is not used is listed.

    Nodes and partitions alone: scontrol show node, or sinfo -N -o "%P %N %c %m %G", into a file in its place.

    Example: schedlab import slurm slurm.conf qos.txt

    Example: schedlab import slurm slurm.conf qos.txt --assoc assoc.txt --events events.txt --jobs sacct.txt
    """
    from experiments.importing import from_slurm

    _write(from_slurm(conf, qos, jobs, assoc, events, out), out)


@app.command()
@in_words
def kueue(
    queues: Annotated[Path, typer.Argument(metavar="QUEUES.YAML", help="ClusterQueues.")],
    gpus_per_node: Annotated[int, typer.Option(min=1, max=10_000, help="GPUs of a node.")] = 8,
    jobs: Jobs = "jobs.csv",
    out: Out = Path("scenario.toml"),
) -> None:
    """Write a scenario from Kueue's ClusterQueues: quotas, borrowing, reclaim; what is not used is listed.

    Example: schedlab import kueue queues.yaml
    """
    from experiments.importing import from_kueue

    _write(from_kueue(queues, jobs, gpus_per_node, out), out)


def _write(made: Imported, out: Path) -> None:
    from experiments.commands.new import _written
    from experiments.text import printable
    from simulator.errors import InputError

    text = made.checked()
    for file in made.files:
        if file.exists() or file.is_symlink():
            raise InputError(f"{file}: is there already, expected another name of --out")
    path = _written(out, ".toml", text)
    for file, content in made.files.items():
        _written(file, ".csv", content)
    for each in made.unused:
        print(f"not used: {printable(' '.join(each.split()))}")
    print(f"{path}: run it with\n  schedlab run {path}")
