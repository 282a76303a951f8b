"""Catalogues of VM types: the papers' by name, a user's own from a CSV file."""

from __future__ import annotations

from pathlib import Path

from simulator.arguments import MOST_GPUS
from simulator.errors import InputError
from simulator.files.bundled import read_table, records
from simulator.model.cluster import NodeType
from simulator.workloads.tables import InputColumn, Table

COLUMNS = (
    InputColumn("name", "", "name of the VM type", "text", unique=True),
    InputColumn("gpu_type", "", "type of its GPUs", "text"),
    InputColumn("gpus", "", "GPUs", "integer", at_least=1, at_most=MOST_GPUS),
    InputColumn("price_per_hour", "currency/h", "price of the whole VM", "number", at_least=0),
)


def catalog_names() -> list[str]:
    """Names that `read_catalog` knows: the papers' catalogues."""
    return list(dict.fromkeys(read_table("vm_catalog.csv")["catalog"]))


def read_catalog(name: str | Path) -> tuple[NodeType, ...]:
    """A catalogue by name, or from a CSV file with the columns ``name,gpu_type,gpus,price_per_hour``.

    Names: ``hierarchical`` (nine types, Table II of the paper), ``thesis`` (with NC24X and NV24X),
    ``figure1`` (the paper's example).

    Raises InputError: an unknown name that is no file either, or the first thing wrong in the file.
    """
    table = read_table("vm_catalog.csv")
    if str(name) in set(table["catalog"]):
        rows = table.loc[table["catalog"] == str(name), [c.name for c in COLUMNS]]
        return tuple(NodeType(**row) for row in records(rows))
    path = Path(name)
    if not path.exists():
        known = ", ".join(catalog_names())
        raise InputError(f"catalogue {str(name)!r}: not known, expected {known} or a CSV file")
    return _read_csv(path)


def _read_csv(path: Path) -> tuple[NodeType, ...]:
    table = Table.read(path, COLUMNS)
    rows = zip(
        table.texts("name"),
        table.texts("gpu_type"),
        table.whole_numbers("gpus").tolist(),
        table.numbers("price_per_hour").tolist(),
        strict=True,
    )
    return tuple(NodeType(*row) for row in rows)
