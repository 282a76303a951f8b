"""Keys of configuration files: the base class of their tables, and errors that name a key."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from simulator.errors import InputError

PositiveInt = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class Config(BaseModel):
    """A section of a configuration file: no unknown keys, no silent conversions, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for key, text in meanings(cls).items():
            properties[key]["description"] = text
        return schema


def meanings(table: type[BaseModel]) -> dict[str, str]:
    """The text of each key of a table: of its field, or the one below it in the code.

    pydantic's ``use_attribute_docstrings`` would read the code of all tables at every start of a command.
    """
    found: dict[str, str] = {}
    for each in reversed(table.__mro__):
        if not issubclass(each, Config) or each is Config:
            continue
        try:
            source = textwrap.dedent(inspect.getsource(each))
        except OSError:  # made by a function
            continue
        (definition,) = ast.parse(source).body
        assert isinstance(definition, ast.ClassDef)
        for line, below in itertools.pairwise(definition.body):
            if (
                isinstance(line, ast.AnnAssign)
                and isinstance(line.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                found[line.target.id] = inspect.cleandoc(str(below.value.value))
    own = {key: field.description for key, field in table.model_fields.items()}
    return {key: text for key in own if (text := own[key] or found.get(key))}


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
