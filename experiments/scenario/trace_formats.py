"""Files of jobs: how a format is recognised, and the page docs/formats.md.

python -m experiments.scenario.trace_formats > docs/formats.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simulator.errors import InputError
from simulator.inputs import read_input
from simulator.model.workload import Workload
from simulator.workloads.gavel import LAYOUTS
from simulator.workloads.swf import COLUMNS as SWF
from simulator.workloads.traces import FORMATS, Format

KINDS = (*FORMATS, "instance")
WITH_HEADER = ("csv", "helios", "alibaba")


def read_jobs(path: str | Path, kind: str | None = None) -> Workload:
    """The jobs of a file in one of these formats, the one that is recognised where ``kind`` is None.

    Raises
    ------
    InputError
        No such file or format, or a mistake in the file; one line.
    """
    path = Path(path)
    kind = kind or recognised(path)
    if kind not in FORMATS:
        raise InputError(f"{path}: format {kind!r}, expected one of {', '.join(FORMATS)}")
    return FORMATS[kind].read(path)


def recognised(path: Path) -> str:
    """The format of a file of jobs, by its first lines; ``instance`` for a folder, ``csv`` in doubt.

    Raises
    ------
    InputError
        No such file.
    """
    if path.is_dir():
        return "instance"
    text = read_input(path, "a file of jobs").decode("utf-8-sig", errors="replace").lstrip()
    if text[:1] in ("[", "{"):
        return "philly"
    lines = [line for line in text[:100_000].splitlines() if line.strip()]
    data = next((line for line in lines if not line.startswith(";")), "")
    if data.count("\t") + 1 in LAYOUTS:
        return "gavel"
    if len(data.split()) == len(SWF) or text[:1] == ";":
        return "swf"
    header = {_plain(name) for name in data.split(",")}

    def likeness(kind: str) -> float:
        names = [_plain(column.name) for column in FORMATS[kind].columns if column.required]
        return sum(name in header for name in names) / len(names)

    best = max(WITH_HEADER, key=likeness)
    return best if likeness(best) >= 0.5 else "csv"  # whose reader says what is missing


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


BEGIN = """\
# Formats of files of jobs

`schedlab run FILE` and `schedlab show trace FILE` recognise the format and print it. In a scenario it is
`workload.kind`. This page is made from the readers (`python -m experiments.scenario.trace_formats > docs/formats.md`).

- Names of columns are compared without case and punctuation. Further columns are ignored.
- A file may be compressed (.gz, .bz2, .xz); it holds at most 2 GiB, and at most 100 times its size where that is more than 64 MiB.
- Where jobs are left out, for example those that held no GPU, a note says how many.
- `instance` is a folder of the authors' instances: jobs, execution times and nodes ([scenarios](scenarios.md)).
- `philly-table` is another name of `csv`. As kind `openb`, pods of Alibaba keep parts of GPUs ([shared GPUs](sharing.md)).
"""


def page() -> str:
    """The page as Markdown."""
    shown = (each for each in FORMATS.values() if each.name != "philly-table")
    return "\n".join([BEGIN, *(line for each in shown for line in _section(each))])


def _section(each: Format) -> Iterator[str]:
    yield f"## {each.name}\n\n{each.description}\n"
    yield "| column | unit | value | meaning |"
    yield "|---|---|---|---|"
    for c in each.columns:
        name = f"`{c.name}`" if c.required else f"`{c.name}`, optional"
        yield f"| {name} | {c.unit} | {c.expected} | {c.meaning} |"
    yield f"\nExample:\n\n```text\n{each.example.strip()}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
