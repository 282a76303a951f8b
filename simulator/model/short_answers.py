"""Decisions in the form in which the engine keeps them, for policies whose answers are large or many.

Each is a `simulator.model.contract.Decision` and gives the same run as a plain one; the engine only has
less to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.model.contract import Decision, Placement

_BLANK = object.__new__


class _InEngineForm(Decision):
    """A decision whose shares are given as the engine keeps them, so that they are not gone through.

    `dataclasses.replace` makes a plain `Decision` of one.
    """

    __slots__ = ("shares_of",)
    __init__ = object.__init__
    shares_of: dict[int, tuple[Placement, ...]]

    def __new__(
        cls, shares_of: dict[int, tuple[Placement, ...]] | None = None, **fields: Any
    ) -> Any:
        if shares_of is None:
            return Decision(**fields)
        decision = _BLANK(cls)
        _fill_shares_of(decision, shares_of)
        return decision

    def __reduce__(self) -> tuple[Any, ...]:
        return Decision, tuple(getattr(self, name) for name in Decision.__dataclass_fields__)


_fill_shares_of = _InEngineForm.__dict__["shares_of"].__set__  # past the frozen dataclass
_fill_info = Decision.__dict__["info"].__set__


class Starts(_InEngineForm):
    """A decision that starts waiting jobs on whole free GPUs of nodes of fixed types, and no more.

    For policies that place by an index of free GPUs (`policies.levels`). Where a node would give
    more than it has is found when the job starts.

    Parameters
    ----------
    shares_of : by job, in the order of their starts; one share a node.
    """

    __slots__ = ()
    keep_running, info, fractional, gpus_of, again_s = True, {}, False, None, None

    @classmethod
    def of(cls, shares_of: dict[int, tuple[Placement, ...]]) -> Starts:
        """The same as ``Starts(shares_of)``, in less time."""
        decision: Starts = _BLANK(cls)
        _fill_shares_of(decision, shares_of)
        return decision

    @property
    def placements(self) -> Sequence[Placement]:
        """All shares, job by job."""
        return [share for shares in self.shares_of.values() for share in shares]


class Moves(_InEngineForm):
    """A whole decision, given by what it changes: for plans of which most goes on as it is.

    The same as ``Decision(whole(), info=info)``, whose other jobs keep their shares. The jobs are
    active ones of this controller, on its nodes.

    Parameters
    ----------
    shares_of : by job, of those that start or change, in the order of the whole decision.
    stopped : jobs that run and are to wait, in the order of `View.running`.
    whole : all placements.
    info : as in `Decision`.
    """

    __slots__ = ("stopped", "whole")
    keep_running, fractional, gpus_of, again_s = False, False, None, None
    stopped: Sequence[int]
    whole: Callable[[], Sequence[Placement]]

    @classmethod
    def of(
        cls,
        shares_of: dict[int, tuple[Placement, ...]],
        stopped: Sequence[int],
        whole: Callable[[], Sequence[Placement]],
        info: Mapping[str, float | int | str | bool],
    ) -> Moves:
        """One with all its fields."""
        decision: Moves = cls(shares_of)
        _fill_info(decision, info)
        for name, value in (("stopped", stopped), ("whole", whole)):
            object.__setattr__(decision, name, value)
        return decision

    @property
    def placements(self) -> Sequence[Placement]:
        """All shares, also of the jobs that go on."""
        return self.whole()
