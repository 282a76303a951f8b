"""Keys of configuration files: the base class of their tables, and errors that name a key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from simulator.errors import InputError

PositiveInt = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class Config(BaseModel):
    """A section of a configuration file: no unknown keys, no silent conversions, no NaN."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


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
