"""Runs of the papers, listed once for all tests of a process: files of sweeps are read for it."""

import functools
from collections.abc import Sequence
from typing import Any

from experiments.sweep.task import Task


@functools.cache
def listed(tasks: Any, scale: str) -> Sequence[Task]:
    """The runs that a function lists at a scale; of a page, or of a part of it."""
    return tuple(tasks(scale))
