"""Random numbers of the kernels: SplitMix64, a counter and a hash of it.

A run depends on the seed alone (Steele, Lea, Flood, OOPSLA 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policies.solving.compiling import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
TO_UNIT = 1.0 / 9007199254740992.0


@compiled
def uniform(state: Any) -> float:
    """Next number in [0, 1); ``state`` is one uint64 (SplitMix64)."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return float((z ^ (z >> S31)) >> S11) * TO_UNIT
