"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from experiments.commands import (
    bench,
    classroom,
    compare,
    imports,
    new,
    policies,
    progress,
    questions,
    reproduce,
    run,
    show,
    sweep,
    theory,
    validate,
    when,
)
from experiments.commands.options import in_words
from experiments.threads import ONE_THREAD, quiet_numbers
from simulator import __version__
from simulator.errors import InfeasibleDecision, InputError, shortened

NO_KERNELS = "no locator available for file"
"""Message of numba where it finds no folder for compiled code."""
COMPLETION = (["--install-completion"], ["--show-completion"])

app = typer.Typer(
    name="schedlab",
    help="A laboratory for GPU-cluster scheduling research.",
    epilog="Start with: schedlab new scenario; schedlab run scenario.toml; schedlab show gantt out",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
PANELS: dict[str, tuple[Callable[..., None] | tuple[str, typer.Typer], ...]] = {
    "Simulate": (run.run, compare.compare, ("sweep", sweep.app), reproduce.reproduce),
    "Look": (("show", show.app), policies.policies),
    "Ask": (validate.validate, questions.size, questions.whatif, when.when),
    "Compare with others": (("bench", bench.app),),
    "Calculate": (("theory", theory.app), compare.bound),
    "Begin and teach": (
        ("new", new.app),
        ("import", imports.app),
        classroom.classroom,
        classroom.notebook,
    ),
}
for panel, commands in PANELS.items():
    for command in commands:
        if isinstance(command, tuple):
            app.add_typer(command[1], name=command[0], rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel)(in_words(command))
WITH_PROGRESS = (
    "run",
    "compare",
    "bench",
    "size",
    "whatif",
    "validate",
    "when",
    "sweep",
    "reproduce",
    "classroom",
    "notebook",
)
"""Commands that show by themselves how far they are."""


def _version(asked: bool) -> None:
    if asked:
        print(f"schedlab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", help="Print the version.", callback=_version, is_eager=True
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", metavar="", help="Show where an error comes from, also after a command."
        ),
    ] = False,
) -> None:
    """A laboratory for GPU-cluster scheduling research."""


def main() -> None:
    """Entry point: whatever goes wrong is one line on stderr, and a traceback with ``--debug``.

    Exit codes: 2 for what a user did wrong, 1 for what failed, 141 where nobody reads the output.
    """
    os.environ.update(ONE_THREAD | os.environ)
    words = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(words) < len(sys.argv) - 1
    for name in ("stdout", "stderr"):  # closed by the caller: what is printed is lost, no more
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        code = _run(words, debug)
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):  # nobody reads the output, or it is closed
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 141
    sys.exit(code)


def _run(words: list[str], debug: bool) -> int:
    """Carry out a command; returns the exit code."""
    try:
        waiting = (
            contextlib.nullcontext()
            if words[:1] and words[0] in WITH_PROGRESS
            else progress.shown()
        )
        with waiting, warnings.catch_warnings():
            quiet_numbers()
            return int(app(words, prog_name="schedlab", standalone_mode=False) or 0)
    except TyperException as error:
        found = _usage(error)
        _complain(found, error if debug and found else None)
        return error.exit_code
    except (InputError, InfeasibleDecision) as error:
        further = getattr(error, "__notes__", [])  # the next rows that cannot be read
        _complain(f"schedlab: {error}", error if debug else None)
        for note in () if debug else further:
            _complain(f"schedlab: {note}")
        return 2
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        _complain("schedlab: interrupted")
        return 130
    except SystemExit as error:
        if "_SCHEDLAB_COMPLETE" in os.environ or words[:1] in COMPLETION:
            return int(error.code or 0)
        if isinstance(error.__context__, BrokenPipeError):  # as rich ends where nobody reads
            return 141
        _complain(
            f"schedlab: a policy or another package ended the process (exit code {error.code}) "
            "before there was a result",
            error if debug else None,
        )
        return 1
    except Exception as error:
        _complain(f"schedlab: {_described(error)}; --debug shows where", error if debug else None)
        theirs = isinstance(error, OSError | MemoryError) or NO_KERNELS in str(error)
        return 2 if theirs else 1


def _described(error: Exception) -> str:
    """An error that no part of schedlab has foreseen, in words."""
    from experiments.text import one_line

    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if NO_KERNELS in str(error):
        return (
            "the compiled kernels cannot be kept: neither the folder of the package nor the user's "
            "cache folder can be written; set NUMBA_CACHE_DIR to a folder that can be"
        )
    if isinstance(error, MemoryError):
        return f"not enough memory ({one_line(error) or 'the input is too large'})"
    first: BaseException = error
    while first.__cause__ is not None:  # SimPy raises anew what a process raised
        first = first.__cause__
    at = traceback.extract_tb(first.__traceback__)[-1]
    place = "; ".join(
        [f"{Path(at.filename).name}, line {at.lineno}", *getattr(error, "__notes__", ())]
    )
    return f"unexpected {type(error).__name__}: {one_line(error)} ({place})"


def _complain(message: str, error: BaseException | None = None) -> None:
    """One line on stderr that a terminal can show, after the traceback where one is wanted."""
    from experiments.text import printable

    with contextlib.suppress(OSError, ValueError, AttributeError):
        if error is not None:
            traceback.print_exception(error)
        if message:
            print(printable(shortened(" ".join(message.split("\n")))), file=sys.stderr)


def _usage(error: TyperException) -> str:
    """The fault of options or arguments, one line; empty where help was asked for."""
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "schedlab"
    message = " ".join(error.format_message().split())
    if type(error).__name__ == "NoArgsIsHelpError":  # The help is printed already.
        return ""
    message = re.sub(r"^Invalid value for '([^']*)': (Value error, )?", r"\1: ", message)
    faults: list[Any] = getattr(error.__cause__, "errors", list)()
    got = f"got {faults[0]['input']}, " if faults else ""
    message = message.replace(": Input should be ", f": {got}expected ").rstrip(".")
    return f"{command}: {message} (see {command} --help)"


if __name__ == "__main__":
    main()
