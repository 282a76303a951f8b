"""A scenario that is made of settings: a comment for each that was used, and a list of those that were not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from experiments.config import of_file, parse_toml, toml_value, validated
from experiments.text import printable
from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.workloads.registry import read_jobs, recognised

TABLES = ("", "workload", "cluster", "outages", "tenants", "policy_options")


@dataclass
class Imported:
    """Keys of a scenario by table, each with the setting that it comes from, and what was not used.

    Attributes
    ----------
    files : files that the scenario names, and their texts.
    """

    source: str
    keys: dict[str, dict[str, tuple[object, str]]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    files: dict[Path, str] = field(default_factory=dict)

    def set(self, table: str, key: str, value: object, because: str) -> None:
        """Set a key; the comment beside it says why."""
        self.keys.setdefault(table, {})[key] = value, because

    def text(self) -> str:
        """The scenario as TOML."""
        lines = [f"# from {_comment(self.source)}"]
        for table in sorted(self.keys, key=lambda name: TABLES.index(name.partition(".")[0])):
            lines += [f"\n[{table}]"] if table else []
            for key, (value, because) in self.keys[table].items():
                lines.append(f"{key} = {toml_value(value)}  # {_comment(because)}")
        lines += ["", *(f"# not used: {_comment(each)}" for each in self.unused)]
        return "\n".join(lines).rstrip() + "\n"

    def checked(self) -> str:
        """The text, which a run reads; raises InputError that names the key where a setting has a value that it cannot have."""
        from experiments.scenario.build import policy_of
        from experiments.scenario.schema import Scenario

        text = self.text()
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{self.source}: half a character in a text, expected UTF-8") from None
        scenario = validated(Scenario, parse_toml(text, Path(self.source)), self.source)
        with of_file(self.source):
            policy_of(scenario)
        return text


def format_of(jobs: Path) -> str:
    """Format of a file of jobs; csv while there is none."""
    return recognised(jobs) if jobs.is_file() else "csv"


def jobs_in(jobs: Path) -> Workload | None:
    """The jobs of a file; None where there is none that can be read, of which a run tells what is wrong."""
    if not jobs.is_file():
        return None
    try:
        return read_jobs(jobs)
    except InputError:
        return None


def _comment(text: str) -> str:
    """A text in a comment: on one line, without control characters."""
    return printable(" ".join(text.split()))
