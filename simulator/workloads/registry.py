"""All kinds of workload: their tables in a scenario file, formats of files among them.

A package adds a kind by an entry point, which names it:

    [project.entry-points."schedlab.workloads"]
    day-and-night = "my_package:DayAndNight"       # a `simulator.workloads.table.WorkloadTable`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator
from pydantic_core.core_schema import no_info_plain_validator_function, tagged_union_schema

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.plugins import installed, table_of
from simulator.workloads.cells import beginning
from simulator.workloads.kinds import FORMATS, KINDS
from simulator.workloads.table import Setting, WorkloadTable
from simulator.workloads.trace import Trace

GROUP = "schedlab.workloads"
"""Entry points of kinds of workload."""


def kind_of(name: str) -> type[WorkloadTable] | None:
    """The table of a kind; None: there is no such kind."""
    return _loaded(name) if name in KINDS else _of_packages().get(name)


@cache
def _loaded(name: str) -> type[WorkloadTable]:
    """The table of a kind that is here."""
    module, _, cls = KINDS[name].partition(":")
    found: type[WorkloadTable] = getattr(import_module(module), cls)
    return found


@cache
def _of_packages() -> dict[str, type[WorkloadTable]]:
    """Kinds of packages by name."""
    return {
        entry.name: table_of(entry, WorkloadTable, kind=(Literal[entry.name], entry.name))
        for entry in installed(GROUP)
        if entry.name not in KINDS
    }


@cache
def kinds() -> Mapping[str, type[WorkloadTable]]:
    """All kinds by name, those of packages behind the others."""
    return {name: _loaded(name) for name in KINDS} | _of_packages()


@cache
def formats() -> Mapping[str, type[Trace]]:
    """The kinds that are formats of files of jobs."""
    found = {name: _loaded(name) for name in FORMATS} | _of_packages()
    return {name: table for name, table in found.items() if issubclass(table, Trace)}


@dataclass(frozen=True)
class OfKind:
    """Marks a key that holds a table of some kind; only the class of the kind that is named is loaded.

    It is else what pydantic makes of a union of all kinds with the discriminator ``kind``.

    Parameters
    ----------
    names : those of the kinds that are here.
    known : all that may be named, by name.
    """

    names: Sequence[str]
    known: Callable[[], Mapping[str, type[WorkloadTable]]]

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_plain_validator_function(self._table)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self._all().core_schema)

    def _table(self, value: Any) -> Any:
        name = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
        if isinstance(name, str) and name in self.names:
            return _validator(name).validate_python(value)
        return self._all().validate_python(value)

    def _all(self) -> TypeAdapter[Any]:
        tables: Any = reduce(or_, self.known().values())
        return TypeAdapter(Annotated[tables, Field(discriminator="kind")])


@cache
def _validator(name: str) -> SchemaValidator:
    """Validator of one kind of table; its errors have the name in their location, as those of a union have."""
    table = _loaded(name)
    table.model_rebuild()
    choices = {name: table.__pydantic_core_schema__}
    return SchemaValidator(tagged_union_schema(choices, discriminator="kind"))


AnyTrace = Annotated[Trace, OfKind(tuple(FORMATS), formats)]
"""A file of jobs in any format."""

AnyJobs = Annotated[WorkloadTable, OfKind(tuple(KINDS), kinds)]
"""Jobs of any kind."""


def recognised(path: Path) -> str:
    """The format of a file of jobs, by its first lines; ``instance`` for a folder, ``csv`` in doubt.

    Raises
    ------
    InputError
        No such file, or JSON of no format.
    """
    if path.is_dir():
        return "instance"
    text = beginning(path, "a file of jobs")
    alike = {name: table.likeness(text) for name, table in formats().items()}
    best = max(alike, key=lambda name: (alike[name], name == "csv"))
    if alike[best] >= 0.5:
        return best
    if text[:1] in ("[", "{"):
        keys = ", ".join(dict.fromkeys(re.findall(r'"([^"\n]{1,40})"\s*:', text[:10_000])[:8]))
        raise InputError(
            f"{path}: JSON with the keys {keys or 'of none'}: no format of jobs is recognised; formats: "
            f"{', '.join(alike)}"
        )
    return "csv"  # whose reader says what is missing


def read_jobs(path: str | Path, kind: str | None = None) -> Workload:
    """The jobs of a file, in the format that is recognised where ``kind`` is None.

    Raises
    ------
    InputError
        No such file or format, or a mistake in the file; one line.
    """
    made = table_for(Path(path), kind).make(Setting())
    return made[0] if isinstance(made, tuple) else made


def table_for(path: Path, kind: str | None = None) -> WorkloadTable:
    """The table of a file of jobs, of the format that is recognised where ``kind`` is None.

    Raises
    ------
    InputError
        No such file or format.
    """
    known: Mapping[str, type[WorkloadTable]] = {**formats(), "instance": _loaded("instance")}
    if kind is not None and kind not in known:
        raise InputError(f"kind: got {kind!r}, expected one of {', '.join(known)}")
    return known[kind or recognised(path)](path=str(path))  # type: ignore[call-arg]
