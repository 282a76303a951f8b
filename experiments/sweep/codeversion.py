"""The version of the code behind a result, so that results of older code are never taken for new.

It is a hash over
- every module of the declared sources (by default ``simulator`` and ``policies``),
- the task's function and whatever it names, directly or not, in its own top-level package:
  a function's module may hold plots and claims too, and editing those keeps the results,
- the modules of ``simulator`` and ``policies`` that any of these import, and those import,
- the tables under data/, the sources of installed policy plug-ins,
- the versions of the numerical libraries.

Comments, docstrings and layout do not count. What is looked up by a computed name (getattr, a
registry of strings) is not seen outside the declared sources; declare it in ``Task.sources``.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path

from simulator.errors import InputError
from simulator.files.bundled import data_folder
from simulator.plugins import GROUPS, installed

LIBRARIES = ("simpy", "numpy", "scipy", "pandas", "numba", "highspy", "gurobipy")
# What figures and claims compare with never decides a run.
DATA_LEFT_OUT = ("claims", "published")


FOLLOWED = ("simulator", "policies")
# Carries runs about and decides nothing in them.
MACHINERY = (
    "experiments.pages",
    "experiments.sweep.task",
    "experiments.config",
    "experiments.sweep.codeversion",
)


@functools.cache
def code_version(function: str, sources: tuple[str, ...]) -> str:
    """Hash (hex) of the code that decides what ``function`` ("package.module:name") returns."""
    digest = hashlib.sha256()
    for part in sorted(code_parts(function, sources).items()):
        digest.update(repr(part).encode())
    return digest.hexdigest()


@functools.cache
def code_parts(function: str, sources: tuple[str, ...]) -> dict[str, str]:
    """The parts of a code version: file, library or "data" -> version or hash (hex)."""
    module, _, name = function.partition(":")
    reached, imported = _reachable(module, name)
    parts = {_file(m): _hash("\n".join(sorted(lines))) for m, lines in reached.items()}
    declared = {inner for source in sources for inner in _modules(source)}
    parts |= {_file(m): _module_code(m) for m in _with_imports(declared | imported)}
    parts |= {**_libraries(), "data": _data()}
    if any(source.partition(".")[0] == "policies" for source in sources):
        parts |= _plugins()
    return parts


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _file(module: str) -> str:
    """The file of a module, relative to the folder of its top-level package."""
    path = _origin(module)
    return path.relative_to(
        path.parents[module.count(".") + (path.name == "__init__.py")]
    ).as_posix()


def content_hash(name: str) -> str:
    """Hash (hex) of a file, or of all files in a folder; raises InputError where it is missing."""
    path = Path(name)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    marks = [(file, file.stat()) for file in files if file.is_file()]
    return _content(path, tuple((file, mark.st_mtime_ns, mark.st_size) for file, mark in marks))


@functools.cache
def _content(path: Path, files: tuple[tuple[Path, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for file, _, _ in files:
        digest.update(file.relative_to(path).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


@functools.cache
def _data() -> str:
    folder = data_folder()
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        counts = path.suffix != ".md" and not path.name.startswith(DATA_LEFT_OUT)
        if path.is_file() and counts:
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _plugins() -> dict[str, str]:
    """The hash of each module of the policies, dispatchers and workloads that packages register.

    One that is no Python source, or cannot be found, stands in the way of nobody who does not ask
    for it: the bytes of its files, or a mark, and its version take the place of its code.
    """
    parts: dict[str, str] = {}
    for entry in (entry for group in GROUPS for entry in installed(group)):
        package = entry.module.partition(".")[0]
        if package == "policies":
            continue
        try:
            parts |= {_file(m): _module_code(m) for m in _modules(package)}
        except (InputError, SyntaxError, ValueError, OSError, ImportError):
            version = entry.dist.version if entry.dist is not None else ""
            parts[entry.value] = f"{_bytes_of(package)}, version {version}"
    return parts


def _bytes_of(package: str) -> str:
    """A hash of all files of a package, whatever they are; a mark where there are none."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return "cannot be read"
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    found = [path for folder in folders for path in folder.rglob("*") if path.suffix != ".pyc"]
    paths = found if folders else [Path(spec.origin or "")]
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        digest.update(f"{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _modules(name: str) -> list[str]:
    """A module, or a package and all modules in it."""
    origin = _origin(name)
    if origin.name != "__init__.py":
        return [name]
    inner = (
        path.relative_to(origin.parent).with_suffix("") for path in origin.parent.rglob("*.py")
    )
    return [
        ".".join((name, *(part for part in path.parts if part != "__init__"))) for path in inner
    ]


@functools.cache
def _module_code(module: str) -> str:
    return _hash(_normal(_parsed(_origin(module))))


def _with_imports(modules: set[str]) -> set[str]:
    """The modules and, over any number of steps, what they import of ``FOLLOWED``."""
    seen, todo = set[str](), list(modules)
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += _imported_modules(module)
    return seen


@functools.cache
def _imported_modules(module: str) -> frozenset[str]:
    return frozenset(
        source
        for node in _parsed(_origin(module)).body
        for source, _ in _imports(node, module)
        if source.partition(".")[0] in FOLLOWED
    )


@functools.cache
def _origin(module: str) -> Path:
    """The file of a module. Nothing is imported: only the top-level package is looked up."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin)
        if inner:
            path = path.parent.joinpath(*inner)
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path.suffix == ".py" and path.is_file():
            return path
    raise InputError(f"code version: no Python source found for module {module!r}")


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), filename=str(path))


def _normal(node: ast.AST) -> str:
    """The code of ``node`` without comments, docstrings and layout."""
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list) and len(body) > 1 and _is_docstring(body[0]):
            del body[0]
    return ast.dump(node)


def _is_docstring(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _reachable(module: str, name: str) -> tuple[dict[str, set[str]], set[str]]:
    """Code that ``module:name`` can reach: statements of its own package by module, and modules of ``FOLLOWED``."""
    package = module.partition(".")[0]
    todo, seen = [(module, name)], set[tuple[str, str]]()
    lines, modules = dict[str, set[str]](), set[str]()
    while todo:
        module, name = where = todo.pop()
        if where in seen or module in MACHINERY:
            continue
        seen.add(where)
        for node in _statements(module, name):
            lines.setdefault(module, set()).add(_normal(node))
            todo += [(module, used.id) for used in ast.walk(node) if isinstance(used, ast.Name)]
            for source, imported in _imports(node, module):
                if source.partition(".")[0] == package:
                    todo.append((source, imported))
                else:
                    modules.add(source)
    return lines, modules


@functools.cache
def _bindings(module: str) -> dict[str, list[ast.stmt]]:
    """For each name that a module binds at its top level, the statements that bind it."""
    bound: dict[str, list[ast.stmt]] = {}
    for statement in _parsed(_origin(module)).body:
        for name in _bound_names(statement):
            bound.setdefault(name, []).append(statement)
    return bound


def _statements(module: str, name: str) -> Iterable[ast.stmt]:
    if name == "*":
        return _parsed(_origin(module)).body
    return _bindings(module).get(name, [])


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def _imports(node: ast.stmt, module: str) -> Iterator[tuple[str, str]]:
    """Modules that a statement imports from the module's own top-level package and from ``FOLLOWED``.

    As (module, name), "*" for all of the module.
    """
    tops = {module.partition(".")[0], *FOLLOWED}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from ((a.name, "*") for a in inner.names if a.name.partition(".")[0] in tops)
        elif isinstance(inner, ast.ImportFrom):
            source = _absolute(inner, module)
            if source.partition(".")[0] in tops:
                yield from (_imported(source, alias.name) for alias in inner.names)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    is_package = _origin(module).name == "__init__.py"
    package = module if is_package else module.rpartition(".")[0]
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package)


def _imported(source: str, name: str) -> tuple[str, str]:
    origin = _origin(source)
    folder = origin.parent
    if origin.name == "__init__.py" and (folder / f"{name}.py").is_file():
        return f"{source}.{name}", "*"
    if origin.name == "__init__.py" and (folder / name / "__init__.py").is_file():
        return f"{source}.{name}", "*"
    return source, name
