"""A scenario that is made of settings: a comment for each that was used, and a list of those that were not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from simulator.workloads.registry import recognised

TABLES = ("", "workload", "cluster", "tenants", "policy_options")


@dataclass
class Imported:
    """Keys of a scenario by table, each with the setting that it comes from, and what was not used."""

    source: str
    keys: dict[str, dict[str, tuple[object, str]]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)

    def set(self, table: str, key: str, value: object, because: str) -> None:
        """Set a key; the comment beside it says why."""
        self.keys.setdefault(table, {})[key] = value, " ".join(because.split())

    def text(self) -> str:
        """The scenario as TOML."""
        lines = [f"# from {self.source}"]
        for table in sorted(self.keys, key=lambda name: TABLES.index(name.partition(".")[0])):
            lines += [f"\n[{table}]"] if table else []
            for key, (value, because) in self.keys[table].items():
                lines.append(f"{key} = {_toml(value)}  # {because}")
        lines += ["", *(f"# not used: {' '.join(each.split())}" for each in self.unused)]
        return "\n".join(lines).rstrip() + "\n"


def format_of(jobs: str) -> str:
    """Format of a file of jobs; csv while there is none."""
    path = Path(jobs)
    return recognised(path) if path.is_file() else "csv"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
