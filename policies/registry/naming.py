"""The name of a policy, parsed: ``srtf+tune@hysteresis`` is a composition and one wrapper.

``FILE.py:NAME`` in place of a registered name is a class or function in a file. No other module takes names
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from simulator.errors import InputError
from simulator.plugins import FILE

PAPERS_NAMES = {"ps": "weight-priority", "ps-shared": "weight-priority-shared"}
"""Names that papers have for a policy, and those under which it is registered."""

Kind = Literal["policy", "mechanism", "wrapper"]


def kind_of(key: str) -> Kind:
    """Kind of a registered name: ``greedy``, ``+tune``, ``@hysteresis``."""
    if key.startswith("+"):
        return "mechanism"
    return "wrapper" if key.startswith("@") else "policy"


@dataclass(frozen=True)
class PolicyName:
    """A policy's name as a structure.

    Attributes
    ----------
    base : the policy that decides, as it was asked for.
    key : the name under which it is registered: ``greedy``; ``+tune`` of a composition such as ``srtf+tune``;
        the ``base`` itself where it names a file.
    ordering, mechanism : the parts of a composition, ``srtf`` and ``tune``; else empty.
    wrappers : registered names of the wrappers, the innermost first, each with its ``@``.
    """

    base: str
    key: str
    ordering: str
    mechanism: str
    wrappers: tuple[str, ...]

    @classmethod
    @cache
    def parse(cls, text: str) -> PolicyName:
        """The parts of a name; whether they exist is not asked here.

        Raises InputError: a wrapper that stands there twice.
        """
        file, dot_py, name = text.rpartition(FILE)
        base, *behind = name.split("@")
        wrappers = tuple(f"@{name}" for name in behind)
        for name in wrappers:
            if wrappers.count(name) > 1:
                raise InputError(f"policy {text!r}: {name} stands there twice, expected it once")
        if dot_py:
            base = f"{file}{FILE}{base}"
            return cls(base, base, "", "", wrappers)
        ordering, plus, mechanism = base.partition("+")
        if plus:
            return cls(base, f"+{mechanism}", ordering, mechanism, wrappers)
        return cls(base, PAPERS_NAMES.get(base, base), "", "", wrappers)

    @property
    def inner(self) -> str:
        """The policy without its outermost wrapper; empty where it has none."""
        return "".join((self.base, *self.wrappers[:-1])) if self.wrappers else ""
