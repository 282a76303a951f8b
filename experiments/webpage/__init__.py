"""One self-contained HTML file from a template, style sheets, JavaScript modules and data.

The modules are ordinary ES modules, one idea a file. A page that opens from a file cannot import
them (browsers forbid it), so `bundle` joins them: each becomes a function that returns what it
exports, and an ``import`` becomes a look into what an earlier one returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.files import write_whole
from simulator.errors import InputError

HERE = Path(__file__).parent / "web"
"""Style and small charts of all pages."""

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:function|const|class) (\w+))", re.MULTILINE)


def bundle(modules: Sequence[Path]) -> str:
    """The modules as one script, in the order given: each after those that it imports.

    Names of files are unique; imports are ``import { a, b } from "./name.js";``, exports functions,
    constants and classes.
    """
    return "\n".join(_as_function(path) for path in modules)


def _as_function(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    names = [name for _, name in _EXPORT.findall(source)]
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = module_\2;", source))
    return f"const module_{path.stem} = (() => {{\n{body}\nreturn {{ {', '.join(names)} }};\n}})();"


def embedded(data: Any) -> str:
    """JSON that may stand inside a ``<script>`` element, whatever the texts in it are."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for sign, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, escaped)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page(
    template: Path, styles: Sequence[Path], modules: Sequence[Path], data: Any, **texts: Any
) -> str:
    """The page: `template` (Jinja2, escaping on) with ``style``, ``script``, ``data`` and texts."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made = environment.from_string(template.read_text(encoding="utf-8"))
    return made.render(
        style=Markup("\n".join(path.read_text(encoding="utf-8") for path in styles)),
        script=Markup(bundle(modules)),
        data=Markup(embedded(data)),
        **texts,
    )


def markup(text: str) -> Any:
    """Text of ours that is HTML, to stand in a page as it is."""
    from markupsafe import Markup

    return Markup(text)


def write(path: Path, text: str, what: str = "--out") -> Path:
    """Write a page whole or not at all.

    Raises
    ------
    InputError
        The folder is not there, or cannot be written.
    """
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"{what} {path}: cannot be written ({error.strerror})") from None
    return path
