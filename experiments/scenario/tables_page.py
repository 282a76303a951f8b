"""Page docs/tables.md, made from the schemas of the tables.

python -m experiments.scenario.tables_page > docs/tables.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from experiments.scenario.output import FORMAT
from simulator.features.registry import COLUMNS
from simulator.metrics.run_tables import STREAMED, TABLES
from simulator.schema import Column, Schema

BEGIN = """\
# Tables of a run

A run writes its tables into the folder `--out`. This page lists their columns. It is made from the schemas in
`simulator/metrics` (`python -m experiments.scenario.tables_page > docs/tables.md`).

- Times are seconds on the clock of the workload. Money is in the currency of the cluster.
- A number has as many digits as it takes to give the same double again. An empty cell is a value that does not exist.
- With `--stream`, {streamed} are Parquet files with the same columns. Each field has
  its unit and meaning as metadata.
- `summary.json` has the scalars of the run. Its `format` is the version of all these files, now {format}. Files without
  it have format 1: their CPU times are in `decisions.csv`, and `abandoned` jobs are called `given up`.
- The same scenario and seed give the same bytes. `diff -r` of two such folders is empty, as long as nothing in the
  scenario depends on measured times. Measured CPU times are in `timing.csv` alone, which `--timing` asks for.
- In Python, `result.table("jobs")` gives each of these tables as a pandas frame.
"""


def page() -> str:
    """The page as Markdown."""
    streamed = ", ".join(f"`{name}`" for name in STREAMED)
    parts = [BEGIN.format(streamed=streamed, format=FORMAT)]
    parts += ["\n".join(_section(schema)) for schema, _ in TABLES.values()]
    return "\n".join(parts)


def _section(schema: Schema[object]) -> Iterator[str]:
    yield f"## {schema.name}.csv\n"
    when = f" It is there where {schema.when}." if schema.when else ""
    yield f"One row is {schema.rows}.{when}\n"
    added = COLUMNS if schema.name == "jobs" else ()
    yield "| column | unit | type | meaning |"
    yield "|---|---|---|---|"
    yield from _rows((*schema.columns, *added, *schema.named_by_run))
    yield ""


def _rows(columns: Iterable[Column]) -> Iterator[str]:
    for c in columns:
        name = c.name if c.name.startswith("*") else f"`{c.name}`"
        when = f". Only where {c.when}" if c.when else ""
        kind = "any" if c.name == "*NAME*" else c.type
        yield f"| {name} | {c.unit} | {kind} | {c.meaning}{when} |"


if __name__ == "__main__":
    print(page(), end="")
