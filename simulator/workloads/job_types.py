"""Job types from a TOML file, for `schedlab theory rental` and for scenarios with elastic jobs.

For example examples/rental_figure1.toml:

    [[types]]
    name = "resnet"
    arrival_rate_per_h = 0.4                       # jobs per hour
    mean_size_h = 1.0                              # hours on one GPU
    speedup = { kind = "amdahl", parallel_fraction = 0.8 }

Other speed-ups: ``{ kind = "power", exponent = 0.5 }``, ``{ kind = "tabulated", gpus = [1, 2, 4],
throughput = [100, 190, 340] }`` (any unit) and ``{ kind = "function", function = "module:name" }``,
a Python function of one number, from a module that can be imported or lies beside the file. This
runs code, and needs ``allow_code`` (``--allow-code`` on the command line).
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from simulator.arguments import positive
from simulator.errors import InputError
from simulator.files.keys import Config, read_toml, validated
from simulator.model.speedup import Amdahl, Power, Speedup, Tabulated, UserDefined


@dataclass(frozen=True)
class JobType:
    """Jobs that arrive, and speed up, alike.

    Attributes
    ----------
    name : for tables and messages.
    arrival_rate_per_h : mean rate of arrivals, jobs per hour.
    mean_size_h : mean work, hours on one GPU.
    speedup : s(k).
    """

    name: str
    arrival_rate_per_h: float
    mean_size_h: float
    speedup: Speedup

    def __post_init__(self) -> None:
        positive(
            f"job type {self.name!r}",
            arrival_rate_per_h=self.arrival_rate_per_h,
            mean_size_h=self.mean_size_h,
        )

    @property
    def load(self) -> float:
        """Mean work that arrives per hour, in GPUs that it keeps busy one at a time."""
        return self.arrival_rate_per_h * self.mean_size_h


class AmdahlConfig(Config):
    """Amdahl's law: s(k) = 1 / (1 - f + f / k), f the parallel fraction."""

    kind: Literal["amdahl"]
    parallel_fraction: float = Field(examples=[0.9])
    """part of the work that is parallel"""

    def build(self) -> Speedup:
        """The function."""
        return Amdahl(self.parallel_fraction)


class PowerConfig(Config):
    """A power of the number of GPUs: s(k) = k^exponent."""

    kind: Literal["power"]
    exponent: float = Field(examples=[0.5])
    """s(k) = k to this power"""

    def build(self) -> Speedup:
        """The function."""
        return Power(self.exponent)


class TabulatedConfig(Config):
    """Measured throughputs; s(k) is their concave hull."""

    kind: Literal["tabulated"]
    gpus: list[float] = Field(min_length=1, examples=[[1, 2, 4]])
    """numbers of GPUs that were measured"""
    throughput: list[float] = Field(min_length=1, examples=[[1.0, 1.8, 3.0]])
    """throughput on each of them"""

    def build(self) -> Speedup:
        """Their concave hull."""
        return Tabulated(tuple(self.gpus), tuple(self.throughput))


class FunctionConfig(Config):
    """A Python function of your own; needs --allow-code."""

    kind: Literal["function"]
    function: str = Field(pattern=r"^[\w.]+:\w+$", examples=["curves:mine"])
    """module beside the file, and a function of k"""

    def build(self) -> Speedup:
        """The imported function, checked."""
        module, _, name = self.function.partition(":")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InputError(f"function {self.function!r}: {error}, expected module:name") from None
        except (Exception, SystemExit) as error:  # whatever code of the user's own may raise
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"function {self.function!r}: its module cannot be imported ({said})"
            ) from None
        if not callable(found):
            raise InputError(f"function {self.function!r}: got {found!r}, expected a function")
        try:
            return UserDefined(found)
        except InputError:
            raise
        except Exception as error:  # whatever code of the user's own may raise
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"function {self.function!r}: fails with {said}, expected a number for every k >= 1"
            ) from None


AnySpeedup = Annotated[
    AmdahlConfig | PowerConfig | TabulatedConfig | FunctionConfig, Field(discriminator="kind")
]


class TypeConfig(Config):
    """One type of jobs: arrivals, sizes, and a speed-up function."""

    name: str = Field(pattern=r"^[^\x00-\x1f]+$", examples=["small"])
    """name of the type"""
    arrival_rate_per_h: float = Field(gt=0, examples=[1.0])
    """mean number of arrivals"""
    mean_size_h: float = Field(gt=0, examples=[0.5])
    """mean time on one GPU"""
    speedup: AnySpeedup = Field(examples=[{"kind": "power", "exponent": 0.5}])
    """speed-up function: amdahl, power, tabulated or function"""


class TypesConfig(Config):
    """Types of elastic jobs, as `schedlab theory rental` and workloads of the kind `elastic` read them."""

    types: list[TypeConfig] = Field(min_length=1)
    """one table for each type of jobs"""


def read_types(
    path: Path, *, allow_code: bool = False, leave: str = "expected --allow-code with it"
) -> list[JobType]:
    """The job types of a file; with ``allow_code`` it may name functions, which are imported.

    ``leave``: how the complaint about a function ends where it may not.

    Raises
    ------
    InputError
        One line with file, type, field, value and what was expected.
    """
    config = validated(TypesConfig, read_toml(path), str(path))
    for i, entry in enumerate(config.types):
        if isinstance(entry.speedup, FunctionConfig) and not allow_code:
            raise InputError(
                f"{path}: types[{i}].speedup: got function {entry.speedup.function!r}, which would "
                f"run code that is not schedlab's; {leave}"
            )
    with _importable(path.parent):
        return [_built(entry, f"{path}: types[{i}]") for i, entry in enumerate(config.types)]


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Modules of a folder can be imported, after all others."""
    sys.path.append(str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))


def _built(entry: TypeConfig, where: str) -> JobType:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            speedup = entry.speedup.build()
    except InputError as error:
        raise InputError(f"{where}.speedup: {error}") from None
    for warning in caught:
        warnings.warn(f"{where}.speedup: {warning.message}", stacklevel=3)
    return JobType(entry.name, entry.arrival_rate_per_h, entry.mean_size_h, speedup)
