"""Jobs on one GPU: memory, slices (MIG), and how neighbours slow each other down."""

from simulator.features.colocation.mig import PROFILES, best_start, mask_of, profile_for
from simulator.features.colocation.neighbours import (
    Neighbours,
    neighbours_of,
    published_rates,
    with_drawn_models,
    with_parts,
)

__all__ = [
    "PROFILES",
    "Neighbours",
    "best_start",
    "mask_of",
    "neighbours_of",
    "profile_for",
    "published_rates",
    "with_drawn_models",
    "with_parts",
]
