"""Tables of a run as CSV that a spreadsheet can open without harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.text import FORMULA, cell

if TYPE_CHECKING:
    import pyarrow as pa


def csv_bytes(table: pa.Table) -> bytes:
    """The table as CSV with the shortest digits that give the same number; texts in quotes where one needs them."""
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    names = table.column_names
    plain = not any(c in name for name in names for c in ',"\r\n')
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    for style in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        header = names if plain and style == "none" else quoted
        buffer.write(f"{','.join(header)}\n".encode())
        try:
            write_csv(table, buffer, WriteOptions(include_header=False, quoting_style=style))
        except pa.ArrowInvalid:  # of "none": a text has a comma, a quote or the end of a line in it
            if style == "needed":
                raise
            continue
        break
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def with_safe_texts(table: pa.Table) -> pa.Table:
    """A table whose texts no spreadsheet takes for formulas; the same object where there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = f"^[{''.join(map(_escaped, FORMULA))}]"
    for i, name in enumerate(table.column_names):
        column = table.column(i)
        if (
            pa.types.is_string(column.type)
            and pc.any(pc.match_substring_regex(column, pattern)).as_py()
        ):
            texts = [None if text is None else cell(text) for text in column.to_pylist()]
            table = table.set_column(i, name, pa.array(texts, pa.string()))
    return table


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}"
