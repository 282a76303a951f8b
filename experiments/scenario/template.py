"""A scenario file to begin with: values, the meaning of each key, and the other keys as comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from experiments.config import toml_value
from experiments.scenario.keys_page import meaning
from experiments.scenario.schema import Scenario
from simulator.files.keys import meanings

BEGIN = """\
# schedlab run scenario.toml
# A line that begins with # is a key that is not set.
# On the command line: --set workload.num_jobs=100
"""

VALUES: Mapping[str, Any] = {
    "policy": "fifo-backfill",
    "seed": 1,
    "window": [100, 900],
    "workload": {
        "kind": "poisson",
        "num_jobs": 1000,
        "arrival_rate_per_h": 12,
        "duration_s": "lognormal:1800,cv=2",
        "num_gpus": [1, 1, 2, 4],
    },
    "cluster": {"kind": "nodes", "num_nodes": 2, "gpus_per_node": 8},
}
"""A load of 0.75: 12 jobs an hour, of half an hour on two GPUs on average, on 16 GPUs."""


def template() -> str:
    """The file's text."""
    scenario = Scenario.model_validate(VALUES)
    tables = {key: value for key, value in VALUES.items() if isinstance(value, dict)}
    parts = [BEGIN, _aligned(_keys(scenario, VALUES))]
    for name, values in tables.items():
        parts.append(_aligned([(f"[{name}]", ""), *_keys(getattr(scenario, name), values)]))
    fields, texts = type(scenario).model_fields.items(), meanings(type(scenario))
    others = [key for key, field in fields if _is_table(field) and key not in tables]
    parts.append(_aligned((f"# [{key}]", meaning(texts.get(key, ""))) for key in others))
    return "\n".join(parts)


def _keys(table: BaseModel, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Lines with their meanings: keys with a value, then the others with an example or their default."""
    fields, texts = type(table).model_fields, meanings(type(table))
    for key in sorted(fields, key=lambda key: key not in values):
        field = fields[key]
        if key in values and not isinstance(values[key], dict):
            text = meaning(texts.get(key, "docs/keys.md has the other kinds"))
            yield f"{key} = {toml_value(values[key])}", text
        elif key not in values and not _is_table(field):
            value = (field.examples or [field.get_default(call_default_factory=True)])[0]
            yield f"# {key} = {toml_value(value)}", meaning(texts.get(key, ""))


def _is_table(field: Any) -> bool:
    """Whether a table of its own, without a value here, is what a key holds."""
    return field.examples is None and not isinstance(
        field.get_default(call_default_factory=True), str | int | float | list
    )


def _aligned(lines: Iterable[tuple[str, str]]) -> str:
    """Lines with their meanings as comments, one below the other."""
    pairs = list(lines)
    width = max(len(line) for line, _ in pairs)
    return "".join(f"{f'{line:{width}}  # {text}' if text else line}\n" for line, text in pairs)
