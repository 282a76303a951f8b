"""Named random streams: repeatable, and the same for all policies of a comparison."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from simulator.errors import InputError


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
        return np.random.Generator(np.random.PCG64(self._sequence(name, keys)))

    def replication(self, index: int) -> Streams:
        """The streams of replication `index`: independent of all others of this seed."""
        word = self._sequence("replication", (index,)).generate_state(1, np.uint64)[0]
        return Streams(int(word))

    def _sequence(self, name: str, keys: tuple[int, ...]) -> np.random.SeedSequence:
        # crc32 is stable over processes and versions of Python; hash() of a text is not.
        return np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(name.encode()), *keys))
