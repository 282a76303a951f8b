"""Functions that a file may name.

A sweep file and the run database of a sweep are data: they may come from somebody else. The function
that they name is called, so it has to be one of schedlab's own, one that an installed package has
registered, or the user allows code explicitly (``--allow-code``).

    [project.entry-points."schedlab.functions"]
    my-model = "my_package.my_module:run"
"""

from __future__ import annotations

from collections.abc import Iterable

from experiments.sweep.task import Outcome, resolve
from simulator import plugins
from simulator.errors import InputError
from simulator.plugins import installed

ENTRY_POINTS = "schedlab.functions"
OWN = "experiments."


def expect_trusted(functions: Iterable[str], where: str, *, allow_code: bool) -> None:
    """Raise InputError for a function that nobody vouches for; nothing of it is imported.

    Parameters
    ----------
    functions : as ``package.module:name``.
    where : what names them, for the message.
    """
    if allow_code:
        plugins.allow_code()  # also for policies in files, and in worker processes
        return
    registered = {entry.value for entry in installed(ENTRY_POINTS)}
    for function in dict.fromkeys(functions):
        if function not in registered and not _is_own_task(function):
            raise InputError(
                f"{where}: function: got {function!r}, which would run code that is not schedlab's; "
                f"expected --allow-code, or a function registered as {ENTRY_POINTS}"
            )


def _is_own_task(function: str) -> bool:
    """Whether this is a task function of schedlab: one that returns an `Outcome`."""
    if not function.startswith(OWN):
        return False
    returned = getattr(resolve(function), "__annotations__", {}).get("return")
    return returned in (Outcome, "Outcome")
