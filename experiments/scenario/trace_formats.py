"""Page docs/formats.md, made from the formats of files of jobs.

python -m experiments.scenario.trace_formats > docs/formats.md
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from simulator.workloads.registry import formats
from simulator.workloads.trace import Trace

BEGIN = """\
# Formats of files of jobs

`schedlab run FILE` and `schedlab show trace FILE` recognise the format and print it. In a scenario it is
`workload.kind`. This page is made from the readers (`python -m experiments.scenario.trace_formats > docs/formats.md`).

- The header shows whether fields stand between commas, semicolons, tabs or bars; between semicolons, 1,5 is 1.5.
- Names of columns are compared without case and punctuation. Further columns are ignored.
- A file may be compressed (.gz, .bz2, .xz); it holds at most 2 GiB, and at most 100 times its size where that is more than 64 MiB.
- Where jobs are left out, for example those that held no GPU, a note says how many.
- `instance` is a folder of the authors' instances: jobs, execution times and nodes ([scenarios](scenarios.md)).
- As kind `openb`, pods of Alibaba keep parts of GPUs ([shared GPUs](sharing.md)).
"""


def page() -> str:
    """The page as Markdown."""
    parts = (line for name, table in formats().items() for line in _section(name, table))
    return "\n".join([BEGIN, *parts])


def _section(name: str, table: type[Trace]) -> Iterator[str]:
    yield f"## {name}\n\n{(inspect.getdoc(table) or '').partition(chr(10))[0]}\n"
    yield "| column | unit | value | meaning |"
    yield "|---|---|---|---|"
    for c in table.columns:
        shown = f"`{c.name}`" if c.required else f"`{c.name}`, optional"
        yield f"| {shown} | {c.unit} | {c.expected} | {c.meaning} |"
    yield f"\nExample:\n\n```text\n{table.example.strip()}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
