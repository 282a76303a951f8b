"""The two ways in which the greedy family's kernels are compiled.

Both are serial, release the GIL and are kept on disk (in ``__pycache__`` beside the source), so
they are compiled once after an installation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def allocating(function: F) -> F:
    """Compile a function that makes arrays."""
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled(function: F) -> F:
    """Compile a function that makes none.

    It goes without numba's runtime, which counts references to arrays: on the hot path the
    atomic counting took half of the time.
    """
    return cast(F, njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function))
