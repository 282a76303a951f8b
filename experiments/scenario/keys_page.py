"""Page docs/keys.md, made from the schemas of scenarios, sweeps and files of job types.

python -m experiments.scenario.keys_page > docs/keys.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from experiments.config import described, toml_value
from experiments.scenario.schema import Scenario
from experiments.sweep.sweepfile import SweepFile
from simulator.features import registry
from simulator.workloads.job_types import TypesConfig

BEGIN = """\
# Keys

This page lists the keys of scenario files, sweep files and files of job types. `make pages` makes it from their schemas. [Scenario files](scenarios.md) says how they go together.

- *required*: the key must be given. A key without a default may be left out; its meaning says what holds then.
- A *law* is written as `exponential:40` or `lognormal:40,cv=2` ([laws](scenarios.md#laws)).
- Names of files are relative to the folder of the file that names them.
- `--set TABLE.KEY=VALUE` sets any key of a scenario, for example `--set cluster.num_nodes=8`.
"""

UNITS = {
    "_s": "s",
    "_h": "h",
    "_gb": "GB",
    "_w": "W",
    "_per_h": "1/h",
    "jobs_per_hour": "1/h",
    "price_per_hour": "currency/h",
    "price_per_gpu_hour": "currency/h",
    "prices": "currency/h",
}
"""Units by the end of a key, the longest last."""


def page() -> str:
    """The page as Markdown."""
    parts = [BEGIN]
    for model, title in (
        (Scenario, "Scenario"),
        (SweepFile, "Sweep file"),
        (TypesConfig, "File of job types"),
    ):
        parts += _sections(model, title)
    return "\n".join(parts)


def _sections(model: type[BaseModel], title: str) -> Iterator[str]:
    """The file's own keys, then those of its tables, each model once."""
    schema = model.model_json_schema()
    keys = schema["properties"]  # tables of features, which a scenario inherits, come last
    schema["properties"] = {
        key: keys[key] for key in sorted(keys, key=registry.tables().__contains__)
    }
    defs = schema.get("$defs", {})
    yield _section(f"## {title}", schema)
    for name, tables in _tables(schema, defs).items():
        alike: dict[str, list[dict[str, Any]]] = {}  # kinds with the same keys share a table
        for table in tables:
            keys = {k: v for k, v in table["properties"].items() if k != "kind"}
            alike.setdefault(json.dumps(keys or table), []).append(table)
        for group in alike.values():
            yield _section(f"### {_heading(name, group)}", *group)


def _tables(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Tables by the key that holds them, those inside tables behind them."""
    found: dict[str, list[dict[str, Any]]] = {}
    todo = [("", schema)]
    while todo:
        path, table = todo.pop(0)
        for key, spec in table.get("properties", {}).items():
            inner = [defs[name] for name in _references(spec)]
            if inner:
                found.setdefault(f"{path}{key}", inner)
                todo += [(f"{path}{key}.", each) for each in inner]
    return found


def _references(spec: Any) -> Iterator[str]:
    """Models that a value may be, in order."""
    if isinstance(spec, Mapping):
        if "$ref" in spec:
            yield spec["$ref"].rpartition("/")[2]
        for key, value in spec.items():
            if key != "discriminator":
                yield from _references(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from _references(value)


def _heading(name: str, tables: Sequence[Mapping[str, Any]]) -> str:
    kinds = [
        table["properties"]["kind"]["const"] for table in tables if "kind" in table["properties"]
    ]
    return f"[{name}] kind = {', '.join(map(toml_value, kinds))}" if kinds else f"[{name}]"


def _section(heading: str, table: Mapping[str, Any], *others: Mapping[str, Any]) -> str:
    rows = [
        _row(key, spec, key in table.get("required", ()))
        for key, spec in table["properties"].items()
        if key != "kind"
    ]
    head = "| key | type | default | unit | meaning | example |\n|---|---|---|---|---|---|"
    texts = [
        each["description"].partition("\n\n" if others else "\0")[0] for each in (table, *others)
    ]
    about = " ".join(" ".join(texts).split()).replace("``", "`")
    return "\n".join([heading, "", about, *(["", head, *rows] if rows else []), ""])


def _row(key: str, spec: Mapping[str, Any], required: bool) -> str:
    default = "required" if required else _default(spec.get("default"))
    unit = next((unit for end, unit in reversed(UNITS.items()) if key.endswith(end)), "")
    example = "".join(f"`{toml_value(each)}`" for each in spec.get("examples", ()))
    kind = re.sub(r"matching (.+)", r"matching `\1`", described(spec))
    cells = (f"`{key}`", kind, default, unit, meaning(spec["description"]), example)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _default(value: Any) -> str:
    """A default; nothing for an empty one, and for one of a table."""
    empty = value is None or isinstance(value, dict) or value == []
    return "" if empty else f"`{toml_value(value)}`"


def meaning(text: str) -> str:
    """The first letter small, no period: features are described by the docstrings of their tables."""
    return (text[0].lower() + text[1:] if text[1:2].islower() else text).rstrip(".")


if __name__ == "__main__":
    print(page(), end="")
