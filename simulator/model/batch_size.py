"""Batch size with which a job trains: a configuration that a performance model chooses beside the GPUs."""

from typing import NamedTuple


class BatchSize(NamedTuple):
    """A job's configuration beside its GPUs.

    Attributes
    ----------
    local : samples that a GPU takes in one pass.
    accumulation : passes whose gradients are added up before the one that synchronises.
    """

    local: int
    accumulation: int = 0
