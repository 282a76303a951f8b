"""Catalogues of VM types: the papers' by name, a user's own from a CSV file."""

from __future__ import annotations

from pathlib import Path

from simulator.datafiles import read_table, records
from simulator.errors import InputError
from simulator.model.cluster import NodeType
from simulator.workloads.tables import Table

COLUMNS = ("name", "gpu_type", "gpus", "price_per_hour")


def catalog_names() -> list[str]:
    """Names that `read_catalog` knows: the papers' catalogues."""
    return list(dict.fromkeys(read_table("vm_catalog.csv")["catalog"]))


def read_catalog(name: str | Path) -> tuple[NodeType, ...]:
    """A catalogue by name, or from a CSV file with the columns ``name,gpu_type,gpus,price_per_hour``.

    Names: ``hierarchical`` (nine types, Table II of the paper), ``thesis`` (with NC24X and NV24X),
    ``figure1`` (the paper's example).

    Raises
    ------
    InputError
        An unknown name that is no file either, or the first thing wrong in the file.
    """
    table = read_table("vm_catalog.csv")
    if str(name) in set(table["catalog"]):
        rows = table.loc[table["catalog"] == str(name), list(COLUMNS)]
        return tuple(NodeType(**row) for row in records(rows))
    path = Path(name)
    if not path.exists():
        known = ", ".join(catalog_names())
        raise InputError(f"catalogue {str(name)!r}: not known, expected {known} or a CSV file")
    return _read_csv(path)


def _read_csv(path: Path) -> tuple[NodeType, ...]:
    table = Table.read(path, required=COLUMNS)
    names = table.texts("name", unique=True)
    gpu_types = table.texts("gpu_type")
    gpus = table.whole_numbers("gpus", at_least=1)
    prices = table.numbers("price_per_hour", at_least=0)
    return tuple(
        NodeType(n, u, int(g), float(p))
        for n, u, g, p in zip(names, gpu_types, gpus, prices, strict=True)
    )
