"""Keys of configuration files: the base class of their tables, reading, and errors that name a key."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from simulator.arguments import LATEST_S
from simulator.errors import InputError, meant
from simulator.files.inputs import MOST_CONFIG_BYTES, read_input_text

Model = TypeVar("Model", bound=BaseModel)

PositiveInt = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
InputFile = Annotated[
    str, BeforeValidator(lambda path: str(path) if isinstance(path, Path) else path)
]
"""Name of a file; in Python also a `Path`."""
Delay = Annotated[float, Field(ge=0, lt=LATEST_S)]
Probability = Annotated[float, Field(ge=0, le=1)]
LawKey = Annotated[
    str | Callable[..., float],
    WithJsonSchema({"type": "string"}),
    PlainSerializer(str, when_used="json"),
]
"""Text of a law (`simulator.laws.parse_law`); in Python also a law, or what draws as one does."""


class Config(BaseModel):
    """A section of a configuration file: no unknown keys, no silent conversions, no NaN.

    In Python it is made of the same keys; a mistake is an `InputError` "KEY: got X, expected Y".
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for key, text in meanings(cls).items():
            properties[key]["description"] = text
        return schema

    def __init__(self, **values: Any) -> None:
        # Numbers of NumPy are as good.
        given = {k: v.item() if getattr(v, "ndim", None) == 0 else v for k, v in values.items()}
        try:
            super().__init__(**given)
        except ValidationError as error:
            path, text = explained(error, type(self), given)
            raise KeyedError(path, text) if path else InputError(text) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # a table in a table has no message of its own


def meanings(table: type[BaseModel]) -> dict[str, str]:
    """The text of each key of a table: of its field, or the one below it in the code.

    pydantic's ``use_attribute_docstrings`` would read the code of all tables at every start of a command.
    """
    found: dict[str, str] = {}
    for each in reversed(table.__mro__):
        if issubclass(each, Config) and each is not Config:
            found |= _texts_below(each)
    own = {key: field.description for key, field in table.model_fields.items()}
    return {key: text for key in own if (text := own[key] or found.get(key))}


@cache
def _texts_below(table: type[Config]) -> dict[str, str]:
    """The texts below the keys of one class, without those of its bases."""
    try:
        source = textwrap.dedent(inspect.getsource(table))
    except OSError:  # made by a function
        return {}
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    return {
        line.target.id: inspect.cleandoc(str(below.value.value))
        for line, below in itertools.pairwise(definition.body)
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
    }


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model, which takes tenths of a second to make; not to be changed."""
    return model.model_json_schema()


class KeyedError(InputError):
    """Something is wrong with the value of one key; the message is "KEY: TEXT"."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key}: {text}")
        self.key = key
        self.text = text


@contextmanager
def at_key(key: str) -> Iterator[None]:
    """An `InputError` in the block is of this key, unless it names one already."""
    try:
        yield
    except KeyedError:
        raise
    except InputError as error:
        table = key.partition(".")[0]  # which the simulator's own text may begin with, too
        raise KeyedError(key, str(error).removeprefix(f"{table}: ")) from None


DEEPEST = 50
"""Of tables in tables."""

LARGEST = 10**18
"""Whole numbers below it are exact in 64 bits."""


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as nested dicts; raises InputError naming file, line and column."""
    return parse_toml(read_input_text(path, "a TOML file", MOST_CONFIG_BYTES), path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Nested dicts of the text of a TOML file; raises as `read_toml`."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if path.suffix.lower() in (".csv", ".tsv"):
            raise InputError(
                f"{path}: a table, expected a TOML file; a scenario names its jobs: [workload] "
                'kind = "trace", path = ".."'
            ) from None
        raise InputError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{path}: not valid TOML: {error}") from None
    _expect_sane(found, path)
    return found


def _expect_sane(config: Mapping[str, Any], path: Path) -> None:
    """No table too deep, no number too large for a computer's own, no text with a NUL in it."""
    todo: list[tuple[Any, str, int]] = [(config, "", 0)]
    while todo:
        value, where, depth = todo.pop()
        if depth > DEEPEST:
            raise InputError(f"{path}: {where.partition('.')[0]}: nested too deeply")
        if isinstance(value, dict):
            todo += [(v, f"{where}.{k}".removeprefix("."), depth + 1) for k, v in value.items()]
        elif isinstance(value, list):
            todo += [(v, where, depth + 1) for v in value]
        elif isinstance(value, int) and abs(value) >= LARGEST:
            raise InputError(
                f"{path}: {where}: got a number of {len(str(value))} digits, expected at most 18"
            )
        elif not isinstance(value, str | int | float):
            raise InputError(f"{path}: {where}: got {value} (a date or a time), expected none here")
        elif isinstance(value, str) and "\0" in value:
            raise InputError(f"{path}: {where}: got a text with a NUL character, expected none")


def validated(model: type[Model], data: Mapping[str, Any], source: str, prefix: str = "") -> Model:
    """``data`` as a model; raises InputError "SOURCE: path.to.key: got X, expected Y".

    Parameters
    ----------
    source : the file's name, for the message.
    prefix : where in the file ``data`` stands ("scenario"); empty for its top.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        path, text = explained(error, model, data)
        where = ".".join(part for part in (prefix, path) if part)
        raise InputError(f"{source}: {where}: {text}" if where else f"{source}: {text}") from None


def explained(
    error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]
) -> tuple[str, str]:
    """The path to the offending key, and "got X, expected Y" in the words of the schema."""
    whole = _schema(model)

    def rank(problem: ErrorDetails) -> tuple[bool, int]:
        # A misspelt key shows as unknown and as missing; the former says more. Where text or a
        # table would do, what is wrong inside the table says more than that it is no text.
        return problem["type"] != "extra_forbidden", -len(_walk(problem["loc"], data, whole)[0])

    problem = min(error.errors(), key=rank)
    kind, location = problem["type"], problem["loc"]
    keys, schema = _walk(location, data, whole)
    path = _path(keys)
    if kind == "extra_forbidden":
        here = _walk(location[:-1], data, whole)[1]
        branches = _branches(here, whole.get("$defs", {}))
        known = [key for branch in branches for key in branch.get("properties", {})]
        return path, f"unknown key, {_suggestion(str(location[-1]), known)}"
    if kind == "missing":
        meaning = schema.get("description", "").partition("\n")[0]
        return path, f"missing, expected {described(schema)}{f': {meaning}' if meaning else ''}"
    if kind in ("value_error", "assertion_error"):
        why = problem["ctx"]["error"]
        if isinstance(why, KeyedError):
            return f"{path}.{why.key}".removeprefix("."), why.text
        if isinstance(why, InputError):
            return path, str(why)
        return path, f"got {_shown(problem['input'])}, {why}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = problem["ctx"]["discriminator"].strip("'")
        path = _path([*keys, tag])
        expected = f"expected one of {problem['ctx'].get('expected_tags', '')}".rstrip(" of")
        if kind == "union_tag_not_found":
            return path, "missing, expected the name of a kind"
        return path, f"got {_shown(problem['ctx']['tag'])}, {expected}"
    expected = described(schema)
    if kind == "finite_number":
        alone = sum(branch.get("type") != "null" for branch in schema.get("anyOf", ())) <= 1
        expected = expected.replace("number", "finite number") if alone else "a finite number"
    return path, f"got {_shown(problem['input'])}, expected {expected}"


def _walk(
    location: tuple[str | int, ...], data: Any, schema: dict[str, Any]
) -> tuple[list[str | int], dict[str, Any]]:
    """Follow an error's location through data and schema.

    Pydantic puts names of union members into locations; those are keys of neither, and are left
    out of the path.
    """
    defs = schema.get("$defs", {})
    keys: list[str | int] = []
    here = _resolved(schema, defs)
    for depth, part in enumerate(location):
        last = depth == len(location) - 1
        is_key = isinstance(part, str) and last and not part.startswith("literal[")
        if kind := _of_tag(here, str(part), defs):
            here = kind  # also where a key has the name of the kind, as cluster.nodes
        elif isinstance(data, Mapping) and (part in data or is_key):
            known = any(part in branch.get("properties", {}) for branch in _branches(here, defs))
            if part not in data and not known:
                here = _chosen(here, str(part), defs)
                continue
            member = _member(here, part, defs)
            keys.append(part)
            data, here = data.get(part, {}), member or {}
        elif isinstance(data, list) and isinstance(part, int):
            keys.append(part)
            items = [b["items"] for b in _branches(here, defs) if "items" in b]
            item = items[0] if len(items) == 1 else {"anyOf": items}
            data, here = data[part], _resolved(item, defs) if items else {}
        else:
            here = _chosen(here, str(part), defs)
    return keys, here


def _resolved(schema: Any, defs: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    reference = schema.get("$ref")
    return dict(defs[reference.rpartition("/")[2]]) if reference else schema


def _branches(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return [_resolved(branch, defs) for branch in found]


def _member(schema: dict[str, Any], key: Any, defs: Mapping[str, Any]) -> dict[str, Any] | None:
    for branch in _branches(schema, defs):
        properties = branch.get("properties", {})
        if key in properties:
            return _resolved(properties[key], defs)
        if branch.get("additionalProperties"):
            return _resolved(branch["additionalProperties"], defs)
    return None


def _chosen(schema: dict[str, Any], tag: str, defs: Mapping[str, Any]) -> dict[str, Any]:
    """The member of a union that a location names by its tag or its model."""
    named = (b for b in _branches(schema, defs) if b.get("title") == tag)
    return _of_tag(schema, tag, defs) or next(named, schema)


def _of_tag(schema: dict[str, Any], tag: str, defs: Mapping[str, Any]) -> dict[str, Any] | None:
    for union in (schema, *schema.get("anyOf", ())):  # X | None keeps the union of X inside
        mapping = union.get("discriminator", {}).get("mapping", {})
        if tag in mapping:
            return _resolved({"$ref": mapping[tag]}, defs)
    return None


def _path(keys: list[str | int]) -> str:
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def _suggestion(key: str, known: list[str]) -> str:
    return meant(key, sorted(known)) if known else "expected none"


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


NAMES = {
    "integer": ("an integer", "integers"),
    "number": ("a number", "numbers"),
    "string": ("text", "texts"),
    "boolean": ("true or false", "booleans"),
    "object": ("a table", "tables"),
    "array": ("a list", "lists"),
    "null": ("nothing", "nothing"),
}
BOUNDS = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "minItems": "with at least {} entries",
    "maxItems": "with at most {} entries",
    "minLength": "with at least {} characters",
    "pattern": "matching {}",
}


def described(schema: Mapping[str, Any], *, plural: bool = False) -> str:
    """Requirement of a schema, in words: "an integer >= 1"."""
    if "const" in schema:
        return _shown(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        words = [described(b) for b in branches if b.get("type") != "null"]
        return " or ".join(dict.fromkeys(words))
    name = NAMES.get(str(schema.get("type")), ("a table", "tables"))[plural]
    if schema.get("type") == "array" and schema.get("items"):
        name += f" of {described(schema['items'], plural=True)}"
    if "prefixItems" in schema:
        return f"a list of {len(schema['prefixItems'])} entries"
    bounds = [text.format(_whole(schema[key])) for key, text in BOUNDS.items() if key in schema]
    if "minItems" in schema and schema["minItems"] == schema.get("maxItems"):
        bounds = [f"with {schema['minItems']} entries"]
    return " ".join([name, " and ".join(bounds)]).strip()


def _whole(value: Any) -> Any:
    """A whole number without ".0", which versions of Pydantic write or leave out."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
