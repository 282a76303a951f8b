"""Names that a user gives with commas between them: columns of a table, and metrics."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.errors import InputError, meant


def names_of(text: str | None, option: str) -> list[str]:
    """The names of an option, in their order; none where it is not given.

    Raises
    ------
    InputError
        A name is empty, or stands twice.
    """
    names = [] if text is None else [name.strip() for name in text.split(",")]
    for place, name in enumerate(names):
        if not name:
            raise InputError(
                f"{option}: got an empty name in {text!r}, expected names with commas between them"
            )
        if name in names[:place]:
            raise InputError(f"{option}: got {name!r} twice, expected different names")
    return names


def expect_known(names: Sequence[str], known: Sequence[str], option: str, where: str) -> None:
    """Raise InputError at the first name that is not known, with the nearest ones.

    Parameters
    ----------
    where : where all of them are listed, for the message: "in summary.json".
    """
    for name in names:
        if name not in known:
            raise InputError(f"{option}: got {name!r}, {meant(name, known, where)}")
