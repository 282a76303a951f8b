"""Page docs/files.md, made from the formats of files of jobs and the schemas of the tables of a run.

python -m experiments.scenario.files_page > docs/files.md
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

from experiments.scenario.output import FORMAT
from simulator.features.registry import COLUMNS
from simulator.metrics.run_tables import STREAMED, TABLES
from simulator.schema import Column, Schema
from simulator.workloads.registry import formats
from simulator.workloads.trace import Trace

BEGIN = """\
# Files in and out

`make pages` makes this page from the code: the [formats of files of jobs](#formats-of-files-of-jobs), and the
[tables of a run](#tables-of-a-run).

## Formats of files of jobs

`schedlab run FILE` and `schedlab show trace FILE` recognise the format and print it. In a scenario it is
`workload.kind`. The columns are those of the readers.

- A table with titles may be CSV with commas, semicolons, tabs or bars (with semicolons, 1,5 means 1.5), Parquet, JSON lines, or a list of
  flat JSON objects. The content shows which.
- Titles are compared without case and punctuation. Further columns are ignored. `[workload.columns]` names titles that are not
  recognised: `submit = "Submit Time"`; `user = ""` says that there is no such column.
- A file may be compressed (.gz, .bz2, .xz); uncompressed it has at most 2 GiB and, beyond 64 MiB, at most 100 times its compressed size.
- In all formats, a row without a time of submission, a GPU or a duration, or with a duration of 0, is left out and counted by reason. If a
  name occurs twice, the second row is a separate job, `NAME.again1`. Empty fields, `None`, `Unknown`, `NaN` and the like count as unknown.
- A file with rows that cannot be read is refused, and the first ten of these rows are listed. `workload.skip = true` leaves such rows out, with a count by reason.
- A job that does not fit on the machines is refused. With `workload.oversized = "leave-out"` it is left out, and with `"clip"` it asks
  for no more than the machines have.
- `workload.from`, `until`, `vc` (or `partition`), `user` and `max_jobs` select jobs.
- The times of a log are counted from the first job that is kept; in `csv` only if they are dates.
- `instance` is a folder of the authors' instances: jobs, execution times and nodes ([scenarios](scenarios.md)).
- Policies that share GPUs give parts of them; others give whole ones. With the kind `openb`, pods of Alibaba keep their parts, too ([shared GPUs](clusters.md#shared-gpus)).
"""

TABLES_BEGIN = """\
## Tables of a run

A run writes its tables into the folder `--out`. Their columns are listed here, from the schemas in
`simulator/metrics`.

- Times are seconds on the clock of the workload. Money is in the currency of the cluster.
- A number has as many digits as it takes to give the same double again. An empty cell is a value that does not exist.
- With `--stream`, {streamed} are Parquet files with the same columns. Each field has
  its unit and meaning as metadata.
- `summary.json` has the scalars of the run. Its `format` is the version of all these files, now {format}.
- `allocation_ratio` is the part of all GPU time, from the first submission to the last completion, that jobs held;
  `fragmentation_ratio` the part that was free while jobs waited of which none fitted, though one at least asked for no more GPUs
  than were free (not with `--stream`, nor in sweeps that keep no schedule); `effective_training_ratio` the work of the jobs over
  what their GPUs could have done from first start to completion. `mean_total_wait_2_to_4_gpus_s` and others of the kind
  are waits by the size of jobs; `killed_jobs` counts those that the log or `kill_at_limit` ended.
- The same scenario and seed give the same bytes. `diff -r` of two such folders is empty, as long as nothing in the
  scenario depends on measured times. Measured CPU times are in `timing.csv` alone, which `--timing` asks for.
- In Python, `result.table("jobs")` gives each of these tables as a pandas frame.
"""


def page() -> str:
    """The page as Markdown."""
    parts = [BEGIN, *(line for name, table in formats().items() for line in _format(name, table))]
    streamed = ", ".join(f"`{name}`" for name in STREAMED)
    parts += [TABLES_BEGIN.format(streamed=streamed, format=FORMAT)]
    parts += ["\n".join(_table(schema)) for schema, _ in TABLES.values()]
    return "\n".join(parts)


def _format(name: str, table: type[Trace]) -> Iterator[str]:
    yield f"### {name}\n\n{(inspect.getdoc(table) or '').partition(chr(10))[0]}\n"
    yield "| column | unit | value | meaning |"
    yield "|---|---|---|---|"
    for c in table.reads:
        shown = f"`{c.name}`" if c.required else f"`{c.name}`, optional"
        yield f"| {shown} | {c.unit} | {c.expected} | {c.meaning} |"
    yield f"\nExample:\n\n```text\n{table.example.strip()}\n```\n"


def _table(schema: Schema[object]) -> Iterator[str]:
    yield f"### {schema.name}.csv\n"
    when = f" This table exists if {schema.when}." if schema.when else ""
    yield f"One row is {schema.rows}.{when}\n"
    added = COLUMNS if schema.name == "jobs" else ()
    yield "| column | unit | type | meaning |"
    yield "|---|---|---|---|"
    yield from _rows((*schema.columns, *added, *schema.named_by_run))
    yield ""


def _rows(columns: Iterable[Column]) -> Iterator[str]:
    for c in columns:
        name = c.name if c.name.startswith("*") else f"`{c.name}`"
        when = f". Only if {c.when}" if c.when else ""
        kind = "any" if c.name == "*NAME*" else c.type
        yield f"| {name} | {c.unit} | {kind} | {c.meaning}{when} |"


if __name__ == "__main__":
    print(page(), end="")
