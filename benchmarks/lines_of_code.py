"""Lines of code by package: without blank lines, comments, docstrings and imports.

python -m benchmarks.lines_of_code [FOLDER ..]
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

FOLDERS = ("simulator", "policies", "experiments", "tests")
NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
)  # fmt: skip


def count(source: str) -> tuple[int, int, int]:
    """Lines of code, of docstrings (those of attributes, too), and of imports."""
    docstrings: set[int] = set()
    imports: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else []:
            value = getattr(each, "value", None) if isinstance(each, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(_lines(each))
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(_lines(node))
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstrings - imports), len(docstrings), len(imports)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def main(folders: list[str]) -> None:
    """Print a row a folder, and the sum of all."""
    total = 0
    print(
        f"{'folder':12} {'code':>7} {'docstrings':>11} {'imports':>8} {'files':>6} {'under 80 lines':>15}"
    )
    for folder in folders or FOLDERS:
        files = list(Path(folder).rglob("*.py"))
        sources = [path.read_text("utf-8") for path in files]
        code, docstrings, imports = (
            sum(column) for column in zip((0, 0, 0), *map(count, sources), strict=True)
        )
        short = sum(source.count("\n") < 80 for source in sources)
        print(f"{folder:12} {code:7,} {docstrings:11,} {imports:8,} {len(files):6} {short:15}")
        total += code
    print(f"{'all':12} {total:7,}")


if __name__ == "__main__":
    main(sys.argv[1:])
