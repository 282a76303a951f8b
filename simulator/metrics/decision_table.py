"""Tables of decisions: when, over how many jobs, notes of the policy; and, apart, measured CPU times.

CPU times differ from run to run. They have a table of their own, so that all other tables are a function of
scenario and seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulator.core.logs import Facts
from simulator.schema import Column, ColumnData, ColumnType, Derived, Schema, Values

if TYPE_CHECKING:
    import pyarrow as pa

MEASURED = ("cpu_s", "wall_s")
"""Endings of the names of measured times, also among the notes of policies."""


class Decisions(NamedTuple):
    """Columns of some decisions in order; ``again_s`` and ``cpu_s`` are None where the run has none."""

    time_s: Values
    controller: Values
    active: Values
    again_s: Values | None
    cpu_s: Values | None


DECISIONS: Schema[Decisions] = Schema(
    "decisions",
    "a decision of a controller, in order of time",
    (
        Derived("time_s", "s", "when it was asked for", "number"),
        Derived("controller", "", "controller, counted from 0", "integer"),
        Derived("active", "", "jobs of the controller that wait or run", "integer"),
        Derived("again_s", "s", "after how long the policy asked to be asked again", "number",
                when="a policy asks for a wake-up"),
    ),
    named_by_run=(
        Column(
            "*NAME*", "", "a number, text or truth value that the policy notes of a decision "
            "(`Decision.info`), under the name that the policy gives", "number",
        ),
    ),
)  # fmt: skip

TIMING: Schema[Decisions] = Schema(
    "timing",
    "a decision, in the order of the table of decisions",
    (
        Derived("time_s", "s", "when it was asked for", "number"),
        Derived("controller", "", "controller, counted from 0", "integer"),
        Derived("cpu_s", "s", "CPU time of the policy", "number"),
    ),
    when="the CPU time of decisions is measured (`schedlab run --timing`, or a server with measured times)",
    named_by_run=(
        Column("*NAME*_cpu_s", "s", "a CPU time that the policy notes, for example of a solver", "number"),
    ),
)  # fmt: skip

RESERVED = frozenset((*DECISIONS.names, *TIMING.names))
"""Names of the engine's columns; a note of the same name has ``_told`` after it."""


def is_measured(name: str) -> bool:
    """True where values of this name are measured times, which differ from run to run."""
    return name.endswith(MEASURED)


def note_types(
    notes: Iterable[Facts], known: Mapping[str, ColumnType] | None = None
) -> dict[str, ColumnType]:
    """The type of each note, in order of first appearance; mixed ones are texts.

    Parameters
    ----------
    known : of earlier decisions.
    """
    found = dict(known or {})
    for told in notes:
        for name, value in told.items():
            kind = _type_of(value)
            found[name] = _common(found.get(name, kind), kind)
    return found


def _type_of(value: object) -> ColumnType:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, Integral):
        return "integer"
    return "number" if isinstance(value, Real) else "text"


def _common(one: ColumnType, other: ColumnType) -> ColumnType:
    if one == other:
        return one
    return "number" if {one, other} == {"integer", "number"} else "text"


def decisions_table(
    decisions: Decisions, notes: Mapping[int, Facts], types: Mapping[str, ColumnType]
) -> pa.Table:
    """The table of decisions, with the notes of the policy.

    Parameters
    ----------
    notes : by row; a row without any is absent.
    types : of all notes of the run (`note_types`).
    """
    return DECISIONS.table(decisions, _note_columns(decisions, notes, types, measured=False))


def timing_table(
    decisions: Decisions, notes: Mapping[int, Facts], types: Mapping[str, ColumnType]
) -> pa.Table:
    """The table of measured CPU times; parameters as of `decisions_table`."""
    return TIMING.table(decisions, _note_columns(decisions, notes, types, measured=True))


def _note_columns(
    decisions: Decisions,
    notes: Mapping[int, Facts],
    types: Mapping[str, ColumnType],
    *,
    measured: bool,
) -> Iterator[ColumnData]:
    """The notes as columns, those of measured times or the others; None in rows without them."""
    for name, kind in types.items():
        if is_measured(name) is not measured:
            continue
        values: list[Any] = [None] * len(decisions.time_s)
        for row, told in notes.items():
            value = told.get(name)
            values[row] = value if value is None or kind != "text" else str(value)
        title = f"{name}_told" if name in RESERVED else name
        yield ColumnData(Column(title, "", "note of the policy", kind), values)
