"""The version of the code behind a result, so that results of older code are never taken for new.

It is a hash over
- every module of the declared sources (by default `simulator` and `policies`),
- the tables under data/, the sources of installed policy plug-ins,
- the versions of the numerical libraries,
- the task's function and whatever it names, directly or not, in its own top-level package:
  a function's module may hold plots and claims too, and editing those keeps the results.

Comments, docstrings and layout do not count. What is looked up by a computed name (getattr, a
registry of strings) is not seen outside the declared sources; declare it in `Task.sources`.
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

LIBRARIES = ("simpy", "numpy", "scipy", "pandas", "numba", "highspy", "gurobipy")
# What figures and claims compare with never decides a run.
DATA_LEFT_OUT = ("claims", "published")


@functools.cache
def code_version(function: str, sources: tuple[str, ...]) -> str:
    """Hash (hex) of the code that decides what `function` ("package.module:name") returns."""
    digest = hashlib.sha256()
    for part in (_libraries(), _data(), *(_package(name) for name in sorted(set(sources)))):
        digest.update(part.encode())
    if any(name.partition(".")[0] == "policies" for name in sources):
        digest.update(_plugins().encode())
    module, _, name = function.partition(":")
    for line in sorted(_reachable(module, name)):
        digest.update(line.encode())
    return digest.hexdigest()


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
def _libraries() -> str:
    lines = []
    for name in LIBRARIES:
        try:
            lines.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            lines.append(f"{name} missing")
    return "\n".join(lines)


@functools.cache
def _data() -> str:
    home = _origin("simulator").parent
    folder = home / "data" if (home / "data").is_dir() else home.parent / "data"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        counts = path.suffix != ".md" and not path.name.startswith(DATA_LEFT_OUT)
        if path.is_file() and counts:
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _plugins() -> str:
    """The sources of policies that other packages register."""
    found = importlib.metadata.entry_points(group="schedlab.policies")
    packages = {entry.module.partition(".")[0] for entry in found}
    return "".join(_package(name) for name in sorted(packages - {"policies"}))


@functools.cache
def _package(name: str) -> str:
    origin = _origin(name)
    folder = origin.parent if origin.name == "__init__.py" else None
    paths = sorted(folder.rglob("*.py")) if folder else [origin]
    digest = hashlib.sha256(name.encode())
    for path in paths:
        digest.update(path.relative_to(origin.parent).as_posix().encode())
        digest.update(_normal(_parsed(path)).encode())
    return digest.hexdigest()


def _origin(module: str) -> Path:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise InputError(f"code version: no Python source found for module {module!r}")
    return Path(spec.origin)


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), filename=str(path))


def _normal(node: ast.AST) -> str:
    """The code of `node` without comments, docstrings and layout."""
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list) and len(body) > 1 and _is_docstring(body[0]):
            del body[0]
    return ast.dump(node)


def _is_docstring(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _reachable(module: str, name: str) -> set[str]:
    """The normalised statements that `module:name` can reach by name inside its own package."""
    todo, seen, lines = [(module, name)], set[tuple[str, str]](), set[str]()
    while todo:
        module, name = where = todo.pop()
        if where in seen:
            continue
        seen.add(where)
        for node in _statements(module, name):
            lines.add(f"{module}: {_normal(node)}")
            todo += [(module, used.id) for used in ast.walk(node) if isinstance(used, ast.Name)]
            todo += _imports(node, module)
    return lines


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
    """What a statement imports from the module's own package: (module, name), "*" for all of it."""
    top = module.partition(".")[0]
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from ((a.name, "*") for a in inner.names if a.name.partition(".")[0] == top)
        elif isinstance(inner, ast.ImportFrom):
            source = _absolute(inner, module)
            if source.partition(".")[0] == top:
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
