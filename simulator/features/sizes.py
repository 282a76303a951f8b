"""Sizes of what was made for some jobs and nodes."""

from __future__ import annotations

from collections.abc import Sized

from simulator.errors import InputError


def expect_length(name: str, values: Sized, wanted: int, what: str) -> None:
    """Raise `InputError` where there are fewer values than jobs, or nodes."""
    if len(values) < wanted:
        raise InputError(f"{name}: made for {len(values)} {what}, expected {wanted}")
