"""`schedlab new policy`, `scenario`: a commented file to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import in_words

TEMPLATES = Path(__file__).parent / "templates"
File = Annotated[Path | None, typer.Argument(metavar="FILE", help="File to write.")]

app = typer.Typer(
    help="Write a commented file to begin with: policy, scenario.", no_args_is_help=True
)


@app.command()
@in_words
def policy(file: File = None) -> None:
    """Write a policy of your own, which runs as it is. Default: my_policy.py.

    Example: schedlab new policy my_policy.py
    """
    path = _written(
        file or Path("my_policy.py"), ".py", (TEMPLATES / "policy.py").read_text("utf-8")
    )
    print(f"{path}: run it with")
    print(
        f"  schedlab new scenario\n  schedlab run scenario.toml --policy {path}:my_policy --allow-code"
    )


@app.command()
@in_words
def scenario(file: File = None) -> None:
    """Write a scenario with the meaning of each key, which runs as it is. Default: scenario.toml.

    Example: schedlab new scenario scenario.toml
    """
    from experiments.scenario.template import template

    path = _written(file or Path("scenario.toml"), ".toml", template())
    print(f"{path}: run it with\n  schedlab run {path}")


def _written(path: Path, suffix: str, text: str) -> Path:
    """A new file, under a name that is not taken."""
    from experiments.files import write_whole
    from simulator.errors import InputError

    if path.suffix != suffix:
        raise InputError(f"{path}: expected a name that ends in {suffix}")
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: is there already, expected another name")
    if not path.parent.is_dir():
        raise InputError(f"{path}: its folder is not there, expected one that is")
    write_whole(path, text)
    return path
