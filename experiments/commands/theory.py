"""`schedlab theory`: formulas and single decisions, the commands of `experiments.commands.theory_commands`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import typer

from experiments.commands import theory_commands

NAMES = sorted(module.name for module in iter_modules(theory_commands.__path__))

app = typer.Typer(
    help=f"Compute formulas and single decisions: {', '.join(NAMES).replace('_', '-')}.",
    no_args_is_help=True,
)
for name in NAMES:
    app.command()(getattr(import_module(f"{theory_commands.__name__}.{name}"), name))
