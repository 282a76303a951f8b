"""Named random streams: repeatable, and the same for all policies of a comparison."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.errors import InputError

# The generators of the present `watched` block, with their first states.
_made: list[tuple[np.random.Generator, Any]] | None = None


@contextmanager
def watched() -> Iterator[Callable[[], bool]]:
    """A block after which the given function tells whether a stream made in it was drawn from.

    A run that drew nothing gives the same result under every seed.
    """
    global _made
    before, _made = _made, []
    made = _made
    try:
        yield lambda: any(_state(generator) != first for generator, first in made)
    finally:
        _made = before


def _state(generator: np.random.Generator) -> Any:
    bits = generator.bit_generator
    return bits.state, getattr(bits.seed_seq, "n_children_spawned", 0)


@dataclass(frozen=True)
class Streams:
    """Named, independent random streams of one seed.

    A stream depends on the seed, its name and its keys alone, never on which streams were asked
    for before. So two policies under the same seed meet the same arrivals (common random numbers),
    and a new consumer of randomness disturbs no old one.

    Attributes
    ----------
    seed : a non-negative integer.

    Examples
    --------
    >>> Streams(7).generator("arrivals").random() == Streams(7).generator("arrivals").random()
    True
    """

    seed: int

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise InputError(f"seed is {self.seed!r}, expected a non-negative integer")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}, expected a non-negative integer")

    def generator(self, name: str, *keys: int) -> np.random.Generator:
        """A fresh PCG64 generator at the start of the stream `name` (and `keys`, non-negative).

        Calling twice gives the same numbers twice: hold on to the generator to go on.
        """
        generator = np.random.Generator(np.random.PCG64(self._sequence(name, keys)))
        if _made is not None:
            _made.append((generator, _state(generator)))
        return generator

    def replication(self, index: int) -> Streams:
        """The streams of replication `index`: independent of all others of this seed."""
        word = self._sequence("replication", (index,)).generate_state(1, np.uint64)[0]
        return Streams(int(word))

    def _sequence(self, name: str, keys: tuple[int, ...]) -> np.random.SeedSequence:
        # crc32 is stable over processes and versions of Python; hash() of a text is not.
        return np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(name.encode()), *keys))
