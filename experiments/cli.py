"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import re
import sys
from typing import Any

import typer
from typer.exceptions import TyperException

from experiments.commands import (
    compare,
    fill,
    gantt,
    policies,
    rental,
    replay,
    reproduce,
    run,
    size_server,
    solve,
    sweeps,
)
from simulator.errors import InfeasibleDecision, InputError

app = typer.Typer(
    name="schedlab",
    help="A laboratory for GPU-cluster scheduling research.",
    epilog="Start with: schedlab policies; schedlab run examples/hierarchical.toml --out out",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

for command in (
    policies.policies,
    run.run,
    solve.solve,
    gantt.gantt,
    replay.replay,
    rental.rental,
    compare.compare,
    size_server.size_server,
    fill.fill,
    sweeps.sweep,
    sweeps.status,
    sweeps.export,
    sweeps.retry,
    reproduce.reproduce,
):
    app.command()(command)


def main() -> None:
    """Entry point: what a user did wrong is one line on stderr and exit code 2."""
    try:
        sys.exit(app(prog_name="schedlab", standalone_mode=False))
    except TyperException as error:
        told = _usage(error)
        if told:
            print(told, file=sys.stderr)
        sys.exit(error.exit_code)
    except (InputError, InfeasibleDecision) as error:
        print(f"schedlab: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _usage(error: TyperException) -> str:
    """What is wrong with options or arguments, one line; empty where help was asked for."""
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "schedlab"
    message = " ".join(error.format_message().split())
    if type(error).__name__ == "NoArgsIsHelpError":  # The help is printed already.
        return ""
    message = re.sub(r"^Invalid value for '([^']*)': (Value error, )?", r"\1: ", message)
    message = message.replace(": Input should be ", ": expected ").rstrip(".")
    return f"{command}: {message} (see {command} --help)"


if __name__ == "__main__":
    main()
