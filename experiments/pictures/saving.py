"""A picture at the place that a user names: written whole or not at all, the same run the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.files import replacing
from simulator.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Kinds of picture, and what is left out of each so that the same run gives the same picture."""


def check_kind(path: Path, what: str = "--out") -> None:
    """`InputError` for a name that does not say what kind of picture it is."""
    if path.suffix.lower() not in METADATA:
        raise InputError(
            f"{what} {path}: ends in {path.suffix!r}, expected one of {', '.join(METADATA)}"
        )


def save_picture(drawing: Drawing, path: Path) -> None:
    """Write the drawing and close it.

    Raises
    ------
    InputError
        The file cannot be written; one line.
    """
    import matplotlib.pyplot as plt

    kind = path.suffix.lower()
    try:
        # Names of parts of an SVG are random without a salt.
        with replacing(path) as file, plt.rc_context({"svg.hashsalt": "schedlab"}):
            drawing.savefig(file, format=kind[1:], dpi=130, metadata=METADATA[kind])
    except OSError as error:
        raise InputError(f"--out {path}: cannot be written ({error.strerror})") from None
    finally:
        plt.close(drawing)
