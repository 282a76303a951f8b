"""The name of a policy, parsed: ``srtf+tune@hysteresis`` is a composition and one wrapper.

``FILE.py:NAME`` in place of a registered name is a class or function in a file. No other module takes names
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.errors import InputError
from simulator.plugins import FILE

RENAMED = {
    "ps": "weight-priority",
    "ps-shared": "weight-priority-shared",
    "@noted": "@decision-trace",
    "@parts": "@fractional",
}
"""Names of before, which are read all the same, and those of now."""

PAPERS_NAMES = frozenset({"ps", "ps-shared"})
"""Those of `RENAMED` that stay, since papers call the policies so: no note."""

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
    notes : a line for each part that has another name now.
    """

    base: str
    key: str
    ordering: str
    mechanism: str
    wrappers: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> PolicyName:
        """The parts of a name; whether they exist is not asked here.

        Raises InputError: a wrapper that stands there twice.
        """
        file, dot_py, name = text.rpartition(FILE)
        base, *behind = name.split("@")
        given = tuple(f"@{name}" for name in behind)
        wrappers = tuple(RENAMED.get(name, name) for name in given)
        for name in wrappers:
            if wrappers.count(name) > 1:
                raise InputError(f"policy {text!r}: {name} stands there twice, expected it once")
        notes = tuple(
            f"{name!r} is called {RENAMED[name]!r} now"
            for name in (base, *given)
            if name in RENAMED and name not in PAPERS_NAMES
        )
        if dot_py:
            base = f"{file}{FILE}{base}"
            return cls(base, base, "", "", wrappers, notes)
        ordering, plus, mechanism = base.partition("+")
        if plus:
            return cls(base, f"+{mechanism}", ordering, mechanism, wrappers, notes)
        return cls(base, RENAMED.get(base, base), "", "", wrappers, notes)

    @property
    def inner(self) -> str:
        """The policy without its outermost wrapper; empty where it has none."""
        return "".join((self.base, *self.wrappers[:-1])) if self.wrappers else ""
